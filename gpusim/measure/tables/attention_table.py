"""``python -m gpusim.measure.tables.attention_table``: attention beside CUTLASS and PyTorch, and flash's gain."""

import argparse
import json
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from gpusim.errors import CannotRun, GpusimError
from gpusim.families.attention.table import BENCH, bench_tables, gain_table, gains
from gpusim.records.record import load_record, measured_folder
from gpusim.scenario.models import Scenario
from gpusim.verbs.simulate import simulate


@cache
def elapsed(scenario: Scenario) -> int:
    """Simulated cycles, by stated estimates."""
    return simulate(scenario, stream="estimated")[0].cycles.elapsed


def main(argv: Sequence[str] | None = None) -> int:
    """Read the bench and the records, simulate both schedules of every problem, and write the tables."""
    parser = argparse.ArgumentParser(prog="python -m gpusim.measure.tables.attention_table", description=__doc__)
    parser.add_argument("gpu", nargs="?", default="h200", help="folder of reports/measured")
    parser.add_argument("--out", type=Path, help="default: standard output")
    arguments = parser.parse_args(argv)
    folder = measured_folder() / arguments.gpu
    try:
        bench = json.loads((folder / BENCH).read_text(encoding="utf-8"))
        records = [load_record(path) for path in sorted(folder.glob("*.json"))]
        lines = [f"# Fused attention, {arguments.gpu}", "", *bench_tables(bench["rows"])]
        text = "\n".join([*lines, "", *gain_table(list(gains(records, elapsed)))]) + "\n"
        if arguments.out:
            arguments.out.write_text(text, encoding="utf-8")
        else:
            sys.stdout.write(text)
    except (OSError, ValueError, KeyError) as error:
        failed = CannotRun(f"{folder / BENCH}: no measured rows ({error})")
        sys.stderr.write(f"{failed}\n")
        return failed.exit_code
    except GpusimError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
