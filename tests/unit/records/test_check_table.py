"""Numbers of a check's table, as text."""

from gpusim.records.check_table import number, percent


def test_numbers_read_as_numbers():
    read = [number(value) for value in (None, 0.0, 1234567.0, 0.28461, 2500.5)]
    assert read == ["-", "0", "1,234,567", "0.2846", "2,500"]
    assert [percent(value) for value in (None, 0.031, -1.0)] == ["", "+3.1 %", "-100.0 %"]
