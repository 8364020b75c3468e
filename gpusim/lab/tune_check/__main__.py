"""``python -m gpusim.lab.tune_check measure OUT``: the check of ``gpusim tune`` against measured kernels."""

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from gpusim.cuda.compiler import find_compiler
from gpusim.errors import GpusimError
from gpusim.lab.tune_check.judge import judge_all, page, read_peers
from gpusim.lab.tune_check.measured import (
    build_all,
    check_all,
    measure_all,
    measured_problems_folder,
    read_problem,
)
from gpusim.lab.tune_check.problems import TUNE_PROBLEMS, problem_named
from gpusim.measure.measure import RecordOrigin
from gpusim.results.provenance import commit
from gpusim.verbs.tuning.label import label


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command of the first argument, and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m gpusim.lab.tune_check", description=__doc__)
    actions = parser.add_subparsers(dest="action", required=True)
    listing = actions.add_parser("list", help="print the stated set of every problem")
    listing.add_argument("problems", nargs="*")
    building = actions.add_parser("build", help="compile all kernels; needs no GPU")
    building.add_argument("problems", nargs="*")
    building.add_argument("--architecture", default="sm_90")
    measuring = actions.add_parser("measure", help="build and measure all configurations; resumes in the same folder")
    measuring.add_argument("out", type=Path)
    measuring.add_argument("problems", nargs="*")
    measuring.add_argument("--repeats", type=int, default=3, help="launches of each configuration")
    measuring.add_argument("--seconds", type=float, default=480.0, help="begin nothing new after this long")
    measuring.add_argument("--commit", help="commit of the source tree, where it is no clone")
    judging = actions.add_parser("judge", help="simulate what was measured, and write the page; needs no GPU")
    judging.add_argument("problems", nargs="*")
    judging.add_argument("--measured", type=Path, help="folder of the measurements; default: the committed ones")
    judging.add_argument("--jobs", type=int)
    judging.add_argument("--out", type=Path, default=Path("reports/tune.md"))
    arguments = parser.parse_args(argv)
    try:
        return _act(arguments)
    except GpusimError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code


def _act(arguments: argparse.Namespace) -> int:
    problems = [problem_named(name) for name in arguments.problems] or list(TUNE_PROBLEMS)
    if arguments.action == "list":
        for problem in problems:
            settings = problem.settings()
            sys.stdout.write(f"{problem.name}: {len(settings)} configurations\n")
            sys.stdout.writelines(f"  {label(one)}\n" for one in settings)
        return 0
    if arguments.action == "build":
        find_compiler()
        build_all(problems, arguments.architecture, _say)
        return 0
    if arguments.action == "judge":
        folder = arguments.measured or measured_problems_folder()
        measured = [read_problem(folder / f"{problem.name}.json") for problem in problems]
        peers = read_peers(folder / "peers.json")
        found = judge_all(measured, arguments.jobs, peers, _say)
        arguments.out.write_text(page(found, measured[0], peers.tool, commit()), encoding="utf-8")
        return 0
    begun = time.monotonic()
    command = ("python", "-m", "gpusim.lab.tune_check", "measure", "OUT", "--repeats", str(arguments.repeats))
    origin = RecordOrigin.here(command, arguments.commit)
    failed = measure_all(
        problems, arguments.out, origin, repeats=arguments.repeats, seconds=arguments.seconds, say=_say
    )
    check_all(problems, arguments.out, seconds=arguments.seconds - (time.monotonic() - begun), say=_say)
    return int(bool(failed))


def _say(message: str) -> None:
    sys.stderr.write(f"{message}\n")
    sys.stderr.flush()


if __name__ == "__main__":
    sys.exit(main())
