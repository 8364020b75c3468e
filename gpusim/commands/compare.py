"""``gpusim compare``: compares a profile of any kernel, made by the user, with a simulated run."""

from dataclasses import asdict
from pathlib import Path

from gpusim.commands.output import print_json, print_text
from gpusim.errors import BadInput
from gpusim.gpu.ncu import read_report
from gpusim.machine import load_machine
from gpusim.measure.compare import choose_launch, compare_rows
from gpusim.records.check import CheckRow
from gpusim.records.check_table import check_table
from gpusim.results.run_directory import read_run


def compare_run(directory: Path, report: Path, kernel: str | None, launch: int | None, *, as_json: bool) -> None:
    """
    Print every figure that a run and a launch of a report both have.

    Raises:
        BadInput: The directory is no run directory, the report is none, or no launch of it matches.
        CannotRun: The report cannot be read.
    """
    result, _ = read_run(directory)
    launches = read_report(report)
    if not launches:
        raise BadInput(f"{report}: ncu profiled no kernel in it")
    chosen = launches[choose_launch(launches, result, kernel, launch)]
    rows = compare_rows(result, chosen, load_machine(result.scenario["machine"]).sms)
    if not rows:
        raise BadInput(f"{report}: {chosen.name} has no metric that a simulated run has; profile it with `--set full`")
    if as_json:
        measured = {"kernel": chosen.name, "grid": chosen.grid, "block": chosen.block}
        print_json({"run": str(directory), "report": str(report), "measured": measured, "rows": _data(rows)})
        return
    grid = " x ".join(map(str, chosen.grid))
    print_text(f"{chosen.name}, grid {grid}, {report}")
    print_text(check_table(rows))


def _data(rows: tuple[CheckRow, ...]) -> list[dict[str, object]]:
    return [{**asdict(row), "error": row.error} for row in rows]
