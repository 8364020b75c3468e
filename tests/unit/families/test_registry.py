"""The families there are, as the schema of a scenario file lists them."""

import pytest

from gpusim.errors import BadInput
from gpusim.families.attention.problem import AttentionProblem
from gpusim.families.gemm.gemm import GemmProblem
from gpusim.families.registry import kinds, parse_gemm_scenario, scenario_schema


def test_the_schema_lists_every_key_of_every_kind():
    found = scenario_schema()["$defs"]

    assert set(found) == {kind.name for kind in kinds()} >= {"gemm", "conv2d_fprop", "attention"}
    for name, model in (("gemm", GemmProblem), ("attention", AttentionProblem)):
        tables = found[name]["properties"]
        assert set(tables) == {"machine", "problem", "kernel"}
        assert set(tables["problem"]["properties"]) == set(model.model_fields)
        assert found[name]["additionalProperties"] is tables["problem"]["additionalProperties"] is False
    assert {"kind", "m", "n", "k"} == set(found["gemm"]["properties"]["problem"]["required"])


@pytest.mark.parametrize("kind", [["gemm"], {"a": 1}], ids=["list", "table"])
def test_a_kind_that_is_no_text_is_refused_in_one_line(kind):
    with pytest.raises(BadInput, match=r'^kind must be "gemm"'):
        parse_gemm_scenario({"machine": "h200", "problem": {"kind": kind}}, "test")
