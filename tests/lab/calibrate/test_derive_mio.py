"""Figures of the MIO and of cp.async, derived from rows by hand."""

import pytest

from gpusim.lab.calibrate.derive import derive
from gpusim.lab.calibrate.runner import write_rows


def test_a_register_takes_what_a_wider_store_takes_more(tmp_path):
    """STS.128 reads 5 registers and STS 2: 13 cycles less 4, over 3. Stores that meet in a bank say nothing."""
    of = {"instruction": "sts", "warps": 4, "smsps": 1}
    rows = [
        of | {"bytes": 4, "stride_bytes": 4, "per_instruction": 4},
        of | {"bytes": 16, "stride_bytes": 16, "per_instruction": 13},
        of | {"bytes": 16, "stride_bytes": 128, "per_instruction": 90},
    ]
    write_rows(tmp_path / "shared.csv", rows, {})

    assert derive(tmp_path)["mio.register_interval"].value == 3


def gap(access, count, landed):
    return {"access": access, "mma": "m16n8k16.f16.f32", "count": count, "landed": landed, "mma_each": 7}


def test_registers_of_stores_are_read_with_mma_sync(tmp_path):
    """
    Six stores more take 84 cycles, of 2 registers each: 12 in 12 mma.sync of 7. Of 3 registers 252, 18 in 36; of 5
    likewise 140, 30 in 20: 1, .5 and 1.5.
    """
    rows = [gap("sts.32", 2, 100), gap("sts.32", 8, 184), gap("sts.64", 2, 100), gap("sts.64", 8, 352)]
    rows += [gap("sts.128", 2, 100), gap("sts.128", 8, 240)]
    write_rows(tmp_path / "gaps.csv", rows, {})

    assert "1.00" in derive(tmp_path)["mio.gaps.registers"].at
    assert derive(tmp_path)["mio.gaps.registers"].value == 1


def test_lines_of_loads_come_an_interval_apart(tmp_path):
    """512 bytes in rows of 64 are 8 lines: 16.4 cycles are 2.05 each."""
    of = {"kernel": "loads", "row_bytes": 64, "along": 128, "warps": 16}
    write_rows(tmp_path / "returns.csv", [of | {"cycles": 1, "cycles_each": 16.4}], {})

    assert derive(tmp_path)["l1.lines.interval"].value == 2
    assert "2.05" in derive(tmp_path)["l1.lines.interval"].at


def test_loads_that_wait_to_be_looked_up_are_those_that_ldmatrix_passes(tmp_path):
    """
    Rows of 32 bytes are 16 wavefronts a load. Readers that begin 32 and 96 cycles after 32 loads, 16 later in the mean,
    take 300 and 236 longer than late ones: they pass after 348 cycles, when 21.75 loads have begun.
    """
    rows = [{"row_bytes": 32, "lag": lag, "cycles": cycles} for lag, cycles in ((32, 510), (96, 446), (800, 210))]
    write_rows(tmp_path / "amid.csv", rows, {})

    assert derive(tmp_path)["l1.lines.look_ups"].value == 10
    assert "348 cycles" in derive(tmp_path)["l1.lines.look_ups"].at
    assert "10.25" in derive(tmp_path)["l1.lines.look_ups"].at


def test_stores_that_wait_apart_are_those_that_a_load_passes(tmp_path):
    """A burst of 14 takes 70 cycles to issue, 10 of them the clock's; a load then waits 580: ten of 64 have begun."""
    of = {"ahead": "sts.32", "stride_bytes": 128, "busy": 1, "loader": 0}
    rows = [of | {"count": 0, "issued": 10, "cycles": 40}, of | {"count": 14, "issued": 70, "cycles": 620}]
    write_rows(tmp_path / "ahead.csv", rows, {})

    assert derive(tmp_path)["shared.stores.apart"].value == 3
    assert "3.00" in derive(tmp_path)["shared.stores.apart"].at


def released(tmp_path, *rows):
    """Derive from stores that overwrite their data, (bytes, cycles of a trip), and a loop of 30 cycles."""
    of = {"instruction": "sts_data", "warps": 1}
    stores = [of | {"bytes": width, "stride_bytes": width, "per_trip": cycles} for width, cycles in rows]
    write_rows(tmp_path / "release.csv", [{"instruction": "none", "warps": 1, "per_trip": 30}, *stores], {})
    of = {"instruction": "sts", "warps": 4, "smsps": 1}
    sts = [of | {"bytes": width, "stride_bytes": width, "per_instruction": width} for width in (4, 16)]
    write_rows(tmp_path / "shared.csv", sts, {})
    return derive(tmp_path)


def test_a_source_is_free_some_time_after_the_last_register_was_read(tmp_path):
    """
    A register takes (16 - 4) / 3 = 4 cycles. A trip of 34 cycles holds the register of STS for 34 - 30 + 6 = 10.

    One of them is the way to the queue and 8 read two registers: 1 is left. Of STS.64, 3 registers: 18 - 1 - 12 = 5. Of
    STS.128, 5 registers: 30 - 1 - 20 = 9. The mean is 5.
    """
    assert released(tmp_path, (4, 34), (8, 42), (16, 54))["mio.source_release"].value == 5


def test_without_a_width_no_release_is_derived(tmp_path):
    assert "mio.source_release" not in released(tmp_path, (4, 34), (8, 42))


def held(instruction, count, then, *, row_bytes=512, **fields):
    """When the last address of a burst on each SMSP is free."""
    of = {"instruction": instruction, "count": count, "ahead": 0, "row_bytes": row_bytes, "behind": "", "warps": 4}
    return of | {f"then_{warp}": at for warp, at in enumerate(then)} | fields


@pytest.mark.parametrize(("late", "depth"), [(65, 14), (63, 15), (62, 15), (61, 15), (117, 1)])
def test_the_sm_s_queue_holds_what_is_left_before_the_last_load_when_its_address_is_free(tmp_path, late, depth):
    """
    A burst of one load on each SMSP has its last address free at 56, 3 cycles after the first: one a cycle.

    Of 8 on each, the last one's is free so many cycles later: 65 + 3 after the first, in which 68 / 4 = 17 loads of
    four wavefronts are taken. Of the 31 before it 14 are left. Others: 14.5, 14.75, 15 and 1.
    """
    rows = [held("ldmatrix.x4", 1, (54, 55, 53, 56)), held("ldmatrix.x4", 8, (60, 56 + late, 70, 80))]
    rows += [held("ldmatrix.x4", 8, (9, 9, 9, 999), behind="lds.32"), held("ldmatrix.x4", 1, (9,), warps=1)]
    write_rows(tmp_path / "held.csv", rows, {})

    assert derive(tmp_path)["mio.sm_depth"].value == depth


@pytest.mark.parametrize(
    ("cycles", "depth"),
    [(32 * 36, 12), (32 * 37 - 1, 12), (32 * 37, 11), (32 * 38, 11), (32 * 39, 11), (32 * 40, 11), (32 * 41, 10)],
)
def test_the_smsps_queues_hold_what_the_sm_s_queue_does_not(tmp_path, cycles, depth):
    """
    Of 24 loads on each of 4 SMSPs, 96, 36 are served in 32 * 36 cycles: 60 wait, 14 of them in the SM's queue.

    46 / 4 = 11.5 are 12. A 37th counts when all its wavefronts have been taken: 45 / 4 = 11.25 are 11. A shorter burst
    says nothing.
    """
    burst = {"instruction": "lds burst", "wavefronts": 32, "smsps": 4}
    rows = [burst | {"instructions": 16, "cycles": 100}, burst | {"instructions": 24, "cycles": cycles}]
    write_rows(tmp_path / "shared.csv", rows, {})
    rows = [held("ldmatrix.x4", 1, (54, 55, 53, 56)), held("ldmatrix.x4", 8, (109, 117, 112, 121))]
    write_rows(tmp_path / "held.csv", rows, {})

    assert derive(tmp_path)["mio.queue_depth"].value == depth


def test_bursts_that_are_served_as_they_come_show_no_queue(tmp_path):
    """The last address is free after 31 loads of 4 cycles; 32 * 82 cycles leave 14 loads, which the SM's queue has."""
    burst = {"instruction": "lds burst", "wavefronts": 32, "smsps": 4, "instructions": 24}
    one = held("ldmatrix.x4", 1, (54, 55, 53, 56))
    write_rows(tmp_path / "held.csv", [one, held("ldmatrix.x4", 8, (177, 173, 174, 176))], {})
    write_rows(tmp_path / "shared.csv", [burst | {"cycles": 32 * 36}], {})

    assert derive(tmp_path) == {}
    write_rows(tmp_path / "held.csv", [one, held("ldmatrix.x4", 8, (121, 121, 121, 121))], {})
    write_rows(tmp_path / "shared.csv", [burst | {"cycles": 32 * 82}], {})

    assert set(derive(tmp_path)) == {"mio.sm_depth"}


def test_copies_that_take_no_time_show_no_interval(tmp_path):
    rows = [held("cp.async.cg", count, (88, 88, 88, 88), row_bytes=128) for count in (4, 8)]
    write_rows(tmp_path / "held.csv", rows, {})

    assert derive(tmp_path) == {}


def test_without_the_sm_s_queue_that_of_an_smsp_is_not_known(tmp_path):
    burst = {"instruction": "lds burst", "wavefronts": 32, "smsps": 4, "instructions": 24, "cycles": 32 * 36}
    write_rows(tmp_path / "shared.csv", [burst], {})

    assert derive(tmp_path) == {}


def test_copies_leave_an_sm_at_an_interval(tmp_path):
    """8 more copies take 112 - 88 = 24 cycles more: 3 each. Copies of other rows, and longer bursts, say nothing."""
    rows = [held("cp.async.cg", 1, (79, 82, 85, 88), row_bytes=128)]
    rows += [held("cp.async.cg", 3, (103, 106, 109, 112), row_bytes=128)]
    rows += [held("cp.async.cg", 8, (1, 1, 1, 999), row_bytes=128)]
    rows += [held("cp.async.cg", 3, (1, 1, 1, 1000), row_bytes=length) for length in (32, 512)]
    write_rows(tmp_path / "held.csv", rows, {})

    assert {key: found.value for key, found in derive(tmp_path).items()} == {"async_copy.pace.interval": 3}


def behind(longest, half, alone=40):
    """When loads behind 8 and 4 copies of rows of 32 bytes on each SMSP are there, and behind one copy alone."""
    load = {"behind": "lds.32"}
    rows = [held("cp.async.cg", 8, (90, 90, 90, longest), row_bytes=32, **load)]
    rows += [held("cp.async.cg", 4, (80, 80, 80, half), row_bytes=32, **load)]
    return [*rows, held("cp.async.cg", 1, (alone,), warps=1, **load)]


@pytest.mark.parametrize(("longest", "look_ups"), [(440, 7), (472, 5)])
def test_those_copies_wait_for_their_look_up_that_a_load_behind_all_passes(tmp_path, longest, look_ups):
    """
    16 copies more take 16 cycles each. The load is there 400 cycles later than one behind a copy alone: 25 of 32
    copies are looked up, and 32 cycles later two more.
    """
    write_rows(tmp_path / "held.csv", behind(longest, longest - 256), {})

    assert derive(tmp_path)["async_copy.look_ups"].value == look_ups


def test_loads_that_come_at_once_show_no_look_ups(tmp_path):
    write_rows(tmp_path / "held.csv", behind(90, 90), {})

    assert derive(tmp_path) == {}


def queued(copies, last, **fields):
    return {"row_bytes": 32, "warps": 4, "copies": copies, "first": 0, "last": last} | fields


@pytest.mark.parametrize(("late", "percent"), [(704, 119), (768, 132), (640, 108)])
def test_a_copy_takes_its_part_of_a_queue_that_is_full(tmp_path, late, percent):
    """
    16 copies more take 256 cycles, 16 each: at 704 44 of 96 are looked up. 52 wait, 7 of them for that, and 14 / 3 in
    the SM's queue: 10.1 in each queue of 12. Of 48, 9.1, and of 56, 11.1. Others' rows say nothing.
    """
    loads = [held("ldmatrix.x4", 1, (53, 54, 55, 56)), held("ldmatrix.x4", 8, (121, 121, 121, 121))]
    write_rows(tmp_path / "held.csv", [*loads, *behind(440, 184)], {})
    burst = {"instruction": "lds burst", "wavefronts": 32, "smsps": 4, "instructions": 24, "cycles": 32 * 36}
    write_rows(tmp_path / "shared.csv", [burst], {})
    rows = [queued(20, late - 256), queued(24, late), queued(24, 9, warps=1), queued(24, 9, row_bytes=64)]
    write_rows(tmp_path / "queued.csv", rows, {})

    assert derive(tmp_path)["async_copy.queue_percent"].value == percent


def bursts(of_eight, of_sixteen, of_thirty_two):
    """Copies that issue before a pause, by their requests, of which those of a sector alone count twice."""
    issued = {(64, 32): of_eight, (32, 8): of_eight, (32, 16): of_sixteen, (32, 32): of_thirty_two}
    of = {"kernel": "copies", "source": "host", "pitch": 256, "count": 384}
    rows = [of | {"row_bytes": row, "lanes": lanes, "issued": count} for (row, lanes), count in issued.items()]
    other = of | {"row_bytes": 64, "lanes": 32, "issued": 999}
    return [*rows, other | {"pitch": 128}, other | {"kernel": "loads"}, other | {"source": "host and l2"}]


def test_so_many_requests_are_on_their_way_as_shorter_copies_leave_room_for(tmp_path):
    """60 wait for their look-up; 1600 requests are 200 copies of 8, 100 of 16 and 50 of 32. Other rows say nothing."""
    write_rows(tmp_path / "outstanding.csv", bursts(260, 160, 110), {})

    found = derive(tmp_path)["async_copy.pace.outstanding"]
    assert found.value == 1600
    assert "260, 110, 160, 260 issued before the first pause, of which 60 wait" in found.at


def test_lines_that_copies_through_the_l1_lack_count_once_whatever_is_asked_of_them(tmp_path):
    """40 wait in the queues; 480 lines are 240 copies of two, 120 of four, 60 of eight and 30 of 16."""
    issued = {(128, 16): 280, (128, 32): 160, (64, 32): 100, (32, 32): 70}
    of = {"kernel": "copies_through", "source": "host", "pitch": 256, "count": 384}
    rows = [of | {"row_bytes": row, "lanes": lanes, "issued": count} for (row, lanes), count in issued.items()]
    write_rows(tmp_path / "outstanding.csv", rows, {})

    found = derive(tmp_path)["async_copy.pace.outstanding_through"]
    assert found.value == 480
    assert "280, 160, 100, 70 issued before the first pause, of which 40 wait" in found.at


@pytest.mark.parametrize("others", [384, 120])
def test_bursts_of_which_some_never_pause_do_not_tell_how_many_are_on_their_way(tmp_path, others):
    write_rows(tmp_path / "outstanding.csv", bursts(384, others, others), {})

    assert derive(tmp_path) == {}


def test_lines_of_one_class_take_a_cycle_for_each_copy_and_each_group(tmp_path):
    """Groups of 4 take 9.25 cycles a copy for 8, so 1 for each of 5; groups of 2 take 10.4, so 1.6 for each of 3."""
    cycles = {(1, 4): 8.0, (4, 4): 9.25, (1, 2): 8.0, (4, 2): 10.4, (8, 4): 99.0}
    rows = [
        {"row_bytes": 64, "lines_apart": apart, "copies": copies, "cycles": each}
        for (apart, copies), each in cycles.items()
    ]
    write_rows(tmp_path / "fills.csv", rows, {})

    found = derive(tmp_path)["async_copy.apart"]
    assert found.value == 1
    assert found.at.endswith("1.30")


def test_a_commit_takes_what_its_group_takes_less_loads_of_nothing(tmp_path):
    """
    1,000 ldmatrix less 900 are a tenth of 60,000 cycles: 6,000 for 2,000 copies, so 6 for each two, 3 of them for loads
    of nothing. Rows with mma.sync say nothing.
    """
    of = {"row_bytes": 64, "cycles": 60000}
    rows = [of | {"mma_warps": 0, "copies": copies, "ldmatrix": 1000 - copies * 50} for copies in (0, 2)]
    rows += [of | {"mma_warps": 8, "copies": copies, "ldmatrix": 1000 - copies * 400} for copies in (0, 2)]
    write_rows(tmp_path / "crowded.csv", [row | {"copied": 1000 * int(row["copies"])} for row in rows], {})

    assert derive(tmp_path)["async_copy.commit_stage"].value == 3


def crossed(stores, loads):
    """1,000 instructions of 16 warps alone in 10,000 cycles; beside 100 copies so many."""
    issued = {"sts16": stores, "sts8": stores, "sts4": stores, "lds16": loads}
    of = {"gap": 256, "cycles": 10_000}
    beside = [of | {"most": most, "few": "copies", "issued": left, "few_issued": 100} for most, left in issued.items()]
    alone = [of | {"most": most, "few": "nothing", "gap": 0, "issued": 1000, "few_issued": 0} for most in issued]
    return [*beside, *alone, beside[0] | {"gap": 512, "issued": 1}]


@pytest.mark.parametrize(("stores", "bytes_each"), [(830, 32), (905, 64), (940, 128)])
def test_copies_are_written_in_as_many_bytes_as_cost_stores_a_cycle(tmp_path, stores, bytes_each):
    """
    Loads lose 10 of 1,000 in 10,000 cycles, one for each of 100 copies; stores 170, 95 or 60: 16, 8.5 or 5 more.

    Copies of 512 bytes: 32, 60 or 102 in each cycle, of which 64 and 128 are the nearest powers of two.
    """
    write_rows(tmp_path / "crossed.csv", crossed(stores, 990), {})

    assert {key: found.value for key, found in derive(tmp_path).items()} == {"async_copy.pace.fill_bytes": bytes_each}


def test_copies_that_cost_stores_no_more_than_loads_tell_nothing(tmp_path):
    write_rows(tmp_path / "crossed.csv", crossed(990, 990), {})

    assert derive(tmp_path) == {}


@pytest.mark.parametrize(("many", "expected"), [(64.5, {"shared.atomic_wavefronts": 2}), (8.0, {})])
def test_an_atomic_takes_wavefronts_by_its_lanes_at_a_word(tmp_path, many, expected):
    """28 more lanes at a word take 56.5 cycles more: 2.02 each; where they take none nothing is told."""
    of = {"others": "none", "one": "atomic", "warps": 16}
    rows = [of | {"lanes": lanes, "per_trip": each} for lanes, each in ((4, 8.0), (32, many))]
    write_rows(tmp_path / "atomics.csv", [*rows, of | {"lanes": 32, "per_trip": 1.0, "warps": 4}], {})

    assert {key: found.value for key, found in derive(tmp_path).items()} == expected


def test_a_copy_s_registers_are_held_from_the_queue_on(tmp_path):
    """A trip of 39 cycles, a loop of 30 that hides 3 more, one cycle to the queue: 11."""
    rows = [{"what": "release", "op": "cg", "warps": 1, "each": 39}, {"what": "loop", "each": 30}]
    write_rows(tmp_path / "cp_async.csv", rows, {})

    assert {key: found.value for key, found in derive(tmp_path).items()} == {"async_copy.source_release": 11}


def test_a_semaphore_takes_the_median_of_slices_of_four_warps_with_a_store(tmp_path):
    of = {"warps": 4, "stores": 1}
    rows = [of | {"each": each} for each in (1700, 1800, 2900)]
    write_rows(tmp_path / "semaphore.csv", [*rows, of | {"stores": 4, "each": 9}, of | {"warps": 1, "each": 9}], {})

    assert {key: found.value for key, found in derive(tmp_path).items()} == {"l2.semaphore": 1800}


def test_a_memory_instruction_takes_from_mma_what_a_stream_of_it_makes_that_one_longer(tmp_path):
    """1000 cycles alone; 1300 beside 100 copies, 1500 beside 100 of three warps: 3 and 5 a copy, 4 in the mean."""
    of = {"first": "mma", "warps": 8, "each": 0}
    rows = [
        of | {"second": "", "cycles": 1000, "seconds": 0},
        of | {"second": "cp.async.cg", "cycles": 1300, "seconds": 100},
        of | {"second": "cp.async.cg", "cycles": 1500, "seconds": 100, "warps": 16},
        of | {"second": "cp.async.cg", "cycles": 9000, "seconds": 100, "first": "lop3"},
    ]
    write_rows(tmp_path / "duel.csv", rows, {})

    found = {key: figure.value for key, figure in derive(tmp_path).items()}
    assert found == {"dispatch.memory.copy_percent": 400}
