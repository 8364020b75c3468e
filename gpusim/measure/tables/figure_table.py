"""``python -m gpusim.measure.tables.figure_table``: the figures of all machines by kind, and what is not measured."""

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from gpusim.machine.load import load_machine, machine_names
from gpusim.machine.spec import FIGURE_KINDS, Machine

MOST_FITTED = 5
"""Fitted figures that a machine may have."""


def figure_table(machines: Sequence[Machine]) -> str:
    """Return the page: how many figures of each kind every machine has, and its fitted and assumed ones by name."""
    return "\n".join(_page(machines)) + "\n"


def _page(machines: Sequence[Machine]) -> Iterator[str]:
    yield "# Figures of the machine files by kind"
    yield ""
    yield (
        "A *documented* figure is the maker's, a *measured* one was read off a measurement, of others or of `gpusim"
        " calibrate`. A *fitted* one was chosen with measured kernels in view, which it names; an *assumed* one has a"
        f" reason only. No machine may have more than {MOST_FITTED} fitted figures."
    )
    yield ""
    yield _row("machine", *FIGURE_KINDS, "all")
    yield "|---|" + "---:|" * (len(FIGURE_KINDS) + 1)
    for machine in machines:
        yield _row(machine.name, *map(str, machine.figure_counts().values()), str(len(machine.figures)))
    for machine in machines:
        for kind in ("fitted", "assumed"):
            records = [record for record in machine.figures if record.kind == kind]
            if records:
                yield ""
                yield f"## {machine.name}, {kind}"
                yield ""
                yield _row("figure", "value", *(["fitted on"] if kind == "fitted" else []), "why")
                yield "|---|---:|" + ("---|" if kind == "fitted" else "") + "---|"
            for record in records:
                on = [", ".join(record.fitted_on)] if kind == "fitted" else []
                yield _row(f"`{record.key}`", f"{record.value} {record.unit}", *on, record.why)


def _row(*cells: str) -> str:
    return "| " + " | ".join(cells) + " |"


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the page, or print it."""
    parser = argparse.ArgumentParser(prog="python -m gpusim.measure.tables.figure_table", description=__doc__)
    parser.add_argument("--out", type=Path, help="file to write the page to; by default it is printed")
    parsed = parser.parse_args(arguments)
    page = figure_table([load_machine(name) for name in machine_names()])
    if parsed.out is None:
        sys.stdout.write(page)
    else:
        parsed.out.write_text(page, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
