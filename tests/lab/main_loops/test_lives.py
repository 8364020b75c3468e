"""Lives of CTAs: where the stamps are put into a kernel's source, and what follows from them."""

from dataclasses import replace
from difflib import unified_diff
from pathlib import Path

import numpy as np
import pytest

from gpusim.errors import CannotRun
from gpusim.families.registry import family_of, load_scenario
from gpusim.lab.main_loops import lives
from gpusim.lab.main_loops.lives import rows_of, stamped

SCENARIO = Path(__file__).parents[3] / "scenarios" / "gemm_4096.toml"


def kernel():
    scenario = load_scenario(SCENARIO)
    return family_of(scenario).cuda.specialisations(scenario, "plain")[0]


def test_a_stamped_kernel_is_the_plain_one_with_three_clocks_and_its_headers_beside_it(tmp_path):
    own, plain = stamped(kernel(), tmp_path), kernel()
    lines, unstamped = (one.source.read_text().splitlines() for one in (own, plain))
    changes = list(unified_diff(unstamped, lines, n=0, lineterm=""))[2:]

    assert own == replace(plain, source=tmp_path / plain.source.name, include=tmp_path)
    assert {change[0] for change in changes} == {"@", "+"}, "nothing is taken out"
    assert sum("clock_wide()" in change for change in changes) == 3
    assert {path.name for path in tmp_path.rglob("*.cuh")} == {path.name for path in plain.include.rglob("*.cuh")}
    assert own.digest != plain.digest


def test_a_source_without_a_mainloop_is_refused(tmp_path):
    source = tmp_path / "kernel.cu"
    source.write_text("// nothing\n")

    with pytest.raises(CannotRun, match=r"kernel\.cu: begin, mainloop and end of the kernel are not where the stamps"):
        stamped(replace(kernel(), source=source), tmp_path / "copy")


def test_a_cta_lives_from_its_first_warp_s_begin_to_its_last_warp_s_end_counted_from_its_sm_s_first_cta():
    """CTA 0 and 2 on SM 7, CTA 1 on SM 3, whose clock is another one; CTA 3 had no tile, and stored nothing."""
    stamps = np.zeros((4, 2, 4), dtype=np.int64)
    stamps[0] = [[7, 1000, 1500, 1600], [7, 1010, 1490, 1620]]
    stamps[1] = [[3, 90_000, 90_400, 90_500], [3, 90_001, 90_410, 90_490]]
    stamps[2] = [[7, 1930, 2400, 2500], [7, 1925, 2410, 2495]]

    assert [tuple(row.values()) for row in rows_of("a", stamps)] == [
        ("a", 0, 7, 0, 500, 620),
        ("a", 1, 3, 0, 410, 500),
        ("a", 2, 7, 925, 1410, 1500),
    ]


def test_without_a_gpu_nothing_is_written(tmp_path, monkeypatch, capsys):
    def missing():
        raise CannotRun("no GPU here")

    monkeypatch.setattr(lives, "import_cupy", missing)

    assert lives.main([str(tmp_path / "out"), str(SCENARIO)]) == CannotRun.exit_code
    assert capsys.readouterr().err == "no GPU here\n"
    assert not (tmp_path / "out").exists()
