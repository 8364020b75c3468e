"""Figures derived from microbenchmarks' rows: fits, knees, and what cannot be read."""

import pytest

from gpusim.errors import BadInput, CannotRun
from gpusim.lab.calibrate.derive import derive
from gpusim.lab.calibrate.runner import write_rows


def test_the_barriers_line_is_a_least_squares_fit(tmp_path):
    rows = [{"ctas_per_sm": 1, "warps": warps, "per_barrier": 22.0 + 2 * warps} for warps in (1, 4, 32)]
    write_rows(tmp_path / "barrier.csv", [*rows, {"ctas_per_sm": 2, "warps": 1, "per_barrier": 900.0}], {})

    derived = derive(tmp_path)

    assert {key: figure.value for key, figure in derived.items()} == {"barrier.base": 22, "barrier.per_warp": 2}
    assert derived["barrier.base"].at == "barrier.csv, line through cycles over warps, one CTA: 22.00"


def two_tiles(small_cycles):
    """Rows of warp tiles 4x8 and 2x8 of eight warps, two of each SMSP: 320 and 160 mma.sync of each warp."""
    tile = {"pattern": "tile", "type": "m16n8k16.f16.f32", "order": "serpentine", "ldmatrix": "none"}
    common = tile | {"operands": "", "ilp": 0, "smsps": 4, "warps": 8, "warps_per_smsp": 2}
    large = {"tile": "4x8", "mma_per_warp": 320, "cycles": 3940, "interval": 3940 / 640}
    return [common | large, common | large | {"tile": "2x8", "mma_per_warp": 160, "cycles": small_cycles}]


@pytest.mark.parametrize(("small", "percent"), [(1988, 10), (2020, 0), (2040, 0)])
def test_what_an_mma_sync_takes_beyond_its_interval_is_the_difference_of_two_tiles(tmp_path, small, percent):
    """3,940 cycles less 1,988 are 1,952 for 320 mma.sync of an SMSP: 6.1 each, .1 beyond 6; never below none."""
    write_rows(tmp_path / "mma.csv", two_tiles(small), {})

    assert derive(tmp_path)["tensor.m16n8k16.f16.f32.beyond.percent"].value == percent


def test_tiles_whose_difference_is_not_of_their_interval_tell_nothing_beyond_it(tmp_path):
    """3,940 less 1,600 are 7.3 cycles each, where the interval is 6."""
    write_rows(tmp_path / "mma.csv", two_tiles(1600), {})

    assert "tensor.m16n8k16.f16.f32.beyond.percent" not in derive(tmp_path)


def test_a_folder_without_csv_is_refused(tmp_path):
    with pytest.raises(CannotRun, match="holds no CSV of `gpusim calibrate`"):
        derive(tmp_path)


def test_a_damaged_csv_is_refused(tmp_path):
    (tmp_path / "barrier.csv").write_text("ctas_per_sm,warps,per_barrier\n1,1,many\n")
    with pytest.raises(BadInput, match=r"a CSV file cannot be read for barrier\.base"):
        derive(tmp_path)
