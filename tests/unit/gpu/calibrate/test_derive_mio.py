"""Figures of the MIO and of cp.async, derived from rows by hand."""

import pytest

from gpusim.gpu.calibrate.derive import derive
from gpusim.gpu.calibrate.runner import write_rows


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


@pytest.mark.parametrize(
    ("cycles", "depth"),
    [(32 * 36, 28), (32 * 37 - 1, 28), (32 * 37, 27), (32 * 63, 1)],
)
def test_the_sm_s_queue_holds_what_the_smsps_queues_do_not(tmp_path, cycles, depth):
    """
    Of 24 loads on each of 4 SMSPs, 96, 36 are served in 32 * 36 cycles: 60 wait, 8 in the queue of each SMSP.

    A 37th counts when all its wavefronts have been taken. A burst that nobody waits for shows no queue.
    """
    burst = {"instruction": "lds burst", "wavefronts": 32, "smsps": 4}
    rows = [burst | {"instructions": 16, "cycles": 100}, burst | {"instructions": 24, "cycles": cycles}]
    write_rows(tmp_path / "shared.csv", rows, {})

    assert derive(tmp_path)["mio.sm_depth"].value == depth


def test_a_burst_that_is_served_as_it_comes_shows_no_queue(tmp_path):
    burst = {"instruction": "lds burst", "wavefronts": 32, "smsps": 4, "instructions": 24, "cycles": 32 * 64}
    write_rows(tmp_path / "shared.csv", [burst], {})

    assert derive(tmp_path) == {}


def test_a_copy_takes_what_a_stream_takes_beyond_its_wavefronts(tmp_path):
    """1.5 and 2.5 cycles more than 4 and 32 wavefronts are 2 in the mean: 4 half cycles. Others' rows are left out."""
    of = {"what": "stream", "op": "ca", "warps": 16, "smsps": 4}
    rows = [of | {"wavefronts": 4, "per_copy": 5.5}, of | {"wavefronts": 32, "per_copy": 34.5}]
    rows += [of | {"op": "cg", "wavefronts": 4, "per_copy": 90}, of | {"warps": 4, "wavefronts": 4, "per_copy": 90}]
    write_rows(tmp_path / "cp_async.csv", rows, {})

    assert derive(tmp_path)["async_copy.stage_half_cycles"].value == 4


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
