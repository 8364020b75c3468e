"""The twelve problems of the check, and the stated set of measured configurations for each of them."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, TypeAlias

from gpusim.element_types import MMA_SHAPES, element_bits
from gpusim.errors import BadInput
from gpusim.families.registry import parse_gemm_scenario
from gpusim.scenario.gemm import GemmScenario

Settings: TypeAlias = dict[str, Any]
"""The keys of a configuration, dotted as in ``--set``, with their values."""

MOST_CONFIGURATIONS: Final = 150
"""Most configurations of one problem."""


class _Tile(NamedTuple):
    """A threadblock tile: M and N, M and N of its warps, the bytes of K in a tile row, and numbers of stages."""

    m: int
    n: int
    warp_m: int
    warp_n: int
    row_bytes: int
    stages: tuple[int, ...]


_LIBRARY: Final = (
    _Tile(256, 128, 64, 64, 64, (3,)),
    _Tile(128, 256, 64, 64, 64, (3,)),
    _Tile(256, 64, 64, 64, 64, (4,)),
    _Tile(64, 256, 64, 64, 64, (4,)),
    _Tile(128, 128, 64, 64, 64, (3, 4, 5)),
    _Tile(128, 64, 64, 32, 64, (6,)),
    _Tile(64, 128, 32, 64, 64, (6,)),
    _Tile(64, 64, 32, 32, 64, (10,)),
    _Tile(256, 128, 64, 64, 128, (3,)),
    _Tile(128, 256, 64, 64, 128, (3,)),
    _Tile(256, 64, 64, 64, 128, (3, 4)),
    _Tile(64, 256, 64, 64, 128, (3, 4)),
    _Tile(128, 128, 64, 64, 128, (3, 4)),
    _Tile(128, 64, 64, 32, 128, (3,)),
    _Tile(64, 128, 32, 64, 128, (3,)),
    _Tile(64, 64, 32, 32, 128, (5,)),
)
"""The tiles of CUTLASS's library for mma.sync on sm_80 (generator.py, GenerateSM80_TensorOp_16816 and _1688)."""

_BESIDE: Final = (
    _Tile(256, 128, 64, 64, 64, (4,)),
    _Tile(128, 256, 64, 64, 64, (4,)),
    _Tile(128, 128, 32, 64, 64, (4,)),
    _Tile(64, 64, 32, 32, 64, (4,)),
    _Tile(256, 128, 64, 64, 128, (4,)),
    _Tile(128, 256, 64, 64, 128, (4,)),
    _Tile(128, 128, 64, 64, 128, (5, 6)),
    _Tile(128, 128, 64, 32, 128, (3, 4)),
    _Tile(128, 64, 64, 32, 128, (4, 6)),
    _Tile(64, 128, 32, 64, 128, (4, 6)),
    _Tile(64, 64, 32, 32, 128, (3, 8)),
    _Tile(128, 128, 64, 64, 128, (2,)),
    _Tile(128, 64, 64, 32, 128, (2,)),
)
"""Other legal tiles: more stages on an SM of 228 KB, eight warps in place of four, and two stages through registers."""

_REORDERED: Final = (
    _Tile(256, 128, 64, 64, 64, (3,)),
    _Tile(128, 256, 64, 64, 64, (3,)),
    _Tile(128, 128, 64, 64, 64, (4,)),
    _Tile(256, 128, 64, 64, 128, (3,)),
    _Tile(128, 256, 64, 64, 128, (3,)),
    _Tile(128, 128, 64, 64, 128, (4,)),
)
"""Tiles that are also measured with other orders of CTAs."""

_SPLIT: Final = (
    _Tile(128, 128, 64, 64, 64, (4,)),
    _Tile(64, 64, 32, 32, 64, (6,)),
    _Tile(256, 64, 64, 64, 128, (3,)),
    _Tile(64, 256, 64, 64, 128, (3,)),
    _Tile(128, 128, 64, 64, 128, (3, 4)),
    _Tile(128, 64, 64, 32, 128, (3, 6)),
    _Tile(64, 128, 32, 64, 128, (3, 6)),
    _Tile(64, 64, 32, 32, 128, (5, 8)),
    _Tile(32, 128, 32, 32, 128, (4, 6)),
    _Tile(32, 64, 32, 32, 128, (8,)),
)
"""The tiles that are measured with several split-K slices."""

_REDUCED: Final = (
    _Tile(128, 128, 64, 64, 128, (4,)),
    _Tile(128, 64, 64, 32, 128, (6,)),
    _Tile(64, 128, 32, 64, 128, (6,)),
    _Tile(64, 64, 32, 32, 128, (8,)),
)
"""The tiles that are measured with a parallel split-K, whose second kernel sums the slices."""

LIBRARY_ORDER: Final = "identity<8>"
"""Order of CTAs of every GEMM of CUTLASS's library."""


@dataclass(frozen=True, slots=True)
class TuneProblem:
    """
    One problem of the check.

    Attributes:
        name: Name of its file of measurements.
        problem: The table ``[problem]`` of its scenarios.
        slices: Measured numbers of split-K slices; (1,) if K is not split.
        iterators: Measured iterators of a convolution; empty for a GEMM.
    """

    name: str
    problem: dict[str, Any]
    slices: tuple[int, ...] = (1,)
    iterators: tuple[str, ...] = ()

    def settings(self) -> list[Settings]:
        """Return the stated set: every measured configuration, none twice, at most ``MOST_CONFIGURATIONS``."""
        legal = [one for one in self._stated() if self._is_legal(one)]
        return list({str(one): one for one in legal}.values())

    def _stated(self) -> Iterator[Settings]:
        if self.iterators:
            return self._convolutions()
        return self._split_gemms() if len(self.slices) > 1 else self._gemms()

    def _convolutions(self) -> Iterator[Settings]:
        for iterator in self.iterators:
            for tile in (*_LIBRARY, *_BESIDE):
                yield from self._of(tile, "identity<4>", {"kernel.iterator": iterator})

    def _split_gemms(self) -> Iterator[Settings]:
        for slices in self.slices:
            for tile in _SPLIT:
                yield from self._of(tile, LIBRARY_ORDER, _split(slices, "serial"))
            for tile in _REDUCED if slices > 1 else ():
                yield from self._of(tile, LIBRARY_ORDER, _split(slices, "parallel"))

    def _gemms(self) -> Iterator[Settings]:
        for tile in (*_LIBRARY, *_BESIDE):
            yield from self._of(tile, LIBRARY_ORDER, {})
        for tile in _REORDERED:
            for order in ("identity<1>", "horizontal"):
                yield from self._of(tile, order, {})

    def _of(self, tile: _Tile, order: str, more: Settings) -> Iterator[Settings]:
        dtype = self.problem["dtype"]
        depth = tile.row_bytes * 8 // element_bits(dtype["ab"])
        for stages in tile.stages:
            yield {
                "kernel.mainloop": "multistage" if stages > 2 else "pipelined",
                "kernel.threadblock": [tile.m, tile.n, depth],
                "kernel.warp": [tile.warp_m, tile.warp_n, depth],
                "kernel.instruction": list(MMA_SHAPES[dtype["ab"], dtype["accumulator"]][0]),
                "kernel.stages": stages,
                "kernel.threadblock_swizzle": order,
                **more,
            }

    def _is_legal(self, settings: Settings) -> bool:
        try:
            self.scenario(settings)
        except BadInput:
            return False
        return True

    def scenario(self, settings: Settings) -> GemmScenario:
        """
        Return the scenario of one configuration on an H200.

        Raises:
            BadInput: The configuration is not legal for the problem.
        """
        data: dict[str, Any] = {"machine": "h200", "problem": dict(self.problem), "kernel": {}}
        for key, value in settings.items():
            table, _, name = key.partition(".")
            data[table][name] = value
        return parse_gemm_scenario(data, self.name)


def _split(slices: int, how: str) -> Settings:
    return {"problem.split_k_slices": slices, "problem.split_k": how}


def _gemm(shape: tuple[int, int, int], ab: str, layouts: tuple[str, str] = ("row", "column")) -> dict[str, Any]:
    m, n, k = shape
    output = "f32" if ab == "tf32" else ab
    return {
        "kind": "gemm",
        "m": m,
        "n": n,
        "k": k,
        "layout_a": layouts[0],
        "layout_b": layouts[1],
        "dtype": {"ab": ab, "accumulator": "f32", "output": output},
    }


_CONVOLUTION: Final = {
    "kind": "conv2d_fprop",
    "n": 32,
    "h": 28,
    "w": 28,
    "c": 128,
    "k": 256,
    "r": 3,
    "s": 3,
    "padding": [1, 1],
    "stride": [1, 1],
    "dilation": [1, 1],
    "mode": "cross_correlation",
    "dtype": {"ab": "f16", "accumulator": "f32", "output": "f16"},
}

TUNE_PROBLEMS: Final = (
    TuneProblem("f16_tn_2048x2048x2048", _gemm((2048, 2048, 2048), "f16")),
    TuneProblem("f16_tn_4096x4096x4096", _gemm((4096, 4096, 4096), "f16")),
    TuneProblem("f16_nn_3072x3072x1536", _gemm((3072, 3072, 1536), "f16", ("row", "row"))),
    TuneProblem("bf16_tn_1536x1792x3072", _gemm((1536, 1792, 3072), "bf16")),
    TuneProblem("bf16_tn_8192x4096x256", _gemm((8192, 4096, 256), "bf16")),
    TuneProblem("bf16_nt_1024x4096x4096", _gemm((1024, 4096, 4096), "bf16", ("column", "row"))),
    TuneProblem("tf32_tn_2048x2048x2048", _gemm((2048, 2048, 2048), "tf32")),
    TuneProblem("tf32_tn_512x768x8192", _gemm((512, 768, 8192), "tf32"), slices=(1, 2, 4, 8)),
    TuneProblem("f16_tn_16x8192x4096", _gemm((16, 8192, 4096), "f16"), slices=(1, 2, 4, 8)),
    TuneProblem("bf16_tn_128x4096x8192", _gemm((128, 4096, 8192), "bf16"), slices=(1, 2, 4, 8)),
    TuneProblem("f16_tn_256x512x16384", _gemm((256, 512, 16384), "f16"), slices=(1, 4, 8, 16)),
    TuneProblem("f16_fprop_32x28x28x128_k256_3x3", _CONVOLUTION, iterators=("analytic", "optimized")),
)
"""The problems: square ones, other layouts, odd waves, output-heavy, few rows, deep K, and a convolution."""


def problem_named(name: str) -> TuneProblem:
    """
    Return the problem with a name.

    Raises:
        BadInput: There is none.
    """
    for one in TUNE_PROBLEMS:
        if one.name == name:
            return one
    raise BadInput(f"no such problem: {name}; there are {', '.join(one.name for one in TUNE_PROBLEMS)}")
