"""Absurd figures of a machine file are refused: each figure has bounds, and each text about one is text."""

import re
import tomllib
from copy import deepcopy
from importlib import resources

import pytest

from gpusim.errors import BadInput
from gpusim.machine import load_machine, machine_names
from gpusim.machine.keys import figure_key, figure_keys
from gpusim.machine.load import read_machine

BILLION, TRILLIONS = 10**9, 10**18

ALLOWED = re.compile(
    r"value must be ((an integer|a power of two) of \d+ to \d+|true or false|\w+, no other is simulated),"
)

NUMBERS = ("bits", "GPCs", "sides", "TPCs")
"""Units of figures that number something, from 0 on."""


def data_of(name):
    return tomllib.loads(resources.files("gpusim.machine").joinpath(f"{name}.toml").read_text(encoding="utf-8"))


FILES = {name: data_of(name) for name in machine_names()}


def record_at(data, key):
    """The table of a figure, whose key may have parts with dots."""
    table, parts = data, key.split(".")
    while parts:
        part = next(".".join(parts[:end]) for end in range(len(parts), 0, -1) if ".".join(parts[:end]) in table)
        table, parts = table[part], parts[part.count(".") + 1 :]
    return table


def refusal(name, key, field, value):
    """The message of a machine file in which one field of one figure has another value; None if it is taken."""
    data = FILES[name]
    record = record_at(data, key)
    kept = deepcopy(record)
    record[field] = value
    try:
        read_machine(data, name, "x.toml")
    except BadInput as error:
        return str(error)
    finally:
        record.clear()
        record.update(kept)
    return None


def in_place(record, value):
    return [value] if isinstance(record.value, tuple) else value


@pytest.mark.parametrize("name", machine_names())
def test_no_figure_of_any_machine_is_negative_or_a_billion_or_of_another_type(name):
    """The message names the file, the key, the value that was found and what is allowed."""
    for record in load_machine(name).figures:
        wrong = [-1, -BILLION, BILLION, TRILLIONS, 32.0, "32"]
        if not isinstance(record.value, bool):
            wrong.append(True)
        if isinstance(record.value, bool):
            wrong += [0, 1]
        for value in wrong:
            message = refusal(name, record.key, "value", in_place(record, value))

            assert message is not None, (name, record.key, value)
            assert f", got {value!r} (x.toml: {record.key}.value)" in message
            assert ALLOWED.match(message), message


@pytest.mark.parametrize("name", machine_names())
def test_a_list_stands_only_where_a_figure_is_a_list(name):
    for record in load_machine(name).figures:
        for value in (32, [], {}) if isinstance(record.value, tuple) else ([32], [], {}):
            message = refusal(name, record.key, "value", value)

            assert message is not None, (name, record.key, value)
            assert message.endswith(f", got {value!r} (x.toml: {record.key}.value)")


def outside(name, record, value):
    """Whether a machine file is refused for the size of one figure."""
    message = refusal(name, record.key, "value", in_place(record, value))
    return message is not None and message.startswith("value must be")


@pytest.mark.parametrize("name", machine_names())
def test_zero_is_refused_unless_the_spec_says_what_it_means(name):
    """Latencies, overheads, sizes, rates and counts are never 0; what is added to another figure may be."""
    for record in load_machine(name).figures:
        unit = figure_key(record.key).unit
        if unit.name != "bool":
            numbers = unit.name in NUMBERS and unit.lower is None

            assert outside(name, record, 0) == (not unit.zero and not numbers), record.key


@pytest.mark.parametrize("name", machine_names())
def test_one_is_refused_where_the_spec_says_that_no_gpu_has_so_little(name):
    """No clock has 1 MHz, no cache 1 byte, and nothing beyond the registers is there after 1 cycle."""
    for record in load_machine(name).figures:
        unit = figure_key(record.key).unit
        if unit.name != "bool":
            assert outside(name, record, 1) == (unit.least > 1), record.key


def test_no_cache_has_one_byte_and_no_memory_answers_in_one_cycle():
    for key in figure_keys().values():
        table, _, figure = key.key.partition(".")
        if table in ("l1", "l2", "dram") and ("latency" in figure or figure in ("bytes", "line_bytes")):
            assert key.unit.least > 1, key.key


@pytest.mark.parametrize("name", ["h200", "t4"])
@pytest.mark.parametrize("field", ["source", "at", "why", "effect"])
def test_what_is_said_about_a_figure_is_text(name, field):
    """An H200 has nearly all figures that there are, and a T4 no cp.async."""
    for record in load_machine(name).figures:
        for value in (True, 0, ["cuda-guide"], ""):
            assert refusal(name, record.key, field, value) == (
                f"{field} must be a string that is not empty, got {value!r} (x.toml: {record.key}.{field})"
            )


@pytest.mark.parametrize("spread", [True, 5, "3", [], [3], [3, 5, 7], [5, 3], [-1, 3], [3.0, 5.0], [True, True]])
def test_a_spread_is_two_integers_the_smaller_one_first(spread):
    assert refusal("h200", "sms", "spread", spread) == (
        f"spread must be two integers, the smaller one first, got {spread!r} (x.toml: sms.spread)"
    )
    assert refusal("h200", "sms", "spread", [3, 3]) is None


@pytest.mark.parametrize("field", ["title", "version", "url", "doi", "file"])
@pytest.mark.parametrize("value", [0, True, 2.5, [], {}, ""])
def test_what_is_said_about_a_source_is_text(field, value):
    data = data_of("h200")
    data["sources"]["cuda-guide"][field] = value

    with pytest.raises(BadInput) as refused:
        read_machine(data, "x", "x.toml")

    assert str(refused.value) == (
        f"{field} must be a string that is not empty, got {value!r} (x.toml: sources.cuda-guide.{field})"
    )


@pytest.mark.parametrize("value", [0, True, [], ""])
def test_a_title_is_text(value):
    with pytest.raises(BadInput) as refused:
        read_machine(data_of("h200") | {"title": value}, "x", "x.toml")

    assert str(refused.value) == f"title must be a string that is not empty, got {value!r} (x.toml: title)"
