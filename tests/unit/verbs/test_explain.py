"""An explanation: its shares sum, its verdict names what is wrong by construction, its what-ifs are simulations."""

import json

import pytest
from doubles.by_hand import quiet
from slow import one_in

from gpusim.errors import BadInput
from gpusim.families.registry import family_of, load_scenario, parse_scenario
from gpusim.machine import load_machine
from gpusim.scenario.catalogue import find_scenario
from gpusim.schedule.counts import count
from gpusim.sim.core.constants import BAR, SHARED
from gpusim.sim.figures import figures_of
from gpusim.verbs.explain import explain
from gpusim.verbs.explanation.changes import (
    FROM_REGISTERS,
    INFINITE_L2,
    NO_LAUNCH,
    PERFECT_OVERLAP,
    STORES_AT_ONCE,
    changed,
)
from gpusim.verbs.explanation.conflicts import collisions
from gpusim.verbs.explanation.losses import IDLE_SMS, PADDING, STAGING, STORES, TAIL
from gpusim.verbs.explanation.schedules import BEST_KEPT
from gpusim.verbs.simulate import simulate, simulate_launches, simulated

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


def test_the_useful_share_is_the_product_over_what_all_tensor_cores_could_do(few_ctas):
    """2 m n k operations over 4096 of an mma.sync, 6 cycles each, on 4 tensor cores of 132 SMs."""
    cycles = simulate(gemm(1024, 512, 512), stream="estimated", exact=True)[0].cycles.elapsed

    instructions = 2 * 1024 * 512 * 512 / (2 * 16 * 8 * 16)

    assert few_ctas.budget.useful == pytest.approx(100 * instructions * 6 / 4 / (132 * cycles))


def test_32_ctas_on_132_sms_leave_most_idle(few_ctas):
    assert few_ctas.verdict.startswith("Most SMs idle: 32 CTAs on 132 SMs leave 100 without work")
    assert few_ctas.budget.of(IDLE_SMS) == pytest.approx(100 * 100 / 132)
    assert few_ctas.sentences[0].startswith("32 of 132 SMs have a CTA; 75.8 %")


@pytest.mark.parametrize("kind", ["serial", "parallel"])
def test_slices_of_k_that_give_idle_sms_work_are_simulated(few_ctas, kind):
    sliced = [one for one in few_ctas.what_if if one.settings.get("problem.split_k") == kind]
    assert len(sliced) == BEST_KEPT

    for one in sliced:
        problem = {"kind": "gemm", "m": 1024, "n": 512, "k": 512, "split_k": kind, "dtype": TYPES}
        problem["split_k_slices"] = one.settings["problem.split_k_slices"]
        scenario = parse_scenario({"machine": "h200", "problem": problem, "kernel": TILE}, "test")
        assert one.cycles == simulate(scenario, stream="estimated", exact=True)[0].cycles.elapsed


def of_one_tile(slices=1, split_k="serial", **problem):
    """One CTA on an RTX 3090, whose K of 4,096 is 128 k tiles."""
    shape = {"kind": "gemm", "m": 64, "n": 64, "k": 4096, "dtype": TYPES}
    split = {"split_k_slices": slices, "split_k": split_k} if slices > 1 else {}
    kernel = {"threadblock": [64, 64, 32], "warp": [32, 32, 32], "stages": 4}
    return parse_scenario({"machine": "rtx3090", "problem": shape | problem | split, "kernel": kernel}, "test")


def test_the_best_advice_for_one_tile_is_as_good_as_a_parallel_split_k_in_16():
    best = explained(of_one_tile()).what_if[0]

    assert best.settings["problem.split_k"] == "parallel"
    assert best.cycles <= simulate(of_one_tile(16, "parallel"), stream="estimated", exact=True)[0].cycles.elapsed


def test_a_serial_split_k_is_told_that_a_parallel_one_is_faster():
    best = explained(of_one_tile(4)).what_if[0]

    assert best.settings["problem.split_k"] == "parallel"
    assert best.gain_percent > 40


def test_a_convolution_of_few_ctas_is_told_to_slice_its_channels():
    problem = {
        "kind": "conv2d_fprop", "n": 1, "h": 16, "w": 16, "c": 1024, "k": 128, "r": 1, "s": 1, "padding": [0, 0],
        "dtype": TYPES,
    }  # fmt: skip
    best = explained(parse_scenario({"machine": "h200", "problem": problem, "kernel": TILE}, "test")).what_if[0]

    assert best.settings["problem.split_k"] == "parallel"
    assert best.gain_percent > 20


def test_where_every_sm_has_a_cta_k_is_not_sliced():
    found = explained(gemm(19 * 128, 7 * 128, 64))

    assert not [one for one in found.what_if if "problem.split_k" in one.settings]


def storing():
    """A tile's K is two k tiles, and its 64 KiB of float32 are stored: 33.6 MB in all."""
    problem = {
        "kind": "gemm", "m": 4096, "n": 2048, "k": 64, "dtype": TYPES | {"output": "f32"},
    }  # fmt: skip
    return parse_scenario({"machine": "h200", "problem": problem, "kernel": TILE}, "test")


@pytest.fixture(scope="module")
def much_stored():
    return explained(storing())


def test_a_kernel_that_waits_for_its_stores_is_told_so(much_stored):
    """Stores and the output's way to them take more than what no obstacle explains, and more than DRAM and the L2."""
    shares = much_stored.budget
    rest = shares.of("dependencies, issue and barriers")

    assert shares.of(STORES) > 10
    assert shares.of(STORES) + shares.of(STAGING) > 2 * rest
    assert sum(one.percent for one in shares.losses) + shares.useful == pytest.approx(100, abs=1e-9)
    assert much_stored.what_if[0].change.startswith("stores at once")


def test_stores_at_once_write_nothing_and_take_nothing_of_the_l2(much_stored):
    result, launches = simulate_launches(storing(), stream="estimated", exact=True)

    without = simulated(changed(launches[0].launch, [STORES_AT_ONCE]), exact=True)

    assert result.counters["dram__bytes_write.sum"] > 0
    assert without.outcome.dram_written == 0
    assert without.elapsed == next(one.cycles for one in much_stored.what_if if one.change.startswith("stores"))
    assert without.outcome.instructions == launches[0].outcome.instructions


def test_an_output_from_registers_has_no_wavefront_and_no_barrier_in_its_epilogue():
    (one,) = simulate_launches(gemm(256, 256, 128), stream="estimated", exact=True)[1]
    made = changed(one.launch, [FROM_REGISTERS])

    for before, after in zip(*(launch.assemblies.values() for launch in (one.launch, made)), strict=True):
        for old, new in zip(before.segments, after.segments, strict=True):
            if old.name == "epilogue":
                assert any(each.kind in {SHARED, BAR} for each in old.code)
                assert not any(each.kind in {SHARED, BAR} for each in new.code)
            else:
                assert old == new


def test_a_what_if_that_costs_cycles_says_why(much_stored, row_major, few_ctas):
    for found in (much_stored, row_major, few_ctas):
        for one in found.what_if:
            assert bool(one.because) == (one.gain_percent is not None and one.gain_percent < 0)


def test_a_stage_more_that_leaves_an_sm_fewer_ctas_says_so():
    """Four stages of 128x128x32 halves take 64 KiB, of which an RTX 3060's SM holds one, of three stages two."""
    problem = {"kind": "gemm", "m": 1024, "n": 1024, "k": 256, "dtype": TYPES}
    found = explained(parse_scenario({"machine": "rtx3060", "problem": problem, "kernel": TILE}, "test"))
    (more,) = [one for one in found.what_if if one.change == "one stage more: 4"]

    assert found.occupancy.ctas_per_sm == 2
    assert more.gain_percent < -10
    assert more.because == "an SM then holds 1 CTA in place of 2"


def test_an_obstacle_that_is_not_there_costs_no_simulation(few_ctas):
    """Without conflicts, the kernel without them is the kernel."""
    (none,) = [one for one in few_ctas.what_if if one.change == "no bank conflicts"]

    assert (none.cycles, none.gain_percent) == (few_ctas.result.cycles.elapsed, 0.0)


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


def test_lanes_of_an_atomic_that_meet_at_one_word_are_named():
    """The maxima of attention's rows: four lanes of a quad have one row, and its word."""
    scenario = load_scenario(find_scenario("attention_d32_512"))
    rows = count(family_of(scenario).schedules.kernels(scenario)[0]).bank_conflicts

    found = {one.op: one for one in collisions(scenario, rows)}

    assert found["atoms"].ways == len(found["atoms"].lanes) > 1
    assert len(set(found["atoms"].addresses)) == len(found["atoms"].banks) == 1
    assert found["atoms"].fixes == ()


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
    taken = [chip.l2.read(sm, chip.l2.lines.touch(line), 15, 1000 * at, at) - at for sm, line, at in begins]

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
