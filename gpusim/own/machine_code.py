"""Decodes machine code for a machine: each instruction once, and each exit a second time as a warp's last one."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from gpusim.arrays import BoolArray, IntArray
from gpusim.errors import Unsupported
from gpusim.execute.core import constants as core
from gpusim.lower.control_field import instruction_of
from gpusim.lower.sass.decode import Sass
from gpusim.lower.sass.operands import RZ, Constant, Immediate
from gpusim.lower.sass.pipes import PIPE_OF_OPCODE, UNITS
from gpusim.lower.stream import INSTRUCTION_BYTES, Unit
from gpusim.machine.spec import Machine
from gpusim.machine.spec.barrier import FencesSpec
from gpusim.sim.code import OUTPUT, Access, Decoded
from gpusim.sim.core.constants import ARRIVES, ATOMIC, FENCE, FLOAT_ATOMIC, PASSES, WAITS
from gpusim.sim.decode import InstructionDecoder
from gpusim.units import LINE_BYTES, SECTOR_BYTES, WARP_SIZE

TRACED: Final[dict[str, Unit]] = {
    **dict.fromkeys(("LDS", "STS", "LDSM", "ATOMS", "LDL", "STL"), "shared"),
    **dict.fromkeys(("LDG", "LD", "STG", "ST", "ATOMG", "ATOM", "RED", "REDG"), "global"),
    "LDGSTS": "ldgsts",
}
"""Opcodes whose accesses are traced, and the units that execute them."""

_LOADS: Final = frozenset({"LDG", "LD"})
_RETURNS: Final = {"ATOMG": True, "ATOM": True, "RED": False, "REDG": False}
"""Atomics on global memory, and whether they return a value."""

_PREFETCHED: Final = {"LTC64B": 64, "LTC128B": 128, "LTC256B": 256}
"""Bytes that a miss brings, by modifier. Not modelled: the second line of 256 bytes."""

_TWO_PASSES: Final = ("IMAD.WIDE", "IMAD.HI", "DSETP")
"""Instructions that occupy their pipe twice as long as others of it. Source: opcodes.csv."""

_LOCAL: Final = frozenset({"LDL", "STL"})

_INPUTS: Final = {"BF16": "bf16", "TF32": "tf32", "S8": "s8", "U8": "s8", "S4": "s4", "U4": "s4"}
"""Input types of mma.sync by modifier, as a machine's ``tensor`` table names them; f16 has none."""

_SHAPES: Final = {
    ("HMMA", "1684"): "m16n8k4",
    ("HMMA", "1688"): "m16n8k8",
    ("HMMA", "16816"): "m16n8k16",
    ("IMMA", "8816"): "m8n8k16",
    ("IMMA", "8832"): "m8n8k32",
    ("IMMA", "16816"): "m16n8k16",
    ("IMMA", "16832"): "m16n8k32",
    ("IMMA", "16864"): "m16n8k64",
}
"""Shapes of mma.sync by opcode and modifier."""


@dataclass(frozen=True, slots=True)
class MachineCode:
    """
    A kernel's instructions, decoded for a machine.

    Attributes:
        decoded: An entry for each instruction of the text, then one for each exit as a warp's last instruction, then
            one for each barrier that was met by a number or count in a register.
        origin: Number in the text of each entry's instruction.
        refused: Why the time of an instruction is not simulated, by its number in the text.
        has_mma: Whether the kernel has an mma.sync.
    """

    decoded: tuple[Decoded, ...]
    origin: IntArray
    refused: dict[int, str]
    has_mma: bool

    def with_barriers(self, met: Iterable[tuple[int, int, int]]) -> "MachineCode":
        """Return the code with entries for barriers; each has its number in the text, the barrier, and its warps."""
        decoded, origin = list(self.decoded), self.origin.tolist()
        for at, barrier, warps in met:
            decoded.append(self.decoded[at]._replace(barrier=barrier, arrivals=warps))
            origin.append(at)
        return replace(self, decoded=tuple(decoded), origin=np.array(origin, dtype=np.int64))


def traced_in(code: Sequence[Sass | None]) -> BoolArray:
    """Return whether each instruction of a text has an entry in its warp's trace for each issue."""
    return np.array([one is not None and is_traced(one) for one in code], dtype=np.bool_)


def is_traced(sass: Sass) -> bool:
    """Return whether an instruction's time depends on its lanes: on addresses, or on how many values differ."""
    if sass.name == "LDC":
        constant = sass.operand("m", Constant)
        return constant.index is not None and not constant.index.uniform and constant.index.number != RZ
    return sass.name in TRACED or sass.mnemonic == "MATCH.ANY"


def last_exits(code: Sequence[Sass | None]) -> IntArray:
    """
    Return the entry of each exit as a warp's last instruction, by its number in the text; -1 for other instructions.

    Before its last instruction a warp may execute exits that only some of its lanes take.
    """
    exits = [at for at, one in enumerate(code) if one is not None and one.name == "EXIT"]
    last = np.full(len(code), -1, dtype=np.int64)
    last[exits] = len(code) + np.arange(len(exits))
    return last


def machine_code(  # noqa: PLR0917 - each is needed
    code: Sequence[Sass | None], rows: IntArray, machine: Machine, warps: int, last: IntArray, leaders: Collection[int]
) -> MachineCode:
    """
    Decode a kernel's text.

    Args:
        code: Its instructions; None for those that cannot be decoded, which are never executed.
        rows: The executor's rows (``KernelExecution.rows``), which have the sizes of accesses.
        machine: The machine.
        warps: Warps of a CTA.
        last: Entry of each exit as a warp's last instruction (``last_exits``).
        leaders: Instructions to which jumps lead.

    Raises:
        BadInput: The machine file has no figure for a pipe of the kernel.
    """
    decoder = InstructionDecoder(machine, warps, estimated=False)
    sizes = rows.reshape(-1, core.ROW)[:, core.SIZE]
    line_bytes = machine.instruction_cache.line_bytes
    decoded, refused, origin = [], dict[int, str](), list(range(len(code)))
    for at, one in enumerate(code):
        following = code[at + 1] if at + 1 < len(code) else None
        line = at * INSTRUCTION_BYTES // line_bytes
        begins = line if at in leaders or at * INSTRUCTION_BYTES % line_bytes == 0 else -1
        again = one is not None and following is not None and following.name == one.name
        try:
            row = _decoded(decoder, one, int(sizes[at]), begins, again=again)
        except Unsupported as error:
            refused[at] = str(error)
            row = Decoded(kind=0, port=0)
        decoded.append(row)
    for at in np.flatnonzero(last >= 0).tolist():
        one = code[at]
        if one is not None:
            decoded.append(decoder.decoded(instruction_of(one, "exit", ""), decoded[at].line))
            origin.append(at)
    has_mma = any(one is not None and one.name in ("HMMA", "IMMA") for one in code)
    return MachineCode(tuple(decoded), np.array(origin, dtype=np.int64), refused, has_mma)


def _decoded(decoder: InstructionDecoder, sass: Sass | None, size: int, line: int, *, again: bool) -> Decoded:
    """
    Decode one instruction of the text.

    Raises:
        Unsupported: Its time is not simulated.
    """
    if sass is None:
        raise Unsupported("an instruction that cannot be decoded")
    unit, pipe = unit_and_pipe(sass)
    row = decoder.decoded(instruction_of(sass, unit, pipe), line, _access(decoder.machine, sass, size), again=again)
    if is_traced(sass) and sass.name not in TRACED:
        indexed = decoder.machine.constant_cache.indexed
        row = row._replace(kind=PASSES, traced=True, interval=row.interval if indexed is None else indexed.interval)
    if sass.name == "MEMBAR" and decoder.machine.barrier.fences is not None:
        row = _fence(row, sass, decoder.machine.barrier.fences)
    if sass.mnemonic.startswith(_TWO_PASSES):
        row = row._replace(interval=2 * row.interval)
    if sass.name in TRACED:
        fetched = max(
            decoder.machine.l2.fetch_bytes, *(_PREFETCHED[one] for one in sass.modifiers if one in _PREFETCHED), 0
        )
        row = row._replace(traced=True, atomic=_atomic(sass), fetch_sectors=min(fetched, LINE_BYTES) // SECTOR_BYTES)
    if sass.name == "BAR":
        row = _barrier(row, sass)
    return row


def unit_and_pipe(sass: Sass) -> tuple[Unit, str]:
    """
    Return the unit that executes an instruction, and the machine file's name of its pipe.

    Raises:
        Unsupported: The opcode has no pipe.
    """
    if sass.name in TRACED:
        return TRACED[sass.name], ""
    if sass.name in ("HMMA", "IMMA"):
        return "tensor", tensor_key(sass)
    if sass.name == "SHFL":
        return "pipe", "mufu"
    unit = UNITS.get(sass.name)
    if unit is not None:
        return unit, ""
    if sass.name not in PIPE_OF_OPCODE:
        raise Unsupported(f"{sass.name} has no pipe in the model ({sass})")
    return "pipe", PIPE_OF_OPCODE[sass.name]


def tensor_key(sass: Sass) -> str:
    """
    Return the key of a mma.sync in a machine's ``tensor`` table.

    Raises:
        Unsupported: Its shape or type is not known.
    """
    shape, *types = sass.modifiers
    if (sass.name, shape) not in _SHAPES:
        raise Unsupported(f"the shape of {sass.mnemonic} is not known ({sass})")
    integer = sass.name == "IMMA"
    inputs = [_INPUTS[one] for one in types if one in _INPUTS]
    accumulator = "s32" if integer else types[0].lower()
    return f"{_SHAPES[sass.name, shape]}.{inputs[0] if inputs else 'f16'}.{accumulator}"


def _atomic(sass: Sass) -> int:
    """Return the kind of an atomic on global memory; 0 for other accesses."""
    if sass.name not in _RETURNS:
        return 0
    return FLOAT_ATOMIC if any(one.startswith(("F16", "F32", "F64", "BF16")) for one in sass.modifiers) else ATOMIC


def _access(  # noqa: PLR0911 - one for each kind of access
    machine: Machine, sass: Sass, size: int
) -> Access | None:
    """Return the properties of a memory access that do not depend on addresses."""
    shared, name = machine.shared, sass.name
    if name == "LDSM":
        return Access(bytes=size * 4 * WARP_SIZE, latency=shared.ldmatrix_latency_x1, is_load=True)
    if name == "LDS":
        return Access(bytes=size * WARP_SIZE, latency=shared.lds_latency(max(4, size)), is_load=True)
    if name == "ATOMS":
        return Access(bytes=size * WARP_SIZE, latency=shared.load_latency, is_load=True, fills=True)
    if name == "STS":
        return Access(fills=True)
    if name in _LOCAL:
        return Access(bytes=size * WARP_SIZE, latency=machine.l1.hit_latency, is_load=name == "LDL")
    if name in _LOADS:
        return Access(target=(0, 0, 0, 0), is_load=True, through_l1=True)
    if name in _RETURNS:
        return Access(target=(OUTPUT, -1, 0, 0), is_load=_RETURNS[name])
    if name == "LDGSTS":
        return Access(
            target=(0, 0, 0, 0), through_l1="BYPASS" not in sass.modifiers, zero_fills="ZFILL" in sass.modifiers
        )
    if name == "DEPBAR":
        pending = sass.operands.get("k")
        return Access(pending=pending.value if isinstance(pending, Immediate) else 0)
    return None


def _fence(row: Decoded, sass: Sass, fences: FencesSpec) -> Decoded:
    """Return a fence with the time of its scope."""
    if "CTA" in sass.modifiers:
        return row._replace(latency=fences.cta, is_branch=True)
    cycles = fences.system if "SYS" in sass.modifiers else fences.gpu
    return row._replace(kind=FENCE, latency=cycles)


def _barrier(row: Decoded, sass: Sass) -> Decoded:
    """Return a barrier with its action, and its number and count unless they are in registers."""
    number, count = sass.operands.get("k"), sass.operands.get("c")
    meets = ARRIVES if "ARV" in sass.modifiers else ARRIVES | WAITS
    threads = count.value if isinstance(count, Immediate) else 0
    return row._replace(
        barrier=number.value if isinstance(number, Immediate) else 0, arrivals=-(-threads // WARP_SIZE), meets=meets
    )
