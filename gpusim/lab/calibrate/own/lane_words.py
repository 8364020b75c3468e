"""Chooses the words that the lanes of an atomic are at, for the launches that ncu profiles; measures nothing."""

from collections.abc import Iterator
from itertools import product
from typing import Final, TypeAlias

import numpy as np

from gpusim.arrays import IntArray
from gpusim.lab.calibrate.runner import WARP, ProfiledLaunch
from gpusim.units import LINE_BYTES, SECTOR_BYTES

REPEAT_METRICS: Final = (
    *(
        f"l1tex__t_{what}_pipe_lsu_mem_global_op_{op}.sum"
        for op in ("red", "atom")
        for what in ("sectors", "requests", "output_wavefronts")
    ),
    *("lts__t_sectors_op_red.sum", "lts__t_sectors_op_atom.sum", "lts__t_requests_srcunit_tex.sum"),
    *("smsp__inst_executed_op_global_red.sum", "sm__cycles_active.max", "sm__cycles_elapsed.max"),
)
"""Sectors, requests and wavefronts of the L1 and of the L2, instructions, and cycles."""

REPEAT_TRIPS, REPEAT_UNROLLED, REPEAT_PART = 8, 8, 4096
"""Trips of a kernel, its atomics of a trip, and the bytes that all lanes of an atomic are in."""

REPEAT_KERNELS: Final = ("red_u32", "red_f32", "atom_u32")
"""Additions of integers and floats without a result, and of integers with one."""

_LINE_WORDS, _SECTOR_WORDS = LINE_BYTES // 4, SECTOR_BYTES // 4
_SPACINGS: Final = (1, 4, _SECTOR_WORDS, _LINE_WORDS)
_SEEDS, _BOUNDS = 4, (8, 32, 256, 1024)

_Words: TypeAlias = Iterator[tuple[str, IntArray]]


def lane_words(*, quick: bool) -> dict[str, tuple[int, ...]]:
    """Return the word of each lane by the name of its pattern, each set of words once."""
    lane = np.arange(WARP)
    found: dict[tuple[int, ...], str] = {}
    for patterns in (_repeated(lane), _two_words(lane), _two_lines(lane), _shared_by_some(lane), _random(lane)):
        for name, words in list(patterns)[:: 8 if quick else 1]:
            found.setdefault(tuple(int(word) for word in words), name)
    return {name: words for words, name in found.items()}


def _repeated(lane: IntArray) -> _Words:
    """Yield words of which each has as many lanes: side by side (aabb), or in turn (abab)."""
    for times, spacing in product((1, 2, 4, 8, 16, 32), _SPACINGS):
        yield f"block {times} spacing {4 * spacing}", lane // times * spacing
        yield f"interleaved {times} spacing {4 * spacing}", lane % (WARP // times) * spacing
    yield "own words reversed", lane[::-1]


def _two_words(lane: IntArray) -> _Words:
    """Yield two words: of a sector, of two sectors, of two lines."""
    for other in (1, 7, 8, 9, 24, 32, 33):
        yield f"abab 0 and {other}", lane % 2 * other
        yield f"aabb 0 and {other}", lane // 2 % 2 * other
        yield f"halves 0 and {other}", lane // 16 * other
        for alone in (0, 31):
            yield f"lane {alone} at {other}", (lane == alone) * other


def _two_lines(lane: IntArray) -> _Words:
    """Yield own words in one line, and repeated ones in the next: by halves of the warp, or in turn."""
    for times in (2, 4, 8, 16):
        half, other = lane % 16, _LINE_WORDS + lane % 16 // times
        yield f"second half repeats {times}", np.where(lane < 16, half, other)
        yield f"first half repeats {times}", np.where(lane < 16, other, half)
        yield f"odd lanes repeat {times}", np.where(lane % 2, _LINE_WORDS + lane // 2 // times, lane // 2)
        yield f"both lines repeat {times}", lane // 16 * _LINE_WORDS + lane % 16 // times


def _shared_by_some(lane: IntArray) -> _Words:
    """Yield own words, but for one word of several lanes, or for pairs of lanes."""
    for one, other in ((0, 1), (0, 7), (0, 8), (0, 16), (0, 31), (7, 8), (15, 16), (30, 31)):
        yield f"lanes {one} and {other} share", np.where(lane == other, one, lane)
    for times in (3, 4, 5, 6, 8, 12, 16, 24):
        yield f"first {times} lanes share", np.where(lane < times, 0, lane)
    for pairs in (2, 4, 8):
        yield f"first {pairs} pairs share", np.where(lane < 2 * pairs, lane // 2 * 2, lane)
        yield f"{pairs} pairs across the warp share", np.where(lane >= WARP - pairs, lane - (WARP - pairs), lane)


def _random(lane: IntArray) -> _Words:
    for bound, seed in product(_BOUNDS, range(_SEEDS)):
        yield f"random {bound} seed {seed}", np.random.default_rng([bound, seed]).integers(0, bound, WARP)
    for seed in range(2):
        yield f"own words shuffled seed {seed}", np.random.default_rng(seed).permutation(lane)


def repeat_launches(sms: int, quick: bool) -> list[ProfiledLaunch]:
    """Return atomics of one warp for each pattern of its lanes' words, one part of its memory after another."""
    del sms
    return [
        ProfiledLaunch(
            "repeats",
            kernel,
            1,
            WARP,
            ("clocks", "data", "words", REPEAT_TRIPS, REPEAT_PART),
            {"pattern": pattern, "atomics": REPEAT_TRIPS * REPEAT_UNROLLED, "words": " ".join(map(str, words))},
            clocks=2,
            data_bytes=REPEAT_UNROLLED * REPEAT_PART,
            words=words,
        )
        for kernel in REPEAT_KERNELS
        for pattern, words in lane_words(quick=quick).items()
    ]
