"""Cuts the path of one warp into the segments of a stream: prologue, mainloop, tail, epilogue."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from gpusim.errors import CheckFailed
from gpusim.lower.aligned import MMA_OPCODES, AlignedKernel, ExecutedWarp, OpPart
from gpusim.lower.control_field import instruction_of
from gpusim.lower.estimated import tensor_pipe
from gpusim.lower.runner import KernelRunner, mainloop_span
from gpusim.lower.sass.decode import Sass
from gpusim.lower.sass.operands import PT
from gpusim.lower.sass.pipes import unit_of
from gpusim.lower.sass.repeat import ExecutedInstruction
from gpusim.lower.stream import Instruction, Segment, shifted
from gpusim.lower.stream_file import Line
from gpusim.schedule.ops import Barrier, CopyAsync, WarpMma


@dataclass(frozen=True, slots=True)
class _Executed:
    """One executed instruction, the op that it executes, and whether it is the warp's last one."""

    sass: Sass
    step: ExecutedInstruction
    named: OpPart | None
    last: bool


@dataclass(frozen=True, slots=True)
class _Trip:
    """One executed trip of the mainloop, and its first k tile."""

    code: list[_Executed]
    k_tile: int


class Segments:
    """
    Cuts a warp's path into segments: prologue, mainloop, tail, epilogue.

    Each run of equal trips of the loop is a mainloop segment. A kernel without MMAs is one segment.
    """

    def __init__(
        self, runner: KernelRunner, block: int, executed: ExecutedWarp, named: Sequence[OpPart | None]
    ) -> None:
        self._runner, self._block, self._scheduled, self._skipped = runner, block, executed.scheduled, executed.skipped
        last = executed.steps[-1]
        self._executed = [
            _Executed(runner.code[step.at], step, name, step is last)
            for step, name in zip(executed.steps, named, strict=True)
        ]
        mma = runner.kernel.mma
        self._tensor_pipe = "" if mma is None else tensor_pipe(mma)

    def __iter__(self) -> Iterator[tuple[Segment, tuple[Line, ...]]]:
        executed, kernel = self._executed, self._runner.kernel
        if kernel.mma is None:
            yield self._segment("epilogue", executed)
            return
        starts = self._loop_trips()
        barriers = [
            at for at, one in enumerate(executed) if one.named is not None and isinstance(one.named.op, Barrier)
        ]
        yield self._segment("prologue", executed[: starts[0]])
        trips = self._trips(starts)
        while trips:
            alike = self._alike(trips)
            first, tiles = trips[0], self._tiles(trips[0].code)
            yield self._segment("mainloop", first.code, self._times(trips, alike, tiles), tiles)
            trips = trips[alike:]
        # A pipelined mainloop has no tail: its last barrier lies in the last k tile.
        before = _barriers(self._scheduled) - _barriers(kernel.epilogue_steps(self._block))
        epilogue = max(barriers[before - 1] + 1, starts[-1])
        yield self._segment("tail", executed[starts[-1] : epilogue])
        yield self._segment("epilogue", executed[epilogue:])

    def _loop_trips(self) -> list[int]:
        """
        Return the positions in the path at which trips of the mainloop begin, followed by the end of the last trip.

        A path without MMAs has no trip. The only position returned lies after its last copy or fragment load, and
        separates prologue and tail.

        Raises:
            CheckFailed: MMAs were executed, but no executed loop contains them.
        """
        executed, span = self._executed, mainloop_span(self._runner.code)
        if span is not None:
            head, tail = span
            visits = [at for at, one in enumerate(executed) if one.step.at == head]
            if visits:
                end = visits[-1]
                while end < len(executed) and head <= executed[end].step.at <= tail:
                    end += 1
                return [*visits, end]
        if any(one.sass.name in MMA_OPCODES for one in executed):
            raise CheckFailed(
                f"{self._runner.name}: no backward branch holds the MMAs, so the mainloop cannot be identified"
            )
        copies = [at + 1 for at, one in enumerate(executed) if one.sass.name in ("LDGSTS", "LDSM")]
        return [copies[-1] if copies else 0]

    def _trips(self, starts: Sequence[int]) -> list[_Trip]:
        """
        Return the trips that were executed, with the k tile at which each begins.

        Raises:
            CheckFailed: Trips were skipped somewhere other than between two trips, or a neighbouring trip does not
                execute the ops of its own k tiles.
        """
        trips, k_tile = [], 0
        if not set(self._skipped) <= set(starts):
            raise CheckFailed(f"{self._runner.name}: skipped trips lie outside the mainloop")
        for begin, end in pairwise(starts):
            k_tile += self._skipped.get(begin, 0)
            trip = _Trip(self._executed[begin:end], k_tile)
            trips.append(trip)
            k_tile += self._tiles(trip.code)
            if end in self._skipped:
                self._check_own(trip, k_tile)
        return trips

    def _check_own(self, trip: _Trip, end: int) -> None:
        """Check that a trip before skipped trips executes only the ops of its own k tiles."""
        repetition = self._runner.kernel.repetition(self._block)
        tiles = repetition.k_tiles[trip.k_tile : end] if repetition else ()
        own = {step for steps in tiles for step in steps}
        if not own.issuperset(one.named.op for one in trip.code if one.named is not None):
            raise CheckFailed(f"{self._runner.name}: trips of the mainloop overlap k tiles")

    def _tiles(self, trip: list[_Executed]) -> int:
        """Return the number of k tiles that one trip consumes."""
        per_tile = self._runner.mmas_per_tile
        mmas = sum(one.named is not None and isinstance(one.named.op, WarpMma) for one in trip)
        if mmas % per_tile:
            raise CheckFailed(f"{self._runner.name}: a trip of the mainloop has {mmas} MMAs, a k tile {per_tile}")
        return mmas // per_tile

    def _alike(self, trips: list[_Trip]) -> int:
        """Return how many leading trips execute the same instructions, with ops that advance by one trip's k tiles."""
        first, stages = trips[0], self._runner.kernel.lanes().operands["a"].tiling.stages
        for number, trip in enumerate(trips):
            same = len(trip.code) == len(first.code) and all(
                one.step.at == other.step.at and _moved(other.named, trip.k_tile - first.k_tile, stages) == one.named
                for one, other in zip(trip.code, first.code, strict=True)
            )
            if not same:
                return number
        return len(trips)

    def _times(self, trips: list[_Trip], alike: int, tiles: int) -> int:
        """
        Return how often the first trip repeats: ``alike`` executed trips, and the skipped trips between them.

        Raises:
            CheckFailed: The trips before the skipped ones equal it, but the trip after them does not.
        """
        last = trips[alike - 1]
        if alike < len(trips) and trips[alike].k_tile != last.k_tile + tiles:
            raise CheckFailed(f"{self._runner.name}: the trips of the mainloop do not repeat")
        return (last.k_tile - trips[0].k_tile) // tiles + 1 if tiles else alike

    def _segment(
        self, name: str, executed: list[_Executed], trips: int = 1, tiles: int = 0
    ) -> tuple[Segment, tuple[Line, ...]]:
        """Return a segment of executed instructions with its lines of the listing."""
        code = tuple(map(self._instruction, executed))
        lines = tuple(Line(one.sass.address, one.sass.text) for one in executed)
        return Segment(name, code, trips, tiles), lines  # type: ignore[arg-type]

    def _instruction(self, executed: _Executed) -> Instruction:
        return executed_instruction(
            executed.sass, executed.named, self._runner.kernel, self._tensor_pipe, last=executed.last
        )


def executed_instruction(
    sass: Sass, named: OpPart | None, kernel: AlignedKernel[Any], tensor_pipe: str, *, last: bool
) -> Instruction:
    """
    Return an executed instruction as one of a stream.

    Args:
        sass: The instruction.
        named: The op that it executes, or None.
        kernel: Schedule of the kernel.
        tensor_pipe: Key in the machine's ``tensor`` table of the kernel's mma.sync; "" without one.
        last: Whether it is the warp's last one.
    """
    unit, pipe = unit_of(sass, scheduled=named is not None)
    if sass.name in MMA_OPCODES:
        pipe = tensor_pipe
    elif last:
        unit, pipe = "exit", ""
    if named is None:
        return instruction_of(sass, unit, pipe, guard=_guard(sass, None))
    guard = _guard(sass, kernel.lanes().op(named.op))
    return instruction_of(sass, unit, pipe, guard=guard, op=named.op, part=named.part)


def _barriers(steps: Sequence[Any]) -> int:
    return sum(isinstance(op, Barrier) for op in steps)


def _moved(named: OpPart | None, k_tiles: int, stages: int) -> OpPart | None:
    return None if named is None else OpPart(shifted(named.op, k_tiles, stages), named.part)


def _guard(sass: Sass, op: Any) -> str:
    if isinstance(op, CopyAsync):
        return "zero-fill" if op.zfill else "predicate"
    return "" if sass.guard.number == PT else "predicate"
