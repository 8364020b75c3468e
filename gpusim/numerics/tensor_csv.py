"""A problem's tensors as CSV files: which there are, how their lines are ordered, and how a number is written."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gpusim.element_types import INTEGERS
from gpusim.errors import BadInput, CannotRun
from gpusim.numerics.elements import Values, decode
from gpusim.numerics.tensors import Tensors, operand_views, output_view
from gpusim.scenario.models import Conv2dFpropProblem, Scenario


@dataclass(frozen=True, slots=True)
class Table:
    """
    One tensor as a CSV file has it: a header, then a line for each combination of the leading coordinates.

    Attributes:
        name: Stem of the file.
        coordinates: Name and extent of each coordinate that begins a line, outermost first.
        last: Name of the coordinate that runs along a line; the header numbers it.
        values: Shape (lines, extent of ``last``).
        whole: The values are integers.
    """

    name: str
    coordinates: tuple[tuple[str, int], ...]
    last: str
    values: Values
    whole: bool

    def lines(self) -> Iterator[str]:
        """The file's lines, the header first."""
        extents = [extent for _, extent in self.coordinates]
        names = [name for name, _ in self.coordinates]
        yield ",".join([*names, *(f"{self.last}{column}" for column in range(self.values.shape[1]))])
        for line, row in zip(np.ndindex(*extents), self.values, strict=True):
            yield ",".join([*map(str, line), *(self._text(value) for value in row.tolist())])

    def _text(self, value: float) -> str:
        return str(int(value)) if self.whole else repr(float(value))


def tensor_names(scenario: Scenario, *, reference: bool) -> tuple[str, ...]:
    """Stems of the files of a scenario's tensors: the inputs, the source where beta is not 0, output and reference."""
    inputs = ("activation", "filter") if isinstance(scenario.problem, Conv2dFpropProblem) else ("a", "b")
    source = ("source",) if scenario.problem.beta != 0 else ()
    return (*inputs, *source, "output", *(("reference",) if reference else ()))


def check_tensor_folder(scenario: Scenario, folder: Path, *, reference: bool) -> None:
    """
    See, before anything is computed, that the files can be written.

    Raises:
        BadInput: The folder is a file, or holds one of the files: none is ever overwritten.
    """
    if folder.exists() and not folder.is_dir():
        raise BadInput(f"{folder}: is a file; tensors are written to a folder")
    for name in tensor_names(scenario, reference=reference):
        path = folder / f"{name}.csv"
        if path.exists():
            raise BadInput(f"{path}: is there already; tensors are written to a folder without it")


def save_tensors(
    scenario: Scenario, tensors: Tensors, output: Values, reference: Any | None, folder: Path
) -> tuple[Path, ...]:
    """
    Write the tensors of one execution.

    A GEMM's matrices are written by row and column whatever their layout: a is [m, k], b [k, n], output [m, n]. A
    convolution's have a line for each pixel or filter position: activation (n, h, w), filter (k, r, s), output (n, p,
    q). Padding between the rows of a tensor is left out. A number read back as a float64 is the very value.

    Args:
        tensors: The inputs, as stored.
        output: Decoded. Shape (rows, columns).
        reference: Of the same shape, in float64; None writes none.
        folder: Made if it is not there.

    Returns:
        The files.

    Raises:
        CannotRun: A file cannot be written.
    """
    paths = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for table in _tables(scenario, tensors, output, reference):
            path = folder / f"{table.name}.csv"
            with path.open("x", encoding="utf-8") as file:
                file.writelines(f"{line}\n" for line in table.lines())
            paths.append(path)
    except OSError as error:
        raise CannotRun(f"{error.filename or folder}: cannot be written ({error.strerror or error})") from error
    return tuple(paths)


def _tables(scenario: Scenario, tensors: Tensors, output: Values, reference: Any | None) -> Iterator[Table]:
    problem = scenario.problem
    types = problem.dtype
    view_a, view_b = operand_views(scenario)
    a = view_a.of(decode(tensors.a, types.ab))
    b = view_b.of(decode(tensors.b, types.ab))
    in_whole, out_whole = types.ab in INTEGERS, types.output in INTEGERS
    rows: tuple[tuple[str, int], ...]
    if isinstance(problem, Conv2dFpropProblem):
        rows, column = (("n", problem.n), ("p", problem.output_p), ("q", problem.output_q)), "k"
        pixels = (("n", problem.n), ("h", problem.h), ("w", problem.w))
        yield Table("activation", pixels, "c", a, in_whole)
        yield Table("filter", (("k", problem.k), ("r", problem.r), ("s", problem.s)), "c", b, in_whole)
    else:
        rows, column = (("m", problem.m),), "n"
        yield Table("a", rows, "k", a if problem.layout_a == "row" else a.T, in_whole)
        yield Table("b", (("k", problem.k),), "n", b if problem.layout_b == "row" else b.T, in_whole)
    if tensors.source is not None:
        source = output_view(scenario).of(decode(tensors.source, types.output))
        yield Table("source", rows, column, source, out_whole)
    yield Table("output", rows, column, output, out_whole)
    if reference is not None:
        yield Table("reference", rows, column, reference, out_whole)
