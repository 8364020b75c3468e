"""Launches kernels of sm_90a several times, and reads back the clocks and the errors that they write."""

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

from gpusim.arrays import IntArray
from gpusim.lab.calibrate.runner import WARP, Device, MeasuredRow

SM_90A: Final = "sm_90a"

ALIGNED_BYTES: Final = 1024
"""Bytes that a kernel loses where it aligns its dynamic shared memory."""

_STATE_WORDS: Final = 64
_REPEATS: Final = 3
_ERRORS: Final = {0: "", 1: "a wait was given up", 2: "other bytes than expected"}


def structure(**fields: int) -> np.void:
    """Return 32-bit fields as a structure that a kernel takes by value."""
    values = np.array([tuple(fields.values())], dtype=[(name, np.uint32) for name in fields])
    found: np.void = values[0]
    return found


def clocks(
    device: Device,
    source: str,
    kernel: str,
    arguments: Sequence[object],
    shape: tuple[int, ...],
    *,
    ctas: int = 1,
    threads: int = WARP,
    shared: int = 0,
    repeats: int = _REPEATS,
    before: Callable[[], None] | None = None,
) -> tuple[IntArray, str]:
    """
    Launch a kernel several times, and return the clocks of its shortest launch.

    Args:
        device: The GPU.
        source, kernel: Names of the source, without ".cu", and of the kernel.
        arguments: Its arguments behind its clocks and its state.
        shape: Shape of its clocks. The last axis begins with a begin and ends with an end.
        ctas, threads, shared: CTAs, threads of a CTA, bytes of its dynamic shared memory.
        repeats: Launches.
        before: Called before each launch.

    Returns:
        Clocks of ``shape``, and what was wrong with any of the launches; empty if nothing was.
    """
    best: IntArray | None = None
    error = 0
    for _ in range(repeats):
        if before is not None:
            before()
        seen = device.cupy.zeros(shape, dtype=np.uint64)
        state = device.cupy.zeros(_STATE_WORDS, dtype=np.uint64)
        device.launch(
            source,
            kernel,
            (seen, state, *arguments),
            ctas=ctas,
            threads=threads,
            shared=shared,
            architecture=SM_90A,
        )
        found: IntArray = device.cupy.asnumpy(seen).astype(np.int64)
        error |= int(device.cupy.asnumpy(state)[0])
        if best is None or _length(found) < _length(best):
            best = found
    if best is None:
        raise ValueError("a kernel must be launched at least once")
    return best, _ERRORS.get(error, f"errors {error}")


def _length(found: IntArray) -> float:
    return float(np.median(found[..., -1] - found[..., 0]))


def of_ctas(spans: IntArray, each: int, each_bytes: int) -> MeasuredRow:
    """
    Return the cycles of CTAs on an SM each: the median, the slowest, for each of ``each`` boxes, and bytes a cycle.

    Args:
        spans: Begin and end of each CTA, shape [ctas, 2].
        each: Boxes of a CTA.
        each_bytes: Bytes of a box.
    """
    cycles = spans[:, 1] - spans[:, 0]
    middle = float(np.median(cycles))
    row: MeasuredRow = {"cycles": middle, "slowest": int(cycles.max()), "per_box": middle / each}
    return row | {"bytes_per_cycle": each * each_bytes / middle if middle else 0.0}


def of_rounds(stamps: IntArray, names: Sequence[str]) -> MeasuredRow:
    """
    Return the median cycles from the begin of a round to each later reading, without the first round of each CTA.

    Args:
        stamps: Readings, shape [ctas, rounds, 1 + names].
        names: Columns of the readings behind the begin.
    """
    warm = stamps[:, 1:]
    row: MeasuredRow = {
        name: float(np.median(warm[..., 1 + number] - warm[..., 0])) for number, name in enumerate(names)
    }
    return row | {"slowest": int((warm[..., -1] - warm[..., 0]).max())}
