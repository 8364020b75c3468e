"""Whatever a scenario says: it is refused in one line, or it is simulated, and executed with the right numbers."""

import re

from hypothesis import given, settings
from hypothesis import strategies as st

from gpusim.errors import BadInput
from gpusim.functional.draw import Draw
from gpusim.functional.problems import THREADBLOCK_SWIZZLES, TYPES, drawn_data
from gpusim.functional.verify import verify
from gpusim.machine import machine_names
from gpusim.scenario import parse_scenario
from gpusim.scenario_models import PIPELINED_STAGES
from gpusim.simulate import simulate
from gpusim.tile.extents import problem_extents

MOST_PRODUCTS = 1 << 23
"""Larger problems say nothing more and take seconds."""

extents = st.tuples(st.sampled_from([1, 2, 4, 8, 16, 32]), st.integers(1, 40)).map(lambda pair: pair[0] * pair[1])
taps = st.integers(1, 5)
pairs = st.lists(taps, min_size=2, max_size=2)
scales = st.sampled_from([0.0, -0.0, 1.0, -1.0, 0.5, 3.0, 1e-3, 1e3])
layouts = st.one_of(
    st.sampled_from(["crosswise", "congruous", "row_major"]),
    st.integers(0, 8).map(lambda vectors: f"padded<{4 * vectors}>"),
    st.tuples(st.integers(0, 4), st.integers(0, 7), st.integers(-6, 6)).map(
        lambda bits: "Swizzle<{},{},{}>".format(*bits)
    ),
)

OF_ANY_PROBLEM = {
    "split_k": st.sampled_from(["serial", "parallel"]),
    "split_k_slices": st.integers(1, 12),
    "alpha": scales,
    "beta": scales,
    "bias": st.booleans(),
    "activation": st.sampled_from(["identity", "relu"]),
    **{f"alignment_{operand}": st.sampled_from([1, 2, 4, 8, 16, 32]) for operand in "abc"},
}
OF_PROBLEM = {
    "gemm": {
        **dict.fromkeys(("m", "n", "k", "lda", "ldb", "ldc"), extents),
        **{f"layout_{operand}": st.sampled_from(["row", "column"]) for operand in "ab"},
    },
    "conv2d_fprop": {
        **dict.fromkeys("ck", extents),
        **dict.fromkeys("nhwpq", st.integers(1, 20)),
        **dict.fromkeys("rs", taps | st.integers(1, 40)),
        **dict.fromkeys(
            ("padding", "stride", "dilation"), pairs | st.lists(st.integers(0, 40), min_size=2, max_size=2)
        ),
        "mode": st.sampled_from(["cross_correlation", "convolution"]),
    },
}
OF_KERNEL = {
    "stages": st.integers(PIPELINED_STAGES, 10),
    "threadblock_swizzle": st.sampled_from(THREADBLOCK_SWIZZLES),
    "instruction": st.sampled_from(sorted({shape for _, _, shape in TYPES})).map(list),
    "shared": st.fixed_dictionaries({}, optional={"a": layouts, "b": layouts}),
    "iterator": st.sampled_from(["analytic", "optimized"]),
    "mainloop": st.sampled_from(["multistage", "pipelined"]),
}
WARPS = st.tuples(*[st.sampled_from([8, 16, 32, 48, 64, 96, 128])] * 2, st.sampled_from([8, 16, 32, 64, 128, 256]))


@st.composite
def scenario_files(draw):
    """A random problem on any machine, in which some values are others: often illegal, rarely by much."""
    data = drawn_data(Draw(lambda low, high: draw(st.integers(low, high))))
    data["machine"] = draw(st.sampled_from(machine_names()))
    problem, kernel = data["problem"], data["kernel"]
    for table, keys in ((problem, OF_ANY_PROBLEM | OF_PROBLEM[problem["kind"]]), (kernel, OF_KERNEL)):
        for key in draw(st.lists(st.sampled_from(sorted(keys)), max_size=3, unique=True)):
            table[key] = draw(keys[key])
    if draw(st.booleans()):
        m, n, k = kernel["warp"] = list(draw(WARPS))
        kernel["threadblock"] = [m * draw(st.integers(1, 4)), n * draw(st.integers(1, 4)), k]
    return data


def parsed(data):
    """The scenario; None where it is refused."""
    try:
        return parse_scenario(data, "drawn.toml")
    except BadInput as refused:
        message = str(refused)
    assert "\n" not in message
    assert message.endswith(")")
    return None


def simulated(scenario):
    """The result; None where the machine is known to lack a figure (D27) or room for one CTA's registers."""
    try:
        return simulate(scenario)[0]
    except BadInput as refused:
        message = str(refused)
    assert re.match(r"\w+: no figure for mma\.sync m\w+\.s4|a CTA must fit on an SM of ", message)
    assert "\n" not in message
    return None


def products(scenario):
    m, n, k = problem_extents(scenario)
    return m * n * k


@settings(max_examples=150)
@given(scenario_files())
def test_a_scenario_is_refused_in_one_line_or_simulated_and_right(data):
    scenario = parsed(data)
    if scenario is None or products(scenario) > MOST_PRODUCTS:
        return
    report = verify(scenario, 0)
    assert report.hazards == ()
    assert report.wrong_elements == 0
    result = simulated(scenario)
    assert result is None or result.cycles.elapsed > result.cycles.active > 0
