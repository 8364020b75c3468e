"""Defines sm_90 GEMM scenarios: frozen models of the problem and its kernel, and values derived from them."""

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Field, StrictBool, StrictInt

from gpusim.element_types import element_bits
from gpusim.scenario.models import Extent, MatrixLayout, Pair, Rule, Scale, Scenario, Table, Triple

Operands: TypeAlias = Literal["f16", "bf16", "tf32", "s8", "e4m3", "e5m2"]
Schedule: TypeAlias = Literal["non_specialized", "warp_specialized", "cooperative", "pingpong"]
Scheduler: TypeAlias = Literal["none", "persistent", "stream_k"]
Raster: TypeAlias = Literal["heuristic", "along_m", "along_n"]
Stages: TypeAlias = Literal["auto"] | Annotated[StrictInt, Field(ge=2, le=64)]

WARPGROUP = 128
"""Threads of a warpgroup: four warps, which execute wgmma together."""

MMA_ROWS = 64
"""Rows of a wgmma."""

K_BYTES = 32
"""Bytes of a row of A that a wgmma multiplies: its K extent in every type."""


PROMOTED_TOGETHER = 4
"""wgmma along K whose sums stay in the accumulators of 8-bit floats before they are promoted."""


class HopperDTypes(Table):
    """Element types of both operands, of the accumulators, and of the output and C."""

    ab: Operands = Field("f16", description="Element type of both operands.")
    accumulator: Literal["f32", "f16", "s32"] = Field(
        "f32", description="Element type of the accumulators: s32 for s8; f16 for f16 alone; else f32."
    )
    output: Literal["f16", "bf16", "f32", "s32", "s8"] = Field("f16", description="Element type of the output and C.")


class HopperProblem(Table):
    """D = alpha * A * B + beta * C for each of ``l`` batches; C and D are row-major."""

    kind: Literal["hopper_gemm"] = "hopper_gemm"
    m: Extent = Field(description="Rows of A and D.")
    n: Extent = Field(description="Columns of B and D.")
    k: Extent = Field(description="Columns of A and rows of B.")
    l: Extent = Field(1, description="Batches.")  # noqa: E741 - CUTLASS's name
    layout_a: MatrixLayout = Field("row", description="Layout of A: K is contiguous if it is row-major.")
    layout_b: MatrixLayout = Field("column", description="Layout of B: K is contiguous if it is column-major.")
    alpha: Scale = Field(1.0, description="Factor of the product.")
    beta: Scale = Field(0.0, description="Factor of C, which is read if it is not 0.")
    dtype: HopperDTypes = Field(HopperDTypes(), description="Element types.")

    @property
    def k_contiguous(self) -> tuple[bool, bool]:
        """Whether K is contiguous in A, and in B."""
        return self.layout_a == "row", self.layout_b == "column"

    @property
    def flops(self) -> int:
        """Multiplications and additions."""
        return 2 * self.m * self.n * self.k * self.l


class HopperKernel(Table):
    """What is asked of CUTLASS 3.x: schedule, tile, cluster, stages and scheduler."""

    schedule: Schedule = Field(
        "cooperative",
        description="Roles: all warps load and multiply; a producer and a consumer; two consumers share a tile; two "
        "take turns.",
    )
    tile: Triple = Field((128, 128, 64), description="Extents M, N, K of a CTA's tile.")
    cluster: Pair = Field((1, 1), description="CTAs of a cluster along M and N, which share their operands' boxes.")
    stages: Annotated[Stages, Rule('"auto" or an integer from 2 to 64')] = Field(
        "auto", description='Slots of the ring: a number, or as many as fit ("auto").'
    )
    scheduler: Scheduler | None = Field(
        None,
        description="Which CTA does which tile. Default: persistent for cooperative and pingpong, else none.",
    )
    raster: Raster = Field("heuristic", description="Extent along which neighbouring CTAs take neighbouring tiles.")
    max_swizzle: Literal[1, 2, 4, 8] = Field(1, description="Largest width of the blocks in which tiles are walked.")
    void_c: StrictBool = Field(default=False, description="Whether the kernel has no C, and no shared memory for it.")
    fast_accumulation: StrictBool = Field(
        default=False, description="Whether sums of 8-bit floats stay in the tensor core's accumulators, of fewer bits."
    )

    code: Literal["gpusim", "cutlass"] = Field(
        "gpusim", description="Whose machine code is estimated: that of kernels_cuda/hopper, or CUTLASS's."
    )

    @property
    def walk(self) -> Scheduler:
        """The scheduler: the one that is given, or the schedule's."""
        if self.scheduler is not None:
            return self.scheduler
        return "persistent" if self.schedule in ("cooperative", "pingpong") else "none"


class HopperScenario(Scenario):
    """One question about an sm_90 GEMM."""

    problem: HopperProblem
    kernel: HopperKernel = HopperKernel()

    @property
    def kind(self) -> str:
        """Kind of the problem."""
        return self.problem.kind

    @property
    def operand_bits(self) -> int:
        """Bits of an element of A and B."""
        return element_bits(self.problem.dtype.ab)

    @property
    def output_bits(self) -> int:
        """Bits of an element of C and D."""
        return element_bits(self.problem.dtype.output)

    @property
    def instruction_k(self) -> int:
        """K extent of a wgmma, in elements."""
        return K_BYTES * 8 // self.operand_bits

    @property
    def k_tiles(self) -> int:
        """K tiles of an output tile; the last may be ragged."""
        return -(-self.problem.k // self.kernel.tile[2])

    @property
    def loads_c(self) -> bool:
        """Whether the epilogue reads C."""
        return self.problem.beta != 0

    def resolved(self) -> dict[str, Any]:
        """Return the scenario as plain data, with every default written out."""
        data: dict[str, Any] = self.model_dump(mode="json")
        data["kernel"]["scheduler"] = self.kernel.walk
        return data
