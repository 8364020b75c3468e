"""``gpusim report``: writes one HTML file about runs, which works offline."""

from pathlib import Path

from gpusim.commands.output import check_folder, print_json, print_text, progress
from gpusim.errors import BadInput, CannotRun
from gpusim.verbs.report import report

MOST_BYTES = 2_000_000
"""Size up to which a report is easily passed on; a larger one is written all the same, and said."""


def write_report(directories: list[Path], out: Path, *, force: bool, as_json: bool) -> None:
    """
    Write the report of runs to a file.

    Args:
        directories: Run directories; of several, the first is what the others are compared with.
        out: The HTML file.
        force: Replace a file that is there.
        as_json: Print the path and the size as JSON.

    Raises:
        BadInput: A folder is no run directory, or the file does not end in .html, or is there already.
        CannotRun: The file cannot be written.
    """
    if out.suffix.lower() not in {".html", ".htm"}:
        raise BadInput(f"--out must end in .html, got {str(out)!r}")
    check_folder(out)
    if out.exists() and not (force and out.is_file()):
        raise BadInput(f"{out}: is there already; --force replaces {'it' if out.is_file() else 'files only'}")
    text = report(directories).to_html().encode()
    beside = out.with_name(f"{out.name}.part")
    try:
        beside.write_bytes(text)
        beside.replace(out)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise CannotRun(f"{out}: cannot be written ({error.strerror or error})") from error
    if len(text) > MOST_BYTES:
        progress(f"{out}: {len(text):,} bytes, of which the timelines of {len(directories)} runs are most")
    if as_json:
        print_json({"path": str(out), "bytes": len(text)})
    else:
        print_text(str(out))
