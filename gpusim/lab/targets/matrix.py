"""Lists the combinations of target, family, types, layouts, tile, stages and iterator that are compiled."""

from collections.abc import Iterator
from itertools import count
from typing import Any, Final, NamedTuple

from gpusim.element_types import INTEGERS, MMA_SHAPES, OUTPUTS, Shape, element_bits, least_capability

TARGETS: Final[dict[str, int]] = {"t4": 75, "a100": 80, "rtx3090": 86, "rtx4090": 89, "h200": 90}
"""A machine of each target, and its compute capability as 10 * major + minor."""

LAYOUTS: Final = {"TN": ("row", "column"), "NN": ("column", "column"), "NT": ("column", "row"), "TT": ("row", "row")}
"""Layouts of A and B by BLAS's letters."""

FOLLOWED_TILES: Final[tuple[tuple[Shape, Shape], ...]] = (
    ((128, 128, 32), (64, 64, 32)),
    ((64, 64, 64), (32, 32, 64)),
    ((128, 64, 32), (64, 32, 32)),
    ((64, 128, 64), (32, 64, 64)),
    ((256, 128, 32), (64, 64, 32)),
    ((64, 64, 32), (32, 32, 32)),
)
"""Threadblock and warp tiles of 16-bit operands. Other types have a K of as many bytes."""

TURING_TILES: Final = (FOLLOWED_TILES[0], FOLLOWED_TILES[2], FOLLOWED_TILES[5])
"""The tiles whose two stages and whose epilogue fit on an SM of Turing."""

MAINLOOPS: Final = (("multistage", 3), ("multistage", 4), ("pipelined", 2))
EXTENTS: Final = ((384, 256, 200), (264, 136, 520), (1000, 648, 96))
"""M, N and K of the GEMMs: the second and the third are ragged along all of them."""

_TILE_BITS: Final = 16
_CUT_ALONG_K: Final[tuple[dict[str, Any], ...]] = tuple(
    {"split_k": kind, "split_k_slices": 2} for kind in ("serial", "parallel")
)
_EPILOGUES: Final[tuple[dict[str, Any], ...]] = (
    {"bias": True, "activation": "relu"},
    {"beta": 1.0},
    {"alpha": 0.5, "beta": 0.25, "bias": True},
    {"alignment_a": 2, "alignment_b": 2, "alignment_c": 1},
)


class Combination(NamedTuple):
    """
    One kernel to compile.

    Attributes:
        target: Compute capability as 10 * major + minor.
        family: Row of the table.
        name: Name of the kernel, unique in the row.
        data: Scenario of the kernel, as plain data.
    """

    target: int
    family: str
    name: str
    data: dict[str, Any]


class _Types(NamedTuple):
    ab: str
    accumulator: str
    output: str
    instruction: Shape

    @property
    def dtype(self) -> dict[str, str]:
        return {"ab": self.ab, "accumulator": self.accumulator, "output": self.output}

    def __str__(self) -> str:
        return f"{self.ab} {self.accumulator} {self.output} m{'x'.join(map(str, self.instruction))}"


def combinations(machine: str) -> Iterator[Combination]:
    """
    Yield the combinations of one target.

    Tiles, mainloops and extents change from one combination to the next, so that each occurs with each type and layout.

    Args:
        machine: A key of ``TARGETS``.
    """
    target = TARGETS[machine]
    types = [one for one in _all_types() if least_capability(one.ab, one.instruction) <= target]
    kernels = (_kernel(target, number) for number in count())
    for family, name, problem, one, more in (*_gemms(types), *_convolutions(types)):
        tile, kernel = next(kernels)
        data = {
            "machine": machine,
            "problem": {**problem, "dtype": one.dtype},
            "kernel": {**kernel, **_tiles(tile, one.ab), "instruction": list(one.instruction), **more},
        }
        shown = f"{name}, {one}, {'x'.join(map(str, tile[0]))}, {kernel['mainloop']} {kernel['stages']}"
        yield Combination(target, family, shown, data)
    if target >= least_capability("f16", (16, 8, 16)):
        for name, data in _attentions():
            yield Combination(target, "attention", name, {"machine": machine, **data})


def _all_types() -> list[_Types]:
    return [
        _Types(ab, accumulator, output, shape)
        for (ab, accumulator), shapes in MMA_SHAPES.items()
        for shape in shapes
        for output in OUTPUTS[ab, accumulator]
    ]


def _kernel(target: int, number: int) -> tuple[tuple[Shape, Shape], dict[str, Any]]:
    """Return tiles and mainloop of the combination with a number."""
    if target < least_capability("f16", (16, 8, 16)):
        return TURING_TILES[number % len(TURING_TILES)], {"mainloop": "pipelined", "stages": 2}
    mainloop, stages = MAINLOOPS[number % len(MAINLOOPS)]
    return FOLLOWED_TILES[(number + number // len(FOLLOWED_TILES)) % len(FOLLOWED_TILES)], {
        "mainloop": mainloop,
        "stages": stages,
    }


def _tiles(tile: tuple[Shape, Shape], ab: str) -> dict[str, Any]:
    """Return threadblock and warp tile, with as many bytes along K as for 16-bit operands."""
    threadblock, warp = ([m, n, k * _TILE_BITS // element_bits(ab)] for m, n, k in tile)
    return {"threadblock": threadblock, "warp": warp}


_Row = tuple[str, str, dict[str, Any], _Types, dict[str, Any]]
"""Family, name, problem, types, and the given keys of the kernel."""


def _gemms(types: list[_Types]) -> Iterator[_Row]:
    """Yield every type in each of its layouts, twice for 16-bit operands; then splits and epilogues."""
    extents = (EXTENTS[number % len(EXTENTS)] for number in count())
    for turn in range(2):
        for one in types:
            narrow = one.ab in INTEGERS
            if turn and (narrow or one.ab == "tf32"):
                continue
            for letters in ("TN",) if narrow else LAYOUTS:
                yield "gemm", letters, _gemm(next(extents), letters, one.ab), one, {}
    floats = [one for one in types if one.ab == "f16" and one.accumulator == "f32"]
    for one, letters in zip(floats * 2, LAYOUTS, strict=False):
        for cut in _CUT_ALONG_K:
            problem = _gemm((264, 136, 520), letters, one.ab) | cut
            yield f"gemm, {cut['split_k']} split-K", letters, problem, one, {}
        for own in _EPILOGUES:
            yield "gemm, epilogues", f"{letters} {own}", _gemm((264, 136, 200), letters, one.ab) | own, one, {}


def _gemm(extents: Shape, letters: str, ab: str) -> dict[str, Any]:
    """Return a GEMM. Contiguous extents of operands are multiples of 16 bytes."""
    m, n, k = extents
    layout_a, layout_b = LAYOUTS[letters]
    depth = k * _TILE_BITS // element_bits(ab)
    return {"kind": "gemm", "m": m, "n": n, "k": depth, "layout_a": layout_a, "layout_b": layout_b}


def _convolutions(types: list[_Types]) -> Iterator[_Row]:
    image = {"n": 2, "h": 12, "w": 10, "c": 128, "k": 128, "r": 3, "s": 3, "padding": [1, 1]}
    for one in types:
        if one.output == one.accumulator or one.ab == "f16":
            for iterator in ("analytic", "optimized"):
                problem = {"kind": "conv2d_fprop", **image, "stride": [2, 1]}
                yield f"convolution, {iterator}", "stride 2 x 1", problem, one, {"iterator": iterator}
        if one.ab not in INTEGERS and one.accumulator == "f32":
            yield "data gradient", "3 x 3", {"kind": "conv2d_dgrad", **image}, one, {"iterator": "analytic"}


def _attentions() -> Iterator[tuple[str, dict[str, Any]]]:
    for mainloop in ("attention", "flash"):
        for head, mask, ab in (
            (64, "causal_top_left", "f16"),
            (128, "none", "bf16"),
            (96, "causal_bottom_right", "f16"),
        ):
            problem = {
                "kind": "attention",
                "batch": 1,
                "heads": 2,
                "queries": 256,
                "keys": 320,
                "head_dim": head,
                "head_dim_v": head,
                "mask": mask,
                "dtype": {"ab": ab, "output": ab},
            }
            yield f"{mainloop}, head {head}, {mask}, {ab}", {"problem": problem, "kernel": {"mainloop": mainloop}}
