"""Cuts the paths of CTAs through attention's machine code into parts: before the key loop, its trips, and the rest."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from gpusim.errors import CheckFailed
from gpusim.families.attention.lower.parts import BARE, MASKED, OWN, WHOLE, PartKind, loop_of, moved, trip_kinds
from gpusim.families.attention.lower.stream import key_block_trips
from gpusim.families.attention.tile.blocks import KeyBlock
from gpusim.lower.aligned import MMA_OPCODES, ExecutedWarp, OpPart
from gpusim.lower.estimated import tensor_pipe
from gpusim.lower.runner import KernelRunner
from gpusim.lower.sass.decode import Sass
from gpusim.lower.sass.operands import CodeAddress
from gpusim.lower.sass.repeat import Loop
from gpusim.lower.segments import executed_instruction
from gpusim.lower.stream import Instruction, Segment, Stream
from gpusim.lower.stream_file import CompiledStream, Line

SKIPPED_FROM = 8
"""Number of trips of one loop from which repeating trips are skipped."""


@dataclass(frozen=True, slots=True)
class PathPart:
    """
    A part of a path.

    Attributes:
        segment: The instructions, executed once. The part's own key block has the number ``OWN``.
        lines: The instructions' lines of a listing.
    """

    segment: Segment
    lines: tuple[Line, ...]


def key_loops(code: Sequence[Sass]) -> dict[int, int]:
    """Return the last index of each outermost loop (backward branch) that contains MMAs, by its first index."""
    index = {sass.address: at for at, sass in enumerate(code)}
    mmas = [at for at, sass in enumerate(code) if sass.name in MMA_OPCODES]
    spans = []
    for at, sass in enumerate(code):
        target = sass.operands.get("t")
        if sass.name == "BRA" and isinstance(target, CodeAddress) and target.address < sass.address:
            head = index[target.address]
            if any(head <= mma <= at for mma in mmas):
                spans.append((head, at))
    loops: dict[int, int] = {}
    head, end = -1, -1
    for begin, stop in sorted(spans):
        head = begin if begin > end else head
        end = max(end, stop)
        loops[head] = end
    return loops


class _Path:
    """
    The path of one CTA, aligned with its schedule.

    Attributes:
        executed: Instructions that the CTA's first warp executed.
        trips: Key block of the trip that each scheduled step belongs to, or -1.
        named: The step of each executed instruction.
    """

    def __init__(self, runner: KernelRunner, block: int, loop: Loop | None, walked: Sequence[KeyBlock] | None) -> None:
        path = runner.run(block, 0, loop)
        steps = () if walked is None else runner.kernel.steps(block)
        walked = walked or ()
        whole = next((number for number, one in enumerate(walked) if loop_of(one) == WHOLE), 0)
        skipped = {walked[whole + trip].number for skip in path.skips for trip in skip.trips}
        self.trips = {
            step: trip for step, trip in zip(steps, key_block_trips(steps), strict=True) if trip not in skipped
        }
        kept = [step for step in steps if step in self.trips]
        self._runner, self._tensor_pipe = runner, "" if runner.kernel.mma is None else tensor_pipe(runner.kernel.mma)
        self.executed = ExecutedWarp(path.steps, kept, {skip.at: len(skip.trips) for skip in path.skips})
        self.named: list[OpPart | None] = runner.align(block, 0, self.executed)
        self.blocks = [one for one in walked if one.number not in skipped]

    def begins(self, loops: dict[int, int]) -> list[int]:
        """
        Return the positions at which the trips of the executed key blocks begin.

        A trip begins at the begin of its loop. A loop of one trip is not compiled as a loop: such a trip begins with
        its first step.

        Raises:
            CheckFailed: The loops begin more or less often.
        """
        visits = [at for at, step in enumerate(self.executed.steps) if step.at in loops]
        count = {kind: sum(loop_of(one) == kind for one in self.blocks) for kind in (MASKED, WHOLE)}
        for straight in ((), (MASKED,), (WHOLE,), (MASKED, WHOLE)):
            if len(visits) + sum(count[kind] for kind in straight) == len(self.blocks):
                looped = iter(visits)
                return [self._steps_of(one)[0] if loop_of(one) in straight else next(looped) for one in self.blocks]
        raise CheckFailed(
            f"{self._runner.name}: the CTA has {len(self.blocks)} key blocks, and the loops that hold its MMAs begin"
            f" {len(visits)} times"
        )

    def end(self, begin: int, loops: dict[int, int]) -> int:
        """Return the position after the last trip: the exit of its loop, or the position after its last step."""
        steps = self.executed.steps
        head = steps[begin].at
        if head not in loops:
            return self._steps_of(self.blocks[-1])[-1] + 1
        end = begin
        while end < len(steps) and head <= steps[end].at <= loops[head]:
            end += 1
        return end

    def _steps_of(self, block: KeyBlock) -> list[int]:
        """Return the positions of the steps of a key block's trip."""
        return [at for at, one in enumerate(self.named) if one is not None and self.trips[one.op] == block.number]

    def check_own(self, block: KeyBlock, begin: int, end: int) -> None:
        """
        Check that a trip executes only steps of its own key block, and copies of the next key block.

        Raises:
            CheckFailed: It executes other steps.
        """
        found = {self.trips[one.op] for one in self.named[begin:end] if one is not None}
        if found != {block.number}:
            raise CheckFailed(
                f"{self._runner.name}: the trip of key block {block.number} executes steps of {sorted(found)}"
            )

    def part(self, name: Literal["prologue", "mainloop", "epilogue"], begin: int, end: int, number: int) -> PathPart:
        """Return an interval of the path as a part of a key block."""
        code, kernel, steps = self._runner.code, self._runner.kernel, self.executed.steps
        instructions: list[Instruction] = []
        for at in range(begin, end):
            one, last = self.named[at], at + 1 == len(steps)
            if one is not None:
                one = OpPart(moved(one.op, OWN - number), one.part)
            instructions.append(executed_instruction(code[steps[at].at], one, kernel, self._tensor_pipe, last=last))
        lines = tuple(Line(code[step.at].address, code[step.at].text) for step in steps[begin:end])
        addresses = tuple(line.address for line in lines)
        return PathPart(Segment(name, tuple(instructions), addresses=addresses), lines)


class Cutter:
    """
    Learns the parts of one compiled kernel from paths of its CTAs.

    Attributes:
        parts: The parts that are known, by kind.
    """

    def __init__(self, runner: KernelRunner, depth: int) -> None:
        """
        Read a kernel.

        Args:
            runner: Emulates the kernel.
            depth: K extent of the second GEMM's tiles.
        """
        self.parts: dict[PartKind, PathPart] = {}
        self._runner, self._depth, self._loops = runner, depth, key_loops(runner.code)
        self._head_of_whole = -1

    def learn(self, block: int, walked: Sequence[KeyBlock] | None) -> None:
        """
        Execute a CTA, align it with its schedule, and keep the parts of its path.

        Repeating trips are skipped. If the path then does not align, every trip is executed.

        Args:
            block: Linear block index.
            walked: The CTA's key blocks in the order of the walk; None for a CTA without queries.

        Raises:
            BadInput: An instruction is not known.
            CheckFailed: The CTA does not execute its schedule, or its path has other parts than its key blocks.
        """
        if walked is None:
            path = _Path(self._runner, block, None, None)
            self._keep(BARE, path.part("prologue", 0, len(path.executed.steps), OWN))
            return
        loop = self._whole_loop(walked)
        try:
            self._cut(_Path(self._runner, block, loop, walked), walked)
        except CheckFailed:
            if loop is None:
                raise
            # What does not repeat is executed in full, and refused if that differs, too.
            self._cut(_Path(self._runner, block, None, walked), walked)

    def _whole_loop(self, walked: Sequence[KeyBlock]) -> Loop | None:
        """Return the loop of whole key blocks if it is known and long enough to skip repeating trips."""
        trips = sum(loop_of(one) == WHOLE for one in walked)
        head = next(iter(self._loops)) if len(self._loops) == 1 else self._head_of_whole
        return Loop(head, trips, 1) if head >= 0 and trips >= SKIPPED_FROM else None

    def _cut(self, path: _Path, walked: Sequence[KeyBlock]) -> None:
        before, *trips, after = trip_kinds(walked, self._depth)
        kinds = dict(zip((one.number for one in walked), trips, strict=True))
        begins = path.begins(self._loops)
        end = path.end(begins[-1], self._loops) if begins else 0
        first, last = (walked[0].number, walked[-1].number) if walked else (OWN, OWN)
        self._keep(before, path.part("prologue", 0, begins[0] if begins else 0, first))
        for one, (begin, stop) in zip(path.blocks, pairwise([*begins, end]), strict=True):
            path.check_own(one, begin, stop)
            if loop_of(one) == WHOLE and path.executed.steps[begin].at in self._loops:
                self._head_of_whole = path.executed.steps[begin].at
            self._keep(kinds[one.number], path.part("mainloop", begin, stop, one.number))
        self._keep(after, path.part("epilogue", end, len(path.executed.steps), last))

    def _keep(self, kind: PartKind, part: PathPart) -> None:
        """Keep a part; a trip's part must be equal in all CTAs."""
        known = self.parts.setdefault(kind, part)
        if kind[0] == "block" and known != part:
            raise CheckFailed(f"{self._runner.name}: two trips of kind {kind} execute different instructions")

    def compiled(self, compiler: str) -> CompiledStream:
        """Return all different parts as the segments of one stream, with the kinds of each."""
        numbers: dict[PathPart, int] = {}
        variants = [(kind, numbers.setdefault(part, len(numbers))) for kind, part in self.parts.items()]
        cubin = self._runner.cubin
        return CompiledStream(
            stream=Stream("compiled", cubin.registers, tuple(part.segment for part in numbers)),
            listing=tuple(part.lines for part in numbers),
            compiler=compiler,
            architecture=cubin.architecture,
            local_bytes=cubin.local_bytes,
            code_bytes=cubin.code_bytes,
            variants=tuple(variants),
        )
