"""A problem's tensors as CSV files: the files, the order of their lines, and the form of numbers."""

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gpusim.element_types import INTEGERS
from gpusim.errors import BadInput, CannotRun
from gpusim.numerics.elements import Values, decode
from gpusim.numerics.tensors import Tensors
from gpusim.results.whole_file import refuse_taken, written_for_user
from gpusim.scenario.checks import in_gib
from gpusim.scenario.gemm import GemmScenario
from gpusim.scenario.product import Axes


@dataclass(frozen=True, slots=True)
class TensorTable:
    """
    One tensor as a CSV file: a header, then a line for each combination of the leading coordinates.

    Attributes:
        axes: Stem of the file, and its coordinates. The header numbers the last coordinate.
        values: Shape (lines, extent of the last coordinate).
        whole: Whether the values are integers.
    """

    axes: Axes
    values: Values
    whole: bool

    def lines(self) -> Iterator[str]:
        """Yield the file's lines, the header first."""
        extents = [extent for _, extent in self.axes.lines]
        names = [name for name, _ in self.axes.lines]
        yield ",".join([*names, *(f"{self.axes.last}{column}" for column in range(self.values.shape[1]))])
        for line, row in zip(np.ndindex(*extents), self.values, strict=True):
            yield ",".join([*map(str, line), *(self._text(value) for value in row.tolist())])

    def _text(self, value: float) -> str:
        return str(int(value)) if self.whole else repr(float(value))


TEXT_BYTES = {"f16": 14, "bf16": 11, "tf32": 14, "f32": 20, "s32": 8, "s8": 4, "u8": 4, "s4": 3, "u4": 3}
"""Bytes of an element in a file, comma included: the mean over random tensors; s32 takes more if sums are large."""

MOST_TEXT = 8 << 30
"""Most bytes of text that are written."""


def text_bytes(scenario: GemmScenario, *, reference: bool) -> int:
    """Return the approximate bytes of a scenario's tensors as text."""
    problem, types = scenario.problem, scenario.problem.dtype
    elements = sum(view.rows * view.columns for view in problem.operand_views)
    outputs = 1 + (problem.beta != 0) + reference
    view = problem.output_view
    return elements * TEXT_BYTES[types.ab] + outputs * view.rows * view.columns * TEXT_BYTES[types.output]


def tensor_names(scenario: GemmScenario, *, reference: bool) -> tuple[str, ...]:
    """
    Return the file stems of a scenario's tensors: the inputs, the source if beta is not 0, the output, the reference.
    """
    inputs = (axes.name for axes in scenario.problem.operand_axes)
    source = ("source",) if scenario.problem.beta != 0 else ()
    return (*inputs, *source, "output", *(("reference",) if reference else ()))


def check_tensor_folder(scenario: GemmScenario, folder: Path, *, reference: bool, replace: bool = False) -> None:
    """
    Check, before anything is computed, that the files can be written.

    Raises:
        BadInput: The files would take more than ``MOST_TEXT``; or the folder is a file; or one of the files exists, and
            ``replace`` is False or gpusim did not write it.
    """
    need = text_bytes(scenario, reference=reference)
    if need > MOST_TEXT:
        raise BadInput(
            f"{folder}: tensors must be small enough to take at most {in_gib(MOST_TEXT)} as text, not {in_gib(need)}"
        )
    if folder.exists() and not folder.is_dir():
        raise BadInput(f"{folder}: is a file; tensors are written to a folder")
    for name in tensor_names(scenario, reference=reference):
        refuse_taken(folder / f"{name}.csv", force=replace)


def save_tensors(
    scenario: GemmScenario,
    tensors: Tensors,
    output: Values,
    reference: Any | None,
    folder: Path,
    *,
    replace: bool = False,
) -> tuple[Path, ...]:
    """
    Write the tensors of one execution.

    A GEMM's matrices are written by row and column, whatever their layout: a is [m, k], b [k, n], output [m, n]. A
    convolution's files have a line for each pixel or filter position: activation (n, h, w), filter (k, r, s), output
    (n, p, q). Padding between the rows of a tensor is left out. A number that is read back as a float64 equals the
    value exactly.

    Args:
        scenario: Scenario that was executed.
        tensors: The inputs, as stored.
        output: Decoded values. Shape (rows, columns).
        reference: Reference values in float64, of the same shape; None writes none.
        folder: Folder to write to; created if it does not exist.
        replace: Replace files of these names.

    Returns:
        The files written.

    Raises:
        BadInput: A file exists and may not be replaced.
        CannotRun: A file cannot be written.
    """
    paths = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for table in _tables(scenario, tensors, output, reference):
            path = folder / f"{table.axes.name}.csv"
            with (
                written_for_user(path, force=replace, follow=False) as aside,
                aside.open("w", encoding="utf-8") as file,
            ):
                file.writelines(f"{line}\n" for line in table.lines())
            paths.append(path)
    except OSError as error:
        raise CannotRun(f"{error.filename or folder}: cannot be written ({error.strerror or error})") from error
    return tuple(paths)


def _tables(scenario: GemmScenario, tensors: Tensors, output: Values, reference: Any | None) -> Iterator[TensorTable]:
    problem = scenario.problem
    types = problem.dtype
    view_a, view_b = problem.operand_views
    a = view_a.of(decode(tensors.a, types.ab))
    b = view_b.of(decode(tensors.b, types.ab))
    in_whole, out_whole = types.ab in INTEGERS, types.output in INTEGERS
    for axes, values in zip(problem.operand_axes, problem.in_lines(a, b), strict=True):
        yield TensorTable(axes, values, in_whole)
    if tensors.source is not None:
        source = problem.output_view.of(decode(tensors.source, types.output))
        yield TensorTable(dataclasses.replace(problem.output_axes, name="source"), source, out_whole)
    yield TensorTable(problem.output_axes, output, out_whole)
    if reference is not None:
        yield TensorTable(dataclasses.replace(problem.output_axes, name="reference"), reference, out_whole)
