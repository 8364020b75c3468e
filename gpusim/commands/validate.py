"""``gpusim validate``: shows the errors of simulated figures against all records, as tables, JSON and a picture."""

import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from gpusim.commands.options.validate import ValidateOptions
from gpusim.commands.output import print_json, print_text, progress, written
from gpusim.errors import BadInput, CannotRun
from gpusim.machine.load import load_machine
from gpusim.records.halves import Half, halves_file
from gpusim.records.held_out_log import note_look
from gpusim.report.correlation import CorrelationPoint, correlation
from gpusim.results.provenance import commit
from gpusim.results.result import StreamOrigin
from gpusim.results.whole_file import refuse_taken

if TYPE_CHECKING:
    from gpusim.lab.validation.validate import Validation


def validate_records(options: ValidateOptions) -> None:
    """
    Validate one half, and show it. A look at held-out figures is noted in the log before anything is computed.

    Raises:
        BadInput: The options contradict each other, a record stands in no half, or something is there that may not be
            replaced.
        CannotRun: There are no records, or a file cannot be read or written.
    """
    from gpusim.lab.validation.cutlass import committed_rows
    from gpusim.lab.validation.markdown import markdown
    from gpusim.lab.validation.trust import trust_file, write_trust
    from gpusim.lab.validation.validate import records_of, validate

    held_out = options.held_out or options.held_out_rows
    if options.only and options.held_out and not options.held_out_rows:
        raise BadInput("--only would single out held-out records: it goes with --held-out-rows, not with --held-out")
    half: Half = "held-out" if held_out else "development"
    if options.out is not None:
        for suffix in ("md", "json", "png"):
            refuse_taken(_place(options.out, half, suffix), force=options.force)
    measured = records_of(half, options.gpu, options.only)
    if held_out:
        note_look(_command(options), f"{'rows' if options.held_out_rows else 'aggregates'} of {len(measured)} records")
    answer = validate(
        measured,
        half,
        options.gpu,
        [origin for origin in get_args(StreamOrigin) if options.stream in {origin, "auto"}],
        exact=options.exact,
        jobs=options.jobs or os.cpu_count() or 1,
        show_rows=not held_out or options.held_out_rows,
        cutlass_files=() if held_out or options.only else options.cutlass_rows or committed_rows(),
        say=progress,
    )
    page = markdown(answer, commit(), load_machine(measured[0].scenario["machine"]).digest())
    if options.out is not None:
        _write(answer, page, options.out, force=options.force)
        if options.out.resolve() == halves_file().parent.resolve():
            write_trust(options.out, trust_file(answer.gpu))
    if options.as_json:
        print_json(as_data(answer))
    elif options.out is None:
        print_text(page)


def as_data(answer: "Validation") -> dict[str, Any]:
    """Return a validation as plain data, without pairs of kernels. Figures are (measured, simulated)."""
    data = asdict(answer)
    for row in data["rows"]:
        del row["alike"]
    return data


def _write(answer: "Validation", page: str, folder: Path, *, force: bool) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CannotRun(f"{folder}: cannot be written ({error.strerror or error})") from error
    for suffix, text in (("md", page), ("json", _json_text(as_data(answer)))):
        with written(_place(folder, answer.half, suffix), force=force) as aside:
            aside.write_text(text, encoding="utf-8")
    if answer.rows:
        with written(_place(folder, answer.half, "png"), force=force) as aside:
            _draw(answer, aside)
    progress(str(_place(folder, answer.half, "md")))


def _place(folder: Path, half: Half, suffix: str) -> Path:
    return folder / f"{half.replace('-', '_')}.{suffix}"


def _json_text(data: dict[str, Any]) -> str:
    """Return the text of a JSON file in which each row is one line."""
    rows = ",\n".join(f"  {json.dumps(row)}" for row in data["rows"])
    head = json.dumps({key: value for key, value in data.items() if key != "rows"}, indent=1)
    return f'{head.removesuffix("}").rstrip()},\n "rows": [\n{rows}\n ]\n}}\n'


def _draw(answer: "Validation", path: Path) -> None:
    """Draw a point for each kernel, of its compiled stream if it has one, else of its estimated stream."""
    best = {one.name: one for stream in ("estimated", "compiled") for one in answer.rows if one.stream == stream}
    points = [
        CorrelationPoint(_group(one.groups["kind"], one.stream), *one.figures["elapsed"])
        for one in best.values()
        if "elapsed" in one.figures
    ]
    if points:
        title = f"Simulated over measured elapsed cycles, {answer.half} half"
        correlation(points, title, [f"{answer.gpu}; cold launches, caches flushed; simulated {answer.mode}"], path)


def _group(kind: str, stream: str) -> str:
    return kind.partition(",")[0] + ("" if stream == "compiled" else ", estimated stream")


def _command(options: ValidateOptions) -> str:
    words = ["gpusim validate", "--gpu", options.gpu, *(f"--only {pattern}" for pattern in options.only)]
    words += [
        *({None: [], True: ["--exact"], False: ["--sampled"]}[options.exact]),
        "--held-out-rows" if options.held_out_rows else "--held-out",
    ]
    return " ".join(words)
