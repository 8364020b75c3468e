"""The correlation plot: a picture of any number of kernels, equal bytes for equal points."""

from gpusim.report.correlation import CorrelationPoint, correlation

POINTS = [CorrelationPoint("gemm", 10_000, 9_000), CorrelationPoint("attention", 500_000, 510_000)]


def test_the_plot_is_a_square_picture(png_size, tmp_path):
    path = correlation(POINTS, "Simulated over measured", ["h200"], tmp_path / "plot.png")

    width, height = png_size(path)
    assert width == height
    assert width >= 800


def test_the_order_of_the_points_is_no_part_of_the_picture(tmp_path):
    one = correlation(POINTS, "T", [], tmp_path / "one.png").read_bytes()
    other = correlation(POINTS[::-1], "T", [], tmp_path / "other.png").read_bytes()
    moved = correlation(
        [POINTS[0], POINTS[1]._replace(simulated=600_000)], "T", [], tmp_path / "moved.png"
    ).read_bytes()

    assert one == other
    assert one != moved
