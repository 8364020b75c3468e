"""Whatever an attention scenario says: it is refused in one line, or it is executed with the right numbers."""

import math

from hypothesis import given, settings
from hypothesis import strategies as st

from gpusim.errors import BadInput
from gpusim.families.attention.schedule import FusedKernel
from gpusim.families.attention.tile.shape import attention_shape
from gpusim.families.registry import parse_scenario
from gpusim.schedule.addresses import Selection, block_of, stream, stream_names
from gpusim.schedule.events import events
from gpusim.verbs.verify import verify

heads = st.sampled_from([8, 16, 24, 32, 40, 64, 72, 96, 128, 136, 200, 256, 60, 264])
lengths = st.lists(st.integers(0, 120), min_size=1, max_size=2)
legal_heads = heads.filter(lambda width: width % 8 == 0 and width <= 256)

problems = st.fixed_dictionaries(
    {
        "kind": st.just("attention"),
        "batch": st.integers(1, 2),
        "heads": st.integers(1, 2),
        "queries": st.integers(1, 150),
        "keys": st.integers(1, 200),
        "head_dim": st.one_of(legal_heads, heads),
        "head_dim_v": st.one_of(legal_heads, heads),
    },
    optional={
        "mask": st.sampled_from(["none", "causal_top_left", "causal_bottom_right"]),
        "query_lengths": lengths,
        "key_lengths": lengths,
        "scale": st.sampled_from([0.0, 1.0, -0.5, 1e-3, 4.0, 64.0]),
        "dtype": st.fixed_dictionaries(
            {},
            optional={"ab": st.sampled_from(["f16", "bf16"]), "output": st.sampled_from(["f16", "bf16", "f32"])},
        ),
    },
)
kernels = st.fixed_dictionaries(
    {"mainloop": st.sampled_from(["attention", "flash"])},
    optional={
        "queries_per_block": st.sampled_from([32, 64, 128]),
        "keys_per_block": st.sampled_from([64, 128]),
        "stages": st.integers(1, 11),
        "preload_v": st.booleans(),
        "keep_output_in_registers": st.booleans(),
        "instruction": st.sampled_from([[16, 8, 8], [16, 8, 16]]),
    },
)


def stages_over_keys(scenario):
    """Whether accumulators are staged where the next keys are copied to: they race (docs/attention.md, Known race)."""
    shape = attention_shape(scenario)
    end = shape.operand_base["k"] + shape.operand_bytes["k"]
    return not scenario.flash and not shape.in_registers and shape.staging_base < end


def read(data):
    """The scenario, or None and why not."""
    try:
        return parse_scenario(data, "drawn"), ""
    except BadInput as refused:
        return None, str(refused)


@settings(max_examples=150)
@given(problem=problems, kernel=kernels, seed=st.integers(0, 1000), cta=st.integers(0, 1 << 20))
def test_it_is_refused_in_one_line_or_right(problem, kernel, seed, cta):
    data = {"machine": "h200", "problem": problem, "kernel": kernel}
    scenario, refusal = read(data)
    assert "\n" not in refusal
    if scenario is None:
        return
    report = verify(scenario, seed)
    assert report.hazards == () or stages_over_keys(scenario)
    assert {(hazard["name"], hazard["operand"]) for hazard in report.hazards} <= {("unordered_accesses", "accumulator")}
    assert report.wrong_elements == 0
    assert report.second.wrong == 0
    kernel = FusedKernel(scenario)
    width, height, _ = kernel.grid
    active = [block for block in range(math.prod(kernel.grid)) if not kernel.missing_work(block)]
    if active:
        block = active[cta % len(active)]
        x, y, z = block % width, block // width % height, block // (width * height)
        for name in stream_names(kernel):
            stream(kernel, name, (x, y, z), Selection(threads=[0, 77]))
        listed = events(kernel, block_of(kernel, (x, y, z)), 77)
        assert bool(listed) == (not scenario.flash or ["commit"] in listed)
