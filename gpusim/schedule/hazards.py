"""The hazards that the op order of a program shows, without data or addresses, each with its name and a message."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Literal, Self, TypeAlias

from gpusim.schedule.ops import (
    CopyAsync,
    FragmentLoad,
    Ldmatrix,
    LoadFragment,
    LoadGlobal,
    LoadShared,
    Op,
    StoreShared,
    StoreTile,
    WarpMma,
)
from gpusim.schedule.shared_events import SharedEvents, Slot, shared_events
from gpusim.tile.operand import Side

HazardName: TypeAlias = Literal[
    "read_before_group_complete",
    "never_waited",
    "read_before_barrier",
    "overwrite_while_read",
    "overwrite_in_flight",
    "slot_holds_other_tile",
    "unfilled_slot",
    "fragment_overwritten",
    "fragment_holds_other_tile",
    "unordered_accesses",
]

NOT_APPLICABLE = -1


@dataclass(frozen=True, slots=True)
class Hazard:
    """
    One race, reported once per (name, k tile, k group, operand, stage), at the first op that has it.

    Attributes:
        name: Kind of race.
        message: One sentence for the user.
        k_tile: k tile that is read or overwritten; -1 in the epilogue.
        k_group: k group of the read; -1 for a whole stage.
        operand: "a" or "b"; "accumulator" for the epilogue's staging; in attention q, k, v, p or a row statistic.
        stage: Stage of the ring; in the epilogue, the step.
        op_index: Index into ``Program.ops()`` of the misplaced op.
    """

    name: HazardName
    message: str
    k_tile: int
    k_group: int
    operand: str
    stage: int
    op_index: int


def find_hazards(ops: Sequence[Op], writes_per_fill: Mapping[Side, int]) -> tuple[Hazard, ...]:
    """
    Return every hazard of a program, in op order.

    All warps execute the ops, in any interleaving that happens-before allows (``happens_before``): a copy lands at any
    time between its issue and the first wait_group that covers its commit group, a store of the threadblock fragment at
    once; warps are ordered by barriers alone. An access that needs another's data must happen after it. Accesses that
    share a byte, of which one is a write, must be ordered, one way or the other. Fragments that no WarpMma consumes do
    not count as reads.

    Args:
        ops: Ops of any program, shipped or mutated.
        writes_per_fill: Copies (or stores) that one thread issues to fill one stage, per operand.

    Not modelled: the bytes of a stage that a copy or a fragment touches (every ldmatrix depends on the whole stage),
    and predicated-off copies (each counts as a write).
    """
    uses = _Uses.of(ops)
    races = uses.events.races()
    found = [
        *_reads(uses, writes_per_fill),
        *_overwrites(uses, races),
        *_copies_on_copies(uses, races),
        *_threadblock_fragments(ops, uses),
        *_staging(uses, races),
    ]
    first: dict[tuple[object, ...], Hazard] = {}
    for hazard in sorted(found, key=lambda hazard: hazard.op_index):
        first.setdefault((hazard.name, hazard.k_tile, hazard.k_group, hazard.operand, hazard.stage), hazard)
    return tuple(first.values())


@dataclass(frozen=True, slots=True)
class _Uses:
    """
    The uses of shared memory by a sequence of ops.

    Attributes:
        ops: The ops.
        events: Their accesses, and the order of these.
        consumed: (k tile, k group) of every WarpMma.
        copies: (op index, copy or store) of each slot, ascending.
        reads: (op index, read) of the consumed fragment loads of each slot, ascending.
    """

    ops: Sequence[Op]
    events: SharedEvents
    consumed: frozenset[tuple[int, int]]
    copies: dict[Slot, list[tuple[int, CopyAsync | StoreTile]]] = field(default_factory=lambda: defaultdict(list))
    reads: dict[Slot, list[tuple[int, FragmentLoad]]] = field(default_factory=lambda: defaultdict(list))

    @classmethod
    def of(cls, ops: Sequence[Op]) -> Self:
        consumed = frozenset((op.k_tile, op.k_group) for op in ops if isinstance(op, WarpMma))
        uses = cls(ops, shared_events(ops, consumed), consumed)
        for index, op in enumerate(ops):
            if isinstance(op, CopyAsync | StoreTile):
                uses.copies[op.operand, op.stage].append((index, op))
            elif isinstance(op, Ldmatrix | LoadFragment) and (op.k_tile, op.k_group) in consumed:
                uses.reads[op.operand, op.stage].append((index, op))
        return uses


def _read_hazard(name: HazardName, read: FragmentLoad, op_index: int, cause: str) -> Hazard:
    message = (
        f"fragment load of operand {read.operand}, k tile {read.k_tile}, k group {read.k_group}"
        f" reads stage {read.stage} at op {op_index}: {cause}"
    )
    return Hazard(name, message, read.k_tile, read.k_group, read.operand, read.stage, op_index)


def _reads(uses: _Uses, writes_per_fill: Mapping[Side, int]) -> Iterator[Hazard]:
    """Yield fragment loads whose slot does not hold the k tile completely filled, landed and visible."""
    landed = uses.events.landed
    filled: list[tuple[int, int, FragmentLoad]] = []
    for slot, reads in uses.reads.items():
        copies = uses.copies[slot]
        fills: dict[int, list[int]] = defaultdict(list)
        for index, copy in copies:
            fills[copy.fetch].append(index)
        latest = {fetch: fill[int(landed[fill].argmax())] for fetch, fill in fills.items()}
        for index, read in reads:
            issued, copied = bisect_left(copies, index, key=itemgetter(0)), len(fills.get(read.k_tile, ()))
            if not issued:
                yield _read_hazard("unfilled_slot", read, index, "no copy has written the slot")
            elif (holder := copies[issued - 1][1].fetch) != read.k_tile:
                yield _read_hazard("slot_holds_other_tile", read, index, f"k tile {holder} was last copied into it")
            elif copied < writes_per_fill[read.operand]:
                cause = f"{copied} of the {writes_per_fill[read.operand]} copies of its k tile are in the program"
                yield _read_hazard("unfilled_slot", read, index, cause)
            else:
                filled.append((latest[read.k_tile], index, read))
    ordered = uses.events.precedes([at for at, _, _ in filled], [index for _, index, _ in filled])
    for (at, index, read), after_the_copy in zip(filled, ordered.tolist(), strict=True):
        if not after_the_copy:
            yield _read_too_early(uses, at, index, read)


def _read_too_early(uses: _Uses, copy: int, index: int, read: FragmentLoad) -> Hazard:
    """Return the hazard of a fragment load that does not happen after a copy of its k tile, by op index."""
    landed = int(uses.events.landed[copy])
    if landed == len(uses.ops):
        return _read_hazard("never_waited", read, index, "no wait_group ever covers its copies")
    if landed > index:
        cause = f"the first wait_group that covers its copies is op {landed}"
        return _read_hazard("read_before_group_complete", read, index, cause)
    what = "its wait" if isinstance(uses.ops[copy], CopyAsync) else "its last store"
    return _read_hazard("read_before_barrier", read, index, f"no barrier follows {what} at op {landed}")


def _overwrites(uses: _Uses, races: Sequence[tuple[int, int]]) -> Iterator[Hazard]:
    """Yield copies into a slot whose old k tile some warp may still read, before or after the copy in program order."""
    victims = dict(_replaced_tiles(uses))
    for pair in races:
        for index, read_index in (pair, pair[::-1]):
            copy, read = uses.ops[index], uses.ops[read_index]
            if isinstance(copy, CopyAsync | StoreTile) and isinstance(read, Ldmatrix | LoadFragment):
                victims[index, read_index] = copy, read
    for (index, read_index), (copy, read) in sorted(victims.items(), key=itemgetter(0)):
        if read.k_tile == copy.fetch:
            continue
        word = "copy" if isinstance(copy, CopyAsync) else "store"
        cause = "no barrier separates the two" if read_index < index else "it comes later"
        message = (
            f"{word} of operand {copy.operand}, k tile {copy.fetch} into stage {copy.stage} at op {index}"
            f" may land before the read of k tile {read.k_tile}, k group {read.k_group} at op {read_index}: {cause}"
        )
        yield Hazard("overwrite_while_read", message, read.k_tile, read.k_group, copy.operand, copy.stage, index)


def _replaced_tiles(uses: _Uses) -> Iterator[tuple[tuple[int, int], tuple[CopyAsync | StoreTile, FragmentLoad]]]:
    """Yield each copy with the next read of its slot, and their op indices, if that read needs an older k tile."""
    for slot, copies in uses.copies.items():
        reads = uses.reads[slot]
        filled: set[int] = set()
        for index, copy in copies:
            position = bisect_left(reads, index, key=itemgetter(0))
            if position < len(reads) and reads[position][1].k_tile in filled:
                yield (index, reads[position][0]), (copy, reads[position][1])
            filled.add(copy.fetch)


def _copies_on_copies(uses: _Uses, races: Sequence[tuple[int, int]]) -> Iterator[Hazard]:
    """Yield copies of a consumed k tile to addresses at which an earlier copy of the same thread may still land."""
    consumed_tiles = {k_tile for k_tile, _ in uses.consumed}
    for before, index in races:
        previous, copy = uses.ops[before], uses.ops[index]
        if not (isinstance(previous, CopyAsync) and isinstance(copy, CopyAsync) and copy.fetch in consumed_tiles):
            continue
        message = (
            f"copy of operand {copy.operand}, k tile {copy.fetch} into stage {copy.stage} at op {index}:"
            f" the copy of k tile {previous.fetch} at op {before} may still land on it"
        )
        yield Hazard("overwrite_in_flight", message, copy.fetch, NOT_APPLICABLE, copy.operand, copy.stage, index)


def _threadblock_fragments(ops: Sequence[Op], uses: _Uses) -> Iterator[Hazard]:
    """Yield threadblock-fragment registers that are reloaded before they are stored, or stored as another k tile."""
    consumed_tiles = {k_tile for k_tile, _ in uses.consumed}
    vecs = {op.operand: op.vec + 1 for op in ops if isinstance(op, LoadGlobal)}
    holds: dict[tuple[Side, int, int], int] = {}
    unstored: dict[tuple[Side, int, int], int] = {}
    for index, op in enumerate(ops):
        if isinstance(op, LoadGlobal):
            registers = op.operand, op.access, op.vec
            lost = unstored.get(registers)
            if lost in consumed_tiles:
                message = (
                    f"load of operand {op.operand}, k tile {op.fetch}, access {op.access} at op {index} overwrites the"
                    f" registers of k tile {lost}, which were not stored"
                )
                yield Hazard(
                    "fragment_overwritten", message, op.fetch, NOT_APPLICABLE, op.operand, NOT_APPLICABLE, index
                )
            holds[registers] = unstored[registers] = op.fetch
        elif isinstance(op, StoreTile):
            for vec in range(vecs.get(op.operand, 1)):
                registers = op.operand, op.access, vec
                held = holds.get(registers)
                unstored.pop(registers, None)
                if op.fetch in consumed_tiles and held != op.fetch:
                    what = "nothing" if held is None else f"k tile {held}"
                    message = (
                        f"store of operand {op.operand}, k tile {op.fetch} into stage {op.stage} at op {index}:"
                        f" its registers hold {what}"
                    )
                    yield Hazard(
                        "fragment_holds_other_tile", message, op.fetch, NOT_APPLICABLE, op.operand, op.stage, index
                    )


def _staging(uses: _Uses, races: Sequence[tuple[int, int]]) -> Iterator[Hazard]:
    """
    Yield hazards of the accumulators' staging, which overwrites the mainloop's stages and, at each step, itself.

    A race with the mainloop is reported at the first store that has it.
    """
    yield from _staged_loads(uses)
    with_mainloop: set[HazardName] = set()
    for pair in sorted(races, key=max):
        for index, other in (pair, pair[::-1]):
            store, rival = uses.ops[index], uses.ops[other]
            if not isinstance(store, StoreShared):
                continue
            if isinstance(rival, LoadShared) and other < index:
                cause = f"step {rival.step} may still be read at op {other}: no barrier separates the two"
                yield _staging_hazard("overwrite_while_read", store.step, index, cause)
            elif isinstance(rival, Ldmatrix | LoadFragment) and "overwrite_while_read" not in with_mainloop:
                with_mainloop.add("overwrite_while_read")
                cause = f"the mainloop may still read at op {other}: no barrier separates the two"
                yield _staging_hazard("overwrite_while_read", store.step, index, cause)
            elif isinstance(rival, CopyAsync | StoreTile) and "overwrite_in_flight" not in with_mainloop:
                with_mainloop.add("overwrite_in_flight")
                cause = "no wait_group and barrier ensure that the mainloop's copies have landed"
                yield _staging_hazard("overwrite_in_flight", store.step, index, cause)


def _staged_loads(uses: _Uses) -> Iterator[Hazard]:
    """Yield loads of accumulators that do not happen after the stores of their step."""
    stored: tuple[int, int] | None = None
    stores: list[tuple[int, int, int]] = []
    for index, op in enumerate(uses.ops):
        if isinstance(op, StoreShared):
            stored = index, op.step
        elif isinstance(op, LoadShared):
            if stored is None:
                yield _staging_hazard("unfilled_slot", op.step, index, "nothing was stored")
            elif stored[1] != op.step:
                yield _staging_hazard("slot_holds_other_tile", op.step, index, f"step {stored[1]} was last stored")
            else:
                stores.append((stored[0], index, op.step))
    ordered = uses.events.precedes([store for store, _, _ in stores], [index for _, index, _ in stores])
    for (store, index, step), after_the_store in zip(stores, ordered.tolist(), strict=True):
        if not after_the_store:
            yield _staging_hazard("read_before_barrier", step, index, f"no barrier since op {store}")


def _staging_hazard(name: HazardName, step: int, op_index: int, cause: str) -> Hazard:
    message = f"epilogue step {step}, shared access at op {op_index}: {cause}"
    return Hazard(name, message, NOT_APPLICABLE, NOT_APPLICABLE, "accumulator", step, op_index)
