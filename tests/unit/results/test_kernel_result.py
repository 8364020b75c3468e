"""The answer about a kernel of one's own: totals, and a file that is read as it was written or refused."""

import json

import pytest
from problems.own_answers import MATH, STORE, own_answer

from gpusim.errors import BadInput
from gpusim.machine.load import load_machine, machine_names
from gpusim.results.kernel_result import is_kernel_result, load_kernel_result, ranked, trust_in_words, validation_of


def test_totals_are_sums_over_the_instructions():
    result = own_answer()

    assert (result.total("wavefronts"), result.total("sectors"), result.total("issues")) == (32, 64, 12)
    assert result.warp_cycles == 200
    assert (MATH.stalled, STORE.conflicts) == (160, 28)


def test_reasons_without_cycles_are_left_out_and_equal_ones_sorted_by_name():
    assert list(ranked({"wait": 3, "drain": 3, "barrier": 0, "membar": 5})) == ["membar", "drain", "wait"]


def test_the_machine_that_was_measured_is_validated_alone():
    words = {name: validation_of(name, load_machine(name).digest()) for name in machine_names()}

    assert {name for name, one in words.items() if one != "unvalidated"} <= {"h200"}


def test_figures_of_the_users_own_are_not_validated():
    assert validation_of("h200", "another") == "unvalidated"


def test_a_validation_is_said_as_it_is_and_its_lack_explained():
    assert trust_in_words("unvalidated").startswith("unvalidated: no time of an own kernel")
    assert trust_in_words("off by 9 % on held-out kernels") == "off by 9 % on held-out kernels"


def test_a_file_is_read_as_it_was_written(tmp_path):
    path = tmp_path / "result.json"
    path.write_text(json.dumps(own_answer().to_dict()))

    assert is_kernel_result(path)
    assert load_kernel_result(path) == own_answer()
    assert hash(load_kernel_result(path)) == hash(own_answer())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"schema": "gpusim.result/1"}, "not a readable answer about a kernel of your own (schema 'gpusim.kernel/1')"),
        ({"ctas": "4"}, "damaged: ctas: Input should be a valid integer"),
        ({"more": 4}, "damaged: more: Unexpected keyword argument"),
    ],
)
def test_another_file_is_refused(tmp_path, change, message):
    path = tmp_path / "result.json"
    path.write_text(json.dumps(own_answer().to_dict() | change))

    with pytest.raises(BadInput) as refused:
        load_kernel_result(path)

    assert str(refused.value) == f"{path}: {message}"
