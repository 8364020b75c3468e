"""The families there are, as the schema of a scenario file lists them."""

import pytest

from gpusim.errors import BadInput
from gpusim.families.attention.problem import AttentionProblem
from gpusim.families.gemm.gemm import GemmProblem
from gpusim.families.registry import kinds, parse_gemm_scenario, scenario_schema


def test_the_schema_lists_every_key_and_what_works_today():
    schema = scenario_schema()
    kernel, problem = schema["$defs"]["Kernel"], schema["$defs"]["GemmProblem"]

    assert schema["additionalProperties"] is False
    assert kernel["properties"]["mainloop"]["supported"] == ["multistage", "pipelined"]
    assert set(problem["properties"]) == set(GemmProblem.model_fields)
    assert {"m", "n", "k"} <= set(problem["required"])
    assert set(schema["properties"]) == {"machine", "problem", "kernel"}
    assert set(schema["$defs"]["AttentionProblem"]["properties"]) == set(AttentionProblem.model_fields)
    mapping = schema["properties"]["problem"]["discriminator"]["mapping"]
    assert set(mapping) == {kind.name for kind in kinds()} >= {"gemm", "conv2d_fprop", "attention"}


@pytest.mark.parametrize("kind", [["gemm"], {"a": 1}], ids=["list", "table"])
def test_a_kind_that_is_no_text_is_refused_in_one_line(kind):
    with pytest.raises(BadInput, match=r'^kind must be "gemm"'):
        parse_gemm_scenario({"machine": "h200", "problem": {"kind": kind}}, "test")
