"""cp.async, ``[async_copy]`` in a machine file."""

from dataclasses import dataclass
from typing import Annotated

from gpusim.machine.figure import FigureUnit


@dataclass(frozen=True, slots=True)
class CopyPaceSpec:
    """
    How fast copies leave the SMSPs of an SM, how many may be in flight, and how fast their data is written.

    Attributes:
        interval: Cycles from a copy that leaves any SMSP to the next memory instruction that leaves one.
        outstanding: Requests of copies around the L1 that an SM may have in flight; those of a copy that asks for one
            sector of each line count twice.
        outstanding_through: Missing lines of copies through the L1 that an SM may have in flight.
        fill_bytes: Bytes of a line that a copy around the L1 writes to shared memory in a cycle, in which no store can
            be written.
    """

    interval: Annotated[int, FigureUnit("cycles")]
    outstanding: Annotated[int, FigureUnit("requests")]
    outstanding_through: Annotated[int, FigureUnit("requests")]
    fill_bytes: Annotated[int, FigureUnit("bytes/cycle", power_of_two=True)]


@dataclass(frozen=True, slots=True)
class AsyncCopySpec:
    """
    cp.async (LDGSTS).

    Attributes:
        queue_percent: Per cent of an entry of an SMSP's MIO queue that a copy takes.
        look_ups: Copies that may wait for their tag lookup. A further copy blocks the memory instructions behind it.
        apart: Extra cycles of the tag lookup of a copy that fills lines of one class only, and of the end of a group
            behind it.
        stage: Cycles of the SM's data stage that a copy around the L1 takes.
        commit_stage: Cycles of the data stage that a commit_group takes.
        source_release: Cycles from a copy's move to the SM's queue until its address registers are free.
        pace: How fast copies leave, how many may be in flight, and how fast their data is written; None if unknown:
            then they leave as other memory instructions do, any number may be in flight, and no store waits for them.
        l1_latency: Cycles from issue until the data is in shared memory, on an L1 hit.
        commit_latency: Cycles from a commit_group's issue to the issue of a commit_group right behind it.
        wait_latency: Cycles from the issue of a wait_group with nothing pending to the issue of a wait_group right
            behind it.
    """

    queue_percent: Annotated[int, FigureUnit("percent")]
    look_ups: Annotated[int, FigureUnit("copies")]
    apart: Annotated[int, FigureUnit("cycles", zero="no longer than others")]
    stage: Annotated[int, FigureUnit("cycles")]
    commit_stage: Annotated[int, FigureUnit("cycles")]
    source_release: Annotated[int, FigureUnit("cycles", zero="free once it has left")]
    pace: CopyPaceSpec | None
    l1_latency: Annotated[int, FigureUnit("cycles", lower=4)]
    commit_latency: Annotated[int, FigureUnit("cycles")]
    wait_latency: Annotated[int, FigureUnit("cycles")]
