"""``python -m gpusim.lab.tables.published_tables``: what is met is counted, what is not is listed with its cause."""

from gpusim.lab.published import causes
from gpusim.lab.published.tables import Entry, Microbenchmark
from gpusim.lab.tables.published_tables import main, page


def test_the_page_counts_what_is_met_and_lists_what_is_not():
    met = Entry("Sun", "Table 9", Microbenchmark("a100", "ldmatrix", "x4", 4, 1, 1), 29.3, 29.0)
    missed = Entry("Sun", "Table 9", Microbenchmark("a100", "ldmatrix", "x1", 1, 4, 5), 26.8, 23.0)

    lines = page([met, met, met, missed], [met]).splitlines()

    assert "3 of 4 entries are met, 75.0 %." in lines
    assert "| Sun | Table 9 | 4 | 75 % | -14.2 % |" in lines
    assert "| a100: ldmatrix x1 | 1 | 4 | 5 | 1 | 26.8 | 23.0 | -14.2 % |" in lines
    assert f"| {causes.FEW_LOADS} | 1 | -14.2 % |" in lines


def test_without_the_source_tree_the_tables_are_missing(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr("gpusim.lab.published.tables.published_file", lambda: tmp_path / "tables.csv")

    assert main([]) == 1
    assert "a table of microbenchmarks cannot be read" in capsys.readouterr().err
