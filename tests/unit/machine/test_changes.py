"""A machine with other values of some figures: how it is written, read, and said to be the user's."""

from importlib import resources

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusim.errors import BadInput
from gpusim.machine import load_machine, machine_names
from gpusim.machine.changes import BadFigure, MachineChoice, in_proportion, read_choice, with_figure
from gpusim.machine.figure import FIGURE_KINDS
from gpusim.machine.keys import figure_keys

VALUES = st.integers() | st.booleans() | st.lists(st.integers(), max_size=9)
BASES = st.sampled_from([*machine_names(), "half.toml", "/home/me/my machines/half.toml"])


@given(base=BASES, figures=st.dictionaries(st.sampled_from([*figure_keys()]), VALUES))
def test_a_choice_is_read_as_it_was_written(base, figures):
    assert read_choice(str(MachineChoice(base, figures))) == MachineChoice(base, figures)


@pytest.mark.parametrize("value", ["x", 1.5, {"a": 1}, None, "2, l2.bytes = 3", "1979-01-01"])
def test_a_value_of_any_other_type_is_refused_and_no_more_than_that(value):
    with pytest.raises(BadFigure, match=r"^machine\.sms must be an integer of 1 to 4096 \(SMs\), got "):
        load_machine(str(MachineChoice("h200", {"sms": value})))


def test_the_last_value_of_a_figure_holds():
    assert with_figure("h200 with l2.bytes = 1048576, sms = 33", "sms", 66) == "h200 with l2.bytes = 1048576, sms = 66"


@given(sizes=st.lists(st.integers(1, 40), min_size=1, max_size=12), total=st.integers(1, 1000))
def test_groups_in_proportion_have_all_members_together(sizes, total):
    assert sum(in_proportion(sizes, total)) == total
    assert in_proportion(sizes, sum(sizes)) == sizes


@pytest.mark.parametrize("name", machine_names())
def test_one_figure_of_any_machine_may_be_changed_and_no_other_changes(name):
    """Its kind is "user" then, it says what it stands in place of, and the digest is another one."""
    plain = load_machine(name)
    changed = load_machine(f"{name} with dram.bandwidth_gb_s = 777, tensor.m16n8k8.f16.f32.latency = 99")
    before, after = ({record.key: record for record in one.figures} for one in (plain, changed))
    differ = [key for key in before if before[key] != after[key]]

    assert before.keys() == after.keys()
    assert differ == ["tensor.m16n8k8.f16.f32.latency", "dram.bandwidth_gb_s"]
    assert [after[key].kind for key in differ] == ["user", "user"]
    assert after["dram.bandwidth_gb_s"].why == f"in place of {plain.dram.bandwidth_gb_s}"
    assert (changed.dram.bandwidth_gb_s, changed.tensor["m16n8k8.f16.f32"].latency) == (777, 99)
    assert changed.name == f"{name} with dram.bandwidth_gb_s = 777, tensor.m16n8k8.f16.f32.latency = 99"
    assert changed.digest() != plain.digest()
    assert changed.figure_counts()["user"] == 2
    assert tuple(plain.figure_counts()) == FIGURE_KINDS


def test_a_file_cannot_say_that_a_figure_is_the_users(tmp_path):
    text = 'title = "x"\n[sms]\nvalue = 1\nunit = "SMs"\nkind = "user"\nwhy = "me"\n'
    (tmp_path / "x.toml").write_text(
        text + '[compute_capability]\nvalue = 90\nunit = "10*major+minor"\nkind = "user"\n'
    )

    with pytest.raises(BadInput, match="kind must be one of documented, measured, fitted, assumed, got 'user'"):
        load_machine(str(tmp_path / "x.toml"))


def test_the_value_that_the_file_has_changes_nothing():
    assert load_machine("h200 with sms = 132, launch.units.ahead = 8") == load_machine("h200")
    assert load_machine("h200 with sms = 132").name == "h200"


def test_groups_of_sms_follow_their_number_in_proportion():
    """
    An H200 has groups of 8, 8, 16 (five times), 18 and 18 SMs; with half of its SMs they are half as large.

    With 4 SMs some would have none: then groups are not known, and neither are CPCs, which are counted by group.
    """
    half, four = load_machine("h200 with sms = 66"), load_machine("h200 with sms = 4")

    assert half.launch.units.sizes == (4, 4, 8, 8, 8, 8, 8, 9, 9)
    assert [record.key for record in half.figures if record.kind == "user"] == [
        "sms",
        "launch.units.ahead",
        "launch.units.others",
    ]
    assert (four.launch.units, four.launch.cpcs) == (None, None)


def test_groups_that_are_set_with_the_number_of_sms_are_taken_as_they_are():
    groups = "launch.units.ahead = 2, launch.units.others = [1, 1], launch.units.gpcs = [0, 1, 2]"

    assert load_machine(f"h200 with sms = 4, {groups}, launch.units.sides = [0, 0, 1]").launch.units.sizes == (2, 1, 1)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("h200 with sms = 0", "machine.sms must be an integer of 1 to 4096 (SMs), got 0"),
        ("t4 with shared.banks = 33", "machine.shared.banks must be a power of two of 1 to 1024 (banks), got 33"),
        ("t4 with l2.line_bytes = 64", "machine.l2.line_bytes must be 128, no other is simulated, got 64"),
        ("a100 with features.cp_async = 1", "machine.features.cp_async must be true or false, got 1"),
        (
            "a100 with instruction_cache.l1_bytes = 131072",
            (
                "machine.instruction_cache.l1_bytes cannot be set: one instruction cache of an SM is simulated,"
                " of l0_bytes"
            ),
        ),
        (
            "h200 with launch.units.others = 8",
            "machine.launch.units.others must be a list, each an integer of 1 to 4096 (SMs), got 8",
        ),
        ("h200 with sms = [66]", "machine.sms must be an integer of 1 to 4096 (SMs), got [66]"),
        ("h200 with smm = 66", 'unknown key "machine.smm", did you mean "machine.sms"?'),
        ("h200 with l2.byte = 66", 'unknown key "machine.l2.byte", did you mean "machine.l2.bytes"?'),
        ("h200 with Sms = 66", 'unknown key "machine.Sms", did you mean "machine.sms"?'),
        (
            "a100 with dram.banks.channels = 32",
            "machine.dram.banks.per_channel must be given, too: a100.toml has no dram.banks",
        ),
    ],
)
def test_a_change_that_is_not_allowed_is_refused_with_its_key_and_what_is(text, message):
    with pytest.raises(BadFigure) as refused:
        load_machine(text)

    assert str(refused.value) == message


def test_a_table_that_the_file_lacks_may_be_set_whole():
    busy = "dram.banks.channels = 32, dram.banks.per_channel = 16, dram.banks.busy_ns = 60"

    assert load_machine(f"a100 with {busy}").dram.banks.channels == 32
    assert load_machine("a100 with tensor.m16n8k16.f16.f32.beyond.percent = 7").tensor["m16n8k16.f16.f32"].beyond


def test_figures_that_contradict_each_other_are_refused():
    with pytest.raises(BadInput, match=r"^dram.latency_least, latency, .* must not fall, got .*, 20, "):
        load_machine("a100 with dram.latency_late = 20")


def test_a_machine_file_of_ones_own_may_be_changed_too(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(resources.files("gpusim.machine").joinpath("t4.toml").read_text(encoding="utf-8"))
    changed = load_machine(f"{path} with sms = 20")

    assert (changed.name, changed.sms) == ("mine with sms = 20", 20)
