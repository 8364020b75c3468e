"""Says how far a long phase is: a line every few seconds, none of a short one."""

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
    Return a function that is told how much of a phase is done, and says so every ``EVERY`` seconds.

    Args:
        progress: Called with the line.
        what: What is done to what, for the line.
        total: How much there is to do.
    """
    last = time.monotonic()

    def say(done: int) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= EVERY:
            last = now
            progress(f"{what}: {done:,} of {total:,}")

    return say
