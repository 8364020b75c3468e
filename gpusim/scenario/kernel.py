"""The tile kernel that a scenario file describes: shapes, stages, shared layouts and the order of CTAs."""

from typing import Any, Literal

from pydantic import Field, StrictInt, StrictStr, model_validator

from gpusim.element_types import MMA_SHAPES
from gpusim.scenario.models import Table, Triple, supported
from gpusim.tile.operand import Tiling

_SHARED_LAYOUT = (
    "crosswise | congruous | row_major | padded<N> | Swizzle<B,M,S>. Default: crosswise for an operand contiguous "
    "along K, congruous for one contiguous along M or N."
)


class SharedLayouts(Table):
    """
    Names of the shared-memory layouts of both operands; ``GemmScenario.shared_layout`` resolves the default.

    crosswise (operands contiguous along K) | congruous (along M or N) | row_major | padded<N> (N elements after each
    row) | Swizzle<B,M,S> (CuTe's, on element offsets of the row-major tile). A row runs along the operand's contiguous
    dimension.
    """

    a: StrictStr | None = Field(None, description=_SHARED_LAYOUT)
    b: StrictStr | None = Field(None, description=_SHARED_LAYOUT)


PIPELINED_STAGES = 2
"""Stages of a pipelined mainloop's ring: one is read while the other one is filled."""


class Kernel(Table):
    """The tile kernel. Shapes are (M, N, K) in elements."""

    mainloop: Literal["multistage", "pipelined", "attention", "flash"] = Field(
        "multistage",
        description="How tiles reach shared memory.",
        json_schema_extra=supported("multistage", "pipelined"),
    )
    code: Literal["gpusim", "cutlass"] = Field(
        "gpusim", description="Whose machine code a simulated time is of: gpusim's own kernel or CUTLASS's."
    )
    iterator: Literal["analytic", "optimized"] = Field(
        "analytic", description="How a convolution's global addresses are computed."
    )
    threadblock: Triple = Field((128, 128, 64), description="Threadblock tile M, N, K.")
    warp: Triple = Field((64, 64, 64), description="Warp tile M, N, K.")
    instruction: Triple = Field(
        (16, 8, 16),
        description="mma.sync shape M, N, K; which ones exist follows from the types.",
        json_schema_extra=supported(*dict.fromkeys(shape for shapes in MMA_SHAPES.values() for shape in shapes)),
    )
    stages: StrictInt = Field(
        3, description="Slots of the shared-memory ring: 2 to 10, by default 3; of a pipelined mainloop always 2."
    )
    threadblock_swizzle: StrictStr = Field("identity<1>", description="identity<1|2|4|8> | horizontal")
    shared: SharedLayouts = Field(SharedLayouts(), description="Shared-memory layouts.")

    @model_validator(mode="before")
    @classmethod
    def _two_stages_of_a_pipelined_mainloop(cls, data: Any) -> Any:
        if isinstance(data, dict) and data.get("mainloop") == "pipelined":
            return {"stages": PIPELINED_STAGES} | data
        return data

    @property
    def tiling(self) -> Tiling:
        """Tiles of the kernel, and the stages of its ring."""
        return Tiling(self.threadblock, self.warp, self.instruction, self.stages)

    @property
    def warps(self) -> tuple[int, int, int]:
        """Warps along M, N and K."""
        return self.tiling.warps

    @property
    def threads(self) -> int:
        """Threads of one CTA."""
        return self.tiling.threads

    @property
    def k_groups(self) -> int:
        """Number of k groups (slices of the instruction's K) that a warp computes in one k tile."""
        return self.tiling.k_groups
