"""The table of speeds: our kernels beside CUTLASS's."""

from dataclasses import replace

import pytest
from doubles.record import ROWS, SMALLEST, record_of

from gpusim.lab.tables import speed_table as speeds
from gpusim.lab.tables.speed_table import geometric_mean, speed_rows, speed_table


def test_speed_is_cutlass_s_cycles_over_ours():
    cutlass = SMALLEST["counters"]["sm__cycles_elapsed.max"]
    rows = speed_rows(ROWS, [record_of(SMALLEST, cutlass / 2)])

    (known,) = [row for row in rows if row.speed is not None]
    assert (known.name, known.speed, known.us, known.registers) == ("recorded", 2.0, 10.0, 200)
    assert len(rows) == 49
    assert geometric_mean(rows) == pytest.approx(2.0)


def test_the_speed_table_states_mean_and_least():
    rows = speed_rows(ROWS, [record_of(SMALLEST, SMALLEST["counters"]["sm__cycles_elapsed.max"])])
    faster = replace(rows[0], name="faster", ours=rows[0].cutlass / 4)

    text = speed_table([*rows[1:], faster], "Speed")

    assert text.startswith("# Speed\n")
    assert "2 of 49 rows measured; geometric mean of the speed 2.000, least 1.000." in text
    assert sum(line.startswith("| ") for line in text.splitlines()) == 50
    assert speed_table(speed_rows(ROWS, []), "Speed").count("(not recorded) |") == 49


def test_rows_that_are_none_are_refused(folder, capsys):
    assert speeds.main([str(folder / "absent.json")]) == 1
    assert capsys.readouterr().err.startswith(f"{folder / 'absent.json'}: no measured rows (")
