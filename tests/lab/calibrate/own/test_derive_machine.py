"""Figures of a machine file that only own kernels need, derived from rows by hand."""

import pytest

from gpusim.lab.calibrate.derive import derive
from gpusim.lab.calibrate.own.derive_machine import MACHINE_FORMULAS
from gpusim.lab.calibrate.own.scattered import OWN_RESIDENT
from gpusim.lab.calibrate.runner import write_rows
from gpusim.machine.keys import figure_keys


def test_every_figure_is_a_key_of_a_machine_file():
    assert set(MACHINE_FORMULAS) <= set(figure_keys())


def test_a_constant_at_an_index_takes_an_interval_and_a_latency_for_each_distinct_word(tmp_path):
    """32 words take 320 cycles, 10 each; in a chain 31 further ones take 31 * 12 cycles more than one, 28."""
    of = {"step": 4, "warps": 1}
    rows = [
        of | {"lanes": 1, "ilp": 8, "warps": 32, "interval": 320, "per_round": 0},
        of | {"lanes": 1, "ilp": 1, "interval": 0, "per_round": 28 + 31 * 12},
        of | {"lanes": 32, "ilp": 1, "interval": 0, "per_round": 28},
    ]
    write_rows(tmp_path / "indexed.csv", rows, {})

    found = derive(tmp_path)
    assert [found[f"constant_cache.indexed.{name}"].value for name in ("interval", "further")] == [10, 12]


def scattered(kind, sectors, per_line, *, bytes_, words, lines=4, sms=132):
    of = {"span": OWN_RESIDENT, "pitch": 128, "step": 512, "sms": sms, "kind": kind, "lines": lines}
    return of | {"sectors": sectors, "bytes": bytes_, "words": words, "per_line": per_line}


@pytest.mark.parametrize(("one", "read_bytes"), [(1.0, 32), (1.9, 64), (2.1, 64), (4.0, 128)])
def test_lines_are_read_in_parts_of_a_power_of_two(tmp_path, one, read_bytes):
    """Four sectors, 128 bytes, take 4 cycles."""
    whole = {"bytes_": 32, "words": 4}
    write_rows(tmp_path / "scattered.csv", [scattered("load", 1, one, **whole), scattered("load", 4, 4, **whole)], {})

    assert derive(tmp_path)["l2.parts.read_bytes"].value == read_bytes


def test_a_store_takes_a_least_part_and_a_mask(tmp_path):
    """128 bytes take 8 cycles: a sector 3 of them, 48 bytes; a word 4 in the mean, 64 bytes, 32 beyond its sector."""
    rows = [
        scattered("store", 1, 3, bytes_=32, words=4),
        scattered("store", 4, 8, bytes_=32, words=4),
        scattered("store", 1, 3.5, bytes_=4, words=1, lines=1),
        scattered("store", 1, 4.5, bytes_=4, words=1, lines=2),
    ]
    write_rows(tmp_path / "scattered.csv", rows, {})

    found = derive(tmp_path)
    assert [found[f"l2.parts.{name}"].value for name in ("store_bytes", "mask_bytes")] == [48, 32]


def test_one_sm_says_nothing_about_the_l2(tmp_path):
    rows = [scattered("load", sectors, 1, bytes_=32, words=4, sms=1) for sectors in (1, 4)]
    write_rows(tmp_path / "scattered.csv", rows, {})

    assert "l2.parts.read_bytes" not in derive(tmp_path)


def test_atomics_of_one_line_take_cycles_by_sector_and_by_lane(tmp_path):
    """Ten SMs: 50 cycles of an SM are five of the chip for four sectors, 1.25 each; 480 for 32 lanes 1.5 each."""
    of = {"operation": "add_u32", "result": "dropped", "warps": 8, "sms": 10, "together": "all", "along": 0}
    rows = [
        of | {"lanes": 1, "step": 4, "lines": 1, "per_atomic": 50},
        of | {"lanes": 32, "step": 4, "lines": 1, "per_atomic": 480},
    ]
    write_rows(tmp_path / "global_atomics.csv", rows, {})

    found = derive(tmp_path)
    assert [found[f"l2.atomics.{name}"].value for name in ("sector_percent", "lane_percent")] == [125, 150]


def test_slices_are_how_often_atomics_of_lines_apart_outrun_those_of_one(tmp_path):
    """All SMs at one line: five cycles of the chip for an atomic; each at lines of its own: half a cycle."""
    of = {"operation": "add_u32", "result": "dropped", "warps": 8, "sms": 10, "lanes": 1, "step": 4, "lines": 1}
    rows = [
        of | {"together": "all", "along": 0, "per_atomic": 50},
        of | {"together": "", "along": 128, "per_atomic": 5},
    ]
    write_rows(tmp_path / "global_atomics.csv", rows, {})

    assert derive(tmp_path)["l2.atomics.slices"].value == 10


def test_dram_s_bytes_for_a_line_are_what_a_miss_brings(tmp_path):
    row = {"kind": "load", "words": 1, "lines": 32, "sectors": 1, "all_lines": 100, "dram__bytes_read.sum": 6410}
    write_rows(tmp_path / "partial.csv", [row | {"dram__bytes_write.sum": 0}], {})

    assert derive(tmp_path)["l2.fetch_bytes"].value == 64


def test_a_fence_has_the_time_of_a_chain_with_nothing_before_it(tmp_path):
    of = {"pending": "nothing", "warps": 1, "sms": 1}
    rows = [
        of | {"fence": "threadfence", "delay": -1, "per_fence": 268.7},
        of | {"fence": "threadfence", "delay": 0, "per_fence": 264},
    ]
    write_rows(tmp_path / "fences.csv", rows, {})

    assert derive(tmp_path)["barrier.fences.gpu"].value == 269


def test_an_sm_has_the_barriers_of_the_ctas_that_it_holds(tmp_path):
    """21 CTAs of 3 barriers, 16 of 4 and 5 of 12: 64 at most. Without barriers other limits count."""
    of = {"register_id": 0, "threads": 32}
    rows = [of | {"barriers": barriers, "resident": held} for barriers, held in ((0, 32), (3, 21), (4, 16), (12, 5))]
    write_rows(tmp_path / "residents.csv", rows, {})

    assert derive(tmp_path)["limits.barriers"].value == 64
