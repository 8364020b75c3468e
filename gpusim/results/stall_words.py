"""Nsight Compute's warp stall reasons in words: the cause of a wait, and the usual remedy."""

from typing import Final, NamedTuple


class StallWords(NamedTuple):
    """
    One stall reason in words.

    Attributes:
        waits_for: Cause of the wait, in a few words; empty if the warp does not wait.
        meaning: Explanation of such a cycle.
        helps: The usual remedy; empty if such cycles are no loss.
    """

    waits_for: str
    meaning: str
    helps: str


STALL_WORDS: Final[dict[str, StallWords]] = {
    "selected": StallWords("", "the warp issues an instruction: no stall", ""),
    "wait": StallWords(
        "fixed-latency dependencies",
        "a fixed number of cycles after its last instruction, which the compiler wrote into it",
        "fewer instructions that depend on the one before, such as address arithmetic; more warps",
    ),
    "short_scoreboard": StallWords(
        "data from shared memory",
        "the result of shared memory (LDS, ldmatrix), a shuffle or a special function",
        "no bank conflicts; fragments loaded a k group earlier",
    ),
    "long_scoreboard": StallWords(
        "data from global memory",
        "data from global memory or L2: a load, or the cp.async that wait_group waits for",
        "more stages; more CTAs on an SM; data that stay in the L2",
    ),
    "barrier": StallWords(
        "other warps at barriers",
        "the other warps of the CTA, at a barrier",
        "warps of equal work; fewer barriers; a second CTA on the SM",
    ),
    "math_pipe_throttle": StallWords(
        "math pipes",
        "the pipe it needs, such as the tensor core, which another warp has",
        "nothing where the tensor core is busy all the time: that is the peak; else a larger instruction",
    ),
    "mio_throttle": StallWords(
        "the queue to shared memory",
        "the queue to shared memory and special functions is full",
        "fewer and wider accesses to shared memory; no bank conflicts",
    ),
    "lg_throttle": StallWords(
        "the queue to global memory",
        "the queue to global and local memory is full",
        "fewer and wider copies; no spilled registers",
    ),
    "not_selected": StallWords("", "the warp could issue, but the scheduler takes another one", ""),
    "branch_resolving": StallWords("branches", "the target of a branch", "a mainloop unrolled further"),
    "no_instruction": StallWords(
        "the fetch of instructions",
        "its next instruction, which is in no instruction cache yet",
        "shorter code; more k tiles, over which the first fetch counts less",
    ),
    "imc_miss": StallWords(
        "the fetch of constants",
        "a constant, such as a kernel's parameter, which is in no constant cache yet",
        "more k tiles, over which the first one counts less",
    ),
    "drain": StallWords(
        "stores after the end", "its stores are written after it has ended", "coalesced and wider stores"
    ),
    "dispatch_stall": StallWords(
        "the dispatcher", "the dispatcher holds the instruction back", "fewer conflicts of registers"
    ),
    "membar": StallWords("memory fences", "a memory fence", "fewer fences"),
    "gmma": StallWords(
        "wgmma in flight",
        "a group of wgmma that it has issued, until few enough are in flight",
        "nothing where the tensor core is busy all the time: that is the peak; else more warpgroups that take turns",
    ),
    "sleeping": StallWords("its own sleep", "the warp sleeps on purpose", "a shorter nanosleep"),
}
"""Definition of each reason. Their names are ncu's, without ``smsp__average_warps_issue_stalled_``."""
