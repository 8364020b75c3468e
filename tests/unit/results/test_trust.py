"""How far a predicted time can be trusted: by the validated kernels most like it, and not at all without any."""

import json
from dataclasses import replace

import pytest

from gpusim.errors import BadInput
from gpusim.families.registry import load_scenario
from gpusim.machine import load_machine, machine_names
from gpusim.results import trust
from gpusim.results.result import load as read
from gpusim.results.result import to_json
from gpusim.results.trust import Trust, Validated, size_of, trust_line, trust_of, validated, validated_text
from gpusim.scenario.catalogue import find_scenario
from gpusim.verbs.simulate import simulate

SCENARIO = {"problem": {"kind": "gemm"}, "kernel": {"mainloop": "multistage"}}
H200 = {"name": "h200", "digest": load_machine("h200").digest()}
ROWS = (
    Validated("held-out", "compiled", "gemm", "below 1 wave", 20, 9.1, 18.4),
    Validated("held-out", "compiled", "gemm", "", 61, 8.2, 15.6),
    Validated("development", "compiled", "gemm", "1 to 3 waves", 40, 3.0),
    Validated("development", "compiled", "gemm, pipelined", "", 13, 5.3),
    Validated("development", "compiled", "gemm, pipelined", "below 1 wave", 4, 0.1),
    Validated("cutlass", "estimated", "", "", 99, 9.6, 20.4),
)


@pytest.fixture
def rows(monkeypatch):
    monkeypatch.setattr(trust, "validated", lambda machine: ROWS if machine == "h200" else ())


@pytest.mark.usefixtures("rows")
def test_kernels_of_its_kind_and_size_come_before_those_of_its_kind():
    assert trust_of(SCENARIO, H200, "compiled", 0.5) == Trust(9.1, ROWS[0])


@pytest.mark.usefixtures("rows")
def test_the_held_out_half_comes_before_the_development_half():
    """Of 1 to 3 waves, only the development half has a group; the held-out half has its kind."""
    assert trust_of(SCENARIO, H200, "compiled", 2.0) == Trust(8.2, ROWS[1])


@pytest.mark.usefixtures("rows")
def test_a_group_of_four_kernels_says_nothing():
    """The pipelined GEMM of its size stands on 4 kernels, that of any size on 13."""
    pipelined = SCENARIO | {"kernel": {"mainloop": "pipelined"}}

    assert trust_of(pipelined, H200, "compiled", 0.5) == Trust(5.3, ROWS[3])


@pytest.mark.usefixtures("rows")
def test_cutlasss_code_is_trusted_as_far_as_cutlasss_kernels():
    theirs = SCENARIO | {"kernel": {"mainloop": "multistage", "code": "cutlass"}}

    found = trust_of(theirs, H200, "estimated", 0.5)

    assert found == Trust(9.6, ROWS[5])
    assert trust_line(found, "h200") == (
        "mean error 10 %, one in ten is off by more than 20 %: 99 kernels of CUTLASS's"
    )


@pytest.mark.usefixtures("rows")
@pytest.mark.parametrize(
    ("scenario", "machine", "stream"),
    [
        (SCENARIO, {"name": "a100", "digest": load_machine("a100").digest()}, "compiled"),
        (SCENARIO, {"name": "h200", "digest": load_machine("h200 with l2.bytes = 1048576").digest()}, "compiled"),
        (SCENARIO, H200 | {"digest": "of other figures"}, "compiled"),
        (SCENARIO, {"name": "mine", "digest": H200["digest"]}, "compiled"),
        (SCENARIO, H200, "estimated"),
        (SCENARIO | {"problem": {"kind": "conv2d_dgrad"}}, H200, "compiled"),
    ],
    ids=[
        "no records",
        "a figure that the user has set",
        "figures of the user's",
        "machine of the user's",
        "stream",
        "kind",
    ],
)
def test_a_kernel_unlike_any_that_was_validated_is_not_trusted(scenario, machine, stream):
    assert trust_of(scenario, machine, stream, 0.5) is None


@pytest.mark.usefixtures("rows")
def test_machine_code_of_the_users_is_not_trusted():
    assert trust_of(SCENARIO, H200, "compiled", 0.5, own_code=True) is None


@pytest.mark.usefixtures("rows")
def test_the_line_beside_the_cycles():
    assert trust_line(Trust(8.2, ROWS[1]), "h200") == (
        "mean error 8 %, one in ten is off by more than 16 %: 61 held-out kernels like it"
    )
    small = replace(ROWS[1], elapsed_error_p90_percent=0.4)
    assert trust_line(Trust(0.2, small), "h200") == (
        "mean error 1 %, one in ten is off by more than 1 %: 61 held-out kernels like it"
    )
    assert trust_line(Trust(3.0, ROWS[2]), "h200") == "mean error 3 %: 40 development kernels like it"
    assert trust_line(None, "h200") == "fewer than 5 records of kernels like it: unvalidated"
    assert trust_line(None, "a100") == "no record of this machine: unvalidated"


def test_the_h200_alone_has_records():
    assert [name for name in machine_names() if validated(name)] == ["h200"]


def test_a_shipped_gemm_is_validated_on_held_out_kernels_and_its_result_is_read_back(tmp_path):
    result, _ = simulate(load_scenario(find_scenario("gemm_ragged")), stream="estimated")
    path = tmp_path / "result.json"
    path.write_text(to_json(result))

    assert result.trust is not None
    assert (result.trust.validated_on.half, result.trust.validated_on.kind) == ("held-out", "gemm")
    assert read(path) == result


def test_a_result_of_before_there_was_trust_is_read(tmp_path):
    result, _ = simulate(load_scenario(find_scenario("gemm_ragged")), stream="estimated")
    data = json.loads(to_json(result))
    del data["trust"]
    path = tmp_path / "result.json"
    path.write_text(json.dumps(data))

    assert read(path) == replace(result, trust=None)


def test_the_rows_of_a_file_are_in_one_order_whoever_wrote_them():
    assert validated_text(ROWS) == validated_text(ROWS[::-1])


@pytest.mark.parametrize(
    "text", ["", '{"schema": "gpusim.validated/0"}', '{"schema": "gpusim.validated/1", "rows": [1]}']
)
def test_a_damaged_file_is_refused(tmp_path, monkeypatch, text):
    (tmp_path / "h200.json").write_text(text)
    monkeypatch.setattr(trust, "VALIDATED", tmp_path)

    with pytest.raises(BadInput, match=r"h200\.json: "):
        validated.__wrapped__("h200")


def test_classes_of_size():
    assert [size_of(waves) for waves in (0.1, 1, 2.9, 3, 10)] == [
        "below 1 wave",
        "1 to 3 waves",
        "1 to 3 waves",
        "3 to 10 waves",
        "10 waves and more",
    ]
