"""CUTLASS's committed rows: each is a scenario of its configuration with the counters that were measured."""

import pytest

from gpusim.errors import CannotRun
from gpusim.lab.validation.cutlass import committed_rows, cutlass_rows, problem_of
from gpusim.lab.validation.observe import observe

ROWS = {one.name: one for one in cutlass_rows(committed_rows(), 132)}


def test_all_58_launches_are_there_with_names_of_their_own():
    kinds = [one.scenario["problem"]["kind"] for one in ROWS.values()]

    assert [kinds.count(kind) for kind in ("gemm", "conv2d_fprop", "attention")] == [28, 21, 9]
    assert all(one.counters["sm__cycles_elapsed.max"] > 0 for one in ROWS.values())


def test_a_fused_attention_issues_m16n8k8_in_blocks_of_its_own():
    causal = [one.scenario for name, one in ROWS.items() if name.endswith(" causal")]

    assert causal
    assert {one["problem"]["mask"] for one in causal} == {"causal_top_left"}
    assert {tuple(one["kernel"]["instruction"]) for one in causal} == {(16, 8, 8)}


def test_all_are_of_cutlass_s_code():
    assert {one.scenario["kernel"]["code"] for one in ROWS.values()} == {"cutlass"}


def test_tiles_of_one_gemm_are_of_one_problem():
    problems = [problem_of(one) for one in ROWS.values() if one.scenario["problem"].get("m") == 4096]

    assert len(problems) > len(set(problems))


@pytest.mark.slow
def test_a_fused_attention_is_simulated_though_no_kernel_of_ours_issues_its_instruction():
    smallest = min(
        (one for one in ROWS.values() if one.scenario["problem"]["kind"] == "attention"),
        key=lambda one: one.counters["sm__cycles_elapsed.max"],
    )

    (found,) = observe([smallest], ["estimated"], exact=False, jobs=1, say=print)

    assert found.figures["elapsed"].measured == smallest.counters["sm__cycles_elapsed.max"]
    assert found.figures["elapsed"].simulated > 0


def test_a_file_without_rows_is_refused(tmp_path):
    path = tmp_path / "rows.json"
    path.write_text("{}")

    with pytest.raises(CannotRun, match=r"rows\.json: no measured rows \('rows'\)$"):
        cutlass_rows([path], 132)
