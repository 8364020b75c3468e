"""Reports the progress of a long phase: a line every few seconds, none for a short phase."""

import time
from collections.abc import Callable
from typing import Final, TypeAlias

Progress: TypeAlias = Callable[[str], None]
"""Called with a line about each phase."""

EVERY: Final = 2.0
"""Seconds between two lines."""


def silent(_: str) -> None:
    """Say nothing."""


def paced(progress: Progress, what: str, total: int) -> Callable[[int], None]:
    """
    Return a function that takes the finished amount of a phase, and reports it every ``EVERY`` seconds.

    Args:
        progress: Called with the line.
        what: Words of the line that name the phase.
        total: Amount of the whole phase.
    """
    last = time.monotonic()

    def say(done: int) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= EVERY:
            last = now
            progress(f"{what}: {done:,} of {total:,}")

    return say
