"""Random sm_90 GEMMs computed for real are right within rounding and have no hazard."""

import numpy as np
import pytest
from problems.hopper import CLUSTERS, SCHEDULES, TYPES, hopper, random_hopper

from gpusim.errors import BadInput, Unsupported
from gpusim.families.hopper.execute.elements import from_bits, to_bits
from gpusim.families.hopper.execute.grid import run_grid
from gpusim.families.hopper.execute.mutations import HOPPER_MUTATIONS
from gpusim.families.hopper.execute.program import cluster_programs
from gpusim.families.hopper.execute.reference import references
from gpusim.families.hopper.execute.tensors import HopperTensors, draw_tensors, read_box
from gpusim.families.hopper.verify import verification
from gpusim.verbs.verify import verify

SEEDS = range(60)


@pytest.mark.parametrize("seed", SEEDS)
def test_random_problems_are_right(seed):
    report = verify(random_hopper(seed), seed)

    assert report.hazards == ()
    assert report.ok, (report.wrong_elements, report.worst_element)


def test_the_random_problems_have_all_features():
    scenarios = [random_hopper(seed) for seed in SEEDS]
    features = {
        *((one.kernel.schedule, one.kernel.cluster) for one in scenarios),
        *(one.problem.dtype.ab for one in scenarios),
        *((one.problem.dtype.ab, one.problem.layout_a, one.problem.layout_b) for one in scenarios),
        *(("beta", one.problem.beta != 0, one.kernel.schedule) for one in scenarios),
        *(("void_c", one.kernel.void_c) for one in scenarios),
    }

    assert {ab for ab, _, _, _ in TYPES} <= features
    assert {("f16", a, b) for a in ("row", "column") for b in ("row", "column")} <= features
    assert {("beta", True, schedule) for schedule in ("cooperative", "pingpong", "warp_specialized")} <= features
    assert {(schedule, cluster) for schedule in SCHEDULES for cluster in CLUSTERS} <= features
    assert ("void_c", True) in features


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_whole_numbers_are_exact(schedule):
    """Sums of 136 products of whole numbers up to 3 are exact in float32; extents are ragged along M, N and K."""
    dtype = {"ab": "f16", "accumulator": "f32", "output": "f32"}
    kernel = {"schedule": schedule, "tile": [128, 64, 64], "stages": 3}
    scenario = hopper({"m": 200, "n": 88, "k": 136, "dtype": dtype}, kernel)
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-3, 4, (1, rows, 136)).astype(np.float32) for rows in (200, 88))
    tensors = HopperTensors(to_bits(a, "f16"), to_bits(b, "f16"), None)

    done = run_grid(scenario, tensors, cluster_programs(scenario))

    assert done.hazards == ()
    np.testing.assert_array_equal(done.stored[0], a[0] @ b[0].T)


def test_a_box_beyond_the_tensor_is_filled_with_zeros():
    tensor = np.arange(1, 13, dtype=np.uint16).reshape(1, 3, 4)

    assert read_box(tensor, (2, 1, 0), (4, 3, 1)).tolist() == [[7, 8, 0, 0], [11, 12, 0, 0], [0, 0, 0, 0]]
    assert read_box(tensor, (0, 0, 1), (2, 1, 1)).tolist() == [[0, 0]]


def test_the_reference_of_one_element():
    """
    1.5 * (2 * 3 + 1 * -1) + 0.5 * 4 = 9.5; the bound is 2 * 8 * 2^-24 * 1.5 * 7, one rounding of each step with C, and
    half of f16's step of 2^-7 there.
    """
    dtype = {"ab": "f16", "accumulator": "f32", "output": "f16"}
    problem = hopper({"m": 8, "n": 8, "k": 8, "alpha": 1.5, "beta": 0.5, "dtype": dtype}).problem
    a, b = np.zeros((1, 8, 8)), np.zeros((1, 8, 8))
    a[0, 0, :2], b[0, 0, :2] = (2, 1), (3, -1)
    tensors = HopperTensors(*(to_bits(one, "f16") for one in (a, b, np.full((1, 8, 8), 4.0))))

    ((batch, rows, expected),) = references(problem, tensors)

    assert (batch, rows) == (0, slice(0, 8))
    assert expected.value[0, 0] == 9.5
    assert expected.bound[0, 0] == 2 * 8 * 2.0**-24 * 1.5 * 7 + 2 * 2.0**-24 * 2 + 2.0**-8


@pytest.mark.parametrize(("ab", "output"), [(ab, output) for ab, _, output, _ in TYPES])
def test_drawn_tensors_are_values_of_their_types(ab, output):
    accumulator = next(one for kind, one, out, _ in TYPES if (kind, out) == (ab, output))
    dtype = {"ab": ab, "accumulator": accumulator, "output": output}
    problem = hopper({"m": 64, "n": 64, "k": 64, "beta": 1.0, "dtype": dtype}).problem
    tensors = draw_tensors(problem, 3)

    for bits, element in ((tensors.a, ab), (tensors.c, output)):
        values = from_bits(bits, element)
        assert np.isfinite(values).all()
        assert np.unique(values).size > 50
        np.testing.assert_array_equal(to_bits(values, element), bits)


def test_a_thousand_cubed_takes_seconds():
    report = verify(hopper({"m": 1024, "n": 1024, "k": 1024}), 0)

    assert report.ok
    assert report.elements == 1 << 20


def test_a_mutation_is_reported_by_its_name():
    report = verify(hopper({"m": 128, "n": 128, "k": 128}), 0, HOPPER_MUTATIONS["missing_proxy_fence"])

    assert (report.ok, report.mutation, report.hazard_names()) == (False, "missing_proxy_fence", {"proxy"})


def test_a_mutation_without_effect_is_refused():
    with pytest.raises(BadInput, match=r"^order_not_awaited finds nothing to break in this cooperative schedule$"):
        verify(hopper({"m": 128, "n": 128, "k": 128}), 0, HOPPER_MUTATIONS["order_not_awaited"])


def test_shared_tiles_of_stream_k_are_refused():
    scenario = hopper({"m": 128, "n": 128, "k": 4096}, {"scheduler": "stream_k"})
    message = r"^stream_k: the sums of CTAs that share a tile meet in a workspace, which is not executed$"

    with pytest.raises(Unsupported, match=message):
        _ = verification(scenario).programs
