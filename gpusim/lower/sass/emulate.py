"""Executes one warp's SASS with concrete indices, parameters and constants, to find its path and every lane's address.

Integers, predicates, branches and local memory are exact. Floating-point results are 1, and all data loaded from shared
or global memory is zero, unless ``EmulatedWarp.load`` or ``EmulatedWarp.load_shared`` supplies it. The path is
therefore right unless other data affects it. The semaphore of serial split-K and the row statistics of attention do
affect it; these two functions supply them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from gpusim.arrays import BoolArray, IntArray
from gpusim.errors import Unsupported
from gpusim.lower.sass.decode import Sass
from gpusim.lower.sass.emulate_integer import EXECUTE
from gpusim.lower.sass.emulate_lanes import ballot, pack, shuffle, unpack
from gpusim.lower.sass.emulate_memory import loaded, stored, words_moved
from gpusim.lower.sass.emulate_registers import (
    Execute,
    LaneWords,
    Registers,
    constant_address,
    reader,
    result,
    tester,
    word,
)
from gpusim.lower.sass.emulated import refused, require_emulated
from gpusim.lower.sass.operands import PT, RZ, CodeAddress, Constant, Immediate, Memory, Named, Predicate, Register
from gpusim.lower.sass.repeat import ExecutedInstruction, Loop, Path, Turns
from gpusim.lower.stream import INSTRUCTION_BYTES
from gpusim.units import WARP_SIZE, WORD_BYTES

Load: TypeAlias = Callable[[IntArray], IntArray]
"""Maps the byte addresses of the lanes in one memory to the 32-bit words there."""

MOST_STEPS = 20_000_000
"""Limit of executed instructions. A warp that exceeds it is assumed to spin forever."""

STACK_POINTER_AT = 0x28
"""Byte offset of the stack pointer in constant bank 0. Source: the first instruction of every kernel with a stack."""

SHARED_BASE_AT, DESCRIPTORS_AT = 0x18, (0x118, 0x208)
"""
Byte offsets in constant bank 0 of words that are read as 0: the base of the CTA's shared memory, and the descriptor
pair of the global window (up to sm_89, and on sm_90).
"""

KNOWN_WORDS = frozenset(
    byte // WORD_BYTES
    for byte in (
        *range(0, SHARED_BASE_AT + WORD_BYTES, WORD_BYTES),
        STACK_POINTER_AT,
        *(at + word for at in DESCRIPTORS_AT for word in (0, WORD_BYTES)),
    )
)
"""Known words that the driver writes into constant bank 0: extents of block and grid, and the words above."""

WHOLE_WARP = -1
"""Key for WARPSYNC among the keys of the convergence barriers, 0 to 15 for B0 to B15."""


@dataclass(frozen=True, slots=True)
class EmulatedWarp:
    """
    The warp to execute, and the state that its launch gives it.

    Attributes:
        ctaid: blockIdx x, y, z.
        grid: gridDim x, y, z.
        block: blockDim x, y, z.
        index: Warp index in the CTA. Threads are numbered along x, then y, then z.
        constants: Constant bank 0, parameters included.
        local_bytes: Stack of one thread in bytes.
        load: Reads global memory; None reads zeros.
        load_shared: Reads shared memory; None reads zeros.
        compiler_constants: Constant bank 2.
        parameters_at: Byte of the parameters in ``constants``. The driver fills in the bytes below.
    """

    ctaid: tuple[int, int, int]
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    index: int
    constants: bytes
    local_bytes: int
    load: Load | None = None
    load_shared: Load | None = None
    compiler_constants: bytes = b""
    parameters_at: int = 0


def run_warp(code: Sequence[Sass], warp: EmulatedWarp, loop: Loop | None = None) -> Path:
    """
    Execute a warp to its end, and return the instructions it executed.

    Args:
        code: The kernel's decoded instructions.
        warp: The warp.
        loop: A loop whose repeating trips are skipped; None to execute every trip.

    Raises:
        Unsupported: An instruction on the path is not emulated, or the path does not end. The message has its address.
    """
    turns = Turns(loop) if loop else None
    return Path(_Emulation(code, warp).run(turns), tuple(turns.skips) if turns else ())


class _Emulation:
    """The state of a warp: registers, local memory, and groups of lanes that wait to converge."""

    def __init__(self, code: Sequence[Sass], warp: EmulatedWarp) -> None:
        self.code = code
        self.warp = warp
        unknown = frozenset(range(warp.parameters_at // WORD_BYTES)) - KNOWN_WORDS
        self.registers = Registers(_bank(warp), warp.compiler_constants, unknown)
        self.local: LaneWords = np.zeros((warp.local_bytes // 4 + 1, WARP_SIZE), dtype=np.uint64)
        self.steps: list[ExecutedInstruction] = []
        self.alive: BoolArray = np.ones(WARP_SIZE, dtype=np.bool_)
        self.active: BoolArray = self.alive.copy()
        self.waiting: list[tuple[int, BoolArray]] = []
        self.barriers: dict[int, BoolArray] = {}
        self.arrived: dict[int, tuple[int, BoolArray]] = {}
        self.special = self._special_registers()
        self.compiled: list[Execute | None] = [None] * len(code)
        self.known = [False] * len(code)
        self.at = 0

    def _special_registers(self) -> dict[str, LaneWords]:
        lanes = np.arange(WARP_SIZE, dtype=np.uint64)
        thread = lanes + np.uint64(self.warp.index * WARP_SIZE)
        axes = "XYZ"
        x, y, _ = (np.uint64(extent) for extent in self.warp.block)
        tid = (thread % x, thread // x % y, thread // (x * y))
        values = {"SR_LANEID": lanes, "SRZ": word(0)}
        values |= {f"SR_TID.{axis}": one for axis, one in zip(axes, tid, strict=True)}
        values |= {f"SR_CTAID.{axis}": word(one) for axis, one in zip(axes, self.warp.ctaid, strict=True)}
        # SR_SWINHI is the high word of the shared window, against which generic addresses are tested. Shared addresses
        # do not contain it.
        clocks = ("SR_CLOCKLO", "SR_CLOCKHI", "SR_GLOBALTIMERLO")
        return values | {name: word(0) for name in ("SR_CgaCtaId", "SR_VIRTUALSMID", "SR_SWINHI", *clocks)}

    def run(self, turns: Turns | None) -> list[ExecutedInstruction]:
        try:
            return self._follow(turns)
        except NotImplementedError as error:
            raise refused(self.code[self.at], str(error)) from error
        except (KeyError, IndexError, TypeError) as error:
            if self.at >= len(self.code):
                raise Unsupported("the warp's path leaves the kernel's code") from error
            raise refused(self.code[self.at], "this form is not emulated") from error

    def _follow(self, turns: Turns | None) -> list[ExecutedInstruction]:
        at, head = 0, turns.loop.head if turns else -1
        while True:
            self.at = at
            if at == head and turns:
                whole = bool(self.active.all()) and not self.waiting and not self.arrived
                turns.arrive(self.steps, self.registers, self.local, whole=whole)
            if len(self.steps) > MOST_STEPS:
                raise Unsupported(
                    f"text {self.code[at].address:#06x}: the warp does not end after {MOST_STEPS} instructions"
                )
            sass = self.code[at]
            if not self.known[at]:
                require_emulated(sass)
                self.known[at] = True
            guard = sass.guard
            lanes = self.active
            if guard.number != PT or guard.inverted:
                lanes = lanes & tester(guard)(self.registers)
            control = CONTROL.get(sass.name)
            if control is None:
                self._execute(at, sass, lanes)
                at += 1
                continue
            self._note(at, lanes)
            following = control(self, at, sass, lanes) if lanes.any() else at + 1
            if following is None:
                following = self._next_group()
            if following is None:
                return self.steps
            at = following

    def _note(self, at: int, lanes: BoolArray, *more: IntArray | BoolArray | None) -> None:
        self.steps.append(ExecutedInstruction(at, None if lanes.all() else lanes, *more))  # type: ignore[arg-type]

    def _execute(self, at: int, sass: Sass, lanes: BoolArray) -> None:
        access = ACCESS.get(sass.name)
        if access is not None:
            access(self, at, sass, lanes)
            return
        execute = self.compiled[at]
        if execute is None:
            execute = self.compiled[at] = _compile(sass)
        execute(self.registers, lanes)
        self._note(at, lanes)

    # --- control flow ---

    def _next_group(self) -> int | None:
        """
        Activate another group of lanes, and return its next instruction; None if all lanes have exited.

        A group at a convergence point that all its members have reached or left comes first, then a diverged group.
        """
        for key, (at, arrived) in list(self.arrived.items()):
            if not (self.barriers.get(key, self.alive) & self.alive & ~arrived).any():
                del self.arrived[key]
                self.active = arrived & self.alive
                return at + 1
        if self.waiting:
            at, self.active = self.waiting.pop()
            return at
        if self.alive.any():
            stuck = ", ".join(str(self.code[at]) for at, _ in self.arrived.values())
            raise Unsupported(f"the warp's lanes never converge: some wait at {stuck}")
        return None

    def branch(self, at: int, sass: Sass, lanes: BoolArray) -> int:
        taken = lanes
        if "x" in sass.operands:
            taken = lanes & tester(sass.operands["x"])(self.registers)
        if "CONV" in sass.modifiers or "DIV" in sass.modifiers:
            # BRA.CONV is taken if the warp is converged and BRA.DIV if it is not, whatever lanes the mask names.
            whole = not (self.alive & ~self.active).any()
            taken = taken & (whole == ("CONV" in sass.modifiers))
        target = self._target(sass)
        if not taken.any():
            return at + 1
        staying = self.active & ~taken
        if staying.any():
            self.waiting.append((target, taken))
            self.active = staying
            return at + 1
        return target

    def _target(self, sass: Sass) -> int:
        return sass.operand("t", CodeAddress).address // INSTRUCTION_BYTES

    def exit(self, at: int, _: Sass, lanes: BoolArray) -> int | None:
        self.alive = self.alive & ~lanes
        self.active = self.active & ~lanes
        return at + 1 if self.active.any() else None

    def set_barrier(self, at: int, sass: Sass, _: BoolArray) -> int:
        self.barriers[sass.operand("n", Named).number] = self.active.copy()
        return at + 1

    def leave_barrier(self, at: int, sass: Sass, lanes: BoolArray) -> int:
        key = sass.operand("n", Named).number
        self.barriers[key] = self.barriers[key] & ~lanes
        return at + 1

    def clear_barrier(self, at: int, sass: Sass, lanes: BoolArray) -> None:
        """Execute BMOV.32.CLEAR to RZ: no lane waits at this convergence barrier any more."""
        if "CLEAR" not in sass.modifiers or sass.operand("d", Register).number != RZ:
            raise NotImplementedError("only clearing a convergence barrier is emulated")
        self.barriers.pop(sass.operand("n", Named).number, None)
        self._note(at, lanes)

    def converge(self, at: int, sass: Sass, _: BoolArray) -> int | None:
        return self._arrive(sass.operand("n", Named).number, at)

    def warp_sync(self, at: int, _: Sass, __: BoolArray) -> int | None:
        return self._arrive(WHOLE_WARP, at)

    def _arrive(self, key: int, at: int) -> int | None:
        others = self.arrived.get(key)
        arrived = self.active if others is None else others[1] | self.active
        members = self.barriers.get(key, self.alive) & self.alive
        if (members & ~arrived).any():
            self.arrived[key] = (at, arrived)
            return None
        self.arrived.pop(key, None)
        self.active = arrived & self.alive
        return at + 1

    def give_back(self, _: int, sass: Sass, lanes: BoolArray) -> int:
        address = reader(sass.operands["a"])(self.registers)[np.argmax(lanes)]
        return self._target(sass) + int(address) // INSTRUCTION_BYTES

    # --- memory ---

    def _address(self, sass: Sass, role: str = "m") -> IntArray:
        memory = sass.operand(role, Memory)
        base = self._scaled(memory.base)
        if memory.wide and not memory.half and memory.base.number != RZ:
            base = base | self.registers.vector[memory.base.number + 1] << np.uint64(32)
        if memory.uniform is not None:
            uniform = self.registers.uniform[memory.uniform.number]
            if memory.wide:
                uniform = uniform | self.registers.uniform[memory.uniform.number + 1] << np.uint64(32)
            base = base + uniform
        address = base.astype(np.int64) + memory.offset
        return address if memory.wide else address & 0xFFFFFFFF

    def _scaled(self, base: Register) -> LaneWords:
        scale = {"": 1, ".X4": 4, ".X8": 8, ".X16": 16}[base.suffix]
        scaled: LaneWords = self.registers.vector[base.number] * np.uint64(scale)
        return scaled

    def copy(self, at: int, sass: Sass, lanes: BoolArray) -> None:
        valid = np.broadcast_to(tester(sass.operands["x"])(self.registers), (WARP_SIZE,)).copy()
        self._note(at, lanes, self._address(sass), self._address(sass, "s"), valid)

    def access(self, at: int, sass: Sass, lanes: BoolArray) -> None:
        self._note(at, lanes, self._address(sass))

    def load(self, at: int, sass: Sass, lanes: BoolArray) -> None:
        address = self._address(sass)
        self._note(at, lanes, address)
        register = result(sass)
        read = self.warp.load_shared if sass.name == "LDS" else self.warp.load
        for part in range(words_moved(sass)):
            self.registers.write(register, loaded(sass, read or np.zeros_like, address, part), lanes, part)

    def load_local(self, at: int, sass: Sass, lanes: BoolArray) -> None:
        address = self._address(sass)
        register = result(sass)

        def read(of: IntArray) -> IntArray:
            return self.local[self._local_rows(of, lanes), np.arange(WARP_SIZE)].astype(np.int64)

        for part in range(words_moved(sass)):
            self.registers.write(register, loaded(sass, read, address, part), lanes, part)
        self._note(at, lanes, address)

    def store_local(self, at: int, sass: Sass, lanes: BoolArray) -> None:
        address = self._address(sass)
        for part in range(words_moved(sass)):
            rows = self._local_rows(address + WORD_BYTES * part, lanes)
            before = self.local[rows, np.arange(WARP_SIZE)]
            value = stored(sass, before, reader(sass.operands["v"], part)(self.registers), address)
            self.local[rows[lanes], np.nonzero(lanes)[0]] = value[lanes]
        self._note(at, lanes, address)

    def _local_rows(self, address: IntArray, lanes: BoolArray) -> IntArray:
        rows = np.where(lanes, address // WORD_BYTES, 0)
        if (rows < 0).any() or (rows >= len(self.local)).any():
            raise NotImplementedError(f"local address outside the stack of {self.warp.local_bytes} bytes")
        return rows

    def load_constant(self, at: int, sass: Sass, lanes: BoolArray) -> None:
        constant, register = sass.operand("m", Constant), result(sass)
        registers, address = self.registers, constant_address(constant)(self.registers)

        def read(of: IntArray) -> IntArray:
            return registers.constant(constant.bank, of // WORD_BYTES).astype(np.int64)

        # All words are read before the first is written, because the index may lie in the register that is loaded.
        words = [loaded(sass, read, address, part) for part in range(words_moved(sass))]
        for part, value in enumerate(words):
            self.registers.write(register, value, lanes, part)
        self._note(at, lanes)

    # --- across lanes ---

    def read_special(self, at: int, sass: Sass, lanes: BoolArray) -> None:
        name = str(sass.operands["n"])
        register = result(sass)
        if name not in self.special:
            raise NotImplementedError(f"special register {name} is not emulated")
        self.registers.write(register, self.special[name], lanes)
        if sass.name == "CS2R" and "32" not in sass.modifiers:
            self.registers.write(register, word(0), lanes, 1)
        self._note(at, lanes)

    def shuffle(self, at: int, sass: Sass, lanes: BoolArray) -> None:
        value, wanted, limits = (reader(sass.operands[role])(self.registers) for role in "abc")
        given, inside = shuffle(value, wanted, limits, sass.modifiers[0])
        self.registers.write(result(sass), given, lanes)
        self.registers.write_predicate(sass.operand("p", Predicate), inside, lanes)
        self._note(at, lanes)

    def vote(self, at: int, sass: Sass, lanes: BoolArray) -> None:
        said = np.broadcast_to(tester(sass.operands["x"])(self.registers), (WARP_SIZE,))
        bits, outcome = ballot(said, lanes, sass.modifiers[0])
        self.registers.write(result(sass), bits, lanes)
        self.registers.write_predicate(sass.operand("p", Predicate), outcome, lanes)
        self._note(at, lanes)

    def to_uniform(self, at: int, sass: Sass, lanes: BoolArray) -> None:
        register = result(sass)
        first = int(np.argmax(lanes))
        self.registers.write(register, reader(sass.operands["a"])(self.registers)[first : first + 1], lanes)
        self._note(at, lanes)

    def pack_predicates(self, at: int, sass: Sass, lanes: BoolArray) -> None:
        kept = reader(sass.operands["a"])(self.registers)
        byte = sass.modifiers[0] if sass.modifiers else ""
        packed = pack(self.registers.predicates, kept, sass.operand("b", Immediate).value, byte)
        self.registers.write(result(sass), packed, lanes)
        self._note(at, lanes)

    def unpack_predicates(self, at: int, sass: Sass, lanes: BoolArray) -> None:
        source = sass.operand("a", Register)
        value = self.registers.vector[source.number]
        for bit, set_ in unpack(value, sass.operand("b", Immediate).value, source.suffix.lstrip(".")):
            self.registers.write_predicate(Predicate(bit), set_, lanes)
        self._note(at, lanes)

    def barrier_result(self, at: int, sass: Sass, lanes: BoolArray) -> None:
        self.registers.write_predicate(sass.operand("p", Predicate), np.zeros(WARP_SIZE, dtype=np.bool_), lanes)
        self._note(at, lanes)

    def ignore(self, at: int, _: Sass, lanes: BoolArray) -> None:
        self._note(at, lanes)


def _bank(warp: EmulatedWarp) -> bytes:
    """Return constant bank 0 with the launch's dimensions and the stack pointer, as the driver fills it in."""
    head = np.array([*warp.block, *warp.grid], dtype="<u4").tobytes()
    bank = bytearray(warp.constants)
    bank[: len(head)] = head
    bank[STACK_POINTER_AT : STACK_POINTER_AT + 4] = warp.local_bytes.to_bytes(4, "little")
    return bytes(bank)


def _compile(sass: Sass) -> Execute:
    make = EXECUTE.get(sass.name)
    if make is None:
        raise NotImplementedError(f"{sass.name} is not emulated")
    return make(sass)


CONTROL: dict[str, Callable[[_Emulation, int, Sass, BoolArray], int | None]] = {
    "BRA": _Emulation.branch,
    "EXIT": _Emulation.exit,
    "BSSY": _Emulation.set_barrier,
    "BREAK": _Emulation.leave_barrier,
    "BSYNC": _Emulation.converge,
    "WARPSYNC": _Emulation.warp_sync,
    "CALL": _Emulation.branch,
    "RET": _Emulation.give_back,
}
"""Opcodes that determine the next instruction. Each function returns its index, or None to switch to other lanes."""

ACCESS: dict[str, Callable[[_Emulation, int, Sass, BoolArray], None]] = {
    "LDGSTS": _Emulation.copy,
    **dict.fromkeys(("LDG", "LD", "LDS", "ATOMG"), _Emulation.load),
    **dict.fromkeys(("LDSM", "STS", "STG", "RED", "REDG", "ATOMS"), _Emulation.access),
    "LDL": _Emulation.load_local,
    "STL": _Emulation.store_local,
    **dict.fromkeys(("LDC", "ULDC"), _Emulation.load_constant),
    **dict.fromkeys(("S2R", "S2UR", "CS2R"), _Emulation.read_special),
    "SHFL": _Emulation.shuffle,
    **dict.fromkeys(("VOTE", "VOTEU"), _Emulation.vote),
    "R2UR": _Emulation.to_uniform,
    "P2R": _Emulation.pack_predicates,
    "R2P": _Emulation.unpack_predicates,
    "B2R": _Emulation.barrier_result,
    "BMOV": _Emulation.clear_barrier,
    **dict.fromkeys(
        (
            *("NOP", "BAR", "LDGDEPBAR", "DEPBAR", "YIELD", "CCTL", "MEMBAR", "ERRBAR", "CGAERRBAR", "NANOSLEEP"),
            "MOVM",
        ),
        _Emulation.ignore,
    ),
}
"""Opcodes that involve memory, other lanes or the CTA."""
