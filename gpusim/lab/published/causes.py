"""Suspected causes of missed entries in the tables of microbenchmarks. They are read off the tables, not tested."""

from gpusim.lab.published.tables import Entry, Microbenchmark
from gpusim.machine.load import load_machine

OTHER_BUILD = (
    "trips are as one compiler spaces them (trips.csv); how the loops that were measured were built is not known:"
    " mma.sync of f16 and of f32 accumulators have one spacing here, and took different times"
)
BEYOND_ITS_RATE = (
    "three mma.sync of a lone warp and the end of its loop took hardly more than three intervals, as two warps have"
    " them: here the end comes on top"
)
SHARED_PIPE = "two warps with chains that nearly fill the pipe lose up to 2 cycles a trip; not modelled"
SLOW_WAVEFRONTS = "an SMSP takes each wavefront of a load in two cycles; simulated, its bytes alone take time"
WIDE_LOAD = (
    "a load of 8 bytes a lane is there after 26.4 cycles, one of 16 after 32.4: 3 and 9 more than one of 4;"
    " simulated, 2 for each further wavefront"
)
UNFAIR = (
    "warps take turns at runs (D4), so that one of them runs on alone at the end; on silicon all warps end together"
)
TWO_CTAS = "two CTAs' barriers overlap on silicon: below 2 cycles a warp"
FFMA = "dependent FFMA of several warps take the pipe for 2 cycles, independent ones for 1"
FEW_LOADS = "narrow loads of few warps, by up to 4 cycles a trip; not known"
MARGIN = "a fraction of a cycle, of 4"

NEARLY = 0.95
"""Share of a trip from which the tensor core counts as busy for all of it."""


def cause_of(entry: Entry) -> str:
    """Return the suspected cause of a miss in words."""
    program, smsps = entry.program, load_machine(entry.program.machine).smsps
    match program.instruction:
        case "mma":
            return _cause_of_mma(entry, smsps)
        case "arithmetic":
            if entry.error > 0:
                return UNFAIR
            return FFMA if program.name == "fma" and abs(entry.measured - entry.simulated) > 1 else MARGIN
        case "lds" if program.name in {"8", "16"} and program.wavefronts <= int(program.name):
            return WIDE_LOAD
        case "barrier":
            return TWO_CTAS
        case _:
            return SLOW_WAVEFRONTS if program.wavefronts > 1 else FEW_LOADS


def _cause_of_mma(entry: Entry, smsps: int) -> str:
    program = entry.program
    if program.warps > smsps:
        return SHARED_PIPE if entry.error < 0 else UNFAIR
    return BEYOND_ITS_RATE if program.chains * _apart(program) >= NEARLY * entry.measured else OTHER_BUILD


def _apart(program: Microbenchmark) -> float:
    """Return the cycles from one mma.sync to the next if the tensor core is always busy."""
    spec = load_machine(program.machine).tensor[program.name]
    return spec.interval + (spec.beyond.percent / 100 if spec.beyond else 0)
