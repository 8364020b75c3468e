"""What is suspected where an entry of a table of microbenchmarks is missed: read off the tables, not tested apart."""

from gpusim.machine.load import load_machine
from gpusim.measure.published.tables import Entry

LONE_WARP = (
    "one warp alone on an SMSP: on an A100 its mma.sync seem to leave the tensor core idle for about a cycle each, as"
    " chains x (interval + 1) meets 9 of the 11 entries missed; it may be the end of the loop, where ptxas lets a warp"
    " wait, as on an H200, but how those loops were compiled is not known"
)
SOONER_THAN_ALONE = (
    "mma.sync of half as much, of which few chains wait for each other's data only: with two chains a round takes 16.3"
    " cycles, with three 16.7, and 17.0 with one; why the first two take less is not known"
)
ROUNDED_UP = "4.5 cycles between two instructions, 5 in the machine file: time is in whole cycles"
OTHER_CHIP = "an H800 answers in 16.0 cycles; the machine file has the H200's own 17.0"
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
    alone = program.warps <= smsps
    if program.chains == 1 and alone:
        return OTHER_CHIP
    if alone:
        return SOONER_THAN_ALONE if entry.error > 0 else LONE_WARP
    if entry.error > 0:
        if program.chains == 2 and program.warps <= 2 * smsps:
            return SOONER_THAN_ALONE
        return ROUNDED_UP if ".s4." in program.name or ".b1." in program.name else UNFAIR
    return SHARED_PIPE
