"""Figures of a launch's ends, of a CTA that follows another on an SM, and of groups of SMs, from a few rows each."""

from itertools import chain

import pytest

from gpusim.lab.calibrate.derive import derive
from gpusim.lab.calibrate.runner import write_rows

UNITS = ("launch.units.ahead", "launch.units.others", "launch.units.between")


def derived_from(folder, **files):
    for name, rows in files.items():
        write_rows(folder / f"{name}.csv", rows, {})
    return derive(folder)


def values_from(folder, **files):
    return {key: figure.value for key, figure in derived_from(folder, **files).items()}


def ending(ctas, per, active, elapsed):
    columns = {"kernel": "ends_plain", "ctas": ctas, "per": per}
    return columns | {"sm__cycles_active.max": active, "sm__cycles_elapsed.max": elapsed}


STORELESS = [
    ending(16, 0, 5000, 7500),
    ending(32, 0, 5100, 7700),
    ending(64, 0, 5000, 7800),
    ending(8, 0, 5000, 9000),
]
"""Elapsed less active of 16 and more CTAs: 2500, 2600 and 2800. Fewer CTAs leave a GPC idle, whose clock counts."""


def test_a_launch_takes_what_passes_while_no_sm_is_active(tmp_path):
    derived = derived_from(tmp_path, ends=STORELESS)

    assert {key: figure.value for key, figure in derived.items()} == {"launch.overhead": 2600}
    assert derived["launch.overhead"].at == (
        "ends.csv, 16 and more CTAs that compute and store nothing: elapsed less active: 2600.00"
    )


def test_the_last_store_is_acknowledged_after_the_last_sm_is_active(tmp_path):
    """
    With one store a thread 2900 pass, which are 300 more than without; what follows eight stores does not count.
    """
    storing = [ending(16, 1, 5200, 8100), ending(8, 1, 5000, 9999), ending(16, 8, 6000, 9900)]

    assert values_from(tmp_path, ends=STORELESS + storing) == {"launch.overhead": 2600, "l2.write_latency": 300}


def lag(ctas, busy, active, elapsed, slowest):
    columns = {"kernel": "busy_mma", "ctas": ctas, "busy_cycles": busy}
    columns |= {"sm__cycles_active.max": active, "sm__cycles_elapsed.max": elapsed}
    return columns | {"gpc__cycles_elapsed.max": elapsed, "gpc__cycles_elapsed.min": slowest}


def test_clocks_of_gpcs_come_apart_while_tensor_cores_are_busy(tmp_path):
    """
    Of 16 SMs the fastest is 10, 20 and 40 cycles ahead after 1, 2 and 4 thousand, of 132 SMs 100, 200 and 300.

    Elapsed cycles exceed active ones by 2710, 2720 and 2740, and 2900, 3000 and 3100: without what clocks are apart by
    2700, and 2800.
    """
    rows = [lag(16, 1000, 1000, 3710, 3700), lag(16, 2000, 2000, 4720, 4700), lag(16, 4000, 4000, 6740, 6700)]
    rows += [lag(132, 1000, 1000, 3900, 3800), lag(132, 2000, 2000, 5000, 4800), lag(132, 4000, 4000, 7100, 6800)]
    found = values_from(tmp_path, lags=rows)

    assert {key.removeprefix("launch.gpc_clocks."): value for key, value in found.items()} == {
        "sms": (16, 132),
        "besides": (2700, 2800),
        "cycles": (2000, 4000),
        "apart": (20, 200),
        "far_apart": (40, 300),
    }


def test_of_two_lengths_the_clocks_are_those_after_both_and_of_one_nothing(tmp_path):
    rows = [lag(132, 1000, 1000, 3900, 3800), lag(132, 4000, 4000, 7100, 6800)]

    found = values_from(tmp_path, lags=rows)
    assert [found[f"launch.gpc_clocks.{key}"] for key in ("cycles", "apart", "far_apart")] == [
        (1000, 4000),
        (100,),
        (300,),
    ]
    assert values_from(tmp_path, lags=rows[:1]) == {}


def test_ends_of_grids_that_leave_a_gpc_idle_tell_nothing(tmp_path):
    few = [ending(8, 0, 5000, 9000), ending(12, 1, 5000, 9300)]

    assert values_from(tmp_path, ends=few) == {}


def place(cta, sm, begin=0, end=1000, *, ctas, per_sm=1, period=1):
    of_launch = {"ctas": ctas, "per_sm": per_sm, "busy": 2000, "period": period}
    return of_launch | {"cta": cta, "sm": sm, "begin": begin, "end": end}


def test_a_cta_starts_some_cycles_after_the_one_whose_place_it_takes(tmp_path):
    """
    SM 0 has two places: CTAs 0 to 400 and 0 to 900, then from 700 (300 after the first end) and 1210 (310 after 900).

    SM 1 has its own clock, and one CTA too few to follow another: 50,000 to 50,100, to 50,200, from 50,420 (320 later).
    """
    of = {"ctas": 7, "per_sm": 2, "period": 8}
    spans = [(0, 0, 900), (0, 0, 400), (0, 700, 1500), (0, 1210, 1800)]
    spans += [(1, 50_000, 50_100), (1, 50_000, 50_200), (1, 50_420, 50_900)]
    places = [place(cta, *span, **of) for cta, span in enumerate(spans)]

    derived = derived_from(tmp_path, places=places)

    assert {key: figure.value for key, figure in derived.items()} == {"launch.cta_setup": 310}
    assert derived["launch.cta_setup"].at == (
        "places.csv, CTAs of unequal time: median from the end of one to the start of the next: 310.00"
    )


def test_ctas_of_equal_time_do_not_tell_how_one_follows_another(tmp_path):
    """
    They end together, and where all end at once, no one can say whose place is whose.
    """
    places = [place(cta, 0, 1300 * cta, 1300 * cta + 1000, ctas=2) for cta in range(2)]

    assert "launch.cta_setup" not in values_from(tmp_path, places=places)


AHEAD = [20, 21, 22, 23]
OTHERS = [[0, 1], [8, 9, 10, 11], *([30 + 2 * number, 31 + 2 * number] for number in range(10))]
"""A chip of 30 SMs: a group of four comes first, then twelve others: of two, four, and ten times two."""

SMS = 30


def grouped(ahead=AHEAD, others=OTHERS):
    """Rows of 16 CTAs, of one for each SM and of four, on a chip whose first group's turns are four others apart."""
    everywhere = [*ahead, *chain.from_iterable(others)]
    few = [*ahead, *(group[0] for group in others)]
    rounds = [*ahead]
    turns = [group for _ in range(4) for group in others]
    for number, group in enumerate(turns):
        rounds += ahead if number in {4, 8, 12} else []
        rounds += group
    orders = {(len(few), 1): few, (SMS, 1): everywhere, (4 * SMS, 4): rounds}
    return [
        place(cta, sm, ctas=ctas, per_sm=per_sm)
        for (ctas, per_sm), order in orders.items()
        for cta, sm in enumerate(order)
    ]


def test_ctas_go_to_groups_of_sms_one_of_which_is_ahead(tmp_path):
    """
    16 CTAs: four on the first group, and one on each of the twelve others, which so tell where each begins.

    Four on an SM: the first group has its last turn after twelve of the others, four turns for each of three.
    """
    derived = derived_from(tmp_path, places=grouped())

    assert {key: figure.value for key, figure in derived.items()} == {
        "launch.units.ahead": 4,
        "launch.units.others": (2, 4, *[2] * 10),
        "launch.units.between": 400,
    }
    assert [derived[key].at for key in UNITS] == [
        "places.csv, 16 CTAs: SMs before the first of another group: 4.00",
        "places.csv, 16 CTAs and one for each SM: SMs from the first of each group to the next",
        "places.csv, 120 CTAs, 4 on an SM: other groups before the last turn of the first: 400.00",
    ]


def test_groups_are_in_the_order_of_their_sms_whichever_came_first(tmp_path):
    """
    What a chip of its own order tells: the group of four SMs is the last that gets a CTA.
    """
    others = [OTHERS[0], *OTHERS[2:], OTHERS[1]]

    assert values_from(tmp_path, places=grouped(others=others))["launch.units.others"] == (2, 4, *[2] * 10)


def test_ctas_of_unequal_time_tell_no_groups(tmp_path):
    """
    They go where a place becomes free. The rows of a grid of the same size that does so do not count.
    """
    unequal = [place(cta, 0, ctas=ctas, period=8) for ctas in (16, SMS) for cta in range(ctas)]

    derived = values_from(tmp_path, places=unequal + grouped())

    assert derived["launch.units.others"] == (2, 4, *[2] * 10)


def test_a_grid_that_was_launched_twice_counts_once(tmp_path):
    assert values_from(tmp_path, places=grouped() + grouped())["launch.units.others"] == (2, 4, *[2] * 10)


@pytest.mark.parametrize(
    "order",
    [[cta % 4 for cta in range(16)], list(range(16))],
    ids=["more CTAs than SMs", "one SM after the other"],
)
def test_without_groups_that_show_nothing_is_derived(tmp_path, order):
    """
    Of four SMs each gets several of 16 CTAs; of 16 in turn, none is passed over: both tell nothing about groups.
    """
    sms = max(order) + 1
    places = [place(cta, sm, ctas=16) for cta, sm in enumerate(order)]
    places += [place(cta, cta, ctas=sms) for cta in range(sms) if sms != 16]

    assert not set(UNITS) & set(values_from(tmp_path, places=places))


GROUPS = len(OTHERS) + 1


def pair(one, other, looked_up):
    return {"one": one, "other": other, "lts__t_sectors_srcunit_tex.sum": looked_up}


def test_groups_whose_reads_are_merged_are_one_gpc(tmp_path):
    """
    SM 20 reads 2,050 sectors. With SM 8 of the group of four 2,300 are looked up, with SMs of the other groups all.

    By the numbers of their SMs, the group of four is the second of the others.
    """
    pairs = [pair(20, 20, 2050), pair(20, 8, 2300), pair(20, 0, 4100), pair(20, 30, 4103)]
    derived = derived_from(tmp_path, places=grouped(), pairs=pairs)

    assert derived["launch.units.gpcs"].value == (0, 1, 0, *range(2, GROUPS - 1))
    assert derived["launch.units.gpcs"].at == "pairs.csv, groups of places.csv whose SMs' reads are merged"


def test_gpcs_are_joined_by_any_of_their_pairs(tmp_path):
    pairs = [pair(0, 0, 2050), pair(0, 30, 2060), pair(30, 30, 2050), pair(30, 32, 2055)]

    assert values_from(tmp_path, places=grouped(), pairs=pairs)["launch.units.gpcs"] == (
        *(0, 1, 2, 1, 1),
        *range(3, GROUPS - 2),
    )


def side(sm, line, first, loader=20, what="read"):
    return {"what": what, "loader": loader, "sm": sm, "line": line, "first": first, "second": 320}


def crossing(others, mask, lines=range(1, 1200)):
    """Rows of lines that SM 20 brought: those of SMs ``others`` cross whose number has an odd parity in ``mask``."""
    everywhere = [*AHEAD, *chain.from_iterable(OTHERS)]
    sms = [everywhere[line % SMS] for line in lines]
    return [
        side(sm, line, 500 if sm in others and (line & mask).bit_count() % 2 else 330)
        for sm, line in zip(sms, lines, strict=True)
    ]


def test_the_sides_of_groups_are_told_by_what_crosses_to_them(tmp_path):
    """The loader's own side is 0; SMs 0 and 1, and 34 and 35, are on the other one."""
    sides = [*crossing({0, 1, 34, 35}, 0b1010010), side(30, 7, 900, what="written")]
    derived = derived_from(tmp_path, places=grouped(), sides=sides)

    assert derived["launch.units.sides"].value == (0, 1, 0, 0, 0, 1, *[0] * 7)
    assert derived["launch.units.sides"].at == (
        "sides.csv, groups of places.csv whose first loads of what SM 20 brought take longer"
    )


def test_a_launch_reads_some_sectors_and_all_code_some_times(tmp_path):
    """512 instructions are 256 sectors: 2,304 more are read, 9 for each. What longer code reads does not count."""
    read = "lts__t_sectors_op_read.sum"
    own = [{"kernel": "nothing", "ctas": ctas, read: 900 + ctas} for ctas in (1, 5, 132)]
    own += [
        {"kernel": "straight", "instructions": n, read: value} for n, value in ((512, 3400), (1024, 5704), (4096, 1))
    ]
    derived = derived_from(tmp_path, own=own)

    assert {key: figure.value for key, figure in derived.items()} == {
        "launch.reads.sectors": 905,
        "launch.reads.of_code": 9,
    }
    assert derived["launch.reads.of_code"].at == (
        "own.csv, 1024 instructions less 512: sectors read over those of the code: 9.00"
    )


def hop(what, period, cycles, nanoseconds):
    return {"what": what, "period": period, "count": 10, "cycles": cycles, "nanoseconds": nanoseconds, "batches": 1}


def test_what_keeps_its_clock_takes_fewer_cycles_of_a_slower_sm(tmp_path):
    """
    Beside mma.sync the SMs' clock falls from 2000 MHz to 1600, by a fifth, and a hop waits 2 cycles to issue.

    A hop to the L2 takes 262 of 300 cycles, without the wait 260: 40 are a fifth of 200. One to DRAM takes 602 of 700:
    500. A clock that falls by two per cent says nothing.
    """
    rows = [hop("l1 chase", "", 500, 250), hop("l1 chase", 0, 520, 325)]
    rows += [hop("l2 chase", "", 3000, 1500), hop("l2 chase", 0, 2620, 1637.5)]
    rows += [hop("dram chase", "", 7000, 3500), hop("dram chase", 0, 6020, 3762.5)]
    clocks = ("l2.clock.of_hit", "l2.clock.of_miss")

    found = values_from(tmp_path, domains=rows)
    assert [found[clock] for clock in clocks] == [200, 500]

    rows[3:] = [hop("l2 chase", 0, 2620, 2620 / 1.96), *rows[4:5], hop("dram chase", 0, 6020, 6020 / 1.96)]
    assert not set(clocks) & set(values_from(tmp_path, domains=rows))
