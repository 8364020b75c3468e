"""``gpusim addresses``: prints an address stream of one CTA, or the events of one thread."""

import re
from collections.abc import Mapping

from gpusim.commands.options.addresses import AddressesOptions
from gpusim.commands.output import print_json, print_text, right_aligned
from gpusim.commands.scenario_source import read_any_scenario, scenario_text
from gpusim.errors import BadInput
from gpusim.families.registry import family_of
from gpusim.schedule.addresses import AddressStream, CtaId, Selection
from gpusim.schedule.events import Events

EVENTS = "events"

_RANGE = re.compile(r"([0-9]{1,9})(?:-([0-9]{1,9}))?")
_INDEX = re.compile(r"[0-9]{1,10}")
_MOST_INDICES = 1 << 22


def print_addresses(options: AddressesOptions) -> None:
    """
    Print a stream as a table of integers, or one thread's events.

    Raises:
        BadInput: The scenario, the stream, the CTA, the thread or a range is wrong, the stream is missing, or an option
            does not apply to it.
    """
    file, name = options.file, options.stream
    if options.cutlass is not None and name is None:
        file, name = None, file
    text, threads, k_tiles = scenario_text(file, options.cutlass), options.threads, options.k_tiles
    if name is None:
        raise BadInput("addresses needs a STREAM (see `gpusim addresses --help`)")
    scenario = read_any_scenario(text, options.overrides)
    streams, place = family_of(scenario).streams, parse_ctaid(options.ctaid)
    selection = Selection(threads=parse_indices("--threads", threads), k_tiles=parse_indices("--k-tiles", k_tiles))
    if name == EVENTS:
        for option, given in (("--threads", threads), ("--k-tiles", k_tiles)):
            if given is not None:
                raise BadInput(f"{option} must be left out for events, which are those of one --thread")
        lines = streams.events(scenario, place, options.thread or 0)
        if options.as_json:
            print_json(lines, indent=None)
        else:
            print_text(
                "\n".join([*_header(lines, streams.event_fields()), *(" ".join(map(str, event)) for event in lines)])
            )
        return
    if options.thread is not None:
        raise BadInput(f"--thread must be left out for {name}, which --threads narrows")
    table = streams.stream(scenario, name, place, selection)
    if options.as_json:
        print_json({"columns": list(table.columns), "rows": table.rows.tolist()}, indent=None)
    else:
        print_text(_aligned(table))


def _header(lines: Events, fields: Mapping[str, tuple[str, ...]]) -> list[str]:
    """Return a comment about each kind of event, in the order in which the kinds first occur."""
    words = dict.fromkeys(str(event[0]) for event in lines)
    return [f"# {word}" + (f": {', '.join(fields[word])}" if fields.get(word) else "") for word in words]


def parse_ctaid(text: str) -> CtaId:
    """
    Parse a blockIdx ``x,y,z``. Trailing indices that are left out are 0.

    Raises:
        BadInput: The text is no list of one to three numbers.
    """
    parts = text.split(",")
    if not 1 <= len(parts) <= 3 or not all(_INDEX.fullmatch(part.strip()) for part in parts):
        raise BadInput(f"--ctaid must be X,Y,Z with numbers from 0, got {text!r}")
    x, y, z = (*(int(part) for part in parts), 0, 0)[:3]
    return x, y, z


def parse_indices(option: str, text: str | None) -> frozenset[int] | None:
    """
    Parse a list of numbers and ranges, such as ``0-31,64``. None stands for all numbers.

    Raises:
        BadInput: The text is no such list, a range is descending, or a number is too large.
    """
    if text is None:
        return None
    indices: set[int] = set()
    for part in text.split(","):
        match = _RANGE.fullmatch(part.strip())
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
        if not first <= last < _MOST_INDICES:
            raise BadInput(f"{option} must list numbers and ranges below {_MOST_INDICES}, like 0-31,64, got {text!r}")
        indices.update(range(first, last + 1))
    return frozenset(indices)


def _aligned(table: AddressStream) -> str:
    return "\n".join(right_aligned([table.columns, *(list(map(str, row)) for row in table.rows.tolist())]))
