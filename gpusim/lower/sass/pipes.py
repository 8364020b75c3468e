"""Maps each SASS opcode to the unit of the SM that executes it, by the machine file's pipe names; knows no timing.

Sources: [ncu-guide] Nsight Compute, Kernel Profiling Guide, metrics decoder, "Pipelines": ALU does bit manipulation,
logic, integer arithmetic except multiplication, comparisons, and FP32-to-FP16 conversion; FMA does FP32 arithmetic and,
in its heavy half, IMAD; XU does transcendentals and int/float conversions; ADU does branches and constant loads; LSU
(behind the MIO queue) does memory instructions; the uniform datapath does U* opcodes.
[assumed] marks opcodes without a public figure; the reason stands beside them.
"""

from gpusim.lower.sass.decode import Sass
from gpusim.lower.sass.operands import PT
from gpusim.lower.stream import Unit

ALU = frozenset(
    {
        *(
            "IADD3",
            "VIADD",
            "LEA",
            "LOP3",
            "PLOP3",
            "SHF",
            "PRMT",
            "SGXT",
            "BMSK",
            "IABS",
            "VABSDIFF",
            "VABSDIFF4",
        ),  # [ncu-guide] ALU
        *("ISETP", "FSETP", "FSET", "SEL", "FSEL", "IMNMX", "VIMNMX", "VIADDMNMX", "FMNMX", "MOV"),  # [ncu-guide] ALU
        *("I2FP", "F2IP", "I2IP", "HMNMX2"),  # [assumed] fixed latency, like the similar F2FP and FMNMX
        *("F2FP", "P2R", "R2P"),  # [ncu-guide] ALU: fast FP32-to-FP16 conversion; predicates as integers
        *("VOTE", "MOVM", "CS2R", "B2R", "BMOV", "NOP", "YIELD"),  # [assumed] fixed latency, no unit documented
    }
)
FMA = frozenset({"FADD", "FMUL", "FFMA"})  # [ncu-guide] FMA
FMA_HEAVY = frozenset({"IMAD", "IDP"})  # [ncu-guide] FMA heavy: IMAD; IDP multiplies, too
HALF = frozenset({"HADD2", "HMUL2", "HFMA2", "HSET2", "HSETP2"})  # [ncu-guide] FP16
FP64 = frozenset({"DADD", "DMUL", "DFMA", "DSETP"})  # [ncu-guide] FP64
XU = frozenset(
    {
        *("MUFU", "I2F", "F2I", "F2F", "POPC", "FLO", "BREV"),  # [ncu-guide] XU
        *("FCHK", "FRND", "MATCH", "REDUX"),  # [assumed] results come with a scoreboard, as those of F2F
        # Memory instructions that the schedule does not name: semaphores, alpha given by a pointer. [assumed] Their
        # scoreboards are held for the latency of an XU result; their load on the memory pipeline is not modelled.
        *("LD", "ATOMG", "RED", "REDG"),
        # These go through the MIO, as S2UR and SHFL between ops do; ``sim.decode`` has their latencies.
        *("LDL", "STL", "S2R"),
    }
)
ADDRESS = frozenset(
    {
        *("BRA", "BRX", "BSSY", "BSYNC", "BREAK", "CALL", "RET", "WARPSYNC", "EXIT", "LDC"),  # [ncu-guide] ADU
        *(
            "MEMBAR",
            "ERRBAR",
            "CGAERRBAR",
            "CCTL",
            "NANOSLEEP",
            "ENDCOLLECTIVE",
            "BPT",
            "KILL",
        ),  # [assumed] rare; their waits are not modelled
    }
)
UNIFORM = frozenset(
    {
        *("UIADD3", "ULEA", "ULOP3", "UPLOP3", "USHF", "UPRMT", "UBMSK", "UISETP", "USEL", "UMOV", "UIMAD"),
        *("UFLO", "UPOPC", "UBREV", "ULDC", "R2UR", "S2UR", "VOTEU"),
    }
)  # [ncu-guide] Uniform

PIPE_OF_OPCODE = {
    **dict.fromkeys(ALU, "alu"),
    **dict.fromkeys(FMA, "fma"),
    **dict.fromkeys(FMA_HEAVY, "fmaheavy"),
    **dict.fromkeys(HALF, "half"),
    **dict.fromkeys(FP64, "fp64"),
    **dict.fromkeys(XU, "mufu"),
    **dict.fromkeys(ADDRESS, "branch"),
    **dict.fromkeys(UNIFORM, "uniform"),
}

UNITS: dict[str, Unit] = {
    "HMMA": "tensor",
    "IMMA": "tensor",
    "LDSM": "shared",
    "LDS": "shared",
    "STS": "shared",
    "ATOMS": "shared",
    "SHFL": "shared",
    "LDGSTS": "ldgsts",
    "LDGDEPBAR": "commit",
    "DEPBAR": "depbar",
    "BAR": "barrier",
    "LDG": "global",
    "STG": "global",
}

MEMORY = frozenset({"shared", "ldgsts", "global"})
"""Units whose instructions take their lane addresses from the schedule's op."""


def unit_of(sass: Sass, *, scheduled: bool) -> tuple[Unit, str]:
    """
    Return the unit that executes an instruction and, for unit "pipe", the machine file's name of the pipe.

    Args:
        sass: The instruction.
        scheduled: Whether it executes an op of the schedule. Other memory instructions have no lane addresses, so they
            go to a pipe.

    Raises:
        KeyError: The opcode is in neither table.
    """
    unit = UNITS.get(sass.name)
    if unit is None:
        return "pipe", PIPE_OF_OPCODE[sass.name]
    if unit in MEMORY and not scheduled:
        # @!PT LDS RZ, [RZ] takes only an entry of the MIO queue. All others access semaphores.
        never = sass.guard.inverted and sass.guard.number == PT
        return "pipe", "alu" if never else "mufu"
    return unit, ""
