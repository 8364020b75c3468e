"""What an attention kernel is compiled with and launched with: macros, grid, shared memory, parameters."""

import hashlib
import math
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

import numpy as np

from gpusim.cuda.specialise import PARAMS, Build, Specialisation, kernels_folder
from gpusim.cuda.trace_format import ATTENTION_OPERATIONS
from gpusim.element_types import widest_alignment
from gpusim.tile.epilogue import EpilogueTile

Mask: TypeAlias = Literal["none", "causal_top_left", "causal_bottom_right"]
Schedule: TypeAlias = Literal["attention", "flash"]

ENTRY: Final = "gpusim_attention"
"""The entry point of every attention kernel, in kernels_cuda/attention/kernel.cu."""

ATTENTION_PARAMS: Final = np.dtype(
    [
        ("common", PARAMS),
        ("v", np.uint64),
        ("log_sum_exp", np.uint64),
        ("query_lengths", np.uint64),
        ("key_lengths", np.uint64),
        ("scale_log2", np.float32),
        ("reserved", np.int32),
    ],
    align=True,
)
"""struct AttentionParams of kernels_cuda/attention/launch.cuh, passed to the kernel by value."""

_ELEMENT_BYTES: Final = 2
_OPERAND: Final[dict[str, int | str]] = {
    "LAYOUT": "Crosswise",
    "K_CONTIGUOUS": 1,
    "ACCESS": 8,
    "STORE_POINTERS_STRIDED": 1,
    "STORE_POINTERS_CONTIGUOUS": 1,
    "WALK": "exclusive_or",
}
"""Of Q and K, as scenario.cuh names them; the attention kernels' own tiles say what is used."""

_TILE_K: Final = 32
"""Elements of a k tile of the schedule ``attention``, along head_dim and along the keys."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AttentionKernel:
    """
    An attention problem and the kernel for it.

    Attributes:
        batch, heads, queries, keys: Extents of the tensors [batch, length, head, dim].
        head_dim, head_dim_v: Multiples of 8.
        mask: Which keys a query sees, besides the lengths.
        ab: Element type of Q, K and V.
        output_type: Of the output: theirs, or f32.
        query_lengths, key_lengths: One for each batch, at most ``queries`` and ``keys``; None: all are whole.
        scale: Of the scores; None: 1 / sqrt(head_dim).
        mainloop: Which schedule.
        queries_per_block, keys_per_block: The CTA's tile.
        warp_queries: Queries of a warp; ``flash`` only.
        ctas_per_sm: For how many the compiler keeps registers free.
        queries_in_registers: Q's fragments are loaded once; ``flash`` only.
        skip_columns: Columns of the second GEMM's tile past head_dim_v are not computed; ``flash`` only.
        preload_v: V's copies are issued right after the first GEMM; ``attention`` only.
        keep_output_in_registers: Else in a global fp32 buffer; ``attention`` only.
    """

    batch: int
    heads: int
    queries: int
    keys: int
    head_dim: int
    head_dim_v: int
    mask: Mask = "none"
    ab: Literal["f16", "bf16"] = "f16"
    output_type: Literal["ab", "f32"] = "ab"
    query_lengths: tuple[int, ...] | None = None
    key_lengths: tuple[int, ...] | None = None
    scale: float | None = None
    mainloop: Schedule = "flash"
    queries_per_block: int
    keys_per_block: int
    warp_queries: int = 32
    ctas_per_sm: int = 1
    queries_in_registers: bool = False
    skip_columns: bool = False
    preload_v: bool = True
    keep_output_in_registers: bool = True

    @property
    def output(self) -> str:
        """Element type of the output."""
        return self.ab if self.output_type == "ab" else self.output_type

    @property
    def ragged(self) -> bool:
        """Whether lengths are given at run time."""
        return self.query_lengths is not None or self.key_lengths is not None

    @property
    def warp(self) -> tuple[int, int]:
        """Queries and keys of a warp in the first GEMM."""
        return (self.warp_queries, self.keys_per_block) if self.mainloop == "flash" else (32, 32)

    @property
    def warps(self) -> int:
        """Warps of a CTA."""
        return self.queries_per_block // self.warp[0] * (self.keys_per_block // self.warp[1])

    @property
    def scale_of_scores(self) -> float:
        """What scores are multiplied with before the exponential."""
        return 1 / math.sqrt(self.head_dim) if self.scale is None else self.scale

    @property
    def grid(self) -> tuple[int, int, int]:
        """Query blocks, heads, batch."""
        return -(-self.queries // self.queries_per_block), self.heads, self.batch

    @property
    def shared_bytes(self) -> int:
        """Dynamic shared memory of a CTA."""
        q, k, row = self.queries_per_block, self.keys_per_block, _ELEMENT_BYTES
        # The epilogue reserves twice the 8 rows that each warp along M stages in a step.
        staging = q // self.warp[0] * 16 * (self.columns + 8) * 4
        if self.mainloop == "flash":
            depth = 64 if self.head_dim % 64 == 0 else _TILE_K
            return max((q + k) * -(-self.head_dim // depth) * depth * row + k * self.columns * row, staging)
        first = (q + k) * -(-self.head_dim // _TILE_K) * _TILE_K * row
        second = q * (k + 8) * row + k * k * row
        statistics = (4 + k // self.warp[1]) * q * 4
        return statistics + max(first, second, staging if self.keep_output_in_registers else second + staging)

    @property
    def columns(self) -> int:
        """Columns of the second GEMM's tile: those of a column block, or in flash head_dim_v in whole lines."""
        if self.mainloop == "attention":
            return self.keys_per_block
        return next(width for width in (64, 128, 256) if width >= self.head_dim_v)

    @property
    def computed_columns(self) -> int:
        """Columns of the output that flash's mma.sync compute."""
        return -(-self.head_dim_v // 16) * 16 if self.skip_columns else self.columns

    @property
    def epilogue(self) -> EpilogueTile:
        """The epilogue of the output, for one head."""
        warp_m, warp_n = self.warp
        return EpilogueTile(
            threadblock=(self.queries_per_block, self.columns, _TILE_K),
            warp=(warp_m, self.columns if self.mainloop == "flash" else warp_n, _TILE_K),
            instruction=(16, 8, 16),
            output_type=self.output,
            elements_per_access=widest_alignment(self.output, self.head_dim_v),
            extent=(self.queries, self.head_dim_v),
            leading=self.heads * self.head_dim_v,
        )


def default_kernel(mainloop: Schedule, head_dim: int, head_dim_v: int) -> dict[str, int | bool]:
    """
    The tile that a schedule takes for a head.

    ``attention``: as CUTLASS's example 41 chooses (golden/fmha_facts). ``flash``: 32 queries a warp while the output of
    a warp fits its registers, else 16.
    """
    if mainloop == "attention":
        small = head_dim_v <= 64 and head_dim <= 64
        return {
            "queries_per_block": 64 if small else 32,
            "keys_per_block": 64 if small else 128,
            "ctas_per_sm": 4,
            "keep_output_in_registers": head_dim_v <= 128,
        }
    if head_dim_v > 128:
        return {"queries_per_block": 64, "keys_per_block": 64, "warp_queries": 16, "ctas_per_sm": 2}
    return {"queries_per_block": 128, "keys_per_block": 64, "warp_queries": 32, "ctas_per_sm": 2}


def specialise_attention(kernel: AttentionKernel, build: Build = "plain") -> Specialisation:
    """
    The kernel of an attention problem.

    Args:
        kernel: Problem and kernel.
        build: ``trace`` and ``timeline`` are the same source, instrumented (kernels_cuda/record.cuh).

    Raises:
        CannotRun: The CUDA sources are missing.
    """
    folder = kernels_folder()
    options = ("-std=c++17", *(f"-DGPUSIM_{name}={value}" for name, value in _macros(kernel, build).items()))
    sha = hashlib.sha256("\n".join(options).encode())
    for path in sorted((*folder.glob("*.cuh"), *folder.glob("attention/*.cu*"))):
        sha.update(f"\n{path.relative_to(folder).as_posix()}\n".encode() + path.read_bytes())
    return Specialisation(
        entry=ENTRY,
        build=build,
        options=options,
        grid=kernel.grid,
        block_threads=32 * kernel.warps,
        shared_bytes=kernel.shared_bytes,
        k_iterations=-(-kernel.keys // kernel.keys_per_block),
        semaphores=0,
        source=folder / "attention" / "kernel.cu",
        include=folder,
        digest=sha.hexdigest(),
    )


def _macros(kernel: AttentionKernel, build: Build) -> dict[str, int | str]:
    macros: dict[str, int | str] = {
        **_gemm_macros(kernel),
        "KEYS": kernel.keys,
        "BLOCK_KEYS": kernel.keys_per_block,
        "COMPUTED_V": kernel.computed_columns,
        "ACCESS_C": kernel.epilogue.elements_per_access,
        "EPILOGUE_MIXED": int(kernel.epilogue.mixed),
        "FLASH": int(kernel.mainloop == "flash"),
        "HEADS": kernel.heads,
        "HEAD_DIM": kernel.head_dim,
        "HEAD_DIM_V": kernel.head_dim_v,
        "MASK": kernel.mask,
        "RAGGED": int(kernel.ragged),
        "CTAS_PER_SM": kernel.ctas_per_sm,
        "SHARED_BYTES": kernel.shared_bytes,
        "QUERIES_IN_REGISTERS": int(kernel.queries_in_registers),
        "PRELOAD_V": int(kernel.preload_v),
        "KEEP_OUTPUT_IN_REGISTERS": int(kernel.keep_output_in_registers),
    }
    if build == "trace":
        macros |= {f"OP_{name.upper()}": number for number, name in enumerate(ATTENTION_OPERATIONS)}
    if build != "plain":
        macros[build.upper()] = 1
    return macros


def _gemm_macros(kernel: AttentionKernel) -> dict[str, int | str]:
    """What kernels_cuda/scenario.cuh wants to know: the second GEMM, P by V, is its GEMM."""
    warp_m, warp_n, _ = kernel.epilogue.warp
    return {
        "CONVOLUTION": 0,
        "GEMM_M": kernel.queries,
        "GEMM_N": kernel.head_dim_v,
        "AB": kernel.ab,
        "ACCUMULATOR": "f32",
        "OUTPUT": kernel.output,
        "COMPUTE": "f32",
        "BIAS": 0,
        "RELU": 0,
        "REDUCES": 0,
        "MMA": f"m16n8k16.row.col.f32.{kernel.ab}.{kernel.ab}.f32",
        "INSTRUCTION_M": 16,
        "INSTRUCTION_K": 16,
        "TILE_M": kernel.queries_per_block,
        "TILE_N": kernel.columns,
        "TILE_K": _TILE_K,
        "WARP_M": warp_m,
        "WARP_N": warp_n,
        "STAGES": max(2, kernel.keys_per_block // _TILE_K) if kernel.mainloop == "attention" else 2,
        "SPLIT_K_SLICES": 1,
        "THREADBLOCK_SWIZZLE": "IdentitySwizzle<1>",
        "LDC": kernel.heads * kernel.head_dim_v,
        **{f"{name}_{letter}": value for letter in "AB" for name, value in _OPERAND.items()},
    }
