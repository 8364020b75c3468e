"""The halves of the validation: the frozen list agrees with the rule, and neighbours are in one half."""

from collections import Counter
from copy import deepcopy

import pytest
from problems.recordable import recordable

from gpusim.errors import BadInput
from gpusim.records.halves import configuration_digest, half_by_rule, halves_file, load_halves
from gpusim.records.record import load_record, measured_folder
from gpusim.scenario.catalogue import validation_scenarios

FOLDER = measured_folder() / "h200"
HALVES = load_halves()
SCENARIOS = {name: scenario.resolved() for name, scenario in recordable().items()}


def seen_digests():
    return {configuration_digest(load_record(FOLDER / f"{name}.json").scenario) for name in HALVES.seen}


def test_every_record_and_every_recordable_scenario_stands_in_the_list():
    listed = HALVES.seen | HALVES.development | HALVES.held_out

    assert {path.stem for path in FOLDER.glob("*.json")} <= listed
    assert listed == SCENARIOS.keys()


def test_the_list_is_what_the_rule_says_of_every_scenario_that_was_not_seen():
    seen = seen_digests()
    by_rule = {name: half_by_rule(SCENARIOS[name], seen) for name in HALVES.development | HALVES.held_out}

    assert {name for name, half in by_rule.items() if half == "held-out"} == HALVES.held_out


def test_what_was_seen_before_there_were_halves_is_development():
    assert len(HALVES.seen) == 190
    assert {HALVES.half(name) for name in HALVES.seen} == {"development"}
    assert HALVES.seen.isdisjoint(path.stem for path in validation_scenarios())


def test_no_configuration_is_in_both_halves():
    digests = {
        half: {configuration_digest(scenario) for name, scenario in SCENARIOS.items() if HALVES.half(name) == half}
        for half in ("development", "held-out")
    }

    assert digests["development"].isdisjoint(digests["held-out"])


def test_at_least_sixty_new_records_are_held_out_and_they_are_of_every_kind():
    kinds = Counter(SCENARIOS[name]["problem"]["kind"] for name in HALVES.held_out)

    assert kinds.total() >= 60
    assert kinds.keys() == {"gemm", "conv2d_fprop", "conv2d_dgrad", "attention"}


@pytest.mark.parametrize(
    ("table", "key", "value"),
    [
        *(("problem", "m", 64), ("problem", "k", 64), ("problem", "lda", 4096), ("problem", "split_k_slices", 5)),
        *(("problem", "beta", 1.0), ("problem", "bias", True), ("kernel", "threadblock_swizzle", "identity<8>")),
    ],
)
def test_extents_epilogue_and_order_of_ctas_are_not_of_the_configuration(table, key, value):
    one = deepcopy(SCENARIOS["gemm_split_k"])
    one[table][key] = value

    assert configuration_digest(one) == configuration_digest(SCENARIOS["gemm_split_k"])


@pytest.mark.parametrize(
    ("table", "key", "value"),
    [
        *(("kernel", "stages", 4), ("kernel", "threadblock", [128, 128, 32]), ("problem", "split_k_slices", 1)),
        *(("problem", "split_k", "parallel"), ("problem", "layout_b", "row"), ("machine", None, "a100")),
    ],
)
def test_kernel_layouts_machine_and_mode_of_split_k_are_of_the_configuration(table, key, value):
    one = deepcopy(SCENARIOS["gemm_split_k"])
    if key is None:
        one[table] = value
    else:
        one[table][key] = value

    assert configuration_digest(one) != configuration_digest(SCENARIOS["gemm_split_k"])


def test_a_seen_configuration_is_development_whatever_its_digest():
    held_out = next(SCENARIOS[name] for name in sorted(HALVES.held_out))

    assert half_by_rule(held_out, ()) == "held-out"
    assert half_by_rule(held_out, [configuration_digest(held_out)]) == "development"


def test_a_record_in_no_half_is_named():
    with pytest.raises(BadInput, match=r"^gemm_7: stands in no half of "):
        HALVES.half("gemm_7")


def test_a_list_that_is_missing_or_names_a_record_twice_is_refused(tmp_path):
    twice = tmp_path / "halves.toml"
    twice.write_text('seen = ["a"]\ndevelopment = []\nheld_out = ["a"]\n')

    with pytest.raises(BadInput, match=r"stand in it twice: a$"):
        load_halves(twice)
    with pytest.raises(BadInput, match="not a readable list of halves"):
        load_halves(tmp_path / "none.toml")
    assert halves_file().is_file()
