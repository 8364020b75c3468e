"""Schedules the second kernel of a parallel split-K: its ops in order, and the addresses of its CTAs."""

from collections.abc import Hashable, Iterable, Sequence
from functools import cached_property
from typing import get_args

import numpy as np

from gpusim.arrays import IntArray
from gpusim.element_types import element_bits
from gpusim.families.gemm.reduction.tile import PARTITIONS_PER_STAGE, ReductionAccess, ReductionTile, reduction_tile
from gpusim.layout.banks import Banks
from gpusim.machine import Machine, load_machine
from gpusim.numerics.output_op import reduction_output_op
from gpusim.scenario.gemm import GemmScenario
from gpusim.schedule.counts import CountedKernel, GlobalCounts, GridProgram
from gpusim.schedule.kernel import Fill, FragmentTile
from gpusim.schedule.lanes import CtaLanes, Fetches, GlobalRow, Lanes, Reached, Shared, at_output
from gpusim.schedule.ops import LoadBias, LoadPartial, LoadSource, Op, StoreGlobal
from gpusim.tile.global_access import GlobalAccess


def reduction_ops(scenario: GemmScenario) -> tuple[Op, ...]:
    """
    Return the ops of every warp: loads of partial sums, then of source and bias if needed, then one store.

    The additions between the loads have no address and are no ops.

    Raises:
        BadInput: The scenario has no parallel split-K.

    Source: CUTLASS include/cutlass/reduction/kernel/reduce_split_k.h. Its output operators take no bias; here the bias
    is loaded after the source.
    """
    tile, does = reduction_tile(scenario), reduction_output_op(scenario)
    partial: list[Op] = [
        LoadPartial(slice_, access) for slice_ in range(tile.slices) for access in range(tile.loads_per_slice)
    ]
    source: list[Op] = [LoadSource(0, 0)] if does.with_source else []
    bias: list[Op] = [LoadBias(0)] if does.with_bias else []
    return (*partial, *source, *bias, StoreGlobal(0, 0))


def stage_ends(slices: int) -> tuple[int, ...]:
    """Return the numbers of slices after which loaded partial sums are added: every few slices, and at the end."""
    return (*range(PARTITIONS_PER_STAGE, slices, PARTITIONS_PER_STAGE), slices)


class ReductionLanes(Lanes[Op]):
    """The lane addresses of a reduction, which accesses global memory alone."""

    def __init__(self, tile: ReductionTile, banks: Banks) -> None:
        self.tile, self.warps, self.banks = tile, tile.warps, banks
        self.operands = {}

    def cta(self, block: int) -> "ReductionCta":
        """Return the global-memory accesses of a block's CTA."""
        return ReductionCta(self, block)

    def op(self, step: Op) -> Op:
        """Return the step itself: steps of a reduction are ops."""
        return step

    def operand_name(self, step: Op) -> str:
        """Raise TypeError, because no op of a reduction has an operand."""
        raise TypeError(f"{type(step).__name__} is no op of a reduction")

    def mmas(self, step: Op) -> int:  # noqa: ARG002 - there is none
        """Return 0: a reduction has no mma.sync."""
        return 0

    def shared(self, step: Op) -> Shared | None:  # noqa: ARG002 - there is none
        """Return None: a reduction does not access shared memory."""
        return None

    def target(self, step: Op) -> tuple[int, int]:
        """Return row and access of a step. Rows are the slices, then one for output and source, then the bias."""
        match step:
            case LoadPartial(slice_, access):
                return slice_, access
            case LoadBias():
                return self.tile.slices + 1, 0
            case _:
                return self.tile.slices, 0


class ReductionCta(CtaLanes[Op]):
    """The global accesses of one CTA of a reduction."""

    def __init__(self, lanes: ReductionLanes, cta: int) -> None:
        self._lanes, self._block = lanes, cta

    @cached_property
    def _access(self) -> ReductionAccess:
        return self._lanes.tile.access(self._block)

    def fetches(self) -> list[Fetches]:
        """Return an empty list: a reduction fetches no operand."""
        return []

    def fetched(self, row: int, number: int) -> GlobalAccess:
        """Raise TypeError, because a reduction fetches no operand."""
        raise TypeError(f"a reduction has no fetch {number} in row {row}")

    def alike_outputs(self) -> Hashable:
        """Return the rows and columns left of the tile, and the places in a line where its accesses begin."""
        return self._lanes.tile.alike(self._block)

    def output_bases(self) -> tuple[int, ...]:
        """Return the first element of the tile for the partial sums of each slice, for the output and for the bias."""
        tile = self._lanes.tile
        partial, output, bias = tile.begins(self._block)
        return *(partial,) * tile.slices, output, bias

    def outputs(self) -> list[GlobalRow]:
        """Return the accesses to partial sums of each slice, then those to the output, then those to the bias."""
        tile, access = self._lanes.tile, self._access
        partial = [
            self._row(offset.T, tile.accumulator_type, tile.elements_per_load)._replace(kept=True)
            for offset in access.partial
        ]
        others = (access.output[:, None], access.bias[:, None])
        return [*partial, *(self._row(offset, tile.output_type, tile.elements_per_access) for offset in others)]

    def _row(self, offset: IntArray, element: str, elements: int) -> GlobalRow:
        bits = element_bits(element)
        valid = np.broadcast_to(self._access.valid[:, None], offset.shape)
        return GlobalRow(offset, valid, bits, elements * bits // 8)

    def reached(self, step: Op) -> Reached | None:
        """Return the global access of a step. Every op of a reduction has one."""
        row, access = self._lanes.target(step)
        match step:
            case LoadPartial():
                tensor = "partial"
            case LoadSource():
                tensor = "source"
            case LoadBias():
                tensor = "bias"
            case _:
                tensor = "output"
        return at_output(self.output_rows[row], tensor, access, self._lanes.warps)


class ReductionKernel(CountedKernel[Op]):
    """The second kernel of a parallel split-K as a schedule."""

    op_kinds = get_args(Op)

    def __init__(self, scenario: GemmScenario, machine: Machine | None = None) -> None:
        self.scenario, self.tile = scenario, reduction_tile(scenario)
        self.machine = machine or load_machine(scenario.machine)

    @property
    def grid(self) -> tuple[int, int, int]:
        """gridDim x, y, z."""
        return self.tile.grid

    def lanes(self) -> ReductionLanes:
        """Return the addresses of all CTAs."""
        return ReductionLanes(self.tile, self.banks)

    def steps(self, block: int) -> Sequence[Op]:  # noqa: ARG002 - all CTAs do the same
        """Return the ops that every CTA executes."""
        return reduction_ops(self.scenario)

    def fills(self, block: int, operand: str) -> Sequence[Fill]:  # noqa: ARG002 - none
        """Return nothing: a reduction does not use shared memory."""
        return ()

    def fragments(self, block: int, operand: str) -> Sequence[FragmentTile]:  # noqa: ARG002 - none
        """Return nothing: a reduction has no fragments."""
        return ()

    @property
    def traced_blocks(self) -> tuple[int, ...]:
        """The first, the middle and the last block."""
        return tuple(sorted({0, self.tile.ctas // 2, self.tile.ctas - 1}))

    def programs(self) -> Iterable[GridProgram[Op]]:
        """Yield the one program that all CTAs execute."""
        yield GridProgram(reduction_ops(self.scenario), self.tile.ctas)

    def global_counts(self) -> GlobalCounts:
        """Return the counts of global accesses: partial sums of all slices, source, bias and output."""
        tile, kinds = self.tile, {type(op) for op in reduction_ops(self.scenario)}
        access = tile.access(np.arange(tile.ctas, dtype=np.int64))
        outputs, bias = (
            int(tile.sectors(offset, access.valid, tile.output_type, tile.elements_per_access).sum())
            for offset in (access.output, access.bias)
        )
        valid = access.valid[:, None, None]
        partial = tile.sectors(access.partial, valid, tile.accumulator_type, tile.elements_per_load)
        return GlobalCounts(
            load_sectors={
                "partial": int(partial.sum()),
                "source": outputs if LoadSource in kinds else 0,
                "bias": bias if LoadBias in kinds else 0,
            },
            line_returns=0,
            store_sectors=outputs,
            predicated={},
        )
