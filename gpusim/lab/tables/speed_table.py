"""``python -m gpusim.lab.tables.speed_table ROWS``: compares our kernels with CUTLASS's of equal configuration."""

import argparse
import json
import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpusim.errors import CannotRun, exit_code_of
from gpusim.families.conv.fprop.problem import Conv2dFpropProblem
from gpusim.families.gemm.gemm import GemmProblem
from gpusim.lab.tables.markdown_page import put_page, table_row
from gpusim.records.check_table import number
from gpusim.records.halves import shown_records
from gpusim.records.record import Record, load_record, measured_folder
from gpusim.results.result import ELAPSED
from gpusim.scenario.gemm import GemmScenario
from gpusim.scenario.kernel import Kernel
from gpusim.scenario.models import DTypes


@dataclass(frozen=True, slots=True)
class SpeedRow:
    """
    The speed of CUTLASS's and of our kernel for one configuration and problem. Ours is None if not recorded.

    Attributes:
        name: Name of the scenario, or of CUTLASS's row if the scenario is not recorded.
        cutlass, ours: Cycles of a cold launch, ncu's ``sm__cycles_elapsed.max``; ours the median of several.
        cutlass_registers, registers: Registers of one thread.
        cutlass_us, us: Microseconds of one launch in a warm loop.
    """

    name: str
    cutlass: float
    ours: float | None
    cutlass_registers: int
    registers: int | None
    cutlass_us: float
    us: float | None

    @property
    def speed(self) -> float | None:
        """CUTLASS's cycles divided by ours: above 1 if ours is faster, None if ours is not recorded."""
        return None if self.ours is None else self.cutlass / self.ours


def scenario_of(row: Mapping[str, Any]) -> GemmScenario:
    """Return the scenario with the configuration and problem of one of CUTLASS's rows (gemm or conv2d_fprop)."""
    dtype = DTypes(ab=row["dtype_ab"], accumulator=row["accumulator"], output=row["dtype_c"])
    problem: GemmProblem | Conv2dFpropProblem
    if row["kind"] == "gemm":
        layouts = {"layout_a": row["layout_a"], "layout_b": row["layout_b"]}
        problem = GemmProblem(m=row["M"], n=row["N"], k=row["K"], **layouts, dtype=dtype)
    else:
        extents = {name.lower(): row[name] for name in "NHWCKRSPQ"}
        pairs = {"padding": row["pad"], "stride": row["stride"], "dilation": row["dilation"]}
        problem = Conv2dFpropProblem(**extents, **pairs, mode=row["mode"], dtype=dtype)
    kernel = Kernel(
        mainloop=row["mainloop"],
        iterator=row.get("iterator", "analytic"),
        threadblock=row["threadblock"],
        warp=row["warp"],
        instruction=row["instruction"],
        stages=row["stages"],
        threadblock_swizzle=f"identity<{row['threadblock_swizzle']}>",
    )
    return GemmScenario(machine="h200", problem=problem, kernel=kernel)


def speed_rows(cutlass: Sequence[Mapping[str, Any]], records: Sequence[Record]) -> tuple[SpeedRow, ...]:
    """Return each of CUTLASS's rows together with our record of the same scenario."""
    known = {record.scenario_sha256: record for record in records}
    rows = []
    for row in cutlass:
        record = known.get(scenario_of(row).digest())
        registers = record.kernel.get("registers") if record else None
        rows.append(
            SpeedRow(
                name=record.name if record else f"{row['name']} (not recorded)",
                cutlass=row["counters"][ELAPSED],
                ours=record.counters.get(ELAPSED) if record else None,
                cutlass_registers=row["registers_per_thread"],
                registers=int(registers) if registers else None,
                cutlass_us=row["loop_us_median"],
                us=record.time_us.median if record and record.time_us else None,
            )
        )
    return tuple(rows)


def geometric_mean(rows: Sequence[SpeedRow]) -> float | None:
    """Return the geometric mean of the known speeds, or None if there are none."""
    speeds = [row.speed for row in rows if row.speed is not None]
    return math.exp(sum(map(math.log, speeds)) / len(speeds)) if speeds else None


def speed_table(rows: Sequence[SpeedRow], title: str) -> str:
    """Return the table as markdown."""
    mean = geometric_mean(rows)
    known = [row.speed for row in rows if row.speed is not None]
    lines = [
        f"# {title}",
        "",
        (
            f"Cycles are ncu's `{ELAPSED}` of a cold launch, ours the median of several;"
            " microseconds are of a warm loop, whose clock is not locked. Speed is CUTLASS's cycles over ours:"
            " above 1, ours is faster."
        ),
        "",
        f"{len(known)} of {len(rows)} rows measured"
        + (f"; geometric mean of the speed {mean:.3f}, least {min(known):.3f}." if mean else "."),
        "",
        "| scenario | CUTLASS cycles | our cycles | speed | CUTLASS us | our us | CUTLASS registers | our registers |",
        "|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for row in rows:
        speed = "-" if row.speed is None else f"{row.speed:.3f}"
        cells = [row.name, number(row.cutlass), number(row.ours), speed, number(row.cutlass_us), number(row.us)]
        lines.append(table_row(*cells, number(row.cutlass_registers), number(row.registers)))
    return "\n".join(lines) + "\n"


def main(argv: Sequence[str] | None = None) -> int:
    """Read CUTLASS's rows and our records, and write the table. Return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m gpusim.lab.tables.speed_table", description=__doc__)
    parser.add_argument("rows", type=Path, help="JSON with CUTLASS's measured rows under `rows`")
    parser.add_argument("--gpu", default="h200", help="folder of reports/measured")
    parser.add_argument("--out", type=Path, help="default: standard output")
    arguments = parser.parse_args(argv)

    def work() -> None:
        try:
            cutlass = json.loads(arguments.rows.read_text(encoding="utf-8"))["rows"]
            records = [load_record(path) for path in shown_records(measured_folder() / arguments.gpu)]
            text = speed_table(speed_rows(cutlass, records), f"Our kernels beside CUTLASS's, {arguments.gpu}")
            put_page(text, arguments.out)
        except (OSError, ValueError, KeyError) as error:
            raise CannotRun(f"{arguments.rows}: no measured rows ({error})") from error

    return exit_code_of(work)


if __name__ == "__main__":
    sys.exit(main())
