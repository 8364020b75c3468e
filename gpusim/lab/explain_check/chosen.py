"""
Chooses the records for the check by rules that name none: development records, by digest and by one key.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Final, NamedTuple

from gpusim.records.halves import held_out_names, shown_records
from gpusim.records.record import Record, load_record, measured_folder
from gpusim.results.result import ELAPSED
from gpusim.verbs.compare import flattened

BOUNDS: Final = 40
"""Number of records whose bound is compared."""

PAIR_KEYS: Final[Mapping[str, tuple[str, ...]]] = {
    "swizzle": ("kernel.shared.a", "kernel.shared.b"),
    "stages": ("kernel.stages",),
    "iterator": ("kernel.iterator",),
    "split-K": ("problem.split_k_slices", "problem.split_k"),
}
"""Difference of a pair of records, with the keys that may differ; all other keys are equal."""


SAME_WITHIN: Final = 1.0
"""Gains below this many points, either way, count as none: their signs agree."""


WITHOUT_TIME: Final = ("s4", "u4")
"""Operand types whose mma.sync the assembler emulates on the GPU: no time is simulated (D27)."""

LARGEST_RECORD: Final = 20_000_000
"""Most warp instructions of a record: the limit of exact simulation when the records were first chosen."""


class RecordPair(NamedTuple):
    """Two records that differ in one thing."""

    what: str
    before: Record
    after: Record


def development_records(gpu: str) -> list[Record]:
    """
    Return the development records that can be compared: they have counters, and are not too large.

    Held-out files are not opened.
    """
    held_out = held_out_names()
    paths: Sequence[Path] = [path for path in shown_records(measured_folder() / gpu) if path.stem not in held_out]
    records = [load_record(path) for path in paths]
    return [one for one in records if ELAPSED in one.counters and _has_time(one)]


def _has_time(record: Record) -> bool:
    instructions = record.counters.get("smsp__inst_executed.sum", float("inf"))
    return instructions <= LARGEST_RECORD and record.scenario["problem"]["dtype"]["ab"] not in WITHOUT_TIME


def for_bounds(records: Sequence[Record]) -> list[Record]:
    """Return the records whose bound is compared: those with the least SHA-256 of their names."""
    return sorted(records, key=lambda one: hashlib.sha256(one.name.encode()).hexdigest())[:BOUNDS]


def pairs(records: Sequence[Record]) -> Iterator[RecordPair]:
    """
    Yield every pair of records that differ in one thing.

    The first of a pair has fewer stages or slices, the analytic iterator, or the layout whose name is first in the
    alphabet.
    """
    flat = {record.name: flattened(record.scenario) for record in records}
    for one, other in combinations(sorted(records, key=lambda record: record.name), 2):
        keys = flat[one.name].keys() | flat[other.name].keys()
        differing = {key for key in keys if flat[one.name].get(key) != flat[other.name].get(key)}
        for what, allowed in PAIR_KEYS.items():
            if differing and differing <= set(allowed):
                order = [tuple(str(flat[side.name].get(key, "")).rjust(24) for key in allowed) for side in (one, other)]
                yield RecordPair(what, one, other) if order[0] <= order[1] else RecordPair(what, other, one)
