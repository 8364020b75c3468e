"""``gpusim compare`` of kernels of one's own: by scenario, by run, with settings, and with what is no kernel."""

import json

import pytest

pytestmark = pytest.mark.usefixtures("folder_of_kernels")


def test_two_scenarios_are_compared_with_the_cause(gpusim):
    out = gpusim("compare", "transpose_tile.toml", "transpose_padded.toml").out

    assert "wavefronts in shared memory" in out
    assert "transpose_padded takes 0." in out.splitlines()[-4]
    assert out.splitlines()[-1] == "  wavefronts in shared memory: 256 for 4,224"


def test_a_run_is_a_side(gpusim):
    gpusim("run", "transpose_tile.toml", "--out", "run")

    found = json.loads(gpusim("compare", "run", "transpose_padded.toml", "--json").out)

    assert [side["kind"] for side in found["sides"]] == ["kernel", "kernel"]
    assert [side["name"] for side in found["sides"]] == ["run", "transpose_padded"]


def test_settings_make_a_second_side(gpusim):
    out = gpusim("compare", "transpose_tile.toml", "--set", "machine.sms=1").out

    assert "a100 with sms = 1" in out
    assert "machine.sms=1 takes " in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("transpose_tile.toml", "gemm_ragged"), "gemm_ragged is no kernel of your own, and is not compared with one"),
        (("transpose_tile.toml",), "a comparison needs two sides, or one and --set KEY=VALUE, which makes the second"),
        (
            ("transpose_tile.toml", "transpose_padded.toml", "--set", "grid=3"),
            "--set makes the second side of one scenario",
        ),
        (
            ("transpose_tile.toml", "transpose_padded.toml", "--png", "a.png"),
            "--png draws runs of scenarios that gpusim schedules, not of a kernel of your own",
        ),
    ],
)
def test_other_sides_are_refused(gpusim, arguments, message):
    answer = gpusim("compare", *arguments)

    assert answer.code == 2
    assert answer.err.splitlines()[-1] == f"gpusim: {message}"
