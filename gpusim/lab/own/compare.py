"""Compares what a launch of an own kernel wrote with its oracle; knows no executor."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from gpusim.lab.own.kernel import Given, OwnKernel, Stored


@dataclass(frozen=True, slots=True)
class OwnAgreement:
    """
    How the outputs of a launch agree with the oracle.

    Attributes:
        elements: Compared elements.
        wrong: Elements whose error is beyond the tolerance, or which are no number.
        error: Largest error, in the measure of ``OwnKernel.tolerance``.
    """

    elements: int
    wrong: int
    error: float


def compare(kernel: OwnKernel, before: Given, written: Mapping[str, Stored]) -> OwnAgreement:
    """
    Compare the outputs of a launch with the oracle.

    Args:
        kernel: The kernel.
        before: Its arguments before the launch.
        written: The arrays after it, by name; others than outputs are not looked at.
    """
    elements, wrong, error = 0, 0, 0.0
    for name, expected in kernel.oracle(before).items():
        errors = _errors(written[name], expected)
        elements += errors.size
        wrong += int(np.count_nonzero(errors > kernel.tolerance))
        error = max(error, float(errors.max(initial=0.0)))
    return OwnAgreement(elements, wrong, error)


def _errors(got: Stored, expected: Stored) -> Stored:
    """Return each element's error in the measure of ``OwnKernel.tolerance``; integers have 0 or 1, NaN infinity."""
    if got.dtype.kind in "iu":
        differing: Stored = (got != expected.reshape(got.shape)).astype(np.float64)
        return differing
    true = expected.reshape(got.shape).astype(np.float64)
    scale = np.maximum(np.abs(true), np.sqrt(np.mean(true**2)))
    # Garbage that was never overwritten may be no number.
    with np.errstate(invalid="ignore", over="ignore"):
        errors = np.abs(got.astype(np.float64) - true) / np.where(scale > 0, scale, 1.0)
    return np.nan_to_num(errors, nan=np.inf, posinf=np.inf)
