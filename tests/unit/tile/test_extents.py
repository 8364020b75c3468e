"""K tiles and slices of a GEMM: whole tiles, in order, nothing lost. Output extents of a convolution."""

from hypothesis import given
from hypothesis import strategies as st

from gpusim.families.conv.fprop.problem import Conv2dFpropProblem
from gpusim.families.gemm.gemm import GemmProblem
from gpusim.scenario.gemm import GemmScenario
from gpusim.tile.extents import gemm_k_ranges

TILES_K = st.sampled_from([16, 32, 64])


@given(k=st.integers(1, 2000), tile_k=TILES_K, slices=st.integers(1, 12))
def test_slices_of_a_gemm_partition_k_at_tile_boundaries(k, tile_k, slices):
    ranges = gemm_k_ranges(k, tile_k, slices)

    assert ranges[0, 0] == 0
    assert ranges[-1, 1] == k
    assert (ranges[1:, 0] == ranges[:-1, 1]).all()
    assert all(begin % tile_k == 0 or begin == k for begin in ranges[:, 0].tolist())


def test_a_gemm_slice_past_k_has_no_k_tiles():
    scenario = GemmScenario(machine="h200", problem=GemmProblem(m=128, n=128, k=5 * 64, split_k_slices=4))

    assert [scenario.k_iterations(slice_) for slice_ in range(4)] == [2, 2, 1, 0]
    assert scenario.problem.extents == (128, 128, 320)


def test_a_convolution_scenario_resolves_its_output_size():
    problem = Conv2dFpropProblem(n=2, h=9, w=8, c=64, k=32, r=3, s=3, stride=(2, 1))
    scenario = GemmScenario(machine="h200", problem=problem)
    shape = problem.shape

    assert (shape.p, shape.q) == (4, 6)
    assert scenario.problem.extents == (2 * 4 * 6, 32, 9 * 64)
    assert scenario.k_iterations(0) == 9
