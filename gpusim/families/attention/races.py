"""Which accesses of an attention program race in shared memory, byte for byte: P, statistics and staging included."""

from collections.abc import Sequence

from gpusim.families.attention.problem import AttentionScenario
from gpusim.families.attention.program.softmax import AtomicMax, LoadStatistic, StoreP, StoreStatistic
from gpusim.families.attention.program.step import AttentionProgram, Step
from gpusim.families.attention.tile.attention_lanes import AttentionLanes
from gpusim.schedule.byte_events import races_of
from gpusim.schedule.hazards import NOT_APPLICABLE, Hazard
from gpusim.schedule.ops import CopyAsync, Ldmatrix, LoadShared, StoreShared


def find_attention_races(programs: Sequence[AttentionProgram], scenario: AttentionScenario) -> tuple[Hazard, ...]:
    """
    Find the races that ``find_attention_hazards`` does not look for.

    These are the races of P, of the row statistics and of the staging, and those between tensors that share memory. All
    races of equal accesses to equal data are one hazard. It states the first one.

    Args:
        programs: Programs of CTAs of one kernel, shipped or mutated. The op indices count all steps of a program.
        scenario: Problem and kernel.
    """
    lanes = AttentionLanes(scenario)
    found: dict[tuple[str, str], Hazard] = {}
    for program, races in zip(programs, races_of(lanes, programs), strict=True):
        for (index, warp), (later_index, later_warp) in races:
            first, second = program[index], program[later_index]
            if not _is_of_slots(first, second, lanes):
                names = _name(first, lanes), _name(second, lanes)
                message = (
                    f"{names[0]} at op {index} by warp {warp} and {names[1]} at op {later_index} by warp {later_warp}"
                    " share bytes of shared memory, and no wait or barrier orders them"
                )
                no = NOT_APPLICABLE
                hazard = Hazard("unordered_accesses", message, no, no, _data(first, lanes), no, later_index)
                found.setdefault(names, hazard)
    return tuple(found.values())


def _is_of_slots(first: Step, second: Step, lanes: AttentionLanes) -> bool:
    """Return whether accesses are copies and fragment loads of one tensor, whose ring slots are checked elsewhere."""
    both = all(isinstance(step.op, CopyAsync | Ldmatrix) for step in (first, second))
    return both and lanes.operand_name(first) == lanes.operand_name(second) != "p"


def _name(step: Step, lanes: AttentionLanes) -> str:
    """Return the name of an access of shared memory in messages."""
    match step.op:
        case CopyAsync():
            verb = "copy"
        case Ldmatrix():
            verb = "fragment load"
        case AtomicMax():
            verb = "atomic maximum"
        case LoadStatistic() | LoadShared():
            verb = "load"
        case StoreP() | StoreStatistic() | StoreShared():
            verb = "store"
        case _:
            raise TypeError(f"{step} has no access of shared memory")
    return f"{verb} of {_data(step, lanes)}"


def _data(step: Step, lanes: AttentionLanes) -> str:
    """Return the name of the data that an access of shared memory moves."""
    match step.op:
        case LoadShared() | StoreShared():
            return "accumulator"
        case LoadStatistic(statistic) | StoreStatistic(statistic):
            return statistic
        case AtomicMax():
            return "maximum"
        case _:
            return lanes.operand_name(step)
