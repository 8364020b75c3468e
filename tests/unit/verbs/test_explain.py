"""An explanation: its shares sum, its verdict names what is wrong by construction, its what-ifs are simulations."""

import json

import pytest
from doubles.by_hand import quiet
from slow import one_in

from gpusim.errors import BadInput
from gpusim.families.registry import load_scenario, parse_scenario
from gpusim.machine import load_machine
from gpusim.scenario.catalogue import find_scenario
from gpusim.sim.figures import figures_of
from gpusim.verbs.explain import explain
from gpusim.verbs.explanation.changes import INFINITE_L2, NO_LAUNCH, PERFECT_OVERLAP
from gpusim.verbs.explanation.losses import IDLE_SMS, PADDING, TAIL
from gpusim.verbs.simulate import simulate

TILE = {"threadblock": [128, 128, 32], "warp": [64, 64, 32], "stages": 3}
TYPES = {"ab": "f16", "accumulator": "f32", "output": "f16"}


def gemm(m, n, k, **kernel):
    problem = {"kind": "gemm", "m": m, "n": n, "k": k, "dtype": TYPES}
    return parse_scenario({"machine": "h200", "problem": problem, "kernel": TILE | kernel}, "test")


def explained(scenario):
    return explain(scenario, stream="estimated", exact=True)


@pytest.fixture(scope="module")
def few_ctas():
    """32 CTAs for 132 SMs."""
    return explained(gemm(1024, 512, 512))


@pytest.fixture(scope="module")
def row_major():
    return explained(gemm(1024, 1024, 256, shared={"a": "row_major", "b": "row_major"}))


SCENARIOS = {
    "few CTAs": gemm(512, 256, 256),
    "ragged": gemm(700, 900, 200),
    "133 CTAs on 132 SMs": gemm(19 * 128, 7 * 128, 64),
    "row-major": gemm(256, 256, 256, shared={"a": "row_major", "b": "row_major"}),
    "parallel split-K": parse_scenario(
        {
            "machine": "h200",
            "problem": {
                "kind": "gemm", "m": 256, "n": 256, "k": 1024, "split_k_slices": 4, "split_k": "parallel",
                "dtype": TYPES,
            },
            "kernel": TILE,
        },
        "test",
    ),
}  # fmt: skip


@pytest.mark.parametrize("scenario", one_in(3, SCENARIOS.values()), ids=SCENARIOS.keys())
def test_losses_and_useful_multiplications_sum_to_100_percent(scenario):
    shares = explained(scenario).budget

    assert sum(one.percent for one in shares.losses) + shares.useful == pytest.approx(100, abs=1e-9)
    assert all(one.percent >= 0 for one in shares.losses)
    assert 0 < shares.useful < 100


def test_the_useful_share_is_the_product_over_what_all_tensor_cores_could_do():
    """2 m n k operations over 4096 of an mma.sync, 6 cycles each, on 4 tensor cores of 132 SMs."""
    scenario = gemm(1024, 512, 512)
    cycles = simulate(scenario, stream="estimated", exact=True)[0].cycles.elapsed

    instructions = 2 * 1024 * 512 * 512 / (2 * 16 * 8 * 16)

    assert explained(scenario).budget.useful == pytest.approx(100 * instructions * 6 / 4 / (132 * cycles))


def test_32_ctas_on_132_sms_leave_most_idle(few_ctas):
    assert few_ctas.verdict.startswith("Most SMs idle: 32 CTAs on 132 SMs leave 100 without work")
    assert few_ctas.budget.of(IDLE_SMS) == pytest.approx(100 * 100 / 132)
    assert few_ctas.sentences[0].startswith("32 of 132 SMs have a CTA; 75.8 %")


def test_slices_of_k_that_give_idle_smss_work_are_simulated(few_ctas):
    (sliced,) = [one for one in few_ctas.what_if if one.settings.get("problem.split_k_slices") == 2]
    problem = {"kind": "gemm", "m": 1024, "n": 512, "k": 512, "split_k_slices": 2, "dtype": TYPES}
    scenario = parse_scenario({"machine": "h200", "problem": problem, "kernel": TILE}, "test")

    assert sliced.cycles == simulate(scenario, stream="estimated", exact=True)[0].cycles.elapsed


def test_32_filters_in_a_tile_of_128_are_three_quarters_padding():
    problem = {
        "kind": "conv2d_fprop", "n": 1, "h": 96, "w": 176, "c": 32, "k": 32, "r": 1, "s": 1, "padding": [0, 0],
        "dtype": TYPES,
    }  # fmt: skip
    found = explained(parse_scenario({"machine": "h200", "problem": problem, "kernel": TILE}, "test"))

    assert found.budget.tile_efficiency == 0.25
    assert "75 % of the multiplications are padding of the tile" in found.verdict
    assert found.budget.of(PADDING) == pytest.approx(3 * found.budget.useful)
    assert any("N 32 in tiles of 128" in one for one in found.sentences)


@pytest.mark.slow
def test_133_ctas_on_132_sms_have_a_tail_that_an_even_grid_has_not():
    found = explained(gemm(19 * 128, 7 * 128, 2048))
    (even,) = [one for one in found.what_if if one.change.startswith("all SMs busy to the end")]

    assert found.result.ctas == 133
    assert found.budget.of(TAIL) > 5
    assert 0 < even.gain_percent < found.budget.of(TAIL)


def test_row_major_tiles_lose_their_time_to_bank_conflicts(row_major):
    idle, *others = row_major.budget.losses
    assert idle.what == IDLE_SMS
    assert max(others, key=lambda one: one.percent).what == "bank conflicts"
    assert row_major.what_if[0].change == "no bank conflicts"
    assert row_major.what_if[0].gain_percent > 15


def test_no_conflicts_is_what_a_layout_without_conflicts_takes(row_major):
    """The crosswise layout has none, so that both simulations have the same wavefronts in the same order."""
    crosswise = simulate(gemm(1024, 1024, 256), stream="estimated", exact=True)[0]

    assert row_major.what_if[0].cycles == crosswise.cycles.elapsed


def test_a_row_of_32_halves_is_shared_by_the_banks_of_two(row_major):
    """Rows of 64 bytes: lanes 0, 2, 4, 6 of an 8x8 matrix begin at multiples of 128 bytes, so that they share banks."""
    (one,) = [one for one in row_major.conflicts if (one.op, one.operand) == ("ldmatrix", "a")]

    assert (one.phase, one.ways) == (0, 4)
    assert (one.lanes, one.addresses) == ((0, 2, 4, 6), (0, 128, 256, 384))
    assert one.banks == tuple(range(4)) + tuple(range(16, 20))


def test_fixes_are_the_cheapest_layouts_without_a_conflict(row_major):
    (one,) = [one for one in row_major.conflicts if (one.op, one.operand) == ("ldmatrix", "b")]

    assert [fix.conflicts for fix in one.fixes] == [0] * len(one.fixes)
    assert one.fixes[0].shared_bytes == 0
    assert [fix.shared_bytes for fix in one.fixes] == sorted(fix.shared_bytes for fix in one.fixes)
    shared = {"a": "row_major", "b": one.fixes[0].setting.split('"')[1]}
    fixed = simulate(gemm(1024, 1024, 256, shared=shared), stream="estimated")[0]
    assert sum(row.conflicts for row in fixed.bank_conflicts if row.operand == "b") == 0


def test_conflicts_have_an_exact_counter_and_copies_an_artefact(row_major):
    counters = {one.metric: one for one in row_major.counters}
    exact = counters["sm__sass_l1tex_data_bank_conflicts_pipe_lsu_mem_shared_op_ldsm.sum"]
    conflicts = sum(row.conflicts for row in row_major.result.bank_conflicts if row.op == "ldmatrix")

    assert (exact.value, exact.kind) == (conflicts, "exact")
    assert counters["l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ldgsts.sum"].kind == "artefact"


def test_a_result_is_explained_as_its_scenario():
    scenario = gemm(256, 256, 128)
    result, _ = simulate(scenario, stream="estimated", exact=True)

    assert explain(result).to_dict() == explained(scenario).to_dict()


def test_a_kernel_of_two_stages_has_no_stage_more_and_says_why():
    found = explained(gemm(256, 256, 128, mainloop="pipelined", stages=2))
    (refused,) = [one for one in found.what_if if one.change == "one stage more: 3"]

    assert refused.cycles is None
    assert "stages" in refused.refused


def test_a_run_of_a_users_machine_code_is_refused():
    result, _ = simulate(gemm(256, 256, 128), stream="estimated")
    result.provenance["cubin"] = {}

    with pytest.raises(BadInput, match="--cubin cannot be explained"):
        explain(result)


@pytest.mark.slow
def test_attention_is_explained_too():
    found = explained(load_scenario(find_scenario("flash_ragged_bottom_right")))

    assert sum(one.percent for one in found.budget.losses) + found.budget.useful == pytest.approx(100)
    assert json.loads(json.dumps(found.to_dict()))["verdict"] == found.verdict


@pytest.mark.parametrize("change", [INFINITE_L2, PERFECT_OVERLAP], ids=["infinite L2", "perfect overlap"])
def test_where_the_l2_has_all_no_line_crosses_the_chip_or_comes_from_dram(change):
    """The first reads of lines at home on either side, and late or not, take what hits of that machine take."""
    machine = change.machine(load_machine("h200"))
    chip = quiet(figures=figures_of(machine, 0, busy=False), sms=4)
    begins = [(sm, line, 10_000 * line) for line in range(8) for sm in (0, 2)]
    taken = [chip.fill(sm, chip.l2.used(line), 15, 1000 * at, at) - at for sm, line, at in begins]

    assert max(taken) <= machine.l2.far_latency + max(machine.l2.reach.about_mean)


@pytest.mark.parametrize("machine", ["h200", "h100_sxm", "a100"])
@pytest.mark.parametrize("change", [INFINITE_L2, PERFECT_OVERLAP], ids=["infinite L2", "perfect overlap"])
def test_a_changed_machine_has_no_figure_below_nothing_while_tensor_cores_slow_its_clock(machine, change):
    """And what misses, where all is in the L2, takes no less than what hits."""
    figures = figures_of(change.machine(load_machine(machine)), 0, busy=True)

    named = figures._asdict()
    assert min(figure for name, figure in named.items() if isinstance(figure, int) and name != "home_bits") >= 0
    if machine == "h200":
        assert figures.dram_latency >= figures.l2_near


def test_without_its_overhead_a_launch_takes_only_what_clocks_are_apart():
    launch = NO_LAUNCH.machine(load_machine("h200")).launch

    assert (launch.overhead, launch.gpc_clocks.more(132, 0)) == (0, 0)
    assert launch.gpc_clocks.more(132, 40_000) == load_machine("h200").launch.gpc_clocks.apart[-1]
