"""The check of attention's ring slots: it knows each op of both GEMMs, and refuses any other by name."""

from dataclasses import replace

import pytest

from gpusim.families.attention.program.hazards import find_attention_hazards
from gpusim.families.attention.verify import cta_programs
from gpusim.families.registry import parse_scenario
from gpusim.schedule.ops import LoadShared

PROBLEM = {"kind": "attention", "batch": 1, "heads": 1, "queries": 64, "keys": 128, "head_dim": 64, "head_dim_v": 64}


@pytest.mark.parametrize("mainloop", ["attention", "flash"])
def test_an_op_that_is_not_of_a_gemm_is_refused_by_name(mainloop):
    scenario = parse_scenario({"machine": "h200", "problem": PROBLEM, "kernel": {"mainloop": mainloop}}, "unit")
    program, _ = cta_programs(scenario)[0]
    first = next(step for step in program if step.phase == "pv")
    assert find_attention_hazards(program, scenario) == ()

    with pytest.raises(TypeError) as refused:
        find_attention_hazards((*program, replace(first, op=LoadShared(0, 1))), scenario)
    assert str(refused.value) == (
        f"Step(phase='pv', key_block={first.key_block}, column_block=0, op=LoadShared(step=0, access=1))"
        " is no op of a GEMM whose ring slots are checked"
    )
