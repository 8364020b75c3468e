"""``python -m gpusim.lab.tables.figure_table``: the figures of all machines by kind, each with its source."""

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from gpusim.lab.tables.markdown_page import put_page, table_row
from gpusim.machine.figure import FIGURE_KINDS, FigureRecord, printed_value
from gpusim.machine.load import load_machine, machine_names
from gpusim.machine.spec import Machine

MOST_FITTED = 5
"""Most fitted figures of a machine."""


def figure_table(machines: Sequence[Machine]) -> str:
    """Return the page: the number of figures of each kind for every machine, and all figures by name."""
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
    yield table_row("machine", *FIGURE_KINDS, "all")
    yield "|---|" + "---:|" * (len(FIGURE_KINDS) + 1)
    for machine in machines:
        yield table_row(machine.name, *map(str, machine.figure_counts().values()), str(len(machine.figures)))
    for machine in machines:
        for kind in FIGURE_KINDS:
            own = [record for record in machine.figures if record.kind == kind]
            if own:
                yield from ("", f"## {machine.name}, {kind}", "")
                yield from _figures(machine, own)


def _figures(machine: Machine, records: Sequence[FigureRecord]) -> Iterator[str]:
    yield table_row("figure", "value", "source", "fitted on, why")
    yield "|---|---:|---|---|"
    for record in records:
        source = ", ".join(text for text in (machine.sources.get(record.source, ""), record.at) if text)
        why = "; ".join(text for text in (", ".join(record.fitted_on), record.why) if text)
        yield table_row(f"`{record.key}`", f"{printed_value(record.value)} {record.unit}", source, why)


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the page, or print it."""
    parser = argparse.ArgumentParser(prog="python -m gpusim.lab.tables.figure_table", description=__doc__)
    parser.add_argument("--out", type=Path, help="file to write the page to; by default it is printed")
    parsed = parser.parse_args(arguments)
    page = figure_table([load_machine(name) for name in machine_names()])
    put_page(page, parsed.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
