"""``python -m gpusim.lab.targets``: follows the machine code of every kind of kernel on every target."""

import argparse
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from gpusim.cuda.compiler import Compiler, find_compiler
from gpusim.errors import CheckFailed, exit_code_of
from gpusim.lab.host import host_of_today
from gpusim.lab.tables.markdown_page import put_page
from gpusim.lab.targets.follow import Followed, follow
from gpusim.lab.targets.matrix import TARGETS, Combination, combinations
from gpusim.lab.targets.targets_page import section, with_section


def followed(listed: Sequence[Combination], jobs: int) -> list[Followed]:
    """Follow combinations in ``jobs`` processes, and print the verdict of each on stderr."""
    started, found = time.perf_counter(), list[Followed]()
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        for one in pool.map(follow, listed):
            found.append(one)
            said = f"{len(found)}/{len(listed)} sm_{one.combination.target} {one.combination.family}:"
            why = f": {one.why}" if one.why else ""
            sys.stderr.write(
                f"[{time.perf_counter() - started:6.1f} s] {said} {one.combination.name}: {one.verdict}{why}\n"
            )
    return found


def _follow_all(arguments: argparse.Namespace) -> None:
    compiler: Compiler = find_compiler()
    listed = [one for machine in arguments.machine or TARGETS for one in combinations(machine)][:: arguments.every]
    found = followed(listed, arguments.jobs)
    own = section(f"{compiler.name} {compiler.version}", host_of_today().lines(), found)
    out: Path | None = arguments.out
    put_page(with_section(out.read_text(encoding="utf-8") if out is not None and out.is_file() else "", own), out)
    failed = [one for one in found if one.verdict == "failed"]
    if failed:
        raise CheckFailed(f"{len(failed)} of {len(found)} combinations could not be followed, first {failed[0].why}")


def main(argv: Sequence[str] | None = None) -> int:
    """Follow all combinations and write the page. Return the exit code: 3 if one could not be followed."""
    parser = argparse.ArgumentParser(prog="python -m gpusim.lab.targets", description=__doc__)
    parser.add_argument("--machine", action="append", choices=TARGETS, help="repeatable; default: all")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="of N combinations one [default: all]")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="processes [default: 1]")
    parser.add_argument("--out", type=Path, help="default: standard output")
    arguments = parser.parse_args(argv)
    return exit_code_of(lambda: _follow_all(arguments))


if __name__ == "__main__":
    sys.exit(main())
