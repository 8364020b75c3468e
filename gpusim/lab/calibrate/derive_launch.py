"""Derives the overhead at the ends of a launch, and the places of its CTAs; measures nothing."""

from collections import Counter
from itertools import groupby, pairwise
from operator import itemgetter
from statistics import mean, median
from typing import NamedTuple

from gpusim.lab.calibrate.lines import crosses
from gpusim.lab.calibrate.table import Formula, MeasuredTable, NotMeasured, Row
from gpusim.lower.stream import INSTRUCTION_BYTES
from gpusim.units import LINE_BYTES, SECTOR_BYTES, SMS_PER_TPC

_ACTIVE, _ELAPSED = "sm__cycles_active.max", "sm__cycles_elapsed.max"
_FASTEST, _SLOWEST = "gpc__cycles_elapsed.max", "gpc__cycles_elapsed.min"
_LOOKED_UP, _READ = "lts__t_sectors_srcunit_tex.sum", "lts__t_sectors_op_read.sum"


def _ending(ends: MeasuredTable, fewest: int, per: int) -> float:
    """Return the median of elapsed less active cycles, of grids of ``fewest`` CTAs or more and ``per`` stores each."""
    rows = [row for row in ends.rows(per=per) if int(row["ctas"]) >= fewest]
    if not rows:
        raise NotMeasured
    return median(float(row[_ELAPSED]) - float(row[_ACTIVE]) for row in rows)


_NO_GPC_IDLE = 16
"""Fewest CTAs that leave no GPC idle. Smaller grids count an idle GPC's clock (``launch.idle_clock_percent``)."""


def _overhead(t: dict[str, MeasuredTable], _: int) -> tuple[float, str]:
    found = _ending(t["ends"], _NO_GPC_IDLE, 0)
    return found, f"ends.csv, {_NO_GPC_IDLE} and more CTAs that compute and store nothing: elapsed less active"


def _write_latency(t: dict[str, MeasuredTable], _: int) -> tuple[float, str]:
    found = _ending(t["ends"], _NO_GPC_IDLE, 1) - _ending(t["ends"], _NO_GPC_IDLE, 0)
    return found, f"ends.csv, {_NO_GPC_IDLE} and more CTAs, elapsed less active of one store a thread less that of none"


def _cta_setup(t: dict[str, MeasuredTable], _: int) -> tuple[float, str]:
    """Return the cycles from the end of a CTA to the first instruction of the one that replaces it."""
    slots: dict[tuple[str, ...], list[Row]] = {}
    for row in t["places"].rows():
        if int(row["period"]) > 1:
            slots.setdefault((row["ctas"], row["per_sm"], row["period"], row["sm"]), []).append(row)
    gaps: list[int] = []
    for rows in slots.values():
        later = sorted(int(row["begin"]) for row in rows)[int(rows[0]["per_sm"]) :]
        gaps += [begin - end for begin, end in zip(later, sorted(int(row["end"]) for row in rows), strict=False)]
    if not gaps:
        raise NotMeasured
    return median(gaps), "places.csv, CTAs of unequal time: median from the end of one to the start of the next"


def _order(places: MeasuredTable, ctas: int, per_sm: int) -> list[int]:
    """Return the SM of each CTA of a grid of equal CTAs, in launch order. The last such grid counts."""
    rows = places.rows(ctas=ctas, per_sm=per_sm, period=1)
    of_cta = {int(row["cta"]): int(row["sm"]) for row in rows}
    return [of_cta[cta] for cta in sorted(of_cta)]


def _groups(places: MeasuredTable) -> list[list[int]]:
    """
    Return the SMs of each group: the first group, then the others in the order of the SMs' numbers.

    In a grid of 16 CTAs, each group but the first gets one. In a grid of as many CTAs as SMs, the groups are filled one
    after the other.

    Raises:
        NotMeasured: The small grid does not separate the groups: some CTAs share an SM, or no SM is skipped.
    """
    sms = len({row["sm"] for row in places.rows()})
    few, all_ = _order(places, _NO_GPC_IDLE, 1), _order(places, sms, 1)
    firsts = [place for place, sm in enumerate(all_) if sm in few]
    following = next((number for number, place in enumerate(firsts) if number != place), 0)
    if len(set(few)) < _NO_GPC_IDLE or following == 0:
        raise NotMeasured
    # The last SM in the run of ascending SMs at the start of the launch is the first of the next group.
    starts = [0, *firsts[following - 1 :], sms]
    groups = [all_[begin:end] for begin, end in pairwise(starts)]
    return [groups[0], *sorted(groups[1:])]


def _ahead(t: dict[str, MeasuredTable], _: int) -> tuple[float, str]:
    return len(_groups(t["places"])[0]), f"places.csv, {_NO_GPC_IDLE} CTAs: SMs before the first of another group"


def _others(t: dict[str, MeasuredTable], _: int) -> tuple[tuple[int, ...], str]:
    found = tuple(len(group) for group in _groups(t["places"])[1:])
    return found, f"places.csv, {_NO_GPC_IDLE} CTAs and one for each SM: SMs from the first of each group to the next"


def _between(t: dict[str, MeasuredTable], _: int) -> tuple[float, str]:
    """Return how many groups get their CTAs between two turns of the first group, and the rule."""
    groups, per_sm = _groups(t["places"]), 4
    sms = sum(map(len, groups))
    of_sm = {sm: number for number, group in enumerate(groups) for sm in group}
    order = [of_sm[sm] for sm in _order(t["places"], per_sm * sms, per_sm)]
    turns = [order[0], *(group for before, group in pairwise(order) if group != before)]
    last = max(place for place, group in enumerate(turns) if group == 0)
    found = 100 * sum(group != 0 for group in turns[:last]) / (per_sm - 1)
    return found, f"places.csv, {per_sm * sms} CTAs, {per_sm} on an SM: other groups before the last turn of the first"


_MERGED = 1.5
"""Lookups of two SMs that read the same sectors, over those of one SM: below this if all are merged, else 2."""


def _gpcs(t: dict[str, MeasuredTable], _: int) -> tuple[tuple[int, ...], str]:
    """Return the GPC of each group of SMs, numbered by its first group. Groups whose reads are merged share a GPC."""
    groups = _groups(t["places"])
    of_sm = {str(sm): number for number, group in enumerate(groups) for sm in group}
    gpcs = list(range(len(groups)))
    for row in t["pairs"].rows():
        alone = t["pairs"].numbers(_LOOKED_UP, one=row["one"], other=row["one"])[0]
        if float(row[_LOOKED_UP]) < _MERGED * alone:
            one, other = sorted((gpcs[of_sm[row["one"]]], gpcs[of_sm[row["other"]]]))
            gpcs = [one if gpc == other else gpc for gpc in gpcs]
    number = {gpc: place for place, gpc in enumerate(sorted(set(gpcs)))}
    return tuple(number[gpc] for gpc in gpcs), "pairs.csv, groups of places.csv whose SMs' reads are merged"


def _sides(t: dict[str, MeasuredTable], _: int) -> tuple[tuple[int, ...], str]:
    """Return the side of each group of SMs: 0 is the side of the SM that brought the lines, for which none crosses."""
    crossed: dict[int, int] = {}
    first = t["sides"].rows(what="read")[0]["loader"]
    for row in t["sides"].rows(what="read", loader=first):
        crossed[int(row["sm"])] = crossed.get(int(row["sm"]), 0) + crosses(row)
    found = [sum(crossed[sm] > 0 for sm in group) * 2 > len(group) for group in _groups(t["places"])]
    rule = f"sides.csv, groups of places.csv whose first loads of what SM {first} brought take longer"
    return tuple(int(one != found[0]) for one in found), rule


_AT_ONCE = {"kind": "cta", "threads": 128}
"""CTAs of launch.csv: of four warps, as in most kernels. With 1 or 32 warps SMs of a TPC are 7 or 48 cycles apart."""


def _begins(launch: MeasuredTable) -> dict[int, list[int]]:
    """Return when the CTAs of each SM begin, in order, by the clock of its GPC; all of them are resident at once."""
    rows = launch.rows(**_AT_ONCE)
    fewest = min((int(row["ctas"]) for row in rows), default=0)
    begins: dict[int, list[int]] = {}
    for row in rows:
        if int(row["ctas"]) == fewest:
            begins.setdefault(int(row["sm"]), []).append(int(row["begin"]))
    return {sm: sorted(of_sm) for sm, of_sm in begins.items()}


def _cta_interval(t: dict[str, MeasuredTable], _: int) -> tuple[float, str]:
    """
    Return the interval between CTA launches and its rule: the pace of one SM, divided by the number of SMs.

    The CTAs go to the SMs in turn.
    """
    begins = _begins(t["launch"])
    paces = [(of_sm[-1] - of_sm[0]) / (len(of_sm) - 1) for of_sm in begins.values() if len(of_sm) > 1]
    if not paces:
        raise NotMeasured
    ctas = sum(map(len, begins.values()))
    rule = f"launch.csv, {ctas} CTAs of 128 threads: median pace of an SM over {len(begins)} SMs"
    return median(paces) / len(begins), rule


def _other_sm(t: dict[str, MeasuredTable], _: int) -> tuple[float, str]:
    begins = _begins(t["launch"])
    firsts = {sm: of_sm[0] for sm, of_sm in begins.items()}
    apart = [at - firsts[sm - 1] for sm, at in firsts.items() if sm % SMS_PER_TPC and sm - 1 in firsts]
    if not apart:
        raise NotMeasured
    return median(apart), "launch.csv, CTAs of 128 threads: median from a TPC's first SM to its other one"


def _next_cta(t: dict[str, MeasuredTable], _: int) -> tuple[float, str]:
    apart = [after - before for of_sm in _begins(t["launch"]).values() for before, after in pairwise(of_sm[:2])]
    if not apart:
        raise NotMeasured
    return median(apart), "launch.csv, CTAs of 128 threads: median from an SM's first to its second"


def _further_lines(t: dict[str, MeasuredTable], _: int) -> tuple[float, str]:
    """Return how much longer the first read of a line of parameters takes than a later one, and the rule."""
    table = t["constants"]
    ctas = max(int(row["ctas"]) for row in table.rows())
    known, *others = table.numbers("cycles", ctas=ctas)
    found = median(others) - known
    return found, (
        f"constants.csv, {ctas} CTAs: each line of 64 bytes read for the first time, less one read before, median"
    )


_MORE_OF_THE_L2 = 1.2
"""Least bytes of an SM of a small CPC over the median of all SMs: such an SM has 1.4, others have 1.05 at most."""

_SMALL_CPCS = "cpcs.csv, lines of their own: SMs that bring 1.2 times as much as the median"


def _small_cpcs(t: dict[str, MeasuredTable]) -> tuple[tuple[int, ...], int, float]:
    """
    Return the places of the TPCs of small CPCs in most GPCs that have one, the TPCs of these GPCs, and their share.

    Raises:
        NotMeasured: No SM reads more than others.
    """
    brings = {
        int(row["sm"]): float(row["bytes"]) / float(row["cycles"])
        for row in t["cpcs"].rows(sms="all", row_bytes=LINE_BYTES, own=1)
    }
    more = {sm for sm, own in brings.items() if own > _MORE_OF_THE_L2 * median(brings.values())}
    if not more:
        raise NotMeasured
    groups = _groups(t["places"])
    of_gpc: dict[int, list[int]] = {}
    for group, gpc in zip(groups, _gpcs(t, 0)[0], strict=True):
        of_gpc[gpc] = [*of_gpc.get(gpc, []), *group]
    found = [
        (tuple(dict.fromkeys(place // SMS_PER_TPC for place, sm in enumerate(sms) if sm in more)), len(sms))
        for sms in of_gpc.values()
        if more & set(sms)
    ]
    (places, sms), _ = Counter(found).most_common(1)[0]
    return places, sms // SMS_PER_TPC, 100 * mean(brings[sm] for sm in more) / mean(brings.values())


def _own_sectors(t: dict[str, MeasuredTable], _: int) -> tuple[float, str]:
    return median(t["own"].numbers(_READ, kernel="nothing")), "own.csv, sectors that empty kernels read"


def _reads_of_code(t: dict[str, MeasuredTable], _: int) -> tuple[float, str]:
    """Return the reads of a sector of code: additional reads of twice as many instructions, over their sectors."""
    by_length: dict[int, list[float]] = {}
    for row in t["own"].rows():
        if row.get("instructions"):
            by_length.setdefault(int(row["instructions"]), []).append(float(row[_READ]))
    shorter, longer = sorted(by_length)[:2]
    more = median(by_length[longer]) - median(by_length[shorter])
    rule = f"own.csv, {longer} instructions less {shorter}: sectors read over those of the code"
    return more * SECTOR_BYTES / ((longer - shorter) * INSTRUCTION_BYTES), rule


class _Lags(NamedTuple):
    """Elapsed less active cycles of SMs that multiply, as in ``launch.gpc_clocks``."""

    sms: tuple[int, ...]
    besides: tuple[int, ...]
    cycles: tuple[int, int]
    apart: tuple[int, ...]
    far_apart: tuple[int, ...]


_LAGS = {
    "sms": "CTAs of busy mma.sync, one on an SM",
    "besides": "elapsed less active, less what the GPCs are apart, medians",
    "cycles": "busy cycles: those in the middle and the most",
    "apart": "elapsed cycles of the fastest GPC less the slowest's, busy for {0}, medians",
    "far_apart": "elapsed cycles of the fastest GPC less the slowest's, busy for {1}, medians",
}


def _lag(column: str) -> Formula:
    def formula(t: dict[str, MeasuredTable], _: int) -> tuple[tuple[int, ...], str]:
        lags = _lags(t["lags"])
        return getattr(lags, column), f"lags.csv, {_LAGS[column].format(*lags.cycles)}"

    return formula


def _lags(table: MeasuredTable) -> _Lags:
    by_sms = {int(ctas): _lags_of(table, ctas) for ctas in sorted(table.values("ctas"), key=int)}
    busy = sorted(set.intersection(*map(set, by_sms.values()))) if by_sms else []
    if len(busy) <= 1:
        raise NotMeasured
    first, last = busy[(len(busy) - 1) // 2], busy[-1]
    lags = by_sms.values()
    return _Lags(
        tuple(by_sms),
        tuple(round(median(whole - apart for whole, apart in own.values())) for own in lags),
        (first, last),
        tuple(round(own[first][1]) for own in lags),
        tuple(round(own[last][1]) for own in lags),
    )


def _lags_of(table: MeasuredTable, ctas: str) -> dict[int, tuple[float, float]]:
    """Return elapsed less active cycles of ``ctas`` CTAs, and the lag between GPCs, by the cycles of work."""
    found: dict[int, list[Row]] = {}
    for row in table.rows(ctas=ctas):
        found.setdefault(int(row["busy_cycles"]), []).append(row)
    return {busy: (_less(rows, _ELAPSED, _ACTIVE), _less(rows, _FASTEST, _SLOWEST)) for busy, rows in found.items()}


def _less(rows: list[Row], more: str, less: str) -> float:
    return median(float(row[more]) - float(row[less]) for row in rows)


_ALWAYS_IN_L1 = "l1 chase"
_SLOWED = 0.97
"""Share of the full clock below which the SMs' clock must fall beside mma.sync for the formula to apply."""


def _own_clock(what: str) -> Formula:
    """
    Return the formula of the cycles of a hop that do not slow down with the SM's clock.

    Beside mma.sync, a hop from pointer to pointer also waits to issue. These cycles are taken from a hop that hits the
    L1.
    """

    def formula(t: dict[str, MeasuredTable], _: int) -> tuple[float, str]:
        (full, fast), *beside = _hops(t["domains"], what)
        (alone, _clock), *waits = _hops(t["domains"], _ALWAYS_IN_L1)
        if any(clock > _SLOWED * fast for _hop, clock in beside):
            raise NotMeasured
        found = [
            (full - (hop - (wait - alone))) / (1 - clock / fast)
            for (hop, clock), (wait, _clock) in zip(beside, waits, strict=True)
        ]
        return mean(found), (
            f"domains.csv, {what}: cycles fewer beside mma.sync, and those that a hit of the L1 waits there, over the "
            "fall of the clock, mean"
        )

    return formula


def _hops(table: MeasuredTable, what: str) -> list[tuple[float, float]]:
    """Return cycles of a hop and MHz of the SMs: without mma.sync, then beside fewer and fewer of them."""
    found = []
    for _period, rows in groupby(table.rows(what=what), key=itemgetter("period")):
        own = list(rows)
        cycles, passed = (median(float(row[column]) for row in own) for column in ("cycles", "nanoseconds"))
        found.append((cycles / int(own[0]["count"]), 1000 * cycles / passed))
    if len(found) == 1:
        raise NotMeasured
    return found


LAUNCH_FORMULAS: dict[str, Formula] = {
    "launch.overhead": _overhead,
    "l2.write_latency": _write_latency,
    "l2.clock.of_hit": _own_clock("l2 chase"),
    "l2.clock.of_miss": _own_clock("dram chase"),
    "launch.cta_interval": _cta_interval,
    "launch.cta_setup": _cta_setup,
    **{f"launch.gpc_clocks.{column}": _lag(column) for column in _LAGS},
    "launch.units.ahead": _ahead,
    "launch.units.others": _others,
    "launch.units.between": _between,
    "launch.units.gpcs": _gpcs,
    "launch.units.sides": _sides,
    "launch.units.other_sm": _other_sm,
    "launch.units.next_cta": _next_cta,
    "launch.cpcs.tpcs": lambda t, _: (_small_cpcs(t)[0], f"{_SMALL_CPCS}, their TPCs in most GPCs"),
    "launch.cpcs.beside": lambda t, _: (_small_cpcs(t)[1], f"{_SMALL_CPCS}, TPCs of their GPCs"),
    "launch.cpcs.percent": lambda t, _: (_small_cpcs(t)[2], f"{_SMALL_CPCS}, their mean over that of all"),
    "launch.reads.sectors": _own_sectors,
    "launch.reads.of_code": _reads_of_code,
    "constant_cache.lines.further": _further_lines,
}
"""Formulas by dotted key in a machine file."""
