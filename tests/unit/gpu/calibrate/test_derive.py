"""Figures derived from microbenchmarks' rows: fits, knees, and what cannot be read."""

import pytest

from gpusim.errors import BadInput, CannotRun
from gpusim.gpu.calibrate.derive import derive
from gpusim.gpu.calibrate.runner import write_rows


def test_the_barriers_line_is_a_least_squares_fit(tmp_path):
    rows = [{"ctas_per_sm": 1, "warps": warps, "per_barrier": 22.0 + 2 * warps} for warps in (1, 4, 32)]
    write_rows(tmp_path / "barrier.csv", [*rows, {"ctas_per_sm": 2, "warps": 1, "per_barrier": 900.0}], {})

    derived = derive(tmp_path)

    assert {key: figure.value for key, figure in derived.items()} == {"barrier.base": 22, "barrier.per_warp": 2}
    assert derived["barrier.base"].at == "barrier.csv, line through cycles over warps, one CTA: 22.00"


def test_a_folder_without_csv_is_refused(tmp_path):
    with pytest.raises(CannotRun, match="holds no CSV of `gpusim calibrate`"):
        derive(tmp_path)


def test_a_damaged_csv_is_refused(tmp_path):
    (tmp_path / "barrier.csv").write_text("ctas_per_sm,warps,per_barrier\n1,1,many\n")
    with pytest.raises(BadInput, match=r"a CSV file cannot be read for barrier\.base"):
        derive(tmp_path)
