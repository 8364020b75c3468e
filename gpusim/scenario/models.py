"""What a scenario file may say: frozen models of the problem and the kernel, and the values derived from them."""

import hashlib
import json
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictInt, StrictStr, model_validator

from gpusim.element_types import MMA_SHAPES, OUTPUTS, Element, widest_alignment


@dataclass(frozen=True, slots=True)
class Rule:
    """Marks a list-valued key with what it allows, in words."""

    text: str


Extent: TypeAlias = Annotated[int, Field(strict=True, ge=1, le=2**31 - 1)]
Offset: TypeAlias = Annotated[int, Field(strict=True, ge=0, le=2**31 - 1)]
Triple: TypeAlias = Annotated[tuple[Extent, Extent, Extent], Rule("three integers of at least 1")]
Pair: TypeAlias = Annotated[tuple[Extent, Extent], Rule("two integers of at least 1")]
Offsets: TypeAlias = Annotated[tuple[Offset, Offset], Rule("two integers of at least 0")]
Scale: TypeAlias = Annotated[float, Field(strict=True, allow_inf_nan=False)]
Alignment: TypeAlias = Annotated[int, Field(strict=True)]
Layout: TypeAlias = Literal["row", "column"]
Operand: TypeAlias = Literal["a", "b"]
SplitK: TypeAlias = Literal["serial", "parallel"]


def supported(*values: object) -> dict[str, Any]:
    """Schema note: which of the documented values of a key work today. ``scenario_checks`` refuses the others."""
    return {"supported": [list(value) if isinstance(value, tuple) else value for value in values]}


class Table(BaseModel):
    """A table of a scenario file: no keys but its own, no change once read."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class DTypes(Table):
    """Element types: of both inputs, of the accumulator, of the output (and the source tensor)."""

    ab: Element = Field(
        "f16",
        description="Element type of both operands.",
        json_schema_extra=supported(*dict.fromkeys(ab for ab, _ in MMA_SHAPES)),
    )
    accumulator: Element = Field(
        "f32",
        description="Element type of the accumulator: f32 or f16 for f16; f32 for bf16 and tf32; s32 for integers.",
        json_schema_extra=supported(*dict.fromkeys(accumulator for _, accumulator in MMA_SHAPES)),
    )
    output: Element = Field(
        "f32",
        description="Element type of the source and output tensors.",
        json_schema_extra=supported(*dict.fromkeys(output for outputs in OUTPUTS.values() for output in outputs)),
    )


class _Problem(Table):
    split_k_slices: Extent = Field(1, description="Threadblocks that share the K range of one output tile.")
    split_k: SplitK = Field(
        "serial",
        description="How the slices of one output tile are summed: each adds to what the one before it stored, or all"
        " store partial sums for a second kernel to reduce.",
    )
    alignment_a: Alignment | None = Field(None, description="Elements per access of operand A. Default: widest legal.")
    alignment_b: Alignment | None = Field(None, description="Elements per access of operand B. Default: widest legal.")
    alignment_c: Alignment | None = Field(None, description="Elements per access of the output. Default: widest legal.")
    alpha: Scale = Field(1.0, description="Scale of the matrix product.")
    beta: Scale = Field(0.0, description="Scale of the source tensor.")
    bias: StrictBool = Field(
        default=False, description="Add a vector of the output's type, one element for each column of the output."
    )
    activation: Literal["identity", "relu"] = Field("identity", description="Applied last, before the conversion.")
    dtype: DTypes = Field(DTypes(), description="Element types.")

    @property
    def reduces(self) -> bool:
        """Whether a second kernel sums the slices: a parallel split-K of more than one."""
        return self.split_k == "parallel" and self.split_k_slices > 1


_WRITTEN_IF_GIVEN = ("bias", "activation")
"""Keys that a resolved scenario has only where they differ from their default, so that digests outlive new keys."""


class GemmProblem(_Problem):
    """
    D[m, n] = alpha * A[m, k] * B[k, n] + beta * C[m, n], output row-major.

    ``lda``, ``ldb``, ``ldc`` are leading dimensions in elements; None means packed.
    """

    kind: Literal["gemm"] = "gemm"
    m: Extent = Field(description="Rows of the output.")
    n: Extent = Field(description="Columns of the output.")
    k: Extent = Field(description="Length of the sum.")
    layout_a: Layout = Field("row", description="Layout of A.")
    layout_b: Layout = Field("column", description="Layout of B.")
    lda: Extent | None = Field(None, description="Leading dimension of A, elements. Default: packed.")
    ldb: Extent | None = Field(None, description="Leading dimension of B, elements. Default: packed.")
    ldc: Extent | None = Field(None, description="Leading dimension of C and D, elements. Default: packed.")

    @property
    def k_contiguous_a(self) -> bool:
        """Whether A is contiguous along K: row-major. Else along M."""
        return self.layout_a == "row"

    @property
    def k_contiguous_b(self) -> bool:
        """Whether B is contiguous along K: column-major. Else along N."""
        return self.layout_b == "column"

    @property
    def contiguous_a(self) -> int:
        """Extent of A along its contiguous dimension, elements."""
        return self.k if self.k_contiguous_a else self.m

    @property
    def contiguous_b(self) -> int:
        """Extent of B along its contiguous dimension, elements."""
        return self.k if self.k_contiguous_b else self.n

    @property
    def leading_a(self) -> int:
        """Elements between neighbours of A's strided dimension."""
        return self.lda if self.lda is not None else self.contiguous_a

    @property
    def leading_b(self) -> int:
        """Elements between neighbours of B's strided dimension."""
        return self.ldb if self.ldb is not None else self.contiguous_b

    @property
    def leading_c(self) -> int:
        """Elements between two rows of the source and output tensors."""
        return self.ldc if self.ldc is not None else self.n

    @property
    def access_a(self) -> int:
        """Elements per global access of A."""
        return self.alignment_a or widest_alignment(self.dtype.ab, self.contiguous_a, self.leading_a)

    @property
    def access_b(self) -> int:
        """Elements per global access of B."""
        return self.alignment_b or widest_alignment(self.dtype.ab, self.contiguous_b, self.leading_b)

    @property
    def access_c(self) -> int:
        """Elements per global access of the source and output tensors."""
        return self.alignment_c or widest_alignment(self.dtype.output, self.n, self.leading_c)

    @property
    def access_partial(self) -> int:
        """Elements per global access of a parallel split-K's partial sums, whose rows are packed."""
        return widest_alignment(self.dtype.accumulator, self.n)


class Conv2dFpropProblem(_Problem):
    """
    Conv2d forward: activation [n, h, w, c], filter [k, r, s, c], output [n, p, q, k], all packed.

    ``padding``, ``stride``, ``dilation`` are pairs (h, w). ``p`` and ``q`` of None follow the usual formula.
    """

    kind: Literal["conv2d_fprop"] = "conv2d_fprop"
    n: Extent = Field(description="Images.")
    h: Extent = Field(description="Activation height.")
    w: Extent = Field(description="Activation width.")
    c: Extent = Field(description="Input channels.")
    k: Extent = Field(description="Filters, which are the output channels.")
    r: Extent = Field(description="Filter height.")
    s: Extent = Field(description="Filter width.")
    padding: Offsets = Field((0, 0), description="Zero rows and columns before (and after) the activation.")
    stride: Pair = Field((1, 1), description="Activation steps between neighbouring outputs.")
    dilation: Pair = Field((1, 1), description="Activation steps between neighbouring filter positions.")
    mode: Literal["cross_correlation", "convolution"] = Field(
        "cross_correlation", description="Convolution flips the filter, cross_correlation does not."
    )
    p: Extent | None = Field(None, description="Output height. Default: the usual formula.")
    q: Extent | None = Field(None, description="Output width. Default: the usual formula.")

    @property
    def k_contiguous_a(self) -> bool:
        """The activation's channels, which are GEMM K, are contiguous: NHWC."""
        return True

    @property
    def k_contiguous_b(self) -> bool:
        """The filter's channels are contiguous: KRSC."""
        return True

    @property
    def formula_p(self) -> int:
        """Output height of the usual formula; below 1 where the filter does not fit."""
        return (self.h + 2 * self.padding[0] - self.dilation[0] * (self.r - 1) - 1) // self.stride[0] + 1

    @property
    def formula_q(self) -> int:
        """Output width of the usual formula; below 1 where the filter does not fit."""
        return (self.w + 2 * self.padding[1] - self.dilation[1] * (self.s - 1) - 1) // self.stride[1] + 1

    @property
    def output_p(self) -> int:
        """Output height."""
        return self.p if self.p is not None else self.formula_p

    @property
    def output_q(self) -> int:
        """Output width."""
        return self.q if self.q is not None else self.formula_q

    @property
    def leading_c(self) -> int:
        """Elements between two positions of the source and output tensors."""
        return self.k

    @property
    def access_a(self) -> int:
        """Elements per global access of the activation."""
        return self.alignment_a or widest_alignment(self.dtype.ab, self.c)

    @property
    def access_b(self) -> int:
        """Elements per global access of the filter."""
        return self.alignment_b or widest_alignment(self.dtype.ab, self.c)

    @property
    def access_c(self) -> int:
        """Elements per global access of the source and output tensors."""
        return self.alignment_c or widest_alignment(self.dtype.output, self.k)

    @property
    def access_partial(self) -> int:
        """Elements per global access of a parallel split-K's partial sums, whose rows are packed."""
        return widest_alignment(self.dtype.accumulator, self.k)


Problem: TypeAlias = GemmProblem | Conv2dFpropProblem

PROBLEMS: dict[str, type[GemmProblem] | type[Conv2dFpropProblem]] = {
    "gemm": GemmProblem,
    "conv2d_fprop": Conv2dFpropProblem,
}
"""Problem kinds of one GEMM; attention, of two, has its own models (``scenario_attention``)."""


_SHARED_LAYOUT = (
    "crosswise | congruous | row_major | padded<N> | Swizzle<B,M,S>. Default: crosswise for an operand contiguous "
    "along K, congruous for one contiguous along M or N."
)


class SharedLayouts(Table):
    """
    Names of the shared-memory layouts of both operands; ``Scenario.shared_layout`` resolves the default.

    crosswise (operands contiguous along K) | congruous (along M or N) | row_major | padded<N> (N elements after each
    row) | Swizzle<B,M,S> (CuTe's, on element offsets of the row-major tile). A row runs along the operand's contiguous
    dimension.
    """

    a: StrictStr | None = Field(None, description=_SHARED_LAYOUT)
    b: StrictStr | None = Field(None, description=_SHARED_LAYOUT)


PIPELINED_STAGES = 2
"""Slots of a pipelined mainloop's ring: one is read while the other is filled."""

MASK_BITS = 32
"""Largest R and S of the optimized iterators, whose predicates are the bits of a mask (CUTLASS
conv/threadblock/conv2d_fprop_activation_tile_access_iterator_optimized.h)."""


class Kernel(Table):
    """The tile kernel: shapes are (M, N, K) in elements."""

    mainloop: Literal["multistage", "pipelined", "attention", "flash"] = Field(
        "multistage",
        description="How tiles reach shared memory.",
        json_schema_extra=supported("multistage", "pipelined"),
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
    stages: StrictInt = Field(3, description="Slots of the shared-memory ring. Default: 3; of a pipelined mainloop 2.")
    threadblock_swizzle: StrictStr = Field("identity<1>", description="identity<1|2|4|8> | horizontal")
    shared: SharedLayouts = Field(SharedLayouts(), description="Shared-memory layouts.")

    @model_validator(mode="before")
    @classmethod
    def _two_stages_of_a_pipelined_mainloop(cls, data: Any) -> Any:
        if isinstance(data, dict) and data.get("mainloop") == "pipelined":
            return {"stages": PIPELINED_STAGES} | data
        return data

    @property
    def warps(self) -> tuple[int, int, int]:
        """Warps along M, N and K."""
        m, n, k = (tile // warp for tile, warp in zip(self.threadblock, self.warp, strict=True))
        return m, n, k

    @property
    def threads(self) -> int:
        """Threads of one CTA."""
        m, n, k = self.warps
        return 32 * m * n * k

    @property
    def k_groups(self) -> int:
        """Instruction-K slices of one k tile inside a warp."""
        return self.warp[2] // self.instruction[2]


class Scenario(Table):
    """One question: a problem, a kernel, a machine. ``load_scenario`` makes one whose checks all hold."""

    machine: StrictStr = Field(description="A machine file that ships with gpusim, or the path of one.")
    problem: Annotated[Problem, Field(discriminator="kind")]
    kernel: Kernel = Kernel()

    def k_contiguous(self, operand: Operand) -> bool:
        """Whether an operand lies contiguous along K in global memory; else along M (a) or N (b)."""
        return self.problem.k_contiguous_a if operand == "a" else self.problem.k_contiguous_b

    def shared_layout(self, operand: Operand) -> str:
        """Name of an operand's shared-memory layout: the one given, else the one CUTLASS picks for its contiguity."""
        given = self.kernel.shared.a if operand == "a" else self.kernel.shared.b
        return given if given is not None else ("crosswise" if self.k_contiguous(operand) else "congruous")

    def resolved(self) -> dict[str, Any]:
        """
        The scenario as plain data with every default and derived value written out.

        ``load_scenario`` of its TOML resolves to the same data.
        """
        data: dict[str, Any] = self.model_dump(mode="json")
        problem = self.problem
        derived: dict[str, int]
        if isinstance(problem, GemmProblem):
            derived = {"lda": problem.leading_a, "ldb": problem.leading_b, "ldc": problem.leading_c}
            del data["kernel"]["iterator"]
        else:
            derived = {"p": problem.output_p, "q": problem.output_q}
        derived |= {"alignment_a": problem.access_a, "alignment_b": problem.access_b, "alignment_c": problem.access_c}
        merged = data["problem"] | derived
        own = [name for name in type(problem).model_fields if name not in _Problem.model_fields]
        data["kernel"]["shared"] = {"a": self.shared_layout("a"), "b": self.shared_layout("b")}
        optional = {name for name in _WRITTEN_IF_GIVEN if merged[name] == _Problem.model_fields[name].default}
        data["problem"] = {name: merged[name] for name in [*own, *_Problem.model_fields] if name not in optional}
        return data

    def digest(self) -> str:
        """SHA-256 of the canonical JSON of ``resolved()``: equal for two files that ask the same question."""
        canonical = json.dumps(self.resolved(), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(canonical.encode()).hexdigest()
