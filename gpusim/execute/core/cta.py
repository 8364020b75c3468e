"""
Executes the warps of a CTA: each until it waits at a barrier, exits, or has had its turn, then the next.

State: registers, memory, convergence and trace of the CTA; the warps that have arrived at each of its barriers, and how
many are expected. A barrier without a count expects all warps that have not exited.
"""

from typing import TYPE_CHECKING

from gpusim.execute.core.atomics import atomic
from gpusim.execute.core.constants import (
    ACTIVE,
    ALIVE,
    AT,
    AT_BARRIER,
    AT_NUMBERED,
    ATOMIC,
    AWAITED,
    BARRIER_RESULT,
    BARRIERS,
    BRANCH,
    BRANCH_INDEXED,
    CLEAR_CONVERGENCE,
    CONVERGE,
    CONVERGENCE,
    COPY,
    CTAID_ROW,
    D_HIGH,
    EXIT_LANES,
    EXITED,
    FAULT,
    FORM,
    FORM_2,
    FORM_3,
    FORM_4,
    FROM_A,
    FROM_B,
    GROUP,
    GUARD,
    INSTRUCTION_BITS,
    IS_UNIFORM,
    KIND,
    LEAVE_CONVERGENCE,
    LEFT_THE_CODE,
    LOAD,
    LOAD_CONSTANT,
    LOAD_MATRIX,
    MATCH,
    MEET_BARRIER,
    MEETING,
    NAMED_LANES,
    NO_FAULT,
    READ_CLOCK,
    READ_CONVERGENCE,
    REDUCTION,
    REFUSED,
    REFUSED_INSTRUCTION,
    ROW,
    RUNNING,
    RZ_ROW,
    SET_CONVERGENCE,
    STANDSTILL,
    STATE,
    STATE_WORDS,
    STORE_WORDS,
    SYNCHRONIZE,
    TARGET,
    TRACE_FULL,
    UNREDUCED,
    WRITE_CONVERGENCE,
    YIELD,
    A,
    D,
    P,
    X,
)
from gpusim.execute.core.convergence import Convergence, branch, converge, leave, meet, put_off, rotate, separate, start
from gpusim.execute.core.doubles import double_operation
from gpusim.execute.core.floats import float_operation
from gpusim.execute.core.halves import half_operation
from gpusim.execute.core.integers import integer_operation
from gpusim.execute.core.lanes import lane_operation
from gpusim.execute.core.matrices import matrix_operation
from gpusim.execute.core.memory import CtaMemory, clear_shared, copy, load, load_constant, load_matrix, store_lanes
from gpusim.execute.core.registers import WarpRegisters, fill, place_of, reset, set_predicate, store, store_high, tested
from gpusim.execute.core.trace import Trace, full, note, note_addresses
from gpusim.execute.core.words import integers_of, low32, low64, signed32, signed64
from gpusim.units import WARP_SIZE

if TYPE_CHECKING:
    from gpusim.arrays import IntArray


class Cta:
    """
    A CTA that executes.

    Attributes:
        warp: The warp that executes, or that ended the last run.
        at: The instruction that a fault is of.
        fault: What went wrong outside of memory.
    """

    def __init__(
        self,
        registers: WarpRegisters,
        memory: CtaMemory,
        convergence: Convergence,
        trace: Trace,
        barriers: "IntArray",
        *,
        instructions: int,
        warps: int,
    ) -> None:
        """
        Take the parts of a CTA.

        Args:
            registers, memory, convergence, trace: The parts.
            barriers: Three integers for each barrier: warps that arrived and do not wait, expected warps, and the
                reduction so far.
            instructions: Instructions of the kernel.
            warps: Warps of the CTA.
        """
        self.r, self.m, self.c, self.t = registers, memory, convergence, trace
        self.held = barriers
        self.barriers = integers_of(barriers)
        self.instructions, self.warps = instructions, warps
        self.warp, self.at, self.fault = 0, 0, NO_FAULT

    def begin(self, threads: int, registers: int, x: int, y: int, z: int) -> None:
        """
        Put all warps to the kernel's first instruction, with zeros in registers and shared memory.

        Args:
            threads: Threads of the CTA.
            registers: Registers of a thread.
            x, y, z: blockIdx.
        """
        clear_shared(self.m)
        for warp in range(self.warps):
            self.c.choose(warp)
            self.r.choose(warp)
            start(self.c, signed64((low64(1) << min(WARP_SIZE, threads - warp * WARP_SIZE)) - 1))
            reset(self.r, registers)
            fill(self.r, CTAID_ROW, x)
            fill(self.r, CTAID_ROW + 1, y)
            fill(self.r, CTAID_ROW + 2, z)
        for number in range(BARRIERS):
            place = 3 * number
            self.barriers[place], self.barriers[place + 1], self.barriers[place + 2] = 0, 0, UNREDUCED
        self.warp, self.t.total = 0, 0

    def run(self, turn: int) -> int:
        """
        Give each warp that can go on its turn, and release the barriers that are complete then.

        Args:
            turn: Instructions after which another warp has its turn.

        Returns:
            EXITED if all warps have, RUNNING if some can go on, or why none does: FAULT, TRACE_FULL (go on when the
            trace was read), STANDSTILL (all warps wait at barriers that are never complete).
        """
        for _ in range(self.warps):
            state = self.c.state[self.warp * STATE_WORDS + STATE]
            if state == RUNNING:
                state = run_warp(self, turn)
                if state == FAULT or state == TRACE_FULL:
                    return state
            self.warp = (self.warp + 1) % self.warps
        release(self)
        return RUNNING if released(self) else finished(self)


def finished(x: Cta) -> int:
    """Return EXITED, or STANDSTILL if some warp waits."""
    for warp in range(x.warps):
        if x.c.state[warp * STATE_WORDS + STATE] != EXITED:
            return STANDSTILL
    return EXITED


def released(x: Cta) -> int:
    """Return whether some warp can go on."""
    for warp in range(x.warps):
        if x.c.state[warp * STATE_WORDS + STATE] == RUNNING:
            return 1
    return 0


def release(x: Cta) -> None:
    """Let the warps go on that wait at a barrier at which all expected ones have arrived."""
    living = 0
    for warp in range(x.warps):
        living += x.c.state[warp * STATE_WORDS + STATE] != EXITED
    for number in range(BARRIERS):
        place = 3 * number
        arrived = x.barriers[place]
        for warp in range(x.warps):
            first = warp * STATE_WORDS
            arrived += x.c.state[first + STATE] == AT_BARRIER and x.c.state[first + AWAITED] == number
        expected = x.barriers[place + 1] if x.barriers[place + 1] else living
        if arrived and arrived >= expected:
            for warp in range(x.warps):
                first = warp * STATE_WORDS
                if x.c.state[first + STATE] == AT_BARRIER and x.c.state[first + AWAITED] == number:
                    x.c.state[first + STATE] = RUNNING
                    x.c.state[first + REDUCTION] = x.barriers[place + 2]
            x.barriers[place], x.barriers[place + 2] = 0, UNREDUCED


def run_warp(x: Cta, turn: int) -> int:
    """Execute a warp for its turn; return its state, or TRACE_FULL."""
    r, m, c, t = x.r, x.m, x.c, x.t
    r.choose(x.warp)
    c.choose(x.warp)
    m.warp = x.warp
    first = c.first
    at = c.state[first + AT]
    for _ in range(turn):
        if full(t):
            c.state[first + AT] = at
            return TRACE_FULL
        if at < 0 or at >= x.instructions:
            return stop(x, at, LEFT_THE_CODE)
        row = at * ROW
        r.mask = c.state[first + ACTIVE] & tested(r, row, GUARD)
        note(t, at, r.mask, x.warp)
        kind = r.code[row + KIND]
        if kind >> GROUP == 0:
            came = at
            at = control(x, at, row, kind)
            if c.fault != NO_FAULT:
                return stop(x, came, c.fault)
            if c.state[first + STATE] != RUNNING:
                c.state[first + AT] = at
                return c.state[first + STATE]
            if x.fault != NO_FAULT:
                return stop(x, at, x.fault)
        else:
            if r.mask:
                operate(x, row, kind)
                if m.fault != NO_FAULT:
                    return stop(x, at, m.fault)
            at += 1
    if c.state[first + MEETING] and spins(x, at):
        separate(c)
    c.state[first + AT] = rotate(c, at)
    return RUNNING


def spins(x: Cta, at: int) -> int:
    """Return whether an instruction's loop may wait for other lanes: it has an atomic, a strong load or a YIELD."""
    code = x.r.code
    for last in range(at, x.instructions):
        first = code[last * ROW + TARGET]
        if code[last * ROW + KIND] == BRANCH and first <= at:
            for number in range(max(first, 0), last):
                row = number * ROW
                kind = code[row + KIND]
                if kind == ATOMIC or kind == YIELD or (kind == LOAD and code[row + FORM_4]):
                    return 1
            return 0
    return 0


def stop(x: Cta, at: int, fault: int) -> int:
    """Note a fault and its instruction."""
    x.at, x.fault = at, fault
    return FAULT


def operate(x: Cta, row: int, kind: int) -> None:
    """Execute an instruction that leads to the next one."""
    group = kind >> GROUP
    if group == 1:
        integer_operation(x.r, row, kind)
    elif group == 2:
        float_operation(x.r, row, kind)
    elif group == 3:
        if kind < 96 + 5:
            half_operation(x.r, row, kind)
        else:
            double_operation(x.r, row, kind)
    elif group == 4:
        if kind < 128 + 5:
            lane_operation(x.r, row, kind)
            if kind == MATCH:
                # Each distinct value takes a pass: the trace has the values as addresses.
                for lane in range(WARP_SIZE):
                    x.m.addresses[lane] = signed64(x.r.s[A + lane])
                note_addresses(x.t, x.m, 0)
        else:
            matrix_operation(x.r, row, kind)
    else:
        access(x, row, kind)


def access(x: Cta, row: int, kind: int) -> None:
    """Execute an access to memory, and write its addresses to the trace."""
    if kind == LOAD:
        load(x.m, x.r, row)
    elif kind == STORE_WORDS:
        store_lanes(x.m, x.r, row)
    elif kind == ATOMIC:
        atomic(x.m, x.r, row)
    elif kind == LOAD_CONSTANT:
        load_constant(x.m, x.r, row)
    elif kind == LOAD_MATRIX:
        load_matrix(x.m, x.r, row)
    elif kind == COPY:
        copy(x.m, x.r, row)
    noted = kind != LOAD_CONSTANT or (x.r.code[row + FROM_A] != RZ_ROW and not x.r.code[row + IS_UNIFORM])
    if noted and x.m.fault == NO_FAULT:
        note_addresses(x.t, x.m, kind == COPY)


def control(x: Cta, at: int, row: int, kind: int) -> int:
    """Execute an instruction that determines the next one, or that the warp waits at; return the next one."""
    r, c = x.r, x.c
    if not r.mask:
        return at + 1
    if kind == BRANCH:
        return taken_branch(x, at, row)
    if kind == EXIT_LANES:
        lanes = r.mask & tested(r, row, X)
        return leave(c, at, lanes) if lanes else at + 1
    if kind == SET_CONVERGENCE:
        c.state[c.first + CONVERGENCE + r.code[row + FORM]] = c.state[c.first + ACTIVE]
    elif kind == LEAVE_CONVERGENCE:
        place = c.first + CONVERGENCE + r.code[row + FORM]
        c.state[place] = c.state[place] & ~(r.mask & tested(r, row, X))
    elif kind == CONVERGE:
        return converge(c, at, r.code[row + FORM])
    elif kind == SYNCHRONIZE:
        named = signed64(r.file[place_of(r, r.code[row + FROM_B]) + first_lane(r)])
        return meet(c, at, NAMED_LANES, r.mask, named)
    elif kind == MEET_BARRIER:
        return arrive(x, at, row)
    elif kind == READ_CLOCK:
        read_clock(x, row)
    elif kind == BRANCH_INDEXED:
        return indexed_branch(x, at, row)
    elif kind == REFUSED:
        x.fault = REFUSED_INSTRUCTION
        return at
    else:
        convergence_word(x, row, kind)
    return at + 1


def first_lane(r: WarpRegisters) -> int:
    """Return the first lane that executes."""
    lane = 0
    while not r.mask >> lane & 1:
        lane += 1
    return lane


def taken_branch(x: Cta, at: int, row: int) -> int:
    """BRA. FORM: 1 taken only by a converged warp (.CONV), 2 only by a diverged one (.DIV)."""
    r, c = x.r, x.c
    taken = r.mask & tested(r, row, X)
    if r.code[row + FORM]:
        whole = c.state[c.first + ALIVE] & ~c.state[c.first + ACTIVE] == 0
        if whole != (r.code[row + FORM] == 1):
            taken = 0
    return branch(c, at, r.code[row + TARGET], taken)


def indexed_branch(x: Cta, at: int, row: int) -> int:
    """BRX, RET: the lanes whose register leads to the first lane's target go there; the others wait for their turn."""
    r, c = x.r, x.c
    place = place_of(r, r.code[row + FROM_A])
    word, lanes = r.file[place + first_lane(r)], 0
    for lane in range(WARP_SIZE):
        if r.mask >> lane & 1 and r.file[place + lane] == word:
            lanes |= 1 << lane
    others = c.state[c.first + ACTIVE] & ~lanes & signed64(low32(-1))
    if others & r.mask:
        put_off(c, at, others & r.mask)
    if others & ~r.mask:
        put_off(c, at + 1, others & ~r.mask)
    c.state[c.first + ACTIVE] = c.state[c.first + ACTIVE] & ~others
    return r.code[row + TARGET] + (signed32(word) >> INSTRUCTION_BITS)


def convergence_word(x: Cta, row: int, kind: int) -> None:
    """BMOV between a register and a convergence barrier; B2R.RESULT, what a reducing barrier found."""
    r, c = x.r, x.c
    place = c.first + CONVERGENCE + r.code[row + FORM]
    if kind == WRITE_CONVERGENCE:
        c.state[place] = signed64(r.file[place_of(r, r.code[row + FROM_B]) + first_lane(r)])
        return
    word = low32(0)
    if kind == READ_CONVERGENCE or kind == CLEAR_CONVERGENCE:
        word = low32(c.state[place])
        if kind == CLEAR_CONVERGENCE:
            c.state[place] = 0
    elif kind == BARRIER_RESULT:
        word = low32(c.state[c.first + REDUCTION])
        set_predicate(r, r.code[row + P], -1 if word else 0, 0)
    else:
        return
    for lane in range(WARP_SIZE):
        r.s[D + lane] = word
    store(r, row)


def read_clock(x: Cta, row: int) -> None:
    """S2R, CS2R of a clock: the warp instructions that the CTA has executed, or from bit FORM on."""
    r, value = x.r, low64(x.t.total) >> x.r.code[row + FORM]
    for lane in range(WARP_SIZE):
        r.s[D + lane], r.s[D_HIGH + lane] = low32(value), low32(value >> 32)
    store(r, row)
    store_high(r, row)


def arrive(x: Cta, at: int, row: int) -> int:
    """
    BAR: arrive at a barrier, and wait unless FORM_3 is 1 (.ARV); return what follows.

    FORM: its number. FORM_2: threads that are expected, 0 for all. FORM_3: 2, 3, 4 reduce x over all threads: POPC,
    AND, OR. FORM_4: bit 0, the number is in register B; bit 1, the count is in register A, in its bits 16 to 27 where
    both are in registers.
    """
    r, c = x.r, x.c
    number, expected, mode, held = r.code[row + FORM], r.code[row + FORM_2], r.code[row + FORM_3], r.code[row + FORM_4]
    if held & 1:
        number = signed64(r.file[place_of(r, r.code[row + FROM_B]) + first_lane(r)] & (BARRIERS - 1))
    if held & 2:
        expected = signed64(r.file[place_of(r, r.code[row + FROM_A]) + first_lane(r)])
        expected = (expected >> 16 if held & 1 else expected) & 0xFFF
    place = 3 * number
    if mode >= 2:
        lanes, before = r.mask & tested(r, row, X), x.barriers[place + 2]
        first = before == UNREDUCED
        if mode == 2:
            some = 0
            for lane in range(WARP_SIZE):
                some += lanes >> lane & 1
            x.barriers[place + 2] = some if first else before + some
        elif mode == 3:
            x.barriers[place + 2] = (lanes == r.mask) if first else before & (lanes == r.mask)
        else:
            x.barriers[place + 2] = (lanes != 0) if first else before | (lanes != 0)
    x.barriers[place + 1] = (expected + WARP_SIZE - 1) // WARP_SIZE
    if held:
        x.m.addresses[0], x.m.addresses[1] = number, x.barriers[place + 1]
        note_addresses(x.t, x.m, 0)
    if mode != 1:
        return meet(c, at, AT_NUMBERED + number, r.mask, 0)
    x.barriers[place] += 1
    return at + 1
