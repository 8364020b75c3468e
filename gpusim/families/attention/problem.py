"""Defines attention scenarios: frozen models of the problem and its kernel, and values derived from them."""

from dataclasses import dataclass
from functools import cached_property
from math import sqrt
from typing import Annotated, Any, Literal, TypeAlias

import numpy as np
from pydantic import Field, StrictBool, StrictInt

from gpusim.arrays import IntArray
from gpusim.element_types import Mma, Shape, widest_alignment
from gpusim.scenario.models import Extent, Offset, Rule, Scale, Scenario, Table, supported

Mask: TypeAlias = Literal["none", "causal_top_left", "causal_bottom_right"]
Lengths: TypeAlias = Annotated[
    tuple[Offset, ...] | None, Rule("a list of integers of at least 0, one for each batch")
]  # fmt: skip
InstructionShape: TypeAlias = Annotated[tuple[Extent, Extent, Extent] | None, Rule("three integers of at least 1")]

FLASH_STAGES = 2
"""Slots of flash's ring: one holds keys, the other values."""

FLASH_KEYS = 64
"""Keys per block of flash."""

TILE_DEPTH = 32
"""K extent of the tiles of both GEMMs (golden fmha_facts, MM0_ThreadblockShape_MNK, MM1_ThreadblockShape_MNK)."""

WIDEST_IN_REGISTERS = 128
"""Widest head_dim_v at which flash's warps keep the output of 32 queries in registers."""

LSE_ALIGNMENT = 32
"""The log-sum-exp of one head begins at a multiple of so many floats (golden fmha_facts, kAlignLSE)."""


CtaOrder: TypeAlias = Literal["ascending", "descending", "longest_first"]
"""Order in which CTAs do their work: from each head's first query block, from its last, or by work over all heads."""


class AttentionDTypes(Table):
    """Element types of q, k and v (``ab``), of the accumulators, and of the output; P has the type of V."""

    ab: Literal["f16", "bf16"] = Field("f16", description="Element type of Q, K, V and P.")
    accumulator: Literal["f32"] = Field("f32", description="Element type of both accumulators.")
    output: Literal["f16", "bf16", "f32"] = Field("f32", description="Element type of the output: f32 or that of V.")


@dataclass(frozen=True, eq=False, slots=True)
class _LengthColumn:
    """Lengths by batch as an array, kept beside a problem's fields. Problems are compared by their fields alone."""

    values: IntArray


class AttentionProblem(Table):
    """
    O = softmax(scale * Q * K^T + mask) * V for every batch and head; all tensors [batch, length, head, dim], packed.

    A query that sees no key has output 0 and log-sum-exp -inf.
    """

    kind: Literal["attention"] = "attention"
    batch: Extent = Field(description="Batches.")
    heads: Extent = Field(description="Heads.")
    queries: Extent = Field(description="Queries of a batch: the length of Q and of the output.")
    keys: Extent = Field(description="Keys of a batch: the length of K and V.")
    head_dim: Extent = Field(description="Elements of a query and of a key.")
    head_dim_v: Extent = Field(description="Elements of a value and of an output row.")
    mask: Mask = Field(
        "none", description="Which keys a query may see; causal masks align the first or the last of both."
    )
    query_lengths: Lengths = Field(None, description="Queries in use of each batch. Default: all.")
    key_lengths: Lengths = Field(None, description="Keys in use of each batch. Default: all.")
    scale: Scale | None = Field(None, description="Of the scores. Default: 1 / sqrt(head_dim).")
    dtype: AttentionDTypes = Field(AttentionDTypes(), description="Element types.")

    @property
    def score_scale(self) -> float:
        """Factor of Q * K^T."""
        return self.scale if self.scale is not None else 1 / sqrt(self.head_dim)

    @property
    def lengths_q(self) -> tuple[int, ...]:
        """Queries in use of each batch."""
        return self.query_lengths if self.query_lengths is not None else (self.queries,) * self.batch

    @property
    def lengths_k(self) -> tuple[int, ...]:
        """Keys in use of each batch."""
        return self.key_lengths if self.key_lengths is not None else (self.keys,) * self.batch

    def queries_of(self, batch: IntArray) -> IntArray:
        """Return the queries in use of some batches."""
        return np.full_like(batch, self.queries) if self.query_lengths is None else self._query_lengths.values[batch]

    def keys_of(self, batch: IntArray) -> IntArray:
        """Return the keys in use of some batches."""
        return np.full_like(batch, self.keys) if self.key_lengths is None else self._key_lengths.values[batch]

    @cached_property
    def _query_lengths(self) -> _LengthColumn:
        return _LengthColumn(np.array(self.lengths_q, dtype=np.int64))

    @cached_property
    def _key_lengths(self) -> _LengthColumn:
        return _LengthColumn(np.array(self.lengths_k, dtype=np.int64))

    @property
    def flops(self) -> int:
        """
        Multiplications and additions of both GEMMs, as FlashAttention counts them; a causal mask halves them.

        Each head has 4 * queries * keys * head_dim if head_dim and head_dim_v are equal. Source: FlashAttention,
        benchmarks/benchmark_flash_attention.py.
        """
        scores = sum(queries * keys for queries, keys in zip(self.lengths_q, self.lengths_k, strict=True))
        whole = 2 * self.heads * scores * (self.head_dim + self.head_dim_v)
        return whole if self.mask == "none" else whole // 2

    @property
    def ragged(self) -> bool:
        """Whether batches have lengths of their own."""
        return self.query_lengths is not None or self.key_lengths is not None

    @property
    def output_elements(self) -> int:
        """Elements of the output."""
        return self.batch * self.queries * self.heads * self.head_dim_v

    @property
    def access_o(self) -> int:
        """Elements per global access of the output."""
        return widest_alignment(self.dtype.output, self.head_dim_v)

    @property
    def lse_length(self) -> int:
        """Floats from one head's log-sum-exp to the next one's."""
        return -(-self.queries // LSE_ALIGNMENT) * LSE_ALIGNMENT


class AttentionKernel(Table):
    """
    The kernel: CUTLASS's memory-efficient attention ("attention") or FlashAttention-2's order ("flash").

    A value of None is derived by ``AttentionScenario``.
    """

    mainloop: Literal["attention", "flash"] = Field("attention", description="Order of ops and where P lies.")
    queries_per_block: Extent | None = Field(
        None, description="Queries of a CTA. Default: attention 64, or 32 for heads above 64; flash 128, or 64."
    )
    keys_per_block: Extent | None = Field(
        None, description="Keys of one step of the key loop. Default: attention 64, or 128 with 32 queries; flash 64."
    )
    stages: StrictInt | None = Field(
        None, description="Slots of the shared-memory ring. Default: attention keys_per_block / 32; flash 2."
    )
    preload_v: StrictBool = Field(default=True, description="Copy V right after the first GEMM, under the softmax.")
    keep_output_in_registers: StrictBool | None = Field(
        None, description="Else in a global f32 buffer. Default: where head_dim_v is at most keys_per_block."
    )
    cta_order: CtaOrder | None = Field(
        None,
        description="Order of the query blocks under a causal mask: ascending or descending in each head, or "
        "longest_first, the last of all heads first. Default: ascending; of flash descending.",
    )
    instruction: InstructionShape = Field(
        None,
        description="mma.sync shape M, N, K. Default: [16, 8, 16], or [16, 8, 8] of CUTLASS's code.",
        json_schema_extra=supported((16, 8, 16), (16, 8, 8)),
    )
    code: Literal["gpusim", "cutlass"] = Field(
        "gpusim", description="Whose machine code a simulated time is of: gpusim's own kernel or CUTLASS's."
    )


class AttentionScenario(Scenario):
    """
    An attention scenario: a problem, a kernel, a machine.

    Defaults of the kernel are CUTLASS's for ``attention`` (golden fmha_facts), and FlashAttention-2's for ``flash``.
    The default mma.sync is an exception: CUTLASS's example issues m16n8k8 on sm_80, too, twice as many as needed. A
    scenario with CUTLASS's code does the same.
    """

    problem: AttentionProblem
    kernel: AttentionKernel = AttentionKernel()

    @property
    def kind(self) -> str:
        """The name of its kind of problem."""
        return self.problem.kind

    @property
    def flash(self) -> bool:
        """Whether the kernel has FlashAttention-2's order."""
        return self.kernel.mainloop == "flash"

    @property
    def queries_per_block(self) -> int:
        """Queries of a CTA."""
        if self.kernel.queries_per_block is not None:
            return self.kernel.queries_per_block
        if self.flash:
            return 128 if self.problem.head_dim_v <= WIDEST_IN_REGISTERS else 64
        if self.kernel.keys_per_block is not None:
            return 32 if self.kernel.keys_per_block > 64 else 64
        return 64 if max(self.problem.head_dim, self.problem.head_dim_v) <= 64 else 32

    @property
    def keys_per_block(self) -> int:
        """Keys of one step of the key loop."""
        if self.kernel.keys_per_block is not None:
            return self.kernel.keys_per_block
        if self.flash:
            return FLASH_KEYS
        return 128 if self.queries_per_block == 32 else 64

    @property
    def stages(self) -> int:
        """
        Slots of the shared-memory ring of attention's GEMMs, one for each k tile; flash's hold keys and values.
        """
        if self.kernel.stages is not None:
            return self.kernel.stages
        k_tiles = -(-self.problem.head_dim // TILE_DEPTH)
        return FLASH_STAGES if self.flash else max(self.keys_per_block // TILE_DEPTH, k_tiles)

    @property
    def in_registers(self) -> bool:
        """Whether the output stays in registers until the last key block."""
        if self.kernel.keep_output_in_registers is not None:
            return self.kernel.keep_output_in_registers
        return self.flash or self.problem.head_dim_v <= self.keys_per_block

    @property
    def default_order(self) -> CtaOrder:
        """Default order of CTAs."""
        return "descending" if self.flash and self.problem.mask != "none" else "ascending"

    @property
    def cta_order(self) -> CtaOrder:
        """Order in which CTAs do their work."""
        return self.kernel.cta_order or self.default_order

    @property
    def instruction(self) -> Shape:
        """mma.sync shape of both GEMMs."""
        return self.kernel.instruction or ((16, 8, 8) if self.kernel.code == "cutlass" else (16, 8, 16))

    @property
    def mma(self) -> Mma:
        """mma.sync of both GEMMs."""
        return Mma(self.problem.dtype.ab, self.problem.dtype.accumulator, self.instruction)

    def resolved(self) -> dict[str, Any]:
        """
        The scenario as plain data with every default and derived value written out; lengths only where given.

        Reading its TOML resolves to the same data.
        """
        data: dict[str, Any] = self.model_dump(mode="json", exclude_none=True)
        data["problem"]["scale"] = self.problem.score_scale
        data["kernel"] |= {
            "queries_per_block": self.queries_per_block,
            "keys_per_block": self.keys_per_block,
            "stages": self.stages,
            "keep_output_in_registers": self.in_registers,
            "instruction": list(self.instruction),
        }
        if self.kernel.code == "gpusim":
            del data["kernel"]["code"]
        if self.cta_order == self.default_order:
            data["kernel"].pop("cta_order", None)
        return data
