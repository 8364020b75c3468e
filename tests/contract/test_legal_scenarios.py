"""Whatever a scenario says: it is refused in one line, or it is simulated, and executed with the right numbers."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from problems.draw import Draw
from problems.gemm import THREADBLOCK_SWIZZLES, TYPES, drawn_data

from gpusim.errors import BadInput
from gpusim.families.registry import parse_scenario
from gpusim.machine import machine_names
from gpusim.scenario.kernel import PIPELINED_STAGES
from gpusim.verbs.simulate import simulate
from gpusim.verbs.verify import verify

MOST_PRODUCTS = 1 << 23
"""Larger problems say nothing more and take seconds."""

extents = st.tuples(st.sampled_from([1, 2, 4, 8, 16, 32]), st.integers(1, 40)).map(lambda pair: pair[0] * pair[1])
leading = extents.map(lambda extent: 2048 + extent)
taps = st.integers(1, 5)
pairs = st.lists(taps, min_size=2, max_size=2)
sides = st.sampled_from([8, 16, 32, 48, 64, 96, 128])
scales = st.sampled_from([0.0, -0.0, 1.0, -1.0, 0.5, 3.0, 1e-3, 1e3])
layouts = st.one_of(
    st.sampled_from(["crosswise", "congruous", "row_major"]),
    st.integers(0, 8).map(lambda vectors: f"padded<{4 * vectors}>"),
    st.tuples(st.integers(0, 4), st.integers(0, 7), st.integers(-6, 6)).map(
        lambda bits: "Swizzle<{},{},{}>".format(*bits)
    ),
)


def tiles(warp, depth, counts):
    """Threadblock and warp of a warp's M and N, their K, and the warps along M and N."""
    (m, n), (along_m, along_n) = warp, counts
    return {"warp": [m, n, depth], "threadblock": [m * along_m, n * along_n, depth]}


def keys(names, values):
    """One of some keys, and a value."""
    return st.tuples(st.sampled_from(names), values).map(lambda item: dict([item]))


OF_ANY_PROBLEM = [
    st.tuples(st.sampled_from(["serial", "parallel"]), st.integers(1, 12)).map(
        lambda split: {"split_k": split[0], "split_k_slices": split[1]}
    ),
    keys(["alpha", "beta"], scales),
    keys(["bias"], st.booleans()),
    keys(["activation"], st.sampled_from(["identity", "relu"])),
    keys(["alignment_a", "alignment_b", "alignment_c"], st.sampled_from([1, 2, 4, 8, 16, 32])),
]
OF_PROBLEM = {
    "gemm": [
        keys(["m", "n", "k"], extents),
        keys(["lda", "ldb", "ldc"], leading),
        keys(["layout_a", "layout_b"], st.sampled_from(["row", "column"])),
    ],
    "conv2d_fprop": [
        keys(["c", "k"], extents),
        keys(["n", "h", "w", "p", "q"], st.integers(1, 20)),
        keys(["r", "s"], taps | st.integers(1, 40)),
        keys(["padding", "stride", "dilation"], pairs | st.lists(st.integers(0, 40), min_size=2, max_size=2)),
        keys(["mode"], st.sampled_from(["cross_correlation", "convolution"])),
    ],
}
OF_KERNEL = [
    st.just({"mainloop": "pipelined", "stages": PIPELINED_STAGES}),
    st.integers(PIPELINED_STAGES, 10).map(lambda stages: {"mainloop": "multistage", "stages": stages}),
    keys(["threadblock_swizzle"], st.sampled_from(THREADBLOCK_SWIZZLES)),
    keys(["instruction"], st.sampled_from(sorted({shape for _, _, shape in TYPES})).map(list)),
    keys(["shared"], st.fixed_dictionaries({}, optional={"a": layouts, "b": layouts})),
    keys(["iterator"], st.sampled_from(["analytic", "optimized"])),
    st.builds(
        tiles, st.tuples(sides, sides), st.sampled_from([8, 16, 32, 64, 128, 256]), st.tuples(st.integers(1, 4), taps)
    ),
]


@st.composite
def scenario_files(draw):
    """A random problem, perhaps on another machine, in which some values are others: often illegal, rarely by much."""
    data = drawn_data(Draw(lambda low, high: draw(st.integers(low, high))))
    data["machine"] = draw(st.just(data["machine"]) | st.sampled_from(machine_names()))
    for change in draw(st.lists(st.one_of(OF_ANY_PROBLEM + OF_PROBLEM[data["problem"]["kind"]]), max_size=3)):
        data["problem"] |= change
    for change in draw(st.lists(st.one_of(OF_KERNEL), max_size=3)):
        data["kernel"] |= change
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
    m, n, k = scenario.problem.extents
    return m * n * k


@pytest.mark.slow
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
