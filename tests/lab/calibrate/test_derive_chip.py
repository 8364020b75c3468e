"""Figures of stores, merged reads, DRAM, idle GPCs and instruction fetch, from a few rows each."""

import numpy as np
import pytest

from gpusim.lab.calibrate.derive import derive
from gpusim.lab.calibrate.derive_chip import histogram_percentile
from gpusim.lab.calibrate.runner import write_rows


def derived_from(folder, **files):
    for name, rows in files.items():
        write_rows(folder / f"{name}.csv", rows, {})
    return {key: figure.value for key, figure in derive(folder).items()}


def counted(active, elapsed, **columns):
    return columns | {"sm__cycles_active.max": active, "sm__cycles_elapsed.max": elapsed}


@pytest.mark.parametrize(("percent", "expected"), [(0, 400), (25, 408), (50, 604), (75, 608), (100, 808)])
def test_samples_lie_evenly_in_their_bins(percent, expected):
    """
    Four samples, one in 400 to 408, two in 600 to 608, one in 800 to 808: the second of the four ends at 604.
    """
    rows = [{"cycles": begin, "loads": loads} for begin, loads in (("800", "1"), ("400", "1"), ("600", "2"))]
    assert histogram_percentile(rows, percent) == expected


def test_a_histogram_without_samples_has_no_percentile():
    with pytest.raises(ValueError, match="without samples"):
        histogram_percentile([{"cycles": "8", "loads": "0"}], 50)


def test_dram_latencies_are_less_what_the_clock_reads_take(tmp_path):
    """
    Half of the hits lie below 320. The chase takes 260 with three lines of four and 300 with one: 270. So 50 cycles go.

    A thousand misses: 10 below 500, 500 below 700, 900 below 900, 980 below 1100, 998 below 1300, 2 in 1992 to 2000.

    Those of the large region, which many pages cover, do not count.
    """
    bins = {492: 10, 692: 490, 892: 400, 1092: 80, 1292: 18, 1992: 2}
    cold = [{"what": "miss", "region_mib": 16, "cycles": begin, "loads": loads} for begin, loads in bins.items()]
    cold.append({"what": "hit", "region_mib": 16, "cycles": 316, "loads": 500})
    cold += [{"what": what, "region_mib": 1024, "cycles": 3000, "loads": 999} for what in ("miss", "hit")]
    latency = [
        {"level": "l2", "what": "near", "sm": 0, "lines": 300, "cycles": 260},
        {"level": "l2", "what": "far", "sm": 0, "lines": 100, "cycles": 300},
    ]

    assert (
        derived_from(tmp_path, cold=cold, latency=latency).items()
        >= {
            "dram.latency_least": 450,
            "dram.latency": 650,
            "dram.latency_late": 850,
            "dram.latency_later": 1050,
            "dram.latency_most": 1250,
        }.items()
    )


def events(span, late, count=100):
    """Events of four lines, the first of them with a late line: the slowest takes 850, or 850 + 500."""
    of = {"span": span, "lines": 4, "hit": 350}
    rest = [of | {"slowest": 850, "late": 0}] * (count - late)
    return [of | {"slowest": 1350, "late": 1}] * late + rest


def test_lines_that_are_late_together_say_how_far_a_region_reaches(tmp_path):
    """
    Of 100 events of the shorter spans 40 have a late load, of 400 loads a tenth; of the longest 80 have, a fifth:
    ln(.6) / ln(.9) = 4.85 parts, and ln(.2) / ln(.8) = 7.2, which are of another region.

    Single loads take 50 for the clock reads: hits 320. Misses have peaks in the bins of 572, with half as many in the
    next one, and of 764, and a valley between: medians of 572 + 8 * 750 / 1000 = 578 and 768, less 50 each 528 and 718.
    So far lines take 190 more.
    """
    cold = [
        {"what": "miss", "region_mib": 16, "cycles": cycles, "loads": loads}
        for cycles, loads in ((572, 1000), (580, 500), (588, 100), (764, 900), (900, 20))
    ]
    cold.append({"what": "hit", "region_mib": 16, "cycles": 316, "loads": 1000})
    latency = [{"level": "l2", "what": "near", "sm": 0, "lines": 300, "cycles": 270}]
    together = [*events(4096, 40), *events(8192, 40), *events(16384, 80), *events(0, 99)]

    found = derived_from(tmp_path, cold=cold, latency=latency, together=together)

    # Three quarters of 1500 loads are in the first bin's 1000 of 8 cycles: 572 + 6 = 578.
    assert found["l2.crossing.first"] == 768 - 578
    assert {key: value for key, value in found.items() if key.startswith("dram.late.")} == {
        "dram.late.on_time": 578 - 50,
        "dram.late.region_bytes": 8192,
    }


REGIONS = 12


def standstills(masks, cycles, period):
    """
    Loads of every line of some regions, in no order, at evenly spread times: one by one and 32 lines at one time.

    A line's part, the parities of some bits of its number, stands still at a phase of its own; near lines take 600
    cycles else, and far ones 750, whose number in the page has an odd number of ones among bits 5 and 6.
    """
    rows, order = [], np.random.default_rng(0)
    for lines in (1, 32):
        for load, line in enumerate(np.concatenate([order.permutation(512) for _ in range(REGIONS)]).tolist()):
            event, number = load // lines, load // 512
            part = sum((line & mask).bit_count() % 2 << place for place, mask in enumerate(masks))
            left = cycles - (event * 617 + 391 * part) % period
            base = 750 if (line & 96).bit_count() % 2 else 600
            of = {"lines": lines, "region": number, "first": 512 * number, "event": event}
            rows.append(of | {"line": line, "begin": 0, "cycles": base + max(0, left)})
    return rows


def crossings():
    """Loads by SM 1 of lines that SM 0 has brought: those cross that have one of bits 5 and 6."""
    far = [(line & 96).bit_count() % 2 for line in range(512)]
    of = {"what": "read", "loader": 0, "sm": 1, "second": 300}
    return [of | {"line": line, "first": 300 + 100 * one} for line, one in enumerate(far)]


def test_loads_at_any_time_say_for_how_long_and_how_often_which_parts_of_dram_stand_still(tmp_path):
    """
    Of 560 cycles in each 3926, within 2 %; of four parts that lie 391 cycles apart, two masks that tell them apart, or
    the one that both make together.
    """
    masks = (144, 216)
    found = derived_from(tmp_path, standstills=standstills(masks, 560, 3926), sides=crossings())

    assert found["l2.crossing.home_bits"] == (5, 6)
    one, other = found["dram.late.part_masks"]
    assert {one, other, one ^ other} == {144, 216, 144 ^ 216}
    assert found["dram.late.cycles"] == pytest.approx(560, rel=0.02)
    assert found["dram.late.period"] == pytest.approx(3926, rel=0.02)


def test_where_no_load_is_late_no_standstill_is_known(tmp_path):
    found = derived_from(tmp_path, standstills=standstills((144,), 0, 3926), sides=crossings())

    assert not {key for key in found if key.startswith("dram.late")}


@pytest.mark.parametrize("late", [0, 100], ids=["no load", "a load of every event"])
def test_where_no_load_or_one_of_every_event_is_late_nothing_is_known_and_the_rest_is(tmp_path, late):
    found = derived_from(
        tmp_path,
        cold=[{"what": what, "region_mib": 16, "cycles": 492, "loads": 1000} for what in ("miss", "hit")],
        latency=[{"level": "l2", "what": "near", "sm": 0, "lines": 300, "cycles": 270}],
        together=events(8192, late),
    )

    assert "dram.latency" in found
    assert not any(key.startswith("dram.late.") for key in found)


def test_without_spans_nothing_is_known_of_late_loads(tmp_path):
    assert not any(key.startswith("dram.late.") for key in derived_from(tmp_path, together=events(0, 50)))


def test_stores_cost_bandwidth_while_sms_are_active(tmp_path):
    """
    132 CTAs bring 270,336 bytes with one store a thread, 27,303,936 with 101: 27,033,600 in 13,516 - 1,228 cycles.
    """
    stores = [
        counted(400, 2800, what="counted", kernel="nothing", ctas=132, per=0),
        counted(1228, 4128, what="counted", kernel="stores", ctas=132, per=1, bytes=270_336),
        counted(13_516, 17_000, what="counted", kernel="stores", ctas=132, per=101, bytes=27_303_936),
        counted(900, 9000, what="counted", kernel="stores", ctas=8, per=1, bytes=16_384),
        {"what": "clock", "kernel": "stores", "ctas": 132, "per": 1, "cycles": 70},
    ]

    figures = derived_from(tmp_path, stores=stores)

    assert figures == {"l2.write_bytes_per_cycle": 2200}


def test_merged_reads_are_looked_up_once(tmp_path):
    """
    At once, 3.76 sectors for each look-up are 4 requests. Rows of later requests or fewer CTAs do not count.
    """
    received, looked_up = "l1tex__m_xbar2l1tex_read_sectors.sum", "lts__t_sectors_srcunit_tex.sum"
    merge = [
        {"group": 132, "stagger": 0, received: 376, looked_up: 100},
        {"group": 132, "stagger": 50, received: 375, looked_up: 150},
        {"group": 2, "stagger": 0, received: 376, looked_up: 188},
    ]

    assert derived_from(tmp_path, merge=merge) == {"l2.merging.most": 4}


def test_requests_are_merged_for_as_long_as_a_look_up_serves_two(tmp_path):
    """
    At 50 cycles from one to the next a look-up serves 2.4, at 100 it serves 1.4: two at 50 + 50 x 0.4 / 1 = 70.
    """
    received, looked_up = "l1tex__m_xbar2l1tex_read_sectors.sum", "lts__t_sectors_srcunit_tex.sum"
    served = {0: 3.5, 20: 3.0, 50: 2.4, 100: 1.4, 200: 1.1}
    hits = [{"group": 132, "stagger": at, received: 100 * of, looked_up: 100} for at, of in served.items()]
    hits += [{"group": 2, "stagger": at, received: 190, looked_up: 100} for at in served]

    assert derived_from(tmp_path, hits=hits) == {"l2.merging.window": 70}


def test_pairs_of_ctas_tell_nothing_of_the_time_in_which_many_are_merged(tmp_path):
    received, looked_up = "l1tex__m_xbar2l1tex_read_sectors.sum", "lts__t_sectors_srcunit_tex.sum"
    hits = [{"group": 2, "stagger": at, received: 190, looked_up: 100} for at in (0, 50)]

    assert derived_from(tmp_path, hits=hits) == {}


def test_a_code_line_has_eight_instructions(tmp_path):
    """
    1024 instructions are 128 lines; the median of 2304, 2432 and 2560 cycles is 19 for each.
    """
    fetch = [{"instructions": 1024, "ctas": 132, "pass_1": cycles, "pass_2": 1024} for cycles in (2560, 2304, 2432)]
    fetch += [{"instructions": 1024, "ctas": 1, "pass_1": 9999}, {"instructions": 512, "ctas": 132, "pass_1": 5}]

    assert derived_from(tmp_path, fetch=fetch) == {"instruction_cache.line_interval": 19}


def test_what_one_sm_stores_and_what_waits_in_buffers(tmp_path):
    """
    One CTA brings 33,000 bytes in 1000 cycles with the most stores a thread: 33 a cycle.

    All together bring 2200 bytes a cycle, as above; 32 stores a thread bring 8,800,000 bytes, which take 4000
    cycles, and have issued in 3450.
    """
    clock = {"what": "clock", "kernel": "stores"}
    stores = [
        counted(400, 2800, what="counted", kernel="nothing", ctas=132, per=0),
        counted(1228, 4128, what="counted", kernel="stores", ctas=132, per=1, bytes=270_336),
        counted(13_516, 17_000, what="counted", kernel="stores", ctas=132, per=101, bytes=27_303_936),
        clock | {"ctas": 1, "per": 128, "bytes": 33_000, "cycles": 1000},
        clock | {"ctas": 1, "per": 8, "bytes": 33_000, "cycles": 1},
        clock | {"ctas": 132, "per": 32, "bytes": 8_800_000, "cycles": 3450},
        clock | {"ctas": 132, "per": 64, "bytes": 17_600_000, "cycles": 9999},
    ]

    figures = derived_from(tmp_path, stores=stores)

    assert (figures["l2.write_bytes_per_cycle_per_sm"], figures["l2.write_buffer"]) == (33, 550)


def test_a_gpc_without_a_cta_counts_at_its_own_clock(tmp_path):
    """
    From 16 CTAs on, 2500 cycles are the launch's. With 1 and 8, 22,000 more pass while 20,000 are active: 110 %.
    """
    idle = [counted(20_000, 24_500, kernel="busy_mma", ctas=ctas) for ctas in (1, 8)]
    idle += [counted(10_000, 12_500, kernel="busy_mma", ctas=ctas) for ctas in (16, 64, 132)]
    idle.append(counted(10_000, 19_000, kernel="busy_fma", ctas=16))

    assert derived_from(tmp_path, idle=idle) == {"launch.ctas_on_every_gpc": 16, "launch.idle_clock_percent": 110}


def test_where_no_grid_leaves_a_gpc_idle_there_is_no_clock_of_one(tmp_path):
    idle = [counted(10_000, 12_500, kernel="busy_mma", ctas=ctas) for ctas in (1, 8, 132)]

    assert derived_from(tmp_path, idle=idle) == {"launch.ctas_on_every_gpc": 1}


def test_how_far_the_l2_is_from_sms_is_the_mean_over_their_lines(tmp_path):
    """
    SM 0: three lines of 260 and one of 420, 300 in the mean. SM 8: 270 and 370 by halves, 320. SM 16: 313.4.

    They are 0, 20 and 13 beyond the nearest, in the order of the SMs. Chases and the L1 say nothing of it.
    """
    of = {"level": "l2", "what": "line"}
    rows = [of | {"sm": 8, "cycles": cycles, "lines": 50} for cycles in (270, 370)]
    rows += [of | {"sm": 0, "cycles": 260, "lines": 3}, of | {"sm": 0, "cycles": 420, "lines": 1}]
    rows += [of | {"sm": 16, "cycles": 313, "lines": 6}, of | {"sm": 16, "cycles": 314, "lines": 4}]
    rows += [{"level": "dram", "what": "line", "sm": 24, "cycles": 9, "lines": 1}]
    write_rows(tmp_path / "latency.csv", rows, {})

    assert derive(tmp_path)["l2.reach.cycles"].value == (0, 20, 13)


def loaded(loader, sm, line, *, crosses):
    return {
        "what": "read",
        "loader": loader,
        "sm": sm,
        "line": line,
        "first": 500 if crosses else 330,
        "second": 320,
    }


@pytest.mark.parametrize("bits", [(5, 6, 8, 10, 12), (0,), (3, 13)])
def test_the_parity_of_the_bits_that_tell_what_crosses_is_that_of_the_home(tmp_path, bits):
    """
    Loader 0's lines of odd parity cross to SM 2, loader 2's of even parity to SM 0; to the loader itself none.
    """
    mask = sum(1 << bit for bit in bits)
    sides = [
        loaded(loader, sm, line, crosses=sm != loader and (line & mask).bit_count() % 2 == (loader == 0))
        for loader in (0, 2)
        for sm in (0, 2)
        for line in range(1 + sm, 1 << 14, 23)
    ]
    derived = derived_from(tmp_path, sides=sides)

    assert derived["l2.crossing.home_bits"] == bits


def test_where_nothing_crosses_no_home_is_known(tmp_path):
    sides = [loaded(0, sm, line, crosses=False) for sm in (0, 2) for line in range(100)]

    assert "l2.crossing.home_bits" not in derived_from(tmp_path, sides=sides)
