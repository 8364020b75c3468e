"""
``python -m gpusim.lab.own.counts OUT``: compares the large launches of one half of the own kernels, and writes a page.

``--held-out`` takes the held-out kernels instead, and shows aggregates; ``--held-out-rows`` shows all counts. The look
is noted before a held-out file is opened. ``--frameworks`` takes kernels of Triton and CuPy.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from gpusim.errors import GpusimError
from gpusim.lab.own.counts.compared import ComparedCount, compare_counts, execute_measured, read_measured
from gpusim.lab.own.counts.page import counts_page
from gpusim.lab.own.measured import FRAMEWORKS_TABLE, OWN_TABLE
from gpusim.records.halves import Half
from gpusim.records.held_out_log import note_look


def main(argv: Sequence[str] | None = None) -> int:
    """Compare the kernels of a half, or those named, and write the page; return an exit code."""
    parser = argparse.ArgumentParser(prog="python -m gpusim.lab.own.counts", description=__doc__)
    parser.add_argument("out", type=Path, help="the page, as reports/own_counts.md")
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--held-out", action="store_true", help="aggregates of the held-out kernels; the look is noted")
    parser.add_argument("--held-out-rows", action="store_true", help="all counts of the held-out kernels, likewise")
    parser.add_argument("--frameworks", action="store_true", help="kernels of Triton and CuPy")
    parser.add_argument("--measured", type=Path, help=f"folder of the measurements, as {OWN_TABLE.folder}")
    arguments = parser.parse_args(argv)
    table = FRAMEWORKS_TABLE if arguments.frameworks else OWN_TABLE
    folder = arguments.measured or table.folder
    half: Half = "held-out" if arguments.held_out or arguments.held_out_rows else "development"
    rows = half == "development" or arguments.held_out_rows
    try:
        kernels = table.of_half(half, arguments.names)
        if half == "held-out":
            shown, option = ("rows", "--held-out-rows") if rows else ("aggregates", "--held-out")
            command = table.command("gpusim.lab.own.counts", option)
            note_look(f"{command} OUT", f"{shown} of {len(kernels)} {table.words}")
        measured = read_measured(folder, half)
        compared, refused = list[ComparedCount](), dict[str, str]()
        for number, kernel in enumerate(kernels, 1):
            if kernel.name not in measured:
                refused[kernel.name] = "not measured"
                continue
            try:
                executed = execute_measured(kernel, folder)
            except GpusimError as error:
                refused[kernel.name] = str(error)
            else:
                compared += compare_counts(kernel, executed, measured[kernel.name])
            sys.stderr.write(f"{number} of {len(kernels)}: {kernel.name}\n")
        arguments.out.write_text(counts_page(half, compared, refused, rows=rows, table=table), encoding="utf-8")
    except GpusimError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
