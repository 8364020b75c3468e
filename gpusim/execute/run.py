"""Executes a launch of a kernel, CTA after CTA, and says where it goes wrong."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpusim.arrays import IntArray
from gpusim.compiled.choice import Engine, engine_of
from gpusim.errors import CheckFailed, GpusimError, Unsupported
from gpusim.execute.core import constants as core
from gpusim.execute.core import cta
from gpusim.execute.core.source import CTA
from gpusim.execute.image import Image
from gpusim.execute.kernel_source import KernelSource
from gpusim.execute.launch import (
    KernelLaunch,
    constant_bank,
    function_at,
    module_banks,
    special_words,
    stack_of,
    unknown_words,
)
from gpusim.execute.rows import SPECIAL_ROW, rows_of, words_of
from gpusim.execute.rows_arithmetic import ARITHMETIC_ROWS
from gpusim.execute.rows_control import CONTROL_ROWS
from gpusim.execute.rows_memory import MEMORY_ROWS
from gpusim.execute.slices import slice_of
from gpusim.lower.sass.cubin import Cubin
from gpusim.lower.sass.decode import Sass
from gpusim.lower.sass.operands import Register
from gpusim.lower.stream import INSTRUCTION_BYTES
from gpusim.units import WARP_SIZE

TURN = 1 << 14
"""Instructions after which another warp has its turn, so that a warp can wait for a flag that another one sets."""

LONGEST_CTA = 1 << 28
"""Warp instructions after which a CTA is said to spin, unless a launch has a limit of its own."""

STEPS_AT_ONCE, ACCESSES_AT_ONCE = 1 << 16, 1 << 14
"""Room of a trace before it is read."""

LOWEST_PAGE = 4096
"""Addresses below it are those of a null pointer and what it points to."""

ASSERT_TEXTS, ASSERT_LINE = (4, 6, 10), 8
"""Registers of the arguments of __assertfail: its texts (assertion, file, function), and the line."""

SPACE_NAMES = ("global", "shared", "local", "generic", "constant")
MAKERS = ARITHMETIC_ROWS | CONTROL_ROWS | MEMORY_ROWS


@dataclass(frozen=True, slots=True)
class ExecutedSteps:
    """
    What a part of a CTA's trace holds.

    Attributes:
        cta: Linear number of the CTA.
        steps: Number of the instruction of each step.
        lanes: Mask of the lanes that executed it.
        warps: Warp that executed it.
        accesses: Step of each row of addresses.
        addresses: Byte address of each lane, shape [accesses, 32].
        lowest: Lowest address of the lanes that execute.
        hashes: Hash of these lanes' addresses, relative to the line of the lowest one.
    """

    cta: int
    steps: IntArray
    lanes: IntArray
    warps: IntArray
    accesses: IntArray
    addresses: IntArray
    lowest: IntArray
    hashes: IntArray

    @property
    def arrays(self) -> tuple[IntArray, ...]:
        """The arrays, in the order of the attributes."""
        return self.steps, self.lanes, self.warps, self.accesses, self.addresses, self.lowest, self.hashes


def executor() -> Engine:
    """
    Return the execution of the executor's core to use.

    Raises:
        BadInput: ``GPUSIM_ENGINE`` names no execution, or the compiled core, which is not built.
        CannotRun: The compiled core is requested, but it is not built.
    """
    return engine_of(CTA, cta)


class KernelExecution:
    """
    A kernel that is executed with some arguments.

    Attributes:
        cubin: The kernel.
        launch: Grid and block.
        image: Global memory, which the kernel changes.
        source: Source lines of its instructions.
        code: Decoded instructions of the kernel; None for instructions that cannot be decoded.
        slice: What is executed; None if everything is.
        executed: Warp instructions executed so far.
    """

    def __init__(
        self,
        cubin: Cubin,
        launch: KernelLaunch,
        arguments: Sequence[bytes],
        image: Image,
        *,
        keeps: bool = False,
        sliced: bool = False,
        source: KernelSource | None = None,
        limit: int | None = None,
    ) -> None:
        """
        Prepare the launch.

        Args:
            cubin: The kernel.
            launch: Grid and block.
            arguments: The bytes of each argument, in the order of the signature.
            image: Global memory.
            keeps: Steps and addresses are kept, and ``run`` yields them.
            sliced: Only what reaches an address, a predicate or a branch is executed; other results are wrong.
            source: Source lines, which errors name.
            limit: Warp instructions of the launch after which ``run`` ends it; None for ``LONGEST_CTA`` of each CTA.

        Raises:
            BadInput: The arguments are not those of the kernel's signature.
        """
        self.cubin, self.launch, self.image, self.keeps, self.limit = cubin, launch, image, keeps, limit
        module_at = None if image.module is None else image.module.address
        banks = {0: constant_bank(cubin, launch, arguments), **module_banks(cubin, module_at)}
        words = words_of(banks, unknown_words(cubin, loaded=module_at is not None))
        self.rows, self.code, self.refused = rows_of(cubin.code, cubin.architecture, words, MAKERS)
        self.slice = slice_of(self.rows) if sliced else None
        self.source = source or KernelSource()
        self.executed = 0
        self._build(words.words)

    def _build(self, words: Sequence[int]) -> None:
        """Build the CTA that executes all CTAs, one after the other."""
        launch, warps, module = self.launch, self.launch.warps, executor().module
        size = warps * core.FILE_WORDS
        file = np.zeros(size + len(words) * WARP_SIZE, dtype=np.uint32)
        file[size:] = np.repeat(np.array(words, dtype=np.uint32), WARP_SIZE)
        self._registers = file[:size].reshape(warps, -1, WARP_SIZE)
        self._registers[:, SPECIAL_ROW:] = special_words(launch)
        predicates = np.zeros(warps * core.PREDICATE_ROWS, dtype=np.uint32)
        self._state = np.zeros(warps * core.STATE_WORDS, dtype=np.int64)
        stack = stack_of(self.cubin)
        shared = np.zeros(max(self.cubin.shared_bytes + launch.shared_bytes, 1), dtype=np.uint8)
        local = np.zeros(warps * WARP_SIZE * stack, dtype=np.uint8)
        memory = module.CtaMemory(self.image.contents, self.image.table, shared, local, stack)
        memory.take(np.zeros(2 * WARP_SIZE, dtype=np.int64))
        self._steps = np.zeros(STEPS_AT_ONCE if self.keeps else 1, dtype=np.int64)
        self._warps = np.zeros_like(self._steps)
        self._accesses = np.zeros((ACCESSES_AT_ONCE if self.keeps else 3, core.ADDRESS_ROW), dtype=np.int64)
        scratch = np.zeros(core.SCRATCH_WORDS + core.MATRIX_WORDS, dtype=np.uint32)
        self._cta = module.Cta(
            module.WarpRegisters(self.rows if self.slice is None else self.slice.rows, file, predicates, scratch),
            memory,
            module.Convergence(self._state),
            module.Trace(self._steps, self._warps, self._accesses.reshape(-1), keeps=self.keeps),
            np.zeros(3 * core.BARRIERS, dtype=np.int64),
            instructions=len(self.rows) // core.ROW,
            warps=warps,
        )

    def run(self) -> Iterator[ExecutedSteps]:
        """
        Execute all CTAs in the order of their numbers; yield what each executed, piece by piece, if that is kept.

        Raises:
            Unsupported: An instruction that is reached is not executed.
            CheckFailed: An access is out of bounds or misaligned, warps wait for ever, or the limit is reached.
        """
        warps = self.launch.ctas * self.launch.warps
        if self.limit is not None and warps > self.limit:
            raise CheckFailed(
                f"{self.cubin.kernel}: the launch has {warps} warps, and may execute {self.limit} warp instructions"
            )
        for number in range(self.launch.ctas):
            yield from self.run_cta(number)

    def run_cta(self, number: int) -> Iterator[ExecutedSteps]:
        """Execute one CTA; see ``run``."""
        one = self._cta
        one.begin(self.launch.threads, self.cubin.registers, *self.launch.ctaid(number))
        most = LONGEST_CTA if self.limit is None else self.limit - self.executed
        turn = min(TURN, max(most // self.launch.warps, 1))
        while True:
            state = one.run(turn)
            if one.t.count and state != core.RUNNING:
                yield self._read(number, one.t)
                one.t.empty()
            if state == core.EXITED:
                self.executed += one.t.total
                return
            if state not in (core.RUNNING, core.TRACE_FULL):
                raise self._failure(number, one, state)
            if one.t.total >= most:
                raise self._endless(number, one)

    def _read(self, number: int, trace: Any) -> ExecutedSteps:
        steps = self._steps[: trace.count]
        rows = self._accesses[: trace.rows].copy()
        lanes = steps & core.ALL
        return ExecutedSteps(
            number,
            steps >> core.STEP_LANES,
            lanes,
            self._warps[: trace.count].copy(),
            rows[:, core.ADDRESS_OF_STEP],
            rows[:, core.ADDRESS_LANES :],
            rows[:, core.ADDRESS_LOWEST],
            rows[:, core.ADDRESS_HASH],
        )

    def _endless(self, number: int, one: Any) -> CheckFailed:
        where, at = f"CTA {self.launch.ctaid(number)}", f"warp {one.warp} is at {self._text(self._at(one.warp))}"
        if self.limit is None:
            said = f"{where} has executed {one.t.total} warp instructions without an end"
            at += ", and waits for ever if it waits for another CTA"
        else:
            said = f"the launch has executed {self.executed + one.t.total} warp instructions, its limit is {self.limit}"
            at = f"{where}, {at}"
        return CheckFailed(f"{self.cubin.kernel}: {said}; {at}")

    def _failure(self, number: int, one: Any, state: int) -> GpusimError:
        where = f"{self.cubin.kernel}: CTA {self.launch.ctaid(number)}, warp {one.warp}"
        if state == core.STANDSTILL:
            waiting = [
                warp
                for warp in range(self.launch.warps)
                if self._state[warp * core.STATE_WORDS + core.STATE] == core.AT_BARRIER
            ]
            numbers = sorted({int(self._state[warp * core.STATE_WORDS + core.AWAITED]) for warp in waiting})
            # A warp that waits is behind its barrier.
            places = sorted({self._at(warp) - 1 for warp in waiting})
            return CheckFailed(
                f"{self.cubin.kernel}: CTA {self.launch.ctaid(number)}: warps {', '.join(map(str, waiting))} wait for"
                f" ever at barrier {', '.join(map(str, numbers))} in {', '.join(map(self._text, places))}"
            )
        text = self._text(one.at)
        if one.fault == core.REFUSED_INSTRUCTION:
            return self._refusal(where, one)
        if one.fault in (core.OUT_OF_BOUNDS, core.MISALIGNED):
            memory = one.m
            what = "out of bounds" if one.fault == core.OUT_OF_BOUNDS else "misaligned"
            thread = one.warp * WARP_SIZE + memory.fault_lane
            return CheckFailed(
                f"{where}, thread {thread}: {what}: {SPACE_NAMES[memory.fault_space]} address {memory.fault_address:#x}"
                f"{self._near(memory)} in {text}"
            )
        return CheckFailed(f"{where}: {FAULTS.get(one.fault, 'stopped')} at {text}")

    def _refusal(self, where: str, one: Any) -> GpusimError:
        """Return what is said of an instruction that is not executed: a trap, a call out of the kernel, or another."""
        text, sass = self._text(one.at), self.code[one.at]
        if sass is not None and sass.name == "BPT":
            return CheckFailed(f"{where}: __trap() at {text}")
        target = sass.operands.get("a") if sass is not None and sass.name == "CALL" else None
        if isinstance(target, Register):
            lane = (one.r.mask & -one.r.mask).bit_length() - 1
            called = function_at(self.cubin, self._pair(one.warp, target.number, lane))
            if called == "__assertfail":
                message, file, function = (self.image.text_at(self._pair(one.warp, at, lane)) for at in ASSERT_TEXTS)
                line = int(self._registers[one.warp, ASSERT_LINE, lane])
                said = f"{file}:{line}: {function}: assertion `{message}` failed"
                return CheckFailed(f"{where}, thread {one.warp * WARP_SIZE + lane}: {said} at {text}")
            if called:
                return Unsupported(f"{where}: a call of {called} is not executed, at {text}")
        return Unsupported(f"{where}: {self.refused.get(one.at, text)}")

    def _pair(self, warp: int, number: int, lane: int) -> int:
        """Return the 64 bits of a lane's register pair."""
        low, high = (int(word) for word in self._registers[warp, number : number + 2, lane])
        return low | high << 32

    def _at(self, warp: int) -> int:
        return int(self._state[warp * core.STATE_WORDS + core.AT])

    def _near(self, memory: Any) -> str:
        if memory.fault_space == core.LOCAL_SPACE:
            return f", beyond the thread's stack of {memory.stack} bytes"
        if memory.fault_space != core.GLOBAL_SPACE:
            return ""
        if 0 <= memory.fault_address < LOWEST_PAGE:
            return ", a null pointer"
        owner = self.image.owner(memory.fault_address)
        if owner is None:
            return ", below every array"
        beyond = memory.fault_address - owner.address
        return f", byte {beyond} of {owner.name}, which has {owner.size}"

    def _text(self, at: int) -> str:
        sass: Sass | None = self.code[at] if 0 <= at < len(self.code) else None
        return f"text {f'{at * INSTRUCTION_BYTES:#06x}' if sass is None else sass}{self._place(at)}"

    def _place(self, at: int) -> str:
        place = self.source.trail(at * INSTRUCTION_BYTES)
        return f" ({place})" if place else ""


FAULTS = {
    core.NEVER_CONVERGES: "the warp's lanes never converge",
    core.LEFT_THE_CODE: "the path leaves the kernel's code",
    core.TOO_MANY_GROUPS: "the warp's lanes diverge into too many groups",
}
