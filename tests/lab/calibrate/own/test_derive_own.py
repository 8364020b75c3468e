"""Figures of opcodes, atomics and scattered accesses, derived from rows by hand."""

import pytest

from gpusim.lab.calibrate.derive import derive
from gpusim.lab.calibrate.own.derive_own import OWN_TABLES
from gpusim.lab.calibrate.runner import write_rows


def chain(name, latency, interval):
    of = {"instruction": name, "spread": 1}
    return [
        of | {"ilp": 1, "warps": 1, "per_round": latency, "interval": latency},
        of | {"ilp": 8, "warps": 4, "per_round": 0, "interval": 2 * interval},
        of | {"ilp": 8, "warps": 32, "per_round": 0, "interval": interval},
    ]


def value(folder, key):
    figure = derive(folder)[key]
    assert key.startswith(OWN_TABLES)
    return figure.value


def test_an_opcode_has_the_latency_of_a_chain_and_the_interval_of_most_warps(tmp_path):
    write_rows(tmp_path / "opcodes.csv", chain("dfma", 8.1, 2.2), {})

    assert value(tmp_path, "opcodes.dfma.latency") == 8
    assert value(tmp_path, "opcodes.dfma.interval") == 2
    assert derive(tmp_path)["opcodes.dfma.interval"].at == "opcodes.csv, dfma, 8 chains in each of 32 warps: 2.20"


def test_dsetp_takes_what_its_pairs_take_beyond_the_other_instruction(tmp_path):
    """It has 4.1 less 2 cycles of the pipe, and of a chain 16.2 less 4.2 of a selection."""
    rows = [*chain("dadd", 8, 2), *chain("dsetp_dadd", 20, 4.1), *chain("dsetp_fsel", 16.2, 4), *chain("lop3", 4.2, 2)]
    write_rows(tmp_path / "opcodes.csv", rows, {})

    assert value(tmp_path, "opcodes.dsetp.interval") == 2
    assert value(tmp_path, "opcodes.dsetp.latency") == 12


@pytest.mark.parametrize(("per_round", "percent"), [(16, 100), (8, 0), (7.9, 0), (10, 25)])
def test_a_pair_adds_the_time_that_the_longer_does_not_hide(tmp_path, per_round, percent):
    """A MUFU takes 8 cycles and a LOP3 two: the round of four LOP3 is the closest, of 8 and 8."""
    write_rows(tmp_path / "opcodes.csv", [*chain("mufu_ex2", 17, 8), *chain("lop3", 4, 2)], {})
    of = {"one": "mufu_ex2", "other": "lop3"}
    rounds = [(1, 99), (4, per_round), (8, 99)]
    rows = [of | {"others": others, "warps": 32, "per_round": each} for others, each in rounds]
    write_rows(tmp_path / "opcode_pairs.csv", [of | {"others": 4, "warps": 4, "per_round": 77}, *rows], {})

    assert value(tmp_path, "pairs.mufu_ex2.lop3.percent") == percent


def test_an_indexed_constant_takes_time_for_each_word_of_the_lanes(tmp_path):
    """32 words take 65 cycles and one 3: two more for each of 31."""
    of = {"step": 4, "ilp": 8, "warps": 32, "per_round": 0}
    rows = [of | {"lanes": 1, "interval": 65}, of | {"lanes": 32, "interval": 3}]
    write_rows(tmp_path / "indexed.csv", [*rows, of | {"lanes": 32, "ilp": 1, "warps": 1, "per_round": 30.4}], {})

    assert value(tmp_path, "constant_cache.indexed.word") == 2
    assert value(tmp_path, "constant_cache.indexed.latency") == 30


def atomic(result, lanes, ways, warps, per_atomic):
    of = {"operation": "add_u32", "together": 0, "result": result}
    return of | {"lanes": lanes, "ways": ways, "warps": warps, "per_atomic": per_atomic}


def test_an_atomic_in_shared_memory_takes_time_for_each_lane_of_a_word_and_each_word_of_a_bank(tmp_path):
    """From 8 lanes to 32, 24 and 48 cycles more: 1 and 2 for each."""
    rows = [atomic("dependent", 1, 1, 1, 40.3), atomic("dropped", 1, 1, 16, 2), atomic("dropped", 8, 1, 16, 8)]
    rows += [atomic("dropped", 32, 1, 16, 32), atomic("dropped", 1, 8, 16, 16), atomic("dropped", 1, 32, 16, 64)]
    write_rows(tmp_path / "shared_atomics.csv", rows, {})

    figures = {key: figure.value for key, figure in derive(tmp_path).items()}
    assert figures == {
        "shared.atomics.add_u32.latency": 40,
        "shared.atomics.add_u32.interval": 2,
        "shared.atomics.add_u32.lane": 1,
        "shared.atomics.add_u32.way": 2,
    }


def test_atomics_of_the_chip_are_so_far_apart_as_an_sm_has_them_over_the_sms(tmp_path):
    """At one word, each of 132 SMs has one in 4224 cycles, so the L2 has one in 32."""
    of = {"operation": "add_f32", "lanes": 32, "step": 4, "lines": 1, "warps": 8, "along": 0}
    rows = [of | {"result": "dropped", "together": "all", "sms": sms, "per_atomic": 32 * sms} for sms in (2, 132)]
    chained = of | {"result": "dependent", "together": "", "sms": 1, "warps": 1, "lanes": 1, "per_atomic": 700.6}
    write_rows(tmp_path / "global_atomics.csv", [*rows, chained], {})

    assert value(tmp_path, "l2.atomics.add_f32.one_word") == 3200
    assert value(tmp_path, "l2.atomics.add_f32.latency") == 701
    assert "l2.atomics.add_f32.own_lines" not in derive(tmp_path)


def test_a_scattered_line_has_the_time_of_an_sm_alone_and_beside_all_others(tmp_path):
    of = {"kind": "store", "lines": 32, "sectors": 1, "bytes": 4, "words": 1, "pitch": 128, "span": 1 << 17}
    rows = [of | {"sms": 1, "per_line": 2.04}, of | {"sms": 132, "per_line": 4.21}]
    write_rows(tmp_path / "scattered.csv", rows, {})

    assert value(tmp_path, "l2.scattered.store.sm_line") == 204
    assert value(tmp_path, "l2.scattered.store.chip_line") == 421


def test_one_sm_alone_is_not_the_chip(tmp_path):
    of = {"kind": "store", "lines": 32, "sectors": 1, "bytes": 4, "words": 1, "pitch": 128, "span": 1 << 17}
    write_rows(tmp_path / "scattered.csv", [of | {"sms": 1, "per_line": 2.04}], {})

    assert "l2.scattered.store.chip_line" not in derive(tmp_path)


def test_a_load_has_the_latency_of_its_space_and_a_line_what_more_lines_take(tmp_path):
    """From 8 lines to 32, 36 cycles more: 1.5 for each."""
    of = {"access": "load", "space": "local"}
    rows = [of | {"lanes": 32, "ilp": 1, "warps": 1, "per_round": 33.4, "per_instruction": 33.4}]
    rows += [of | {"lanes": 32 // lines, "ilp": 8, "warps": 16, "per_instruction": 1.5 * lines} for lines in (8, 32)]
    write_rows(tmp_path / "spaces.csv", rows, {})

    assert value(tmp_path, "spaces.local.latency") == 33
    assert value(tmp_path, "spaces.local.load_line") == 150
    assert "spaces.local.store_line" not in derive(tmp_path)


def test_a_part_of_a_line_moves_the_bytes_of_dram_over_its_lines(tmp_path):
    of = {"kind": "store", "words": 1, "lines": 32, "sectors": 1, "all_lines": 100}
    write_rows(tmp_path / "partial.csv", [of | {"dram__bytes_read.sum": 3200, "dram__bytes_write.sum": 6390}], {})

    assert value(tmp_path, "dram.partial.store_4.read") == 32
    assert value(tmp_path, "dram.partial.store_4.write") == 64
