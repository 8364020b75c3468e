"""Identifies each MMA that a warp executed by the fragment loads or packed words in its operand registers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from gpusim.errors import CheckFailed
from gpusim.lower.aligned import MMA_OPCODES, AlignedKernel, ExecutedWarp, OpPart
from gpusim.lower.sass.decode import Sass
from gpusim.lower.sass.emulate_memory import words_moved
from gpusim.lower.sass.operands import RZ, Register
from gpusim.lower.sass.repeat import ExecutedInstruction
from gpusim.schedule.ops import Ldmatrix, LoadFragment, WarpMma
from gpusim.tile.ldmatrix import fragment_loads
from gpusim.tile.mma import fragment_registers, mma_order
from gpusim.tile.operand import Operand
from gpusim.units import WORD_BYTES

MOVES = ("MOV", "IMAD.MOV", "IMAD.MOV.U32")

STORE = "STL"
SPILLS = (STORE, "LDL")
"""Opcodes that spill registers to a thread's stack and reload them."""

PACKS = "F2FP"
"""Opcode that rounds two f32 into one word of an operand."""

_Key: TypeAlias = tuple[int, ...]
"""k tile (``Lanes.k_tile``), then k group."""


@dataclass(frozen=True, slots=True)
class _Fragment:
    """A register that a fragment load wrote: the load's step, and the register's place in the k group's fragment."""

    step: Any
    register: int


class _Product:
    """
    The mma.sync of a ``WarpMma`` of one GEMM.

    Attributes:
        a, b: Names of its operands; ``a`` is None if it stays in registers and is never loaded.
        parts: Number of the mma.sync of each instruction tile (m, n).
        rows: Instruction tiles along M.
        registers: 32-bit registers of an instruction's A and B.
    """

    def __init__(self, names: tuple[str | None, str], operands: Mapping[str, Operand], *, vertical: bool) -> None:
        self.a, self.b = names
        own = operands[self.b]
        tiling = own.tiling
        self.rows, columns = (tiling.warp[axis] // tiling.instruction[axis] for axis in (0, 1))
        order = mma_order(self.rows, columns, vertical=vertical)
        self.parts = {(int(m), int(n)): part for part, (m, n) in enumerate(order)}
        sides: tuple[Literal["a", "b"], ...] = ("a", "b")
        self.registers = tuple(fragment_registers(tiling.instruction, side, own.bits) for side in sides)


def name_mmas(
    code: Sequence[Sass],
    executed: ExecutedWarp,
    kernel: AlignedKernel[Any],
    named: list[OpPart | None],
    *,
    vertical: bool,
) -> None:
    """
    Name every HMMA or IMMA by the fragment loads that its operands come from.

    An A operand that is never loaded must be packed from registers. Its tiles along M are numbered in order of first
    use.

    Args:
        code: The kernel's machine code.
        executed: Instructions that one warp executed.
        kernel: Schedule of the kernel.
        named: The op of each executed instruction, to be completed.
        vertical: Whether a warp issues its mma.sync along M first on the target.

    Raises:
        CheckFailed: A mma.sync of a WarpMma does not occur exactly once, or multiplies other fragments.
    """
    naming = _Naming(kernel, executed, vertical=vertical)
    if not naming.steps:
        return
    for position, step in enumerate(executed.steps):
        if position in executed.skipped:
            naming.skip(executed.skipped[position])
        sass, one = code[step.at], named[position]
        if sass.name in MMA_OPCODES:
            named[position] = naming.name(sass)
        elif one is not None and isinstance(naming.lanes.op(one.op), Ldmatrix | LoadFragment):
            naming.load(sass, one.op)
        elif sass.name in SPILLS:
            naming.spill(sass, step)
        else:
            naming.write(sass, position)
    naming.check_all()


class _Naming:
    """The contents of a warp's registers, and the mma.sync that have not occurred yet."""

    def __init__(self, kernel: AlignedKernel[Any], executed: ExecutedWarp, *, vertical: bool) -> None:
        self.kernel, self.lanes = kernel, kernel.lanes()
        self.steps = {self._key(step): step for step in executed.scheduled if isinstance(self._op(step), WarpMma)}
        made: dict[tuple[str | None, str], _Product] = {}
        self.products: dict[_Key, _Product] = {}
        for key, step in self.steps.items():
            names = self.lanes.factors(step)
            if names not in made:
                made[names] = _Product(names, self.lanes.operands, vertical=vertical)
            self.products[key] = made[names]
        self.missing = {(key, part) for key, product in self.products.items() for part in range(len(product.parts))}
        self.holds: dict[int, _Fragment] = {}
        self.packed: dict[int, int] = {}
        self.stack: dict[int, tuple[_Fragment | None, int | None]] = {}  # by byte address
        self.rows: dict[_Key, list[tuple[int, ...]]] = {}

    def _op(self, step: Any) -> Any:
        return self.lanes.op(step)

    def _key(self, step: Any) -> _Key:
        return *self.lanes.k_tile(step), self._op(step).k_group

    def name(self, sass: Sass) -> OpPart:
        """Return the schedule's mma.sync that an instruction executes."""
        b = self._fragment(sass, "b")
        key = self._key(b.step)
        product = self.products.get(key)
        if product is None or self.lanes.operand_name(b.step) != product.b:
            raise CheckFailed(f"{sass}: operand b comes from {b.step}, which the schedule does not multiply")
        if product.a is None:
            row, what = self._packed_row(sass, key, product), "words packed from registers"
        else:
            a = self._fragment(sass, "a")
            row, what = a.register // product.registers[0], str(a.step)
            if self.lanes.operand_name(a.step) != product.a or self._key(a.step) != key:
                raise CheckFailed(
                    f"{sass} multiplies {a.step} by {b.step}, which the schedule does not do, or only once"
                )
        part = product.parts.get((row, b.register // product.registers[1]))
        if part is None or (key, part) not in self.missing:
            raise CheckFailed(f"{sass} multiplies {what} by {b.step}, which the schedule does not do, or only once")
        self.missing.remove((key, part))
        return OpPart(self.steps[key], part)

    def _fragment(self, sass: Sass, role: str) -> _Fragment:
        register = sass.operands[role]
        fragment = self.holds.get(register.number) if isinstance(register, Register) else None
        if fragment is None or self._op(fragment.step).operand != role:
            came = None if fragment is None else fragment.step
            raise CheckFailed(f"{sass}: operand {role} comes from no fragment load of operand {role}, but from {came}")
        return fragment

    def _packed_row(self, sass: Sass, key: _Key, product: _Product) -> int:
        """Return the MMA tile along M of a packed A operand: its number within the k group, in order of first use."""
        first = sass.operand("a", Register).number
        words = tuple(self.packed.get(first + word, -1) for word in range(product.registers[0]))
        if -1 in words:
            raise CheckFailed(f"{sass}: operand a is not packed from registers by {PACKS}")
        tiles = self.rows.setdefault(key, [])
        if words not in tiles:
            tiles.append(words)
        return tiles.index(words)

    def load(self, sass: Sass, step: Any) -> None:
        """Record the registers that a fragment load writes."""
        first, operand = sass.operand("d", Register).number, self.lanes.operands[self.lanes.operand_name(step)]
        loaded = fragment_loads(operand).matrices
        for register in range(loaded):
            self.packed.pop(first + register, None)
            self.holds[first + register] = _Fragment(step, self._op(step).instruction * loaded + register)

    def write(self, sass: Sass, position: int) -> None:
        """Record the result of another instruction: a move copies a fragment register, all others overwrite it."""
        destination = sass.operands.get("d")
        if not isinstance(destination, Register) or destination.uniform or destination.number == RZ:
            return
        moved = sass.operands["c" if sass.name == "IMAD" else "b"] if sass.mnemonic in MOVES else None
        source = moved.number if isinstance(moved, Register) and not moved.uniform else RZ
        fragment, words = self.holds.get(source), self.packed.get(source)
        self.holds.pop(destination.number, None)
        self.packed.pop(destination.number, None)
        if fragment is not None:
            self.holds[destination.number] = fragment
        if sass.name == PACKS:
            words = position
        if words is not None:
            self.packed[destination.number] = words

    def spill(self, sass: Sass, step: ExecutedInstruction) -> None:
        """Record a spill or a reload: copy the known content of a register to a stack word, or back."""
        stores, places = sass.name == STORE, step.address
        if places is None:
            return
        first, place = sass.operand("v" if stores else "d", Register).number, int(places[0])
        for part in range(words_moved(sass)):
            register, slot = first + part, place + part * WORD_BYTES
            if stores:
                self.stack[slot] = self.holds.get(register), self.packed.get(register)
                continue
            fragment, words = self.stack.get(slot, (None, None))
            self.holds.pop(register, None)
            self.packed.pop(register, None)
            if fragment is not None:
                self.holds[register] = fragment
            if words is not None:
                self.packed[register] = words

    def skip(self, k_tiles: int) -> None:
        """Advance the fragments in registers by ``k_tiles`` skipped k tiles, which load the same registers."""
        for number, one in self.holds.items():
            self.holds[number] = self._later(one, k_tiles)
        for place, (fragment, words) in self.stack.items():
            self.stack[place] = None if fragment is None else self._later(fragment, k_tiles), words

    def _later(self, one: _Fragment, k_tiles: int) -> _Fragment:
        return _Fragment(self.kernel.advanced(one.step, k_tiles), one.register)

    def check_all(self) -> None:
        """
        Check that every mma.sync occurred.

        Raises:
            CheckFailed: Some mma.sync did not occur.
        """
        if self.missing:
            key, part = min(self.missing)
            raise CheckFailed(
                f"the kernel lacks {len(self.missing)} MMAs of the schedule, the first mma.sync {part} of"
                f" {self.steps[key]}"
            )
