"""
``python -m gpusim.lab.own.cycles OUT``: simulates the large launches of one half of the own kernels, and writes a page.

``--held-out`` takes the held-out kernels instead, and shows aggregates. The look is noted before a held-out file is
opened. ``--frameworks`` takes kernels of Triton and CuPy.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict
from pathlib import Path

from gpusim.errors import GpusimError
from gpusim.lab.own.counts.compared import read_counters
from gpusim.lab.own.cycles.compared import ComparedCycles, errors, time_measured
from gpusim.lab.own.cycles.page import cycles_page
from gpusim.lab.own.measured import FRAMEWORKS_TABLE, OWN_TABLE
from gpusim.lab.own.table import own_kernel
from gpusim.records.halves import Half
from gpusim.records.held_out_log import note_look
from gpusim.results.kernel_result import OwnErrors
from gpusim.results.result import ELAPSED


def main(argv: Sequence[str] | None = None) -> int:
    """Simulate the kernels of a half, or those named, and write the page; return an exit code."""
    parser = argparse.ArgumentParser(prog="python -m gpusim.lab.own.cycles", description=__doc__)
    parser.add_argument("out", type=Path, help="the page, as reports/own_cycles.md")
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--held-out", action="store_true", help="aggregates of the held-out kernels; the look is noted")
    parser.add_argument("--frameworks", action="store_true", help="kernels of Triton and CuPy")
    parser.add_argument("--measured", type=Path, help=f"folder of the measurements, as {OWN_TABLE.folder}")
    parser.add_argument("--validated", type=Path, help="file of the errors that answers show")
    parser.add_argument("--processes", type=int, default=1, help="kernels that are simulated at once")
    arguments = parser.parse_args(argv)
    table = FRAMEWORKS_TABLE if arguments.frameworks else OWN_TABLE
    folder = arguments.measured or table.folder
    half: Half = "held-out" if arguments.held_out else "development"
    try:
        kernels = table.of_half(half, arguments.names)
        if half == "held-out":
            command = table.command("gpusim.lab.own.cycles", "--held-out")
            note_look(f"{command} OUT", f"aggregates of {len(kernels)} {table.words}")
        cycles = {row["name"]: round(float(row[ELAPSED])) for row in read_counters(folder, half)}
        compared, refused = (
            list[ComparedCycles](),
            {one.name: "not measured" for one in kernels if one.name not in cycles},
        )
        with ProcessPoolExecutor(arguments.processes) as pool:
            made = {
                kernel.name: pool.submit(_compared, kernel.name, folder, cycles[kernel.name])
                for kernel in kernels
                if kernel.name in cycles
            }
            for number, (name, future) in enumerate(made.items(), 1):
                found = future.result()
                if isinstance(found, str):
                    refused[name] = found
                else:
                    compared.append(found)
                sys.stderr.write(f"{number} of {len(made)}: {name}\n")
        page = cycles_page(half, compared, refused, rows=half == "development", table=table)
        arguments.out.write_text(page, encoding="utf-8")
        if arguments.validated is not None:
            mean, tenth, _ = errors(compared)
            shown = OwnErrors(len(compared), round(mean, 1), round(tenth, 1))
            arguments.validated.write_text(json.dumps(asdict(shown)) + "\n", encoding="utf-8")
    except GpusimError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code
    return 0


def _compared(name: str, folder: Path, measured: int) -> ComparedCycles | str:
    """Return what was simulated, or why nothing was."""
    try:
        return time_measured(own_kernel(name), folder, measured)
    except GpusimError as error:
        return str(error)


if __name__ == "__main__":
    sys.exit(main())
