"""The page of cycles: errors by class, each kernel of the development half, and kernels without a time."""

from gpusim.lab.own.cycles.compared import ComparedCycles
from gpusim.lab.own.cycles.page import cycles_page

COMPARED = [
    ComparedCycles("saxpy", "memory", 1_100, 1_000, 64),
    ComparedCycles("gather", "memory", 800, 1_000, 64),
    ComparedCycles("sgemm_naive", "compute", 1_000, 1_000, 12_345),
]


def test_the_page_sums_up_by_class_and_shows_the_nearest_kernels_first():
    lines = cycles_page("development", COMPARED, {}).splitlines()

    assert lines[0] == "# Cycles of own kernels: development half"
    assert "**3 kernels: the mean error is 10.0 %, the 90th percentile 18.0 %.**" in lines
    assert "Every kernel has a time." in lines
    assert "| compute | 1 | 0.0 % | 0.0 % | +0.0 % | 1 |" in lines
    assert "| memory | 2 | 15.0 % | 19.0 % | -5.0 % | 1 |" in lines
    assert "| all | 3 | 10.0 % | 18.0 % | -3.3 % | 2 |" in lines
    rows = [line.split("`")[1] for line in lines if line.startswith("| `")]
    assert rows == ["sgemm_naive", "saxpy", "gather"]
    assert "| `sgemm_naive` | compute | 12,345 | 1,000 | 1,000 | +0.0 % |" in lines


def test_the_held_out_page_names_its_command_and_no_kernel():
    page = cycles_page("held-out", COMPARED, {"fft": "NOP is not executed"}, rows=False)

    assert "`python -m gpusim.lab.own.cycles --held-out` wrote this page." in page
    assert "1 kernels have no time." in page
    assert "saxpy" not in page
    assert "fft" not in page


def test_kernels_without_a_time_are_named():
    page = cycles_page("development", COMPARED, {"fft": "NOP is not executed"})

    assert page.endswith("## Without a time\n\n- `fft`: NOP is not executed\n")
