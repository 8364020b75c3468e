"""A scenario whose kernel is one tile GEMM: a matrix product, its tile kernel, and the tiles that follow from both."""

from typing import Any

from pydantic import InstanceOf, SerializeAsAny

from gpusim.element_types import Mma, element_bits
from gpusim.layout.named import plain_name
from gpusim.scenario.cutlass_shapes import not_taken
from gpusim.scenario.kernel import Kernel
from gpusim.scenario.models import Scenario
from gpusim.scenario.product import MatrixProduct
from gpusim.tile.epilogue import EpilogueTile
from gpusim.tile.operand import SIDES, Operand, Side, Tiling
from gpusim.tile.threadblock_swizzle import CtaGrid, threadblock_swizzle, tile_counts

_WRITTEN_IF_GIVEN = ("bias", "activation")
"""
Keys of the problem that a resolved scenario contains only if they differ from their default.

So new keys do not change old digests. ``kernel.code`` is such a key, too.
"""


class GemmScenario(Scenario):
    """One question about a GEMM or a convolution."""

    problem: SerializeAsAny[InstanceOf[MatrixProduct]]
    kernel: Kernel = Kernel()

    @property
    def kind(self) -> str:
        """Kind of the problem, as in ``problem.kind``."""
        problem: Any = self.problem
        return str(problem.kind)

    @property
    def tiling(self) -> Tiling:
        """Tiles of the GEMM."""
        return self.kernel.tiling

    @property
    def mma(self) -> Mma:
        """The mma.sync instruction of the kernel."""
        dtype = self.problem.dtype
        return Mma(dtype.ab, dtype.accumulator, self.kernel.instruction)

    @property
    def operands(self) -> dict[Side, Operand]:
        """Both operands, by their side."""
        return {side: self.operand(side) for side in SIDES}

    def operand(self, side: Side) -> Operand:
        """Return the operand of one side."""
        return Operand(
            name=side,
            side=side,
            element=self.problem.dtype.ab,
            access=self.problem.access(side),
            k_contiguous=self.problem.k_contiguous(side),
            layout=self.shared_layout(side),
            tiling=self.tiling,
            source=self.problem.source(side, self.kernel.iterator),
        )

    def shared_layout(self, side: Side) -> str:
        """
        Return the name of an operand's shared-memory layout: the given one, else CUTLASS's choice for its contiguity.

        A layout given as CuTe prints it has the short name that it equals, if there is one.
        """
        given = self.kernel.shared.a if side == "a" else self.kernel.shared.b
        along_k = self.problem.k_contiguous(side)
        if given is None:
            return "crosswise" if along_k else "congruous"
        if ":" not in given and not given.startswith("S"):
            return given
        m, n, k = self.kernel.threadblock
        rows = m if side == "a" else n
        return plain_name(given, element_bits(self.problem.dtype.ab), *((k, rows) if along_k else (rows, k)))

    @property
    def lacking_in_cutlass(self) -> str:
        """Why CUTLASS has no kernel of this warp tile; empty if it has one, or if a shared layout is not CUTLASS's."""
        refused = not_taken(self.problem, self.kernel)
        own = all(self.shared_layout(side) in ("crosswise", "congruous") for side in SIDES)
        return refused.sentence if refused is not None and own else ""

    @property
    def grid(self) -> CtaGrid:
        """The grid of the launch."""
        tiled = tile_counts(self.problem.extents, self.kernel.threadblock, self.problem.split_k_slices)
        return CtaGrid(threadblock_swizzle(self.kernel.threadblock_swizzle), tiled)

    def k_iterations(self, slice_: int = 0) -> int:
        """Return the number of k tiles of one split-K slice; slice 0 has the most."""
        return self.problem.k_iterations(self.kernel.threadblock[2], slice_)

    @property
    def epilogue(self) -> EpilogueTile:
        """
        Epilogue of the kernel, which treats the output as GEMM rows and columns.

        With a parallel split-K, it stores each slice's accumulators to a packed workspace [slices, m, n] of the
        accumulator's type.

        Raises:
            BadInput: The epilogue does not exist for the tile.
        """
        problem, tiling = self.problem, self.tiling
        workspace, extents = problem.reduces, problem.extents
        return EpilogueTile(
            threadblock=tiling.threadblock,
            warp=tiling.warp,
            instruction=tiling.instruction,
            output_type=problem.dtype.accumulator if workspace else problem.dtype.output,
            elements_per_access=problem.access_partial if workspace else problem.access_c,
            extent=(extents.m, extents.n),
            leading=extents.n if workspace else problem.leading_c,
            accumulator_type=problem.dtype.accumulator,
            slice_stride=extents.m * extents.n if workspace else 0,
        )

    @property
    def shared_bytes(self) -> int:
        """Bytes of a CTA's shared memory: the operands' rings, or the epilogue's shared memory if that is larger."""
        return max(sum(operand.shared_bytes for operand in self.operands.values()), self.epilogue.storage_bytes)

    def resolved(self) -> dict[str, Any]:
        """Return the scenario as plain data, with every default and derived value written out."""
        data: dict[str, Any] = self.model_dump(mode="json")
        problem, common = self.problem, MatrixProduct.model_fields
        merged = data["problem"] | problem.derived() | {f"alignment_{which}": problem.access(which) for which in "abc"}
        own = [name for name in type(problem).model_fields if name not in common]
        data["kernel"]["shared"] = {side: self.shared_layout(side) for side in SIDES}
        if not problem.implicit:
            del data["kernel"]["iterator"]
        if self.kernel.code == "gpusim":
            del data["kernel"]["code"]
        optional = {name for name in _WRITTEN_IF_GIVEN if merged[name] == common[name].default}
        data["problem"] = {name: merged[name] for name in [*own, *common] if name not in optional}
        return data
