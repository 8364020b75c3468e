"""Derives the figures of launches, stores, semaphores, merged reads, DRAM and instruction fetch; measures nothing."""

from collections.abc import Iterable
from contextlib import suppress
from functools import lru_cache
from itertools import compress, pairwise
from math import log
from statistics import mean, median
from typing import Final, NamedTuple

import numpy as np

from gpusim.arrays import IntArray
from gpusim.lab.calibrate.cold import BIN_CYCLES, REGIONS_MIB
from gpusim.lab.calibrate.lines import crosses
from gpusim.lab.calibrate.table import Formula, MeasuredTable, NotMeasured, NumberFormula, Row
from gpusim.lab.calibrate.together import REGION_LINES
from gpusim.machine.masks import tell_anew
from gpusim.units import PAGE_LINE_BITS

_ACTIVE, _ELAPSED = "sm__cycles_active.max", "sm__cycles_elapsed.max"
_CODE_LINE_INSTRUCTIONS = 8
_VALLEY = 4
"""A bin in the valley between the near and the far peak has at most the near peak's loads over this number."""

_SERVED_TOGETHER = 2
"""Requests at a distance of one window that one lookup serves: the first opens the window, the second ends it."""


def histogram_percentile(rows: list[Row], percent: float) -> float:
    """
    Return a percentile of a histogram. Samples are assumed to be spread evenly over each bin.

    Args:
        rows: Bins of ``BIN_CYCLES``, with columns ``cycles`` (where the bin begins) and ``loads`` (its samples).
        percent: The percentile, 0 to 100.

    Raises:
        ValueError: The histogram has no samples.
    """
    bins = sorted((float(row["cycles"]), int(row["loads"])) for row in rows)
    rank = sum(loads for _, loads in bins) * percent / 100
    below = 0
    for begin, loads in bins:
        if loads and below + loads >= rank:
            return begin + BIN_CYCLES * (rank - below) / loads
        below += loads
    raise ValueError("a histogram without samples has no percentiles")


def _hit_latency(latency: MeasuredTable) -> float:
    """Return the mean cycles of an L2 hit in the pointer chases, over near and far lines."""
    rows = [*latency.rows(level="l2", what="near"), *_rows_or_none(latency, level="l2", what="far")]
    return _mean_of_lines(rows)


def _mean_of_lines(rows: Iterable[Row]) -> float:
    """Return the mean cycles of rows, weighted by their numbers of lines."""
    counted = [(float(row["cycles"]), int(row["lines"])) for row in rows]
    return sum(cycles * lines for cycles, lines in counted) / sum(lines for _, lines in counted)


def _rows_or_none(table: MeasuredTable, **columns: object) -> list[Row]:
    try:
        return table.rows(**columns)
    except NotMeasured:
        return []


def _cold(t: dict[str, MeasuredTable], what: str) -> list[Row]:
    """Return the histogram of single loads of lines of the smaller region, "miss" or "hit"."""
    return t["cold"].rows(what=what, region_mib=min(REGIONS_MIB))


def _cold_clocks(t: dict[str, MeasuredTable]) -> float:
    """Return by how many cycles a single load that hits the L2 takes longer in cold.csv than in a chase."""
    return histogram_percentile(_cold(t, "hit"), 50) - _hit_latency(t["latency"])


def _dram_latency(percent: float) -> NumberFormula:
    def formula(t: dict[str, MeasuredTable], _: int) -> tuple[float, str]:
        clocks = _cold_clocks(t)
        found = histogram_percentile(_cold(t, "miss"), percent) - clocks
        return found, f"cold.csv, percentile {percent:g} of the misses, less {clocks:.0f} of the clock reads"

    return formula


def _shares(together: MeasuredTable, span: int) -> tuple[float, float]:
    """Return the share of late loads in events of a span, and the share of events with a late load."""
    rows = together.rows(span=span)
    late = [int(row["late"]) for row in rows]
    return mean(late) / int(rows[0]["lines"]), mean(one > 0 for one in late)


def _parts(together: MeasuredTable, span: int) -> float:
    """Return the number of independent parts that would give this share of events with a late load."""
    each, some = _shares(together, span)
    if not 0 < some < 1:
        raise NotMeasured
    return log(1 - some) / log(1 - each)


_SAME = 1.25
"""If a span has more parts than this times the fewest, it reaches into another region."""


def _region(together: MeasuredTable) -> int:
    """Return the size of a region: the longest span, a power of two, with as few parts as the shortest spans."""
    parts: dict[int, float] = {}
    for span in map(int, together.values("span")):
        if span and not span & span - 1:
            with suppress(NotMeasured):
                parts[span] = _parts(together, span)
    if not parts:
        raise NotMeasured
    return max(span for span, found in parts.items() if found <= _SAME * min(parts.values()))


def _peaks(t: dict[str, MeasuredTable]) -> tuple[float, float]:
    """
    Return the most frequent cycles of misses of near lines and of far ones, clock reads included.

    The histogram has two peaks and a valley between them. The higher peak is that of the near lines. A result is the
    median of the fuller bins on one side of the valley.
    """
    rows = {int(float(row["cycles"])): row for row in _cold(t, "miss")}
    loads = {begin: int(row["loads"]) for begin, row in rows.items()}
    highest = max(loads, key=lambda begin: (loads[begin], -begin))
    bins = range(highest, max(loads), BIN_CYCLES)
    valley = next((begin for begin in bins if loads.get(begin, 0) < loads[highest] / _VALLEY), None)
    if valley is None:
        raise NotMeasured
    near = _fuller_middle([row for begin, row in rows.items() if begin <= valley])
    return near, _fuller_middle([row for begin, row in rows.items() if begin > valley])


def _fuller_middle(rows: list[Row]) -> float:
    """Return the median of the loads in the bins that have at least half as many loads as the fullest bin."""
    most = max(int(row["loads"]) for row in rows)
    return histogram_percentile([row for row in rows if 2 * int(row["loads"]) >= most], 50)


def _crossing(t: dict[str, MeasuredTable], _: int) -> tuple[float, str]:
    near, far = _peaks(t)
    return far - near, "cold.csv, misses of far lines less those of near ones, the peaks of their histogram"


def _home_bits(t: dict[str, MeasuredTable], _: int) -> tuple[tuple[int, ...], str]:
    """Return the bits of a line's number, in its page, whose parity says whether it crosses the chip, and the rule."""
    mask = _home_mask(t["sides"])
    found = tuple(bit for bit in range(PAGE_LINE_BITS) if mask >> bit & 1)
    return found, "sides.csv, lines of a page that cross the chip: bits whose parity says so"


def _home_mask(sides: MeasuredTable) -> int:
    """
    Return the mask of the bits of a line's number, in its page, whose parity says whether it crosses the chip.

    For SMs on the loader's side no line crosses. For SMs on the other side, some first loads take longer. Of all sets
    of bits, the result is the one whose parity agrees best with these loads, by a Walsh-Hadamard transform.
    """
    agreement = np.zeros(1 << PAGE_LINE_BITS)
    for loader in sides.values("loader"):
        rows = sides.rows(what="read", loader=loader)
        crossed = [crosses(row) for row in rows]
        others = {row["sm"] for row, one in zip(rows, crossed, strict=True) if one}
        signed = np.zeros(1 << PAGE_LINE_BITS)
        for row, one in zip(rows, crossed, strict=True):
            if row["sm"] in others:
                signed[int(row["line"])] += 1 if one else -1
        step = 1
        while step < len(signed):
            pairs = signed.reshape(-1, 2, step)
            signed = np.stack([pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]], axis=1).reshape(-1)
            step *= 2
        agreement += np.abs(signed)
    mask = int(agreement.argmax())
    if not mask:
        raise NotMeasured
    return mask


def _late_on_time(t: dict[str, MeasuredTable], _: int) -> tuple[float, str]:
    clocks = _cold_clocks(t)
    return _peaks(t)[0] - clocks, f"cold.csv, the near peak of the misses, less {clocks:.0f} of the clock reads"


def _late_region(t: dict[str, MeasuredTable], _: int) -> tuple[float, str]:
    found = _region(t["together"])
    return found, f"together.csv, the longest span whose lines are of {_parts(t['together'], found):.1f} parts"


_SEEN: Final = (150, 450)
"""Range of cycles beyond the median in which loads are late, and in which every such load is observed."""

_SOMETHING_ELSE: Final = 700
"""Cycles beyond the median from which a load waits for something else. A few do; twelve in all wait 550 to 700."""

_LATE: Final = 100
"""Cycles beyond the median from which a load of an event is late."""

_SURELY: Final = 2.5
"""Least agreement of a set of bits with the late loads of events, over that of most sets, that is not chance."""


class _Standstills(NamedTuple):
    """Loads of standstills.csv: lines of their event, event, line in its region, and cycles beyond those on time."""

    lines: IntArray
    event: IntArray
    line: IntArray
    beyond: IntArray


@lru_cache(maxsize=1)  # three figures ask for that of one pair of tables
def _loads(standstills: MeasuredTable, sides: MeasuredTable) -> _Standstills:
    """Return the loads. The time of a load on time is the median of a region's lines with the same home."""
    rows = standstills.rows()
    names = ("lines", "region", "first", "event", "line", "cycles")
    lines, region, first, event, line, cycles = (np.array([int(row[name]) for row in rows]) for name in names)
    home = parities(first + line, _home_mask(sides))
    _, group = np.unique(np.stack([lines, region, home]), axis=1, return_inverse=True)
    on_time = np.array([np.median(cycles[group == one]) for one in range(group.max() + 1)])
    return _Standstills(lines, event, line, cycles - on_time[group])


def parities(numbers: IntArray, mask: int) -> IntArray:
    """Return the parity of the masked bits of each number: whether the number of ones is odd."""
    odd: IntArray = np.bitwise_count(numbers & mask).astype(np.int64) % 2
    return odd


def _share_late(t: dict[str, MeasuredTable], least: int, below: int) -> float:
    """Return the share of the single loads that are late by ``least`` cycles or more, and less than ``below``."""
    found = _loads(t["standstills"], t["sides"])
    beyond = found.beyond[found.lines == 1]
    return float(((beyond >= least) & (beyond < below)).mean())


def _late_period(t: dict[str, MeasuredTable], _: int) -> tuple[float, str]:
    """
    Return the cycles from one refresh to the next, and their rule.

    Loads come at uniformly distributed times. So in a period, equally many loads are late by each number of cycles.
    """
    least, most = _SEEN
    share = _share_late(t, least, most)
    if not share:
        raise NotMeasured
    rule = f"standstills.csv, single loads over those {least} to {most} cycles late, of each cycle"
    return (most - least) / share, rule


def _late_cycles(t: dict[str, MeasuredTable], _: int) -> tuple[float, str]:
    """Return the cycles of a refresh, from the share of late loads in a period, and their rule."""
    period = _late_period(t, 0)[0]
    share = _share_late(t, _SEEN[0], _SOMETHING_ELSE)
    rule = f"standstills.csv, {100 * share:.1f} % of the single loads, {_SEEN[0]} cycles late and more, of a period"
    return _SEEN[0] + share * period, rule


def _late_masks(t: dict[str, MeasuredTable], _: int) -> tuple[tuple[int, ...], str]:
    """
    Return the masks of the bits whose parities tell a region's parts apart, and their rule.

    Some events have both late loads and loads on time. The agreement of a set of bits is the mean of its squared
    correlation with the late loads of these events. The masks are the sets that agree surely, and that are not
    combinations of others.
    """
    found = _loads(t["standstills"], t["sides"])
    count = int(found.lines.max())
    own = found.lines == count
    line, late = found.line[own].reshape(-1, count), found.beyond[own].reshape(-1, count) > _LATE
    some = (late.sum(axis=1) > 1) & (late.sum(axis=1) < count - 1)
    if not some.any():
        raise NotMeasured
    signed = late[some] - late[some].mean(axis=1, keepdims=True)
    agreement = [0.0]
    for mask in range(1, REGION_LINES):
        odd = parities(line[some], mask).astype(float)
        odd -= odd.mean(axis=1, keepdims=True)
        norm = (odd**2).sum(axis=1) * (signed**2).sum(axis=1)
        agreement.append(float(np.mean((odd * signed).sum(axis=1) ** 2 / np.maximum(norm, 1e-9))))
    least = _SURELY * median(agreement)
    sure = sorted((mask for mask in range(REGION_LINES) if agreement[mask] >= least), key=lambda one: -agreement[one])
    masks = sorted(compress(sure, tell_anew(sure)))
    if not masks:
        raise NotMeasured
    rule = f"standstills.csv, events of {count} lines: bits whose parities agree with which are late"
    return tuple(masks), rule


def _write_bandwidth(t: dict[str, MeasuredTable], _: int) -> tuple[float, str]:
    of = {"kernel": "stores", "what": "counted", "ctas": t["stores"].widest("ctas", kernel="stores", what="counted")}
    most = t["stores"].widest("per", **of)
    bytes_ = t["stores"].numbers("bytes", **of, per=most)[0] - t["stores"].numbers("bytes", **of, per=1)[0]
    cycles = median(t["stores"].numbers(_ACTIVE, **of, per=most)) - median(t["stores"].numbers(_ACTIVE, **of, per=1))
    return bytes_ / cycles, f"stores.csv, {of['ctas']} CTAs, {most} stores a thread less one: bytes over active cycles"


def _reach(t: dict[str, MeasuredTable], _: int) -> tuple[tuple[int, ...], str]:
    """Return by how many cycles single loads of each measured SM take longer, in the mean, than on the nearest SM."""
    by_sm: dict[int, list[Row]] = {}
    for row in t["latency"].rows(level="l2", what="line"):
        by_sm.setdefault(int(row["sm"]), []).append(row)
    means = [_mean_of_lines(rows) for _, rows in sorted(by_sm.items())]
    found = tuple(int(one - min(means) + 0.5) for one in means)
    return found, f"latency.csv, single loads of {len(means)} SMs: mean less that of the least"


def _received_per_look_up(merge: MeasuredTable, stagger: int) -> tuple[float, str]:
    """Return the sectors that the L1s received for each sector looked up, and the size of the group of all CTAs."""
    group = merge.widest("group")
    received = merge.numbers("l1tex__m_xbar2l1tex_read_sectors.sum", group=group, stagger=stagger)
    looked_up = merge.numbers("lts__t_sectors_srcunit_tex.sum", group=group, stagger=stagger)
    return median(received) / median(looked_up), group


def _most_merged(t: dict[str, MeasuredTable], _: int) -> tuple[float, str]:
    found, group = _received_per_look_up(t["merge"], 0)
    return found, f"merge.csv, {group} CTAs at once: sectors received over sectors looked up"


def _merge_window(t: dict[str, MeasuredTable], _: int) -> tuple[float, str]:
    """
    Return how long after a lookup others are merged with it: the distance of requests at which a lookup serves two.

    It is interpolated linearly between the two neighbouring staggers.
    """
    hits = t["hits"]
    staggers = sorted(map(int, hits.values("stagger")))
    served = [_received_per_look_up(hits, stagger)[0] for stagger in staggers]
    for (sooner, more), (later, fewer) in pairwise(zip(staggers, served, strict=True)):
        if fewer <= _SERVED_TOGETHER < more:
            found = later - (later - sooner) * (_SERVED_TOGETHER - fewer) / (more - fewer)
            rule = "CTAs one after another, cycles between two at which a look-up serves two"
            return found, f"hits.csv, {hits.widest('group')} {rule}"
    raise NotMeasured


def _store_port(t: dict[str, MeasuredTable], _: int) -> tuple[float, str]:
    of = {"kernel": "stores", "what": "clock", "ctas": 1}
    most = t["stores"].widest("per", **of)
    bytes_, cycles = t["stores"].numbers("bytes", **of, per=most)[0], t["stores"].numbers("cycles", **of, per=most)[0]
    return bytes_ / cycles, f"stores.csv, one CTA, {most} stores a thread: bytes over cycles"


def _write_buffer(t: dict[str, MeasuredTable], _: int) -> tuple[float, str]:
    """Return the cycles by which the issue of stores runs ahead of the L2 before CTAs wait for it."""
    ctas = t["stores"].widest("ctas", kernel="stores", what="clock")
    of = {"kernel": "stores", "what": "clock", "ctas": ctas, "per": 32}
    taken = t["stores"].numbers("bytes", **of)[0] / _write_bandwidth(t, 0)[0]
    return taken - t["stores"].numbers("cycles", **of)[0], f"stores.csv, {ctas} CTAs, 32 stores a thread: cycles saved"


def _semaphore(t: dict[str, MeasuredTable], _: int) -> tuple[float, str]:
    found = t["semaphore"].numbers("each", warps=4, stores=1)
    return median(found), "semaphore.csv, slices of 4 warps with one store a thread, from one to the next"


_IDLE = {"kernel": "busy_mma"}


def _excess(t: dict[str, MeasuredTable]) -> dict[int, float]:
    """Return, by the number of CTAs that keep tensor cores busy, elapsed less active cycles."""
    rows = t["idle"].rows(**_IDLE)
    return {int(row["ctas"]): float(row[_ELAPSED]) - float(row[_ACTIVE]) for row in rows}


def _ctas_on_every_gpc(t: dict[str, MeasuredTable], _: int) -> tuple[float, str]:
    """Return the fewest CTAs of a grid whose elapsed cycles exceed the active ones no more than in the largest grid."""
    excess = _excess(t)
    most = 1.5 * excess[max(excess)]
    return min(ctas for ctas in excess if excess[ctas] <= most), "idle.csv, fewest CTAs of mma.sync without excess"


def _idle_clock(t: dict[str, MeasuredTable], number: int) -> tuple[float, str]:
    """Return elapsed cycles without launch overhead, for 100 active ones, if a GPC has no CTA."""
    fewest = _ctas_on_every_gpc(t, number)[0]
    rows = [row for row in t["idle"].rows(**_IDLE) if int(row["ctas"]) < fewest]
    if not rows:
        raise NotMeasured
    launch = median(found for ctas, found in _excess(t).items() if ctas >= fewest)
    found = median((float(row[_ELAPSED]) - launch) / float(row[_ACTIVE]) for row in rows)
    return 100 * found, f"idle.csv, fewer than {fewest} CTAs of mma.sync: elapsed less that of a launch, over active"


def _line_interval(t: dict[str, MeasuredTable], _: int) -> tuple[float, str]:
    of = {"instructions": 1024, "ctas": t["fetch"].widest("ctas")}
    found = median(t["fetch"].numbers("pass_1", **of)) / (1024 // _CODE_LINE_INSTRUCTIONS)
    return found, f"fetch.csv, first pass of 1024 instructions in {of['ctas']} CTAs, over its 128 lines"


CHIP_FORMULAS: dict[str, Formula] = {
    "l2.write_bytes_per_cycle": _write_bandwidth,
    "l2.reach.cycles": _reach,
    "l2.crossing.first": _crossing,
    "l2.crossing.home_bits": _home_bits,
    "l2.merging.most": _most_merged,
    "l2.merging.window": _merge_window,
    "l2.write_bytes_per_cycle_per_sm": _store_port,
    "l2.write_buffer": _write_buffer,
    "l2.semaphore": _semaphore,
    "dram.latency": _dram_latency(50),
    "dram.latency_least": _dram_latency(1),
    "dram.latency_late": _dram_latency(90),
    "dram.latency_later": _dram_latency(98),
    "dram.latency_most": _dram_latency(99.8),
    "dram.late.on_time": _late_on_time,
    "dram.late.cycles": _late_cycles,
    "dram.late.period": _late_period,
    "dram.late.region_bytes": _late_region,
    "dram.late.part_masks": _late_masks,
    "launch.ctas_on_every_gpc": _ctas_on_every_gpc,
    "launch.idle_clock_percent": _idle_clock,
    "instruction_cache.line_interval": _line_interval,
}
"""Formulas by dotted key in a machine file."""
