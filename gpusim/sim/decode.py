"""Decodes a kernel's stream for a machine: the ports, latencies, waits and wavefronts that the issue loop reads."""

from collections.abc import Hashable, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import groupby
from typing import Any, Final, TypeAlias

from gpusim.errors import BadInput
from gpusim.lower.estimated_output import SHORTEST_DEPENDENT
from gpusim.lower.stream import INSTRUCTION_BYTES, NO_SCOREBOARD, SEMAPHORE, Instruction, Segment, Stream, of_warp
from gpusim.machine.spec import Machine
from gpusim.schedule import ops
from gpusim.schedule.lanes import Lanes, Shared
from gpusim.sim.code import (
    KINDS,
    OUTPUT,
    TENSOR_CORE,
    THROTTLES,
    Access,
    Assembly,
    Decoded,
    DecodedRole,
    DecodedSegment,
    Noted,
    Wavefronts,
    pipe_names,
)
from gpusim.sim.core.constants import COMMIT, DEPBAR, EXIT, GLOBAL, LDGSTS, PIPE, SHARED
from gpusim.sim.stall_reasons import MIO_THROTTLE
from gpusim.sim.timed_kernel import KernelCode
from gpusim.units import LINE_BYTES, SCOREBOARDS, WARP_SIZE

Known: TypeAlias = dict[tuple[Instruction, int, bool, bool], Decoded]
"""Decoded instructions by the arguments of ``_Decoder.decode``."""


def assemble(stream: Stream, kernel: KernelCode[Any], behaviour: Hashable, known: Known | None = None) -> Assembly:
    """
    Decode the stream of the CTAs of one behaviour.

    Args:
        stream: Stream of the CTA's warps.
        kernel: The kernel's code.
        behaviour: Behaviour of the CTAs.
        known: Instructions without an op, decoded for other behaviours of the kernel; others are added.

    Raises:
        BadInput: The machine file has no figure for a pipe that the stream uses.
    """
    decoder = _Decoder(kernel, behaviour, {} if known is None else known, estimated=stream.origin == "estimated")
    roles, end = [], 0
    for role in decoder.lanes.roles:
        code_of_role, begin = stream.of(role.name), end
        for warps in _alike(role, code_of_role, decoder.lanes):
            segments, end = _segments(decoder, code_of_role, begin, warps[0])
            roles.append(DecodedRole(role.name, segments, len(warps)))
    return Assembly(tuple(roles), stream.parameter_lines)


def _alike(role: ops.Role, code_of_role: Sequence[Segment], lanes: Lanes[Any]) -> list[list[int]]:
    """Return the warps of a role, divided where one executes other instructions than the warp before it."""
    steps = (one.op for segment in code_of_role for one in segment.instructions if one.op is not None)
    divided = [warps for warps in set(map(lanes.warps_of, steps)) if len(warps) < lanes.warps]
    return [list(own) for _, own in groupby(role.warps, lambda warp: [warp in warps for warps in divided])]


def _segments(
    decoder: "_Decoder", code_of_role: Sequence[Segment], end: int, warp: int
) -> tuple[tuple[DecodedSegment, ...], int]:
    """
    Decode the segments of a role for one of its warps; return them, and the instruction-cache line behind them.

    If the addresses of a segment are known, they give its lines. Every other segment begins on a new line; several
    mainloop segments are trips of the same loop, so they share its lines. An instruction that only other warps execute
    still occupies its address: all warps of a role execute the same machine code, and some branch around it.

    Args:
        decoder: The decoder of the stream.
        code_of_role: The segments.
        end: First line behind the code of earlier roles.
        warp: The warp.
    """
    line_bytes = decoder.machine.instruction_cache.line_bytes
    per_line = line_bytes // INSTRUCTION_BYTES
    segments, loop = [], -1
    for segment in code_of_role:
        line = end
        if segment.name == "mainloop":
            loop = line = end if loop < 0 else loop
        addresses = segment.addresses or tuple(
            line * line_bytes + place * INSTRUCTION_BYTES for place in range(len(segment.instructions))
        )
        own = of_warp(replace(segment, addresses=addresses), warp, decoder.lanes)
        code = []
        for position, instruction in enumerate(own.instructions):
            begins = _line_begun(own.addresses, position, line_bytes)
            awaits = decoder.kernel.orders_slices and segment.name == "epilogue" and position == 0
            following = own.instructions[position + 1 : position + 2]
            again = bool(following) and following[0].unit == instruction.unit
            code.append(decoder.decode(instruction, begins, awaits=awaits, again=again))
        end = max(end, line - (-len(segment.instructions) // per_line))
        segments.append(
            DecodedSegment(segment.name, tuple(code), segment.trips, segment.tiles_per_trip, own.instructions)
        )
    return tuple(segments), end


def _line_begun(addresses: Sequence[int], position: int, line_bytes: int) -> int:
    """Return the line of an instruction, or -1 if the instruction executed before it is in the same line."""
    line = addresses[position] // line_bytes
    return -1 if position and addresses[position - 1] // line_bytes == line else line


def wavefronts_of(shared: Shared | None) -> Wavefronts:
    """Return the wavefronts of one shared-memory access, equal in every trip; empty for None."""
    return () if shared is None else (tuple(shared.table.wavefronts[shared.place].tolist()),)


@lru_cache(maxsize=1 << SCOREBOARDS)
def _boards(mask: int) -> tuple[int, ...]:
    """Return the scoreboards of a mask."""
    return tuple(board for board in range(SCOREBOARDS) if mask >> board & 1)


_NO_ACCESS, _NOT_NOTED = Access(), Noted()


_FED_BY_MIO = frozenset({"mufu"})
"""
Pipes whose instructions stall with mio_throttle: special functions (Nsight Compute's guide, MIO throttle).

Samples show no other throttle at a MUFU (reports/measured/h200/samples). A MUFU takes no entry of the MIO queue,
because MUFUs do not delay the instructions behind them (special_queue.csv).
"""

_VARIABLE = frozenset({"branch", "mufu"})
"""Pipes of branches and of variable-latency instructions: they wait for the barrier that ``BAR`` defers (D32)."""

_COMPETING = frozenset({"fma", "fmaheavy", "half"})
"""
Pipes whose instructions read general registers at the rate at which the tensor core is fed.

Instructions of ``alu`` compete only if they read more than one register: a lop3 of one register delays an mma.sync
beside it by nothing, a lop3 of three by 1.1 cycles (dispatch.csv).
"""

_CONSTANT_LOAD = "ULDC"
"""The only instruction of the uniform datapath that waits for a deferred barrier: a load from the constant bank."""


_EMPTY_LOAD = "LDS"
"""
``@!PT LDS RZ, [RZ]``, which compilers put before LDGSTS: it loads nothing, but takes an entry of the MIO queue.

Samples of the program counter show it wait for an entry as often as LDGSTS (reports/measured/h200/samples).
"""

_LINE_MODULUS: Final = 4
"""Modulus of shared-memory line numbers: a copy whose lines are equal modulo 4 takes longer in the tag lookup."""

_SPILLED = frozenset({"LDL", "STL"})
"""Loads and stores of spilled registers: one word of each lane, one line, which is assumed to hit the L1."""

_STAMP = "STG"
"""A store outside the schedule that orders nothing: a timeline build's stamp, one word of one lane."""

_THROUGH_MIO = frozenset({"SHFL", "S2R", "S2UR", *_SPILLED, _STAMP})
"""
Instructions between ops that go through the MIO as a load of one wavefront does.

In samples of the program counter, S2R waits for an entry of the queue, and the users of a shuffle or a special register
wait for short scoreboards (reports/measured/h200/samples).
"""

_JUMPS = frozenset({"BRA", "CALL", "RET"})
"""Instructions after which a warp continues at another address."""

_LOAD_OF_CONSTANTS = "LDC"
"""An instruction of the branch pipe that does not branch: only users of its value wait, on a scoreboard (D8)."""

_FIXED = frozenset({"alu", "fma", "fmaheavy"})
"""Pipes whose instructions have a fixed latency that the compiler knows."""

_ADDRESS_REGISTERS = {"LDS": 1, "LDSM": 1, "STS": 1, "ATOMS": 1, "LDG": 2, "STG": 2, "RED": 2, "LDGSTS": 3}
"""Registers of a memory instruction's addresses, by opcode; LDGSTS has one for shared and two for global memory."""

_STORING = frozenset({"STS", "ATOMS", "STG", "RED"})
_WORDS = {"64": 2, "128": 4}


@lru_cache(maxsize=1024)
def _registers(opcode: str) -> int:
    """Return the number of registers that a memory instruction reads, for its address and its stored data."""
    name, *modifiers = opcode.split(".")
    words = max((_WORDS.get(modifier, 1) for modifier in modifiers), default=1)
    return _ADDRESS_REGISTERS.get(name, 0) + (words if name in _STORING else 0)


class InstructionDecoder:
    """
    Decodes instructions for a machine, without a schedule.

    Args:
        machine: The machine.
        warps: Warps of a CTA.
        estimated: Whether the stall counts are estimated, not a compiler's.
    """

    def __init__(self, machine: Machine, warps: int, *, estimated: bool) -> None:
        self.machine, self.warps, self.estimated = machine, warps, estimated
        copy = machine.async_copy
        self.in_a_row = {} if copy is None else {COMMIT: copy.commit_latency, DEPBAR: copy.wait_latency}
        self.pipes = {name: index for index, name in enumerate(pipe_names(machine))}

    def decoded(
        self,
        instruction: Instruction,
        line: int,
        access: Access | None = None,
        noted: Noted = _NOT_NOTED,
        *,
        awaits: bool = False,
        again: bool = False,
    ) -> Decoded:
        """
        Decode one instruction.

        Args:
            instruction: The instruction.
            line: ``Decoded.line``.
            access: The properties that it takes from its op; None without an op.
            noted: The activity that it belongs to.
            awaits: ``Decoded.awaits``.
            again: Whether the next instruction is of the same unit.

        Raises:
            BadInput: The machine file has no figure for its pipe.
        """
        kind, name = KINDS[instruction.unit], instruction.opcode.partition(".")[0]
        access = access or _NO_ACCESS
        if kind == PIPE and name in _THROUGH_MIO and SEMAPHORE not in instruction.opcode:
            kind, access = SHARED, self._register_from_mio(name)
        elif kind == PIPE and instruction.opcode == _EMPTY_LOAD:
            kind = SHARED
        port, interval, latency = self._port(instruction, kind)
        loads_constants = name == _LOAD_OF_CONSTANTS
        if loads_constants:
            latency = self.machine.shared.load_latency
        waits = _boards(instruction.wait_mask)
        return Decoded(
            kind=kind,
            port=port,
            throttle=MIO_THROTTLE if instruction.pipe in _FED_BY_MIO else THROTTLES.get(kind, MIO_THROTTLE),
            interval=interval,
            stall=self._stall(instruction, kind, again=again),
            gated=bool(waits) or awaits or line >= 0 or kind in (DEPBAR, EXIT),
            waits=waits,
            write=-1 if instruction.write_scoreboard == NO_SCOREBOARD else instruction.write_scoreboard,
            read=-1 if instruction.read_scoreboard == NO_SCOREBOARD else instruction.read_scoreboard,
            line=line,
            is_branch=instruction.pipe == "branch" and not loads_constants,
            registers=_registers(instruction.opcode),
            dispatches=instruction.pipe == "mufu" and kind == PIPE,
            mma_hundredths=self._mma_hundredths(instruction, kind, is_load=access.is_load),
            joins=kind != PIPE or instruction.pipe in _VARIABLE or instruction.opcode.startswith(_CONSTANT_LOAD),
            awaits=awaits,
            **access._replace(latency=latency or access.latency)._asdict(),
            **noted._asdict(),
        )

    def _stall(self, instruction: Instruction, kind: int, *, again: bool) -> int:
        """
        Return the cycles until the warp's next instruction, as the control field states them.

        The instruction after a branch waits for the branch, but not for its stall count (D34): samples show 3 cycles of
        branch_resolving and up to 3 of wait after branches with stall counts of 5 and of 11
        (reports/measured/h200/samples). A commit that follows a commit issues later than the stall count says, and so
        does a wait for groups that follows another one. If the successor of an estimated instruction needs its result,
        the machine file gives the distance.
        """
        if instruction.opcode.partition(".")[0] in _JUMPS:
            return 1
        if self.estimated and instruction.pipe in _FIXED and instruction.stall >= SHORTEST_DEPENDENT:
            return max(1, self.machine.pipes[instruction.pipe].latency or 0)
        return max(1, instruction.stall, self.in_a_row.get(kind, 0) if again else 0)

    def _port(self, instruction: Instruction, kind: int) -> tuple[int, int, int]:
        """Return (port, interval, latency). Only pipes have an interval and a latency, which the machine file gives."""
        if kind != PIPE:
            return len(self.pipes) + (kind not in (*THROTTLES, COMMIT)), 0, 0
        tensor = instruction.unit == "tensor"
        table = self.machine.tensor if tensor else self.machine.pipes
        if instruction.pipe not in table:
            raise BadInput(
                f"{self.machine.name}: no figure for pipe {instruction.pipe!r} ({instruction.opcode}); "
                f"the machine file has {', '.join(sorted(table))}"
            )
        figures = table[instruction.pipe]
        return self.pipes[TENSOR_CORE if tensor else instruction.pipe], figures.interval, figures.latency or 0

    def _register_from_mio(self, name: str) -> Access:
        """
        Return the properties of a shuffle, a read of a special register, a spill or a stamp.

        S2UR forwards a special register to a uniform one. A spilled register comes from the L1. A stamp is a store and
        returns nothing.

        Not modelled: an L1 miss of a spilled register; the data that a stamp writes.
        """
        if name == _STAMP:
            return Access(wavefronts=((1,) * self.warps,))
        latency = self.machine.l1.hit_latency if name in _SPILLED else self.machine.shared.shuffle_latency
        if name == "S2UR":
            latency += self.machine.pipes["uniform"].latency or 0
        return Access(wavefronts=((1,) * self.warps,), latency=latency, is_load=True)

    def _mma_hundredths(self, instruction: Instruction, kind: int, *, is_load: bool) -> int:
        """
        Return the hundredths of a cycle by which an instruction delays a concurrent mma.sync.

        For an mma.sync, return the hundredths that it takes beyond its interval.
        """
        spec = self.machine.dispatch
        if instruction.unit == "tensor":
            beyond = self.machine.tensor[instruction.pipe].beyond
            return 0 if beyond is None else beyond.percent
        if instruction.pipe in _COMPETING or (instruction.pipe == "alu" and instruction.sources > 1):
            return spec.tensor_percent
        # An empty load reads no register (one_sm.csv, empty LDS left out).
        if spec.memory is None or (instruction.opcode == _EMPTY_LOAD and not is_load):
            return 0
        if kind == SHARED:
            return spec.memory.shared_load_percent if is_load else spec.memory.shared_store_percent
        if kind == GLOBAL:
            return spec.memory.load_percent if is_load else spec.memory.store_percent
        return spec.memory.copy_percent if kind == LDGSTS else 0


class _Decoder(InstructionDecoder):
    """Decodes the instructions of one stream."""

    def __init__(self, kernel: KernelCode[Any], behaviour: Hashable, known: Known, *, estimated: bool) -> None:
        self.lanes = kernel.lanes()
        super().__init__(kernel.machine, self.lanes.warps, estimated=estimated)
        self.kernel, self.behaviour, self.known = kernel, behaviour, known
        self.ring: dict[tuple[int, tuple[int, ...]], Wavefronts] = {}

    def decode(self, instruction: Instruction, line: int, *, awaits: bool, again: bool) -> Decoded:
        """Decode one instruction. ``line`` is ``Decoded.line``; ``again``: whether the next one is of the same unit."""
        step = instruction.op
        if step is not None:
            access, noted = self._access(step), self.kernel.noted(step, self.behaviour)
            return self.decoded(instruction, line, access, noted, awaits=awaits, again=again)
        key = instruction, line, awaits, again
        if key not in self.known:
            self.known[key] = self.decoded(instruction, line, awaits=awaits, again=again)
        return self.known[key]

    def _access(self, step: Any) -> Access:  # noqa: PLR0911 - one for each kind of op
        """Return the properties that an instruction takes from its step."""
        shared, op = self.machine.shared, self.lanes.op(step)
        match op:
            case ops.Ldmatrix() | ops.LoadFragment():
                latency = shared.load_latency if isinstance(op, ops.LoadFragment) else shared.ldmatrix_latency_x1
                return self._load(step, self._in_ring(step), latency)._replace(stage=op.stage)
            case ops.CopyAsync(_, _, access, vec, stage, zfill, cache):
                return Access(
                    wavefronts=self._in_ring(step),
                    target=(*self._fetch(step), access, vec),
                    stage=stage,
                    through_l1=cache == "ca",
                    zero_fills=zfill,
                    lookup_penalty=self._lookup_penalty(step),
                )
            case ops.StoreTile():
                return Access(wavefronts=self._in_ring(step), stage=op.stage, fills=True)
            case ops.LoadGlobal(_, _, access, vec):
                return Access(target=(*self._fetch(step), access, vec), is_load=True, through_l1=True)
            case ops.StoreShared():
                return Access(wavefronts=wavefronts_of(self.lanes.shared(step)), fills=True)
            case ops.LoadShared():
                table = self.lanes.shared(step)
                lane_bytes = 0 if table is None else table.table.returned_bytes // WARP_SIZE
                return self._load(step, wavefronts_of(table), shared.lds_latency(lane_bytes))
            case ops.LoadSource() | ops.LoadBias() | ops.LoadPartial() | ops.StoreGlobal():
                return self._output(step, is_load=not isinstance(op, ops.StoreGlobal))
            case ops.WaitGroup(pending):
                return Access(pending=pending)
            case _:
                return self.kernel.access(step, self.lanes)

    def _load(self, step: Any, wavefronts: Wavefronts, latency: int) -> Access:
        shared = self.lanes.shared(step)
        returned = 0 if shared is None else shared.table.returned_bytes
        return Access(wavefronts=wavefronts, bytes=returned, latency=latency, is_load=True)

    def _output(self, step: Any, *, is_load: bool) -> Access:
        row, access = self.lanes.target(step)
        return Access(target=(OUTPUT, row, access, 0), is_load=is_load)

    def _fetch(self, step: Any) -> tuple[int, int]:
        """Return the row of copies that a step belongs to, and the number of its fetch."""
        return self.lanes.target(step)[0], self.kernel.turn(step, self.behaviour)

    def _lookup_penalty(self, step: Any) -> int:
        """
        Return the extra cycles of a copy's tag lookup: above 0 if it fills several lines with numbers equal modulo 4.

        Lines are lines of shared memory (fills.csv). The distance of a crosswise tile's lines is the number of stages.
        So with a multiple of four stages all line numbers are equal modulo 4. Warp 0 is evaluated for all warps, whose
        lines have equal distances.
        """
        shared, spec = self.lanes.shared(step), self.machine.async_copy
        if shared is None or spec is None:
            return 0
        lines = set((shared.addresses[0] // LINE_BYTES).tolist())
        return spec.apart if len(lines) > 1 and len({line % _LINE_MODULUS for line in lines}) == 1 else 0

    def _in_ring(self, step: Any) -> Wavefronts:
        """Return the wavefronts of an operand's access, for every ring slot if the trips use different slots."""
        shared = self.lanes.shared(step)
        if shared is None or not self.kernel.trips_go_round:
            return wavefronts_of(shared)
        key = id(shared.table), shared.place[1:]
        if key not in self.ring:
            wavefronts = shared.table.wavefronts
            for place in shared.place[1:]:
                wavefronts = wavefronts[:, place]
            self.ring[key] = tuple(map(tuple, wavefronts.tolist()))
        return self.ring[key]
