"""Random choices, and the extents of a legal problem made of them; which kernel computes it is not chosen here."""

from collections.abc import Callable
from typing import Any

LAYOUTS = {"TN": ("row", "column"), "NN": ("column", "column"), "NT": ("column", "row"), "TT": ("row", "row")}
"""Layouts of A and B by the letters that BLAS has for them: N is column-major."""

_WHOLE = 15
"""Of a hundred problems, those whose extents are whole tiles."""


class Draw:
    """The choices of one scenario, in a fixed order, all of them made from integers of one source."""

    def __init__(self, between: Callable[[int, int], int]) -> None:
        """``between(low, high)``: an integer from ``low`` to ``high``, both included."""
        self.between = between

    def one_of(self, *choices: Any) -> Any:
        """One of the choices, all equally likely."""
        return choices[self.between(0, len(choices) - 1)]

    def chance(self, percent: int) -> bool:
        """True in ``percent`` of a hundred draws."""
        return self.between(1, 100) <= percent

    def multiple(self, factor: int, most: int) -> int:
        """A multiple of ``factor``, from ``factor`` to about ``most``."""
        return factor * self.between(1, max(most // factor, 1))

    def scale(self) -> float:
        """A factor of the linear combination: 1, a whole number from -3 to 3, or two decimals from -2 to 2; never 0."""
        return self.one_of(1.0, float(self.between(-3, 3)), self.between(-200, 200) / 100) or 1.0


def gemm_extents(
    draw: Draw, letters: str, threadblock: list[int], most_k_tiles: int, access: dict[str, int]
) -> dict[str, Any]:
    """
    A GEMM of up to 1.6 tiles along M and N, ragged or whole, its leading dimensions packed or padded.

    Args:
        draw: Makes the choices.
        letters: A key of ``LAYOUTS``.
        threadblock: Tile M, N, K.
        most_k_tiles: K in k tiles.
        access: Elements that every extent along operand "a", "b", "c" is a multiple of.
    """
    layout_a, layout_b = LAYOUTS[letters]
    along = {"a": "k" if layout_a == "row" else "m", "b": "k" if layout_b == "column" else "n", "c": "n"}
    most = {"m": threadblock[0] * 8 // 5, "n": threadblock[1] * 8 // 5, "k": threadblock[2] * most_k_tiles}
    data: dict[str, Any] = {"kind": "gemm", "layout_a": layout_a, "layout_b": layout_b}
    whole = draw.chance(_WHOLE)
    for (name, extent), tile in zip(most.items(), threadblock, strict=True):
        step = max([access[operand] for operand, walked in along.items() if walked == name], default=1)
        data[name] = draw.multiple(tile if whole else step, extent)
    for operand, name in along.items():
        if draw.chance(40):
            data[f"ld{operand}"] = data[name] + draw.multiple(access[operand], 40)
    return data


def conv_extents(draw: Draw, threadblock: list[int], slices: int, access: dict[str, int]) -> dict[str, Any]:
    """
    A convolution of up to 1.5 channel tiles, or one for each slice, with filters 1 to 3 (rarely 5) wide and high.

    Channels and filters are ragged or whole tiles.

    Args:
        draw: Makes the choices.
        threadblock: Tile M, N, K.
        slices: Split-K slices that should find work.
        access: Elements that channels ("a", "b") and filters ("c") are multiples of.
    """
    most_channels = threadblock[2] * (3 if slices == 1 else 2 * slices) // 2
    whole = draw.chance(_WHOLE)
    c = draw.multiple(threadblock[2] if whole else max(access["a"], access["b"]), most_channels)
    data: dict[str, Any] = {"kind": "conv2d_fprop", "n": draw.between(1, 3), "c": c}
    data["k"] = draw.multiple(threadblock[1] if whole else access["c"], threadblock[1] * 5 // 4)
    data["mode"] = draw.one_of("cross_correlation", "convolution")
    filters = (5, draw.between(1, 2)) if draw.chance(10) else (draw.between(1, 3), draw.between(1, 3))
    data["r"], data["s"] = filters if draw.chance(50) else filters[::-1]
    for name, low, high in (("padding", 0, 3), ("stride", 1, 3), ("dilation", 1, 3)):
        data[name] = [draw.between(low, high), draw.between(low, high)]
    for axis, (extent, position, result) in enumerate((("h", "r", "p"), ("w", "s", "q"))):
        reach = data["dilation"][axis] * (data[position] - 1) + 1
        smallest = max(reach - 2 * data["padding"][axis], 1)
        data[extent] = smallest + draw.between(0, 10)
        outputs = (data[extent] + 2 * data["padding"][axis] - reach) // data["stride"][axis] + 1
        if outputs > 1 and draw.chance(15):
            data[result] = outputs - 1
    return data


def legal_slices(wanted: int, tiles: int) -> int:
    """The most slices up to ``wanted`` that all find work among the k tiles (of a convolution: channel tiles)."""
    return max(count for count in range(1, wanted + 1) if (count - 1) * -(-tiles // count) < tiles)
