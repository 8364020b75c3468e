"""A static check of the op order of a program for races, without data or addresses."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Literal, Self, TypeAlias

from gpusim.schedule.ops import (
    Barrier,
    CommitGroup,
    CopyAsync,
    FragmentLoad,
    Ldmatrix,
    LoadFragment,
    LoadGlobal,
    LoadShared,
    Op,
    StoreShared,
    StoreTile,
    WaitGroup,
    WarpMma,
)
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
        operand: "a" or "b"; "accumulator" for the epilogue's staging.
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

    Warps run freely between barriers, so two ops of different warps are ordered only if a barrier lies between them. A
    copy lands at any time between its issue and the first wait_group that covers its commit group. A store of the
    threadblock fragment lands at once. Landed data is visible to other warps after the next barrier. Fragments that no
    WarpMma consumes do not count as reads.

    Args:
        ops: Ops of any program, shipped or mutated.
        writes_per_fill: Copies (or stores) that one thread issues to fill one stage, per operand.

    Not modelled: the bytes of a stage that a copy or a fragment touches (every ldmatrix depends on the whole stage),
    and predicated-off copies (each counts as a write).
    """
    order = _Order.of(ops)
    found = [
        *_reads(order, writes_per_fill),
        *_overwrites(order),
        *_copies_on_copies(order),
        *_threadblock_fragments(ops, order),
        *_epilogue(ops, order),
    ]
    first: dict[tuple[object, ...], Hazard] = {}
    for hazard in sorted(found, key=lambda hazard: hazard.op_index):
        first.setdefault((hazard.name, hazard.k_tile, hazard.k_group, hazard.operand, hazard.stage), hazard)
    return tuple(first.values())


Slot: TypeAlias = tuple[Side, int]


@dataclass(frozen=True, slots=True)
class _Order:
    """
    The order in time that a sequence of ops guarantees.

    Attributes:
        end: Number of ops.
        consumed: (k tile, k group) of every WarpMma.
        barriers: Op indices of the barriers, ascending.
        landed: For each copy, by op index, the op index of the first wait that covers it, or ``end`` if none does; for
            a store, its own op index.
        copies: (op index, copy or store) of each slot, ascending.
        reads: (op index, read) of the consumed fragment loads of each slot, ascending.
    """

    end: int
    consumed: frozenset[tuple[int, int]]
    barriers: list[int] = field(default_factory=list)
    landed: dict[int, int] = field(default_factory=dict)
    copies: dict[Slot, list[tuple[int, CopyAsync | StoreTile]]] = field(default_factory=lambda: defaultdict(list))
    reads: dict[Slot, list[tuple[int, FragmentLoad]]] = field(default_factory=lambda: defaultdict(list))

    @classmethod
    def of(cls, ops: Sequence[Op]) -> Self:
        order = cls(len(ops), frozenset((op.k_tile, op.k_group) for op in ops if isinstance(op, WarpMma)))
        groups: list[list[int]] = []
        open_group: list[int] = []
        complete = 0
        for index, op in enumerate(ops):
            match op:
                case CopyAsync():
                    open_group.append(index)
                    order.landed[index] = order.end
                    order.copies[op.operand, op.stage].append((index, op))
                case StoreTile():
                    order.landed[index] = index
                    order.copies[op.operand, op.stage].append((index, op))
                case CommitGroup():
                    groups.append(open_group)
                    open_group = []
                case WaitGroup(pending):
                    while complete < len(groups) - pending:
                        order.landed.update(dict.fromkeys(groups[complete], index))
                        complete += 1
                case Barrier():
                    order.barriers.append(index)
                case Ldmatrix() | LoadFragment() if (op.k_tile, op.k_group) in order.consumed:
                    order.reads[op.operand, op.stage].append((index, op))
                case _:
                    pass
        return order

    def separated(self, earlier: int, later: int) -> bool:
        """
        Return whether a barrier lies between two ops, so that every warp's ``earlier`` precedes every warp's ``later``.
        """
        position = bisect_left(self.barriers, earlier)
        return position < len(self.barriers) and self.barriers[position] < later


def _read_hazard(name: HazardName, read: FragmentLoad, op_index: int, cause: str) -> Hazard:
    message = (
        f"fragment load of operand {read.operand}, k tile {read.k_tile}, k group {read.k_group}"
        f" reads stage {read.stage} at op {op_index}: {cause}"
    )
    return Hazard(name, message, read.k_tile, read.k_group, read.operand, read.stage, op_index)


def _reads(order: _Order, writes_per_fill: Mapping[Side, int]) -> Iterator[Hazard]:
    """Yield fragment loads whose slot does not hold the k tile completely filled, landed and visible."""
    for slot, reads in order.reads.items():
        copies = order.copies[slot]
        fills: dict[int, list[int]] = defaultdict(list)
        for index, copy in copies:
            fills[copy.fetch].append(index)
        for index, read in reads:
            issued = bisect_left(copies, index, key=itemgetter(0))
            fill = fills[read.k_tile]
            landed = max((order.landed[copy] for copy in fill), default=order.end)
            if not issued:
                yield _read_hazard("unfilled_slot", read, index, "no copy has written the slot")
            elif (holder := copies[issued - 1][1].fetch) != read.k_tile:
                yield _read_hazard("slot_holds_other_tile", read, index, f"k tile {holder} was last copied into it")
            elif len(fill) < writes_per_fill[read.operand]:
                cause = f"{len(fill)} of the {writes_per_fill[read.operand]} copies of its k tile are in the program"
                yield _read_hazard("unfilled_slot", read, index, cause)
            elif landed == order.end:
                yield _read_hazard("never_waited", read, index, "no wait_group ever covers its copies")
            elif landed > index:
                cause = f"the first wait_group that covers its copies is op {landed}"
                yield _read_hazard("read_before_group_complete", read, index, cause)
            elif not order.separated(landed, index):
                what = "its wait" if isinstance(copies[0][1], CopyAsync) else "its last store"
                yield _read_hazard("read_before_barrier", read, index, f"no barrier follows {what} at op {landed}")


def _overwrites(order: _Order) -> Iterator[Hazard]:
    """Yield copies into a slot whose old k tile some warp may still read, before or after the copy in program order."""
    for slot, copies in order.copies.items():
        reads = order.reads[slot]
        filled: set[int] = set()
        for index, copy in copies:
            position = bisect_left(reads, index, key=itemgetter(0))
            victims = []
            if position and not order.separated(reads[position - 1][0], index):
                victims.append((reads[position - 1], "no barrier separates the two"))
            if position < len(reads) and reads[position][1].k_tile in filled:
                victims.append((reads[position], "it comes later"))
            filled.add(copy.fetch)
            for (read_index, read), cause in victims:
                if read.k_tile == copy.fetch:
                    continue
                word = "copy" if isinstance(copy, CopyAsync) else "store"
                message = (
                    f"{word} of operand {copy.operand}, k tile {copy.fetch} into stage {copy.stage} at op {index}"
                    f" may land before the read of k tile {read.k_tile}, k group {read.k_group} at op {read_index}:"
                    f" {cause}"
                )
                yield Hazard(
                    "overwrite_while_read", message, read.k_tile, read.k_group, copy.operand, copy.stage, index
                )


def _copies_on_copies(order: _Order) -> Iterator[Hazard]:
    """Yield copies of a consumed k tile to addresses at which an earlier copy of the same thread may still land."""
    consumed_tiles = {k_tile for k_tile, _ in order.consumed}
    for copies in order.copies.values():
        last: dict[tuple[int, int], tuple[int, CopyAsync]] = {}
        for index, copy in copies:
            if isinstance(copy, StoreTile):
                continue
            previous = last.get((copy.access, copy.vec))
            last[copy.access, copy.vec] = index, copy
            if previous is None or copy.fetch not in consumed_tiles or order.landed[previous[0]] < index:
                continue
            message = (
                f"copy of operand {copy.operand}, k tile {copy.fetch} into stage {copy.stage} at op {index}:"
                f" the copy of k tile {previous[1].fetch} at op {previous[0]} may still land on it"
            )
            yield Hazard("overwrite_in_flight", message, copy.fetch, NOT_APPLICABLE, copy.operand, copy.stage, index)


def _threadblock_fragments(ops: Sequence[Op], order: _Order) -> Iterator[Hazard]:
    """Yield threadblock-fragment registers that are reloaded before they are stored, or stored as another k tile."""
    consumed_tiles = {k_tile for k_tile, _ in order.consumed}
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


def _epilogue(ops: Sequence[Op], order: _Order) -> Iterator[Hazard]:
    """Yield hazards of the accumulators' staging, which overwrites the mainloop's stages and, at each step, itself."""
    stores: list[tuple[int, int]] = []
    loads: list[tuple[int, int]] = []
    for index, op in enumerate(ops):
        match op:
            case StoreShared(step):
                if not stores:
                    yield from _epilogue_entry(order, index, step)
                if loads and not order.separated(loads[-1][0], index):
                    cause = f"step {loads[-1][1]} may still be read at op {loads[-1][0]}: no barrier separates the two"
                    yield _staging_hazard("overwrite_while_read", step, index, cause)
                stores.append((index, step))
            case LoadShared(step):
                if not stores:
                    yield _staging_hazard("unfilled_slot", step, index, "nothing was stored")
                elif stores[-1][1] != step:
                    cause = f"step {stores[-1][1]} was last stored"
                    yield _staging_hazard("slot_holds_other_tile", step, index, cause)
                elif not order.separated(stores[-1][0], index):
                    yield _staging_hazard("read_before_barrier", step, index, f"no barrier since op {stores[-1][0]}")
                loads.append((index, step))
            case _:
                pass


def _staging_hazard(name: HazardName, step: int, op_index: int, cause: str) -> Hazard:
    message = f"epilogue step {step}, shared access at op {op_index}: {cause}"
    return Hazard(name, message, NOT_APPLICABLE, NOT_APPLICABLE, "accumulator", step, op_index)


def _epilogue_entry(order: _Order, index: int, step: int) -> Iterator[Hazard]:
    """Yield hazards between the epilogue's first store and the mainloop's last uses of shared memory."""
    reads = max((slot_reads[-1][0] for slot_reads in order.reads.values() if slot_reads), default=None)
    if reads is not None and not order.separated(reads, index):
        cause = f"the mainloop may still read at op {reads}: no barrier separates the two"
        yield _staging_hazard("overwrite_while_read", step, index, cause)
    landed = max(order.landed.values(), default=None)
    if landed is not None and (landed > index or not order.separated(landed, index)):
        cause = "no wait_group and barrier ensure that the mainloop's copies have landed"
        yield _staging_hazard("overwrite_in_flight", step, index, cause)
