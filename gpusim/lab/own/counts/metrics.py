"""
What ncu's metrics count, as counts of instructions that gpusim executes; knows no measurement.

The pipe of an opcode is found from 47 kernels on an H200: with these tables, each pipe's count is the measured one.
Opcodes that none of these kernels has stand apart, where NVIDIA's profiling guide says they run.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, TypeAlias

from gpusim.execute.counts import InstructionCounts
from gpusim.lower.sass.decode import Sass

Counted: TypeAlias = Callable[[Sass, InstructionCounts], int]

MEASURED_PIPES: Final[Mapping[str, frozenset[str]]] = MappingProxyType(
    {
        "alu": frozenset(
            {
                *("CS2R", "F2FP", "FSEL", "FSETP", "I2FP", "IADD3", "ISETP", "LEA", "LOP3", "MOV"),
                *("PLOP3", "PRMT", "R2UR", "SEL", "SHF", "VIMNMX", "VOTE"),
            }
        ),
        "fma": frozenset({"FADD", "FFMA", "FMUL", "HADD2", "HFMA2", "HMUL2", "IMAD", "VIADD"}),
        "xu": frozenset({"BREV", "F2F", "F2I", "FCHK", "FLO", "I2F", "MUFU", "POPC"}),
        "lsu": frozenset(
            {
                *("ATOMG", "LD", "LDG", "LDGDEPBAR", "LDGSTS", "LDL", "LDS", "LDSM", "MEMBAR"),
                *("REDG", "SHFL", "STG", "STL", "STS"),
            }
        ),
        "cbu": frozenset({"BSSY", "BSYNC", "CALL", "EXIT", "RET", "WARPSYNC", "YIELD"}),
        "uniform": frozenset({"UIADD3", "UIMAD", "UISETP", "ULEA", "ULOP3", "USHF"}),
        "fp64": frozenset({"DFMA", "DMUL"}),
        "tensor_op_hmma": frozenset({"HMMA"}),
        "tensor_op_imma": frozenset(),
    }
)
"""Opcodes of each pipe that a development kernel executes. BRA, NOP, UMOV and ULDC are on none of these pipes."""

ASSUMED_PIPES: Final[Mapping[str, frozenset[str]]] = MappingProxyType(
    {
        "alu": frozenset(
            {
                *("BMSK", "F2IP", "FMNMX", "FSET", "HMNMX2", "I2IP", "IABS", "IMNMX", "P2R", "R2P", "SGXT"),
                *("VABSDIFF", "VIADDMNMX"),
            }
        ),
        "fma": frozenset({"HSETP2", "IDP"}),
        "xu": frozenset({"FRND", "REDUX"}),
        "lsu": frozenset({"ATOM", "ATOMS", "CCTL", "RED", "ST"}),
        "cbu": frozenset({"BREAK", "BRX"}),
        "uniform": frozenset({"UBMSK", "UBREV", "UFLO", "UPLOP3", "UPOPC", "UPRMT", "USEL", "USGXT"}),
        "fp64": frozenset({"DADD", "DSETP"}),
        "tensor_op_imma": frozenset({"IMMA"}),
    }
)
"""Opcodes of each pipe that no development kernel executes. Source: [ncu-guide] Pipelines; similar opcodes."""

NCU_PIPES: Final[Mapping[str, frozenset[str]]] = MappingProxyType(
    {pipe: opcodes | ASSUMED_PIPES.get(pipe, frozenset()) for pipe, opcodes in MEASURED_PIPES.items()}
)
"""Opcodes of each pipe, by ncu's name of the pipe."""


def pipe_of(sass: Sass) -> str:
    """
    Return ncu's name of the pipe that executes an instruction; empty for a pipe that is not compared.

    HFMA2.MMA runs on the tensor pipe. S2R goes to the LSU for the thread's index, and to the ADU for registers that a
    whole CTA shares.
    """
    if "MMA" in sass.modifiers:
        return "tensor_op_hmma"
    if sass.name == "S2R":
        return "lsu" if "SR_TID" in sass.text or "SR_LANEID" in sass.text else ""
    return next((pipe for pipe, opcodes in NCU_PIPES.items() if sass.name in opcodes), "")


@dataclass(frozen=True, slots=True)
class ComparableMetric:
    """
    A metric of ncu that counts what gpusim counts.

    Attributes:
        name: ncu's name.
        words: What it counts.
        counted: Returns an instruction's share of it.
    """

    name: str
    words: str
    counted: Counted


def _issues(words: str, name: str, *opcodes: str) -> ComparableMetric:
    return ComparableMetric(name, words, lambda sass, row: row.issues if sass.name in opcodes else 0)


def _pipe(pipe: str) -> ComparableMetric:
    return ComparableMetric(
        f"sm__inst_executed_pipe_{pipe}.sum",
        f"instructions of pipe {pipe.removeprefix('tensor_op_')}",
        lambda sass, row: row.issues if pipe_of(sass) == pipe else 0,
    )


def _wavefronts(op: str, *opcodes: str) -> ComparableMetric:
    return ComparableMetric(
        f"sm__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_{op}.sum",
        f"wavefronts of {opcodes[0]}",
        lambda sass, row: row.wavefronts if sass.name in opcodes else 0,
    )


def _sectors(op: str, words: str, *opcodes: str) -> ComparableMetric:
    return ComparableMetric(
        f"l1tex__t_sectors_pipe_lsu_mem_global_op_{op}.sum",
        f"global sectors of {words}",
        lambda sass, row: row.sectors if sass.name in opcodes else 0,
    )


COPY_WAVEFRONTS: Final = "sm__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ldgsts.sum"
"""Wavefronts of LDGSTS, which depend on global lines, too."""

COMPARABLE: Final = (
    ComparableMetric("smsp__inst_executed.sum", "instructions", lambda sass, row: row.issues),  # noqa: ARG005 - one type
    *map(_pipe, NCU_PIPES),
    *(
        _issues(f"{opcode} instructions", f"smsp__inst_executed_op_{op}.sum", opcode)
        for op, opcode in (
            *(("shared_ld", "LDS"), ("shared_st", "STS"), ("shared_atom", "ATOMS"), ("ldsm", "LDSM")),
            *(("ldgsts", "LDGSTS"), ("global_ld", "LDG"), ("global_st", "STG"), ("global_red", "REDG")),
            *(("local_ld", "LDL"), ("local_st", "STL")),
        )
    ),
    _wavefronts("ld", "LDS", "LD"),
    _wavefronts("st", "STS", "ST"),
    _wavefronts("ldsm", "LDSM"),
    ComparableMetric(COPY_WAVEFRONTS, "wavefronts of LDGSTS, by pattern and line", lambda sass, row: 0),  # noqa: ARG005
    _sectors("ld", "loads and copies", "LDG", "LD", "LDGSTS"),
    _sectors("st", "stores", "STG", "ST"),
    _sectors("red", "reductions", "REDG", "RED"),
    _sectors("atom", "atomics", "ATOMG", "ATOM"),
)
"""Metrics that are compared."""

NOT_COMPARED: Final = (
    (
        "`sm__inst_executed_pipe_fmaheavy`, `_fmalite`",
        "FADD, FMUL and FFMA go to whichever half of the FMA pipe is free. Packed halves take both; all others add up.",
    ),
    (
        "`sm__inst_executed_pipe_adu`",
        "Counts LDC, BAR and S2R, an LDC once for each address of its lanes, and 3,000 to 8,000 more in most launches.",
    ),
    (
        "`smsp__thread_inst_executed`",
        "Counts a warp's active lanes whether or not their predicate holds; gpusim's lanes are those that execute.",
    ),
    (
        "`l1tex__data_pipe_lsu_wavefronts_mem_shared*`, `l1tex__data_bank_conflicts*`",
        "Include arbitration with other traffic of the L1. Their difference, the ideal wavefronts, is compared.",
    ),
    (
        "`l1tex__t_requests*`",
        "Counts the accesses that have an active lane; gpusim's issues include the others.",
    ),
    (
        "`l1tex__t_sectors_pipe_lsu_mem_local*`, `..._mem_shared_op_atom`",
        "gpusim counts neither the sectors of stacks nor the wavefronts of atomics on shared memory.",
    ),
    (
        "`*_lookup_hit`, `lts__*`, `dram__*`",
        "Depend on caches and on the order of warps, which the executor does not have.",
    ),
)
"""Metrics that were measured and are not compared, each with the reason."""
