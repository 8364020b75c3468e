"""The pace of a steady k tile."""

from gpusim.records.pipeline import steady_k_tile
from gpusim.results.result import PipelineRow


def test_a_steady_k_tile_is_the_median_away_from_both_ends():
    begins = [0, 500, 700, 800, 900, 1000, 1400, 2000]
    rows = [PipelineRow(tile, 0, 0, None, 0, 0, begin, begin + 1) for tile, begin in enumerate(begins)]

    assert steady_k_tile(rows) == 100
    assert steady_k_tile(rows[:5]) is None
