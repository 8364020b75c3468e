"""The Python stream of a parallel split-K's second kernel as the trace build records it, and that of both launches."""

from collections.abc import Sequence

import numpy as np

from gpusim.cuda.trace import OPERATION_NUMBER, Records, blank_records, expected_records
from gpusim.scenario.gemm import GemmScenario
from gpusim.schedule.ops import LoadBias, LoadPartial, Op
from gpusim.schedule.reduction import reduction_ops
from gpusim.tile.reduction import ReductionAccess
from gpusim.units import WARP_SIZE


def traced_reduction_ctas(scenario: GemmScenario) -> tuple[int, ...]:
    """Linear block indices of the reduction's CTAs worth tracing: the first, one in the middle, the last."""
    ctas = scenario.reduction.ctas
    return tuple(sorted({0, ctas // 2, ctas - 1}))


def expected_reduction_records(scenario: GemmScenario, blocks: Sequence[int]) -> Records:
    """
    What the trace build of the reduction must record.

    Args:
        scenario: One with a parallel split-K.
        blocks: Linear block indices, in the order of ``Params.recorded``.

    Returns:
        Records of dtype ``trace_format.RECORD``, by slot, warp and position.
    """
    tile, ops = scenario.reduction, reduction_ops(scenario)
    parts = []
    for slot, block in enumerate(blocks):
        access = tile.access(block)
        records = blank_records(slot, tile.warps, len(ops))
        for position, op in enumerate(ops):
            _fill(records[:, position], op, access, tile.warps)
        parts.append(records.reshape(-1))
    return np.concatenate(parts)


def expected_launches(scenario: GemmScenario, blocks: Sequence[int]) -> Records:
    """The records of every kernel of a scenario, launch after launch, slots numbered on."""
    records = expected_records(scenario, blocks)
    if not scenario.problem.reduces:
        return records
    reduction = expected_reduction_records(scenario, traced_reduction_ctas(scenario))
    return one_after_another(records, reduction, len(blocks))


def one_after_another(first: Records, second: Records, slots: int) -> Records:
    """Records of two launches; ``slots`` are the CTAs recorded of the first."""
    moved = second.copy()
    moved["slot"] += slots
    return np.concatenate([first, moved])


def _fill(record: Records, op: Op, access: ReductionAccess, warps: int) -> None:
    """One op in every warp. ``record`` is a view of shape [warps]."""
    record["op"] = OPERATION_NUMBER[type(op)]
    match op:
        case LoadPartial(slice_, index):
            record["k_tile"], record["index"], offset = slice_, index, access.partial[slice_, index]
        case LoadBias():
            record["index"], offset = 0, access.bias
        case _:
            record["k_tile"], record["index"], offset = 0, 0, access.output
    record["global"] = offset.reshape(warps, WARP_SIZE)
    record["predicate"] = access.valid.reshape(warps, WARP_SIZE)
