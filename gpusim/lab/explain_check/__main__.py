"""``python -m gpusim.lab.explain_check``: compares ``explain`` with development records, and writes the page."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from gpusim.errors import GpusimError
from gpusim.lab.explain_check.chosen import development_records, for_bounds, pairs
from gpusim.lab.explain_check.compared import bound_rows, gain_rows
from gpusim.lab.explain_check.explain_page import BOUND_BAR, NEAR_BAR, SIGN_BAR, page, share
from gpusim.records.record import reports_folder


def main(argv: Sequence[str] | None = None) -> int:
    """
    Compare, write the page, and print the three shares.

    Args:
        argv: Arguments without the program's name; None takes the process's.

    Returns:
        0 if all bars are met, 3 if one is not, 2 for bad usage, 1 if it could not be done.
    """
    parser = argparse.ArgumentParser(prog="python -m gpusim.lab.explain_check", description=__doc__)
    parser.add_argument("--gpu", default="h200", help="GPU whose records to use")
    parser.add_argument("--out", type=Path, default=reports_folder() / "explain.md", help="the page")
    arguments = parser.parse_args(argv)
    try:
        records = development_records(arguments.gpu)
        bounds = list(bound_rows(for_bounds(records), _say))
        gains = list(gain_rows(list(pairs(records)), _say))
    except GpusimError as error:
        _say(f"explain_check: {error}")
        return error.exit_code
    arguments.out.write_text(page(bounds, gains), encoding="utf-8")
    shares = (
        ("bound right", share(sum(row.right for row in bounds), len(bounds)), BOUND_BAR),
        ("sign right", share(sum(row.sign_right for row in gains), len(gains)), SIGN_BAR),
        ("gain near", share(sum(row.near for row in gains), len(gains)), NEAR_BAR),
    )
    for what, percent, bar in shares:
        sys.stdout.write(f"{what}: {percent:.0f} %, bar {bar:.0f} %\n")
    return 0 if all(percent >= bar for _, percent, bar in shares) else 3


def _say(line: str) -> None:
    sys.stderr.write(line + "\n")


if __name__ == "__main__":
    sys.exit(main())
