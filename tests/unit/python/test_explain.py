"""``gpusim.explain`` takes what a program has at hand, and answers what the command prints."""

import pytest

import gpusim

SMALL = {"machine": "h200", "problem": {"kind": "gemm", "m": 256, "n": 256, "k": 256}}


@pytest.fixture(scope="module")
def run():
    return gpusim.simulate(SMALL, stream="estimated")


def test_explain_answers_what_the_command_line_prints(gpusim_json, tmp_path):
    path = tmp_path / "small.toml"
    path.write_text('machine = "h200"\n[problem]\nkind = "gemm"\nm = 256\nn = 256\nk = 256\n')

    assert gpusim.explain(path).to_dict() == gpusim_json("explain", path, "--json")


def test_a_run_is_explained_as_its_scenario(run, tmp_path):
    assert gpusim.explain(run).to_dict() == gpusim.explain(SMALL, stream="estimated").to_dict()
    with pytest.raises(gpusim.GpusimError, match=r"no such file"):
        gpusim.explain(tmp_path / "nothing.toml")
