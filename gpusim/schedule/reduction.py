"""The op order of a parallel split-K's second kernel: partial sums, slice by slice, to the output."""

from gpusim.numerics.output_op import reduction_output_op
from gpusim.scenario.gemm import GemmScenario
from gpusim.schedule.ops import LoadBias, LoadPartial, LoadSource, Op, StoreGlobal
from gpusim.tile.reduction import PARTITIONS_PER_STAGE


def reduction_ops(scenario: GemmScenario) -> tuple[Op, ...]:
    """
    What every warp does: partial sums of a few slices at a time, then source and bias where they are needed, then the
    one store. The additions between the loads have no address and are no ops.

    Raises:
        BadInput: The scenario has no parallel split-K.

    Source: CUTLASS include/cutlass/reduction/kernel/reduce_split_k.h, whose output operators take no bias: that is
    loaded beside the source.
    """
    tile, does = scenario.reduction, reduction_output_op(scenario)
    partial: list[Op] = [
        LoadPartial(slice_, access) for slice_ in range(tile.slices) for access in range(tile.loads_per_slice)
    ]
    source: list[Op] = [LoadSource(0, 0)] if does.with_source else []
    bias: list[Op] = [LoadBias(0)] if does.with_bias else []
    return (*partial, *source, *bias, StoreGlobal(0, 0))


def stage_ends(slices: int) -> tuple[int, ...]:
    """The slices after which what was loaded is added: every few, and the last."""
    return (*range(PARTITIONS_PER_STAGE, slices, PARTITIONS_PER_STAGE), slices)
