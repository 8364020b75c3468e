"""The keys of a machine file, with unit, allowed values and meaning."""

import pytest

from gpusim.machine import load_machine, machine_names
from gpusim.machine.keys import figure_key, figure_keys


@pytest.mark.parametrize("name", machine_names())
def test_every_figure_of_a_machine_is_a_key_and_its_value_is_allowed(name):
    for record in load_machine(name).figures:
        key = figure_key(record.key)

        assert key is not None, record.key
        assert (key.key, key.unit.name) == (record.key, record.unit)
        assert key.is_list == isinstance(record.value, tuple)
        assert all(key.unit.allows(one) for one in (record.value if key.is_list else [record.value]))


def test_every_key_says_what_the_figure_is():
    for key in figure_keys().values():
        assert len(key.meaning) > 10, key.key
        assert not key.meaning.endswith(".")


def test_keys_of_tables_that_a_file_may_leave_out_name_the_table():
    keys = figure_keys()

    assert keys["dram.banks.channels"].table == "dram.banks"
    assert keys["async_copy.pace.interval"].table == "async_copy.pace"
    assert keys["l2.bytes"].table == keys["pipes.alu.latency"].table == ""


def test_what_is_no_key_is_none():
    assert figure_key("tensor.m16n8k8.s8.s32.interval") is not None
    assert [figure_key(key) for key in ("l2", "l2.byte", "tensor.hmma.interval", "tensor.m16n8k8.s8.s32", "")] == [
        None
    ] * 5
