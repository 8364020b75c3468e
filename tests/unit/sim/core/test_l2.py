"""The L2: which reads are merged, what a lookup takes, what crosses the chip, and how far an SM is from it."""

from dataclasses import replace

import pytest
from doubles.by_hand import Memory, copy, execute, load, quiet
from doubles.figures import with_figures
from doubles.published import H200

from gpusim.machine import load_machine
from gpusim.sim.core.constants import READ
from gpusim.sim.figures import figures_of
from gpusim.sim.footprint import FROM_DRAM, IN_L2

NEAR_ONLY = with_figures(figures_of(H200, 0, busy=False), {"l2.far_fraction_percent": 0}, constant_miss=0)
"""A hit takes 258 cycles, a miss 690."""
SMS = 8


def filled(chip, *requests, mask=1):
    """When each request, (SM, line, cycle), for the sectors of a mask has arrived."""
    return [chip.l2.read(sm, chip.l2.lines.touch(line), mask, at * 1000, at) for sm, line, at in requests]


def test_an_sm_that_asks_again_for_what_is_on_its_way_is_merged_as_others_are():
    """
    From DRAM at 690: who asked 100 cycles later has it then, too, and one look-up serves two, of which the third is
    not. From the L2 at 1258 and 1358, each by itself.
    """
    chip = quiet(figures=with_figures(NEAR_ONLY, {"l2.merging.most": 2}))

    assert filled(chip, (0, 7, 0), (0, 7, 100), (0, 7, 200), (0, 7, 1000), (0, 7, 1100)) == [690, 690, 690, 1258, 1358]
    assert (chip.l2.looked_up, chip.dram.read_bytes) == (4, 128)


def test_what_sms_ask_for_in_parts_is_not_merged():
    """
    Two SMs ask for both halves of a line, each half by a request: the second's first half comes after the first's
    second one, so that all four are looked up. Each half asked for by both before the other one is looked up once.
    """
    halves = (0b0011, 0b1100)
    by_sm, by_half = (quiet(figures=with_figures(NEAR_ONLY, {"l2.merging.most": 4}), sms=SMS) for _ in range(2))
    for sm in (0, 1):
        for mask in halves:
            filled(by_sm, (sm, 7, 0), mask=mask)
    for mask in halves:
        filled(by_half, (0, 7, 0), (1, 7, 0), mask=mask)

    assert (by_sm.l2.looked_up, by_half.l2.looked_up) == (8, 4)


def test_another_sm_s_hit_is_looked_up_by_itself():
    chip = quiet(figures=NEAR_ONLY, sms=SMS)

    assert filled(chip, (0, 7, 0), (0, 7, 1000), (1, 7, 1100)) == [690, 1258, 1358]
    assert chip.l2.looked_up == 3


@pytest.mark.parametrize(("most", "looked_up"), [(1, 8), (2, 4), (3, 3), (4, 2), (7, 2), (8, 1)])
def test_one_look_up_serves_so_many_requests_for_a_line_that_comes_from_dram(most, looked_up):
    """Eight SMs ask for one line within 80 cycles: all have it at 690."""
    chip = quiet(figures=with_figures(NEAR_ONLY, {"l2.merging.most": most}), sms=SMS)

    assert filled(chip, *((sm, 7, 10 * sm) for sm in range(SMS))) == [690] * SMS
    assert (chip.l2.looked_up, chip.dram.read_bytes) == (looked_up, 128)


def test_reads_are_merged_until_the_l2_has_the_line():
    """It has what is at an SM at 690 a hit's 258 cycles sooner. Who asks at 432 is looked up, and has it at 690."""
    chip = quiet(figures=with_figures(NEAR_ONLY, {"l2.merging.most": 4}), sms=SMS)

    assert filled(chip, (0, 7, 0), (1, 7, 431)) == [690, 690]
    assert chip.l2.looked_up == 1
    assert filled(chip, (2, 7, 432)) == [690]
    assert chip.l2.looked_up == 2


def test_what_has_come_from_dram_is_merged_no_more():
    chip = quiet(figures=with_figures(NEAR_ONLY, {"l2.merging.most": 4}), sms=SMS)
    filled(chip, (0, 7, 0), (1, 7, 690))

    assert chip.l2.looked_up == 2


@pytest.mark.parametrize(("after", "looked_up"), [(0, 1), (57, 1), (58, 2)])
def test_a_hit_is_merged_with_a_look_up_of_a_moment_before(after, looked_up):
    """
    The line is there from 690 on, SM 0 asks at 1000. A window of 58 cycles ends at 1058: who asks then is looked up.

    Each takes a trip of its own.
    """
    chip = quiet(figures=with_figures(NEAR_ONLY, {"l2.merging.most": 4}, merge_window=58), sms=SMS)
    filled(chip, (7, 7, 0))
    chip.l2.looked_up = 0

    assert filled(chip, (0, 7, 1000), (1, 7, 1000 + after)) == [1258, 1258 + after]
    assert chip.l2.looked_up == looked_up


def test_a_window_begins_when_the_l2_accepts_a_request():
    """
    An L2 of 1 byte a cycle takes 32 for a sector. SM 0's look-up of line 7 begins at 1000, SM 1's of line 8 at 1032.

    SM 2 asks for line 8 at 1085, within 58 cycles of 1032, and SM 3 at 1090, after them.
    """
    chip = quiet(figures=with_figures(NEAR_ONLY, {"l2.merging.most": 4}, merge_window=58, l2_bytes=1), sms=SMS)
    filled(chip, (7, 7, 0), (7, 8, 0))
    chip.l2.looked_up = 0
    filled(chip, (0, 7, 1000), (1, 8, 1000), (2, 8, 1085))
    assert chip.l2.looked_up == 2

    filled(chip, (3, 8, 1090))
    assert chip.l2.looked_up == 3


@pytest.mark.parametrize(("between", "looked_up"), [((), 1), (((1, 8, 1000),), 3), (((1, 8, 1000), (4, 9, 1000)), 4)])
def test_requests_that_wait_for_a_busy_l2_are_merged_by_when_it_comes_to_them(between, looked_up):
    """
    An L2 of 1 byte a cycle. SM 0 asks for a sector of line 7 at 1000, SM 2 at 1010, 48 cycles before the window ends.

    The L2 comes to SM 2's at 1032, and merges it. Behind a sector of line 8 it does so at 1064, after the window, and
    looks it up; behind one of line 9, too, at 1096.
    """
    chip = quiet(figures=with_figures(NEAR_ONLY, {"l2.merging.most": 4}, merge_window=58, l2_bytes=1), sms=SMS)
    filled(chip, (7, 7, 0), (7, 8, 0), (7, 9, 0))
    chip.l2.looked_up = 0
    filled(chip, (0, 7, 1000), *between, (2, 7, 1010))

    assert chip.l2.looked_up == looked_up


def test_merged_reads_take_nothing_of_the_bandwidth():
    """An L2 of 1 byte a cycle: a look-up of a sector takes 32. Three requests, of which two are merged: 64."""
    chip = quiet(figures=with_figures(NEAR_ONLY, {"l2.merging.most": 2}, l2_bytes=1), sms=SMS)
    filled(chip, (0, 7, 0), (1, 7, 0), (2, 7, 0))

    assert chip.l2.arbiter.done[READ] == 64_000


PLACES = {"launch.units.gpcs": (0, 0, 1), "launch.units.sides": (0, 0, 1)}
"""Three groups of SMs, of which the first two are one GPC."""


def test_requests_are_merged_within_a_gpc():
    """
    Six SMs of two GPCs ask for one line at once: each GPC looks it up once.

    The SMs of one ask before and after the other's: 0, 4, 1, 5, and those of the second group of the first: 2, 3.
    """
    chip = quiet(figures=with_figures(NEAR_ONLY, {"l2.merging.most": 4} | PLACES), sms=6, groups=(0, 0, 1, 1, 2, 2))

    assert filled(chip, *((sm, 7, 0) for sm in (0, 4, 1, 5, 2, 3))) == [690] * 6
    assert (chip.l2.looked_up, chip.dram.read_bytes) == (2, 128)


def test_each_gpc_merges_as_many_as_one_look_up_serves():
    """Two GPCs of three SMs, of which a look-up serves two: two look-ups in each."""
    figures = with_figures(NEAR_ONLY, {"l2.merging.most": 2, "launch.units.gpcs": (0, 1), "launch.units.sides": (0, 0)})
    chip = quiet(figures=figures, sms=6, groups=(0, 0, 0, 1, 1, 1))
    filled(chip, *((sm, 7, 0) for sm in (0, 3, 1, 4, 2, 5)))

    assert chip.l2.looked_up == 4


def test_a_gpc_s_window_is_its_own():
    """Another GPC's look-up at 1050 does not keep the first one's of 1000 open beyond 1058."""
    figures = with_figures(
        NEAR_ONLY, {"l2.merging.most": 4, "launch.units.gpcs": (0, 1), "launch.units.sides": (0, 0)}, merge_window=58
    )
    chip = quiet(figures=figures, sms=4, groups=(0, 0, 1, 1))
    filled(chip, (3, 7, 0))
    chip.l2.looked_up = 0
    filled(chip, (0, 7, 1000), (2, 7, 1050), (1, 7, 1060))

    assert chip.l2.looked_up == 3


def test_other_sectors_of_a_line_on_its_way_are_looked_up_and_come_with_it():
    """
    The first two sectors bring the whole line, at 690: 2 look-ups. The other two, asked for 100 cycles later by the
    same SM and by another, are there with it, and looked up once for both: 4. All of them are other sectors again: 8.
    """
    chip = quiet(figures=with_figures(NEAR_ONLY, {"l2.merging.most": 4}), sms=2)

    assert filled(chip, (0, 7, 0), mask=0b0011) == [690]
    assert filled(chip, (0, 7, 100), (1, 7, 100), mask=0b1100) == [690, 690]
    assert (chip.l2.looked_up, chip.dram.read_bytes) == (4, 128)
    assert filled(chip, (0, 7, 200), mask=0b1111) == [690]
    assert chip.l2.looked_up == 8


PAGE = 1 << 14
"""Lines of a page."""


@pytest.mark.parametrize(("sms", "home"), [((0, 1, 4, 5), 0), ((2, 3, 6, 7), 1)])
def test_the_first_read_of_a_sector_from_the_other_partition_is_looked_up_in_both(sms, home):
    """
    TPCs lie on both sides by turns. Two sectors: 2 look-ups at home, 4 from the other side.

    Two more sectors of that line, 4 with the two that the other side has by then: 4 look-ups, and 2 in the home.
    """
    for sm in sms:
        chip, log = quiet(figures=with_figures(NEAR_ONLY, {"l2.far_fraction_percent": 50}), sms=SMS), []
        for at, line, mask in (
            (0, 32 * home, 0b0011),
            (5000, 32 - 32 * home, 0b0011),
            (10_000, 32 - 32 * home, 0b1111),
        ):
            before = chip.l2.looked_up
            filled(chip, (sm, line, at), mask=mask)
            log.append(chip.l2.looked_up - before)
        assert log == [2, 4, 6]


HOME_BITS = -PAGE | sum(1 << bit for bit in (5, 6, 8, 10, 12))
SIDES = with_figures(NEAR_ONLY, {"l2.far_fraction_percent": 50}, l2_far=258, l2_crossing=189, home_bits=HOME_BITS)
"""Of a page, lines 32 to 63 are at home on the side of TPC 1, which SMs 2 and 3 have."""


@pytest.mark.parametrize(
    ("line", "far"),
    [
        *((0, False), (31, False), (32, True), (64, True), (96, False), (128, False), (256, True), (1024, True)),
        *((4096, True), (32 + 4096, False), (PAGE, True), (2 * PAGE, True), (3 * PAGE, False), (1 << 40, True)),
    ],
)
def test_the_parity_of_some_of_a_line_s_bits_says_which_partition_is_its_home(line, far):
    """Bits 5, 6, 8, 10 and 12 in a page, and all above it."""
    chip = quiet(figures=SIDES, sms=SMS)

    assert [chip.l2.is_far(sm, line) for sm in range(5)] == [far, far, not far, not far, far]


@pytest.mark.parametrize("stride", [1, 2, 3, 8, 12, 16, 64, 1000])
def test_half_of_any_rows_are_far(stride):
    """Of 2,048 rows from any line on, whatever lies between them, two in five to three in five."""
    chip = quiet(figures=SIDES, sms=SMS)
    for first in range(0, 5000, 619):
        assert 0.4 <= sum(chip.l2.is_far(0, first + row * stride) for row in range(2048)) / 2048 <= 0.6


def test_groups_of_sms_lie_where_the_figures_say():
    chip = quiet(figures=with_figures(SIDES, PLACES), sms=6, groups=(0, 0, 1, 1, 1, 2))

    assert [chip.l2.is_far(sm, 0) for sm in range(6)] == [False] * 5 + [True]


def test_a_line_from_dram_reaches_the_other_side_later():
    """Line 39 is at home with SM 2: it is there at 690, and 189 cycles later with SM 0, whoever asks first."""
    for order in ((2, 0), (0, 2)):
        chip = quiet(figures=SIDES, sms=SMS)
        landed = filled(chip, *((sm, 39, 0) for sm in order))

        assert dict(zip(order, landed, strict=True)) == {2: 690, 0: 879}


def test_a_line_crosses_the_chip_once():
    """
    SM 2 has had line 39 at its home. SM 0 asks at 5000, and has it after a hit and the crossing: 5000 + 258 + 189.

    SM 4, on SM 0's side, asks at 5100, while the line crosses, and has it when it is there; at 6000 it has a hit.
    """
    chip = quiet(figures=SIDES, sms=SMS)
    filled(chip, (2, 39, 0))

    assert filled(chip, (0, 39, 5000), (4, 39, 5100), (4, 39, 6000)) == [5447, 5447, 6258]
    assert filled(chip, (2, 39, 7000)) == [7258]


def test_the_whole_line_crosses_with_its_first_sectors():
    """The other two are looked up in both partitions when they are asked for, and are there."""
    chip = quiet(figures=SIDES, sms=SMS)
    filled(chip, (2, 39, 0))

    assert filled(chip, (0, 39, 5000), mask=0b0011) == [5447]
    before = chip.l2.looked_up
    assert filled(chip, (0, 39, 6000), mask=0b1111) == [6258]
    assert chip.l2.looked_up == before + 4 + 2


def test_requests_of_the_other_side_are_merged_until_the_line_has_crossed():
    """It is at SM 0 at 879, and in the L2 on its side at 621. SM 4 asks before, when the line is at home, and then."""
    chip = quiet(figures=with_figures(SIDES, {"l2.merging.most": 4}), sms=SMS)

    assert filled(chip, (0, 39, 0), (4, 39, 620)) == [879, 879]
    assert chip.l2.looked_up == 2
    assert filled(chip, (4, 39, 621)) == [879]
    assert chip.l2.looked_up == 3


def test_an_l2_of_one_partition_has_no_other():
    chip = quiet(figures=NEAR_ONLY, sms=SMS)
    filled(chip, *((0, line, 0) for line in range(4)))

    assert chip.l2.looked_up == 4


def test_whatever_is_missing_of_a_line_dram_brings_all_of_it():
    """Sector 0 is missing: 128 bytes come. Sector 3 is then a hit."""
    chip = quiet(figures=NEAR_ONLY)

    assert filled(chip, (0, 7, 0)) == [690]
    assert filled(chip, (0, 7, 5000), mask=0b1000) == [5258]
    assert chip.dram.read_bytes == 128


def test_what_a_slot_of_the_l2_has_merged_is_forgotten_with_its_line():
    """
    GPC 1's request for line 0 opens a window of 58 cycles in its slot. An L2 of one line gives that slot to line 2,
    which GPC 0 asks for. GPC 1 then asks for line 2, a cycle later: no other request of its own waits for it.
    """
    figures = with_figures(
        NEAR_ONLY,
        {"l2.merging.most": 4, "launch.units.gpcs": (0, 1), "launch.units.sides": (0, 0)},
        merge_window=58,
        l2_lines=1,
    )
    chip = quiet(figures=figures, sms=2, groups=(0, 1))
    for sm, line in ((1, 0), (0, 1), (0, 2)):
        filled(chip, (sm, line, 0), mask=0b1111)
    looked_up = chip.l2.looked_up
    filled(chip, (1, 2, 1), mask=0b1111)

    assert chip.l2.looked_up - looked_up == 4


SPREAD = {"dram_least": 1000, "dram_latency": 2000, "dram_late": 4000, "dram_later": 7000, "dram_most": 9000}


def test_a_request_waits_for_the_last_of_its_lines(core):
    """
    The first line draws 1000 cycles, the second 2775: the data of a load that leaves at 1 has come at 2776. The second
    of its wavefronts takes two cycles more.
    """
    ran = execute(
        core,
        ([load(0, activity=0)], 1),
        figures=with_figures(NEAR_ONLY, **SPREAD),
        machine=replace(H200),
        memory=Memory([(2, ((0, 1), (1, 1)))]),
    )

    assert ran.warps[0, 0].notes == [(0, 2776 + 2)]


APART = NEAR_ONLY._replace(l2_reach=(-5, 7))
"""Of two SMs the first is 5 cycles nearer than the mean one, the second 7 farther."""


@pytest.mark.parametrize(
    ("sms", "reach"), [(1, [-5]), (2, [-5, 7]), (3, [-5, -5, 7]), (4, [-5, -5, 7, 7]), (5, [-5, -5, -5, 7, 7])]
)
def test_sms_have_the_reach_of_those_that_were_measured_in_their_order(sms, reach):
    assert list(quiet(figures=APART, sms=sms).l2.sm_offset) == reach


def test_of_more_measured_sms_than_there_are_some_are_taken_evenly():
    """Of five, the first, that after 5 / 3 and that after 10 / 3."""
    assert list(quiet(figures=NEAR_ONLY._replace(l2_reach=(0, 1, 2, 3, 4)), sms=3).l2.sm_offset) == [0, 1, 3]


def test_who_is_far_from_the_l2_has_what_dram_brings_and_what_is_there_later():
    """
    The L2 has line 7 from DRAM at 690, whoever asked first: SM 1 has it at 697, SM 0 at 685.

    At 1000 it is there: a hit takes 258 cycles, 253 and 265.
    """
    chip = quiet(figures=APART, sms=2)

    assert filled(chip, (1, 7, 0), (0, 7, 100), (0, 7, 1000), (1, 7, 1000)) == [697, 685, 1253, 1265]


def test_who_is_far_has_what_is_merged_later():
    """Asked for at 0, 10 and 430: what comes at 690, and the reach."""
    chip = quiet(figures=with_figures(APART, {"l2.merging.most": 4}), sms=2)

    assert filled(chip, (0, 7, 0), (1, 7, 10), (1, 7, 430)) == [685, 697, 697]
    assert chip.l2.looked_up == 1


@pytest.mark.parametrize(("status", "cycles"), [(IN_L2, 258), (FROM_DRAM, 690)], ids=["hit", "miss"])
@pytest.mark.parametrize(("sm", "reach"), [(0, -5), (1, 7)])
def test_what_is_known_of_the_l2_comes_as_much_later(sm, reach, status, cycles):
    memory = Memory([(4, ((0, 15),))], statuses=[status], simulates_l2=False)
    chip = quiet(figures=APART, sms=2, memory=memory)

    assert chip.l2_sampled.read_known(sm, 0, 0, 4, status.slow, status.missed) == cycles + reach
    chip = quiet(figures=APART, sms=2, memory=memory)
    chip.l2_sampled.status = 0

    assert chip.l2_sampled.read(sm, chip.l2.lines.touch(4), 15, 0, 0) == cycles + reach


def test_two_sms_that_copy_one_line(core):
    """
    Both copies leave at 1. DRAM has the line 690 cycles later, and a copy takes 39 - 32 = 7 more than a load: 698.

    Those of 5000 leave at 5001, and take 258 + 7. SM 0 is 5 cycles nearer than that, SM 1 is 7 farther.
    """
    code = [copy(0, stall=5000, activity=0), copy(0, activity=0)]
    ran = execute(core, (code, 1), figures=APART, memory=Memory([(1, ((7, 1),))]), sms=2, ctas=2)

    assert [[landed for _, landed in ran.warps[cta, 0].notes] for cta in (0, 1)] == [
        [698 - 5, 5266 - 5],
        [698 + 7, 5266 + 7],
    ]


def test_a_miss_brings_the_half_of_a_line_or_what_is_asked_for():
    """
    Sector 0 brings sectors 0 and 1, which come again as a hit; sector 2 brings the other half. A miss of single sectors
    brings one of 32 bytes, and a miss of whole lines brings 128.
    """
    halves, sectors, whole = (quiet(figures=NEAR_ONLY) for _ in range(3))
    halves.l2.fetch_sectors, sectors.l2.fetch_sectors = 2, 1
    first = [filled(halves, (0, 7, at), mask=mask) for at, mask in ((0, 0b0001), (1000, 0b0010), (2000, 0b0100))]
    for chip in (sectors, whole):
        filled(chip, (0, 7, 0), mask=0b0001)

    assert first == [[690], [1258], [2690]]
    assert [chip.dram.read_bytes for chip in (halves, sectors, whole)] == [128, 32, 128]


@pytest.mark.parametrize(("mask", "taken"), [(0b0001, 2), (0b0011, 2), (0b0110, 4), (0b0101, 4), (0b1111, 4)])
def test_reads_take_bandwidth_in_halves_of_a_line(mask, taken):
    chip = quiet(figures=NEAR_ONLY)
    whole = chip.l2.taken_with(mask)
    chip.l2.read_sectors = 2

    assert (whole, chip.l2.taken_with(mask)) == (mask.bit_count(), taken)


def test_a_sector_that_is_written_in_part_is_completed_from_dram():
    """Two sectors of line 7 in part: 64 bytes are read once. Of line 8 whole sectors are written: none is read."""
    chip = quiet(figures=NEAR_ONLY)
    for line, masked in ((7, 1), (7, 1), (8, 0)):
        chip.l2.write(line, 0b0011, masked, 0, 0)

    assert chip.dram.read_bytes == 64


def test_atomics_of_one_slice_wait_for_each_others_passes():
    """
    The lines are there from 690 on. At 1000 three atomics ask for lines 6, 7 and 7, which are in one slice: each has
    its result a hit's 258 cycles after it was taken, and keeps the slice for 4.5 cycles. Line 5 is in another slice.
    """
    chip = quiet(figures=NEAR_ONLY, sms=SMS)
    filled(chip, (0, 5, 0), (0, 6, 0), (0, 7, 0))
    landed, taken = [], []
    for sm, line in ((0, 6), (1, 7), (2, 7), (3, 5)):
        landed.append(chip.l2.update(sm, line, 0b0001, 1_000_000, 1000, 450))
        taken.append(chip.l2.taken)

    assert taken == [1_000_000, 1_004_500, 1_009_000, 1_000_000]
    assert landed == [1258, 1262, 1267, 1258]


SLICED = figures_of(load_machine("h200"), 0, busy=False)
"""The measured H200, whose L2 has 56 slices."""


def test_the_lines_of_a_kilobyte_are_in_two_slices_two_by_two():
    """On an H200 atomics on lines 0 and 1 or 0 and 4 in turn take as long as on one line, on 0 and 2 half as long."""
    l2 = quiet(figures=SLICED).l2
    for first in (0, 8, 1 << 20):
        slices = [l2.slice_of(first + line) for line in range(8)]

        assert slices == [slices[0], slices[0], slices[2], slices[2]] * 2
        assert slices[2] == slices[0] + 1


def test_kilobytes_use_all_slices():
    l2 = quiet(figures=SLICED).l2

    assert {l2.slice_of(line) for line in range(1 << 13)} == set(range(56))


def test_an_atomic_reads_what_the_l2_lacks():
    """Its line comes from DRAM at 690, and is written there when it is evicted."""
    chip = quiet(figures=NEAR_ONLY)

    assert chip.l2.update(0, 7, 0b0001, 0, 0, 100) == 690
    assert chip.dram.read_bytes == 128
    assert chip.l2.lines.dirty[chip.l2.lines.touch(7)] == 0b0001
