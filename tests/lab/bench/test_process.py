"""What a process costs: its own CPU seconds, not those of others, and the memory it held at most."""

import pytest

from gpusim.errors import CannotRun
from gpusim.lab.bench.process import Cost, median_cost, run_python


def test_a_process_costs_the_cpu_it_used():
    """Beside one that adds up for about half a second, one that sleeps as long uses next to nothing."""
    busy, _ = run_python(["-c", "sum(range(30_000_000))"])
    idle, _ = run_python(["-c", "import time; time.sleep(0.5)"])

    assert busy.user_s > idle.user_s + 0.1
    assert idle.user_s < idle.wall_s / 2
    assert idle.wall_s >= 0.5


def test_a_process_costs_the_memory_it_held_at_most():
    """400 MB, given back at once. What the measuring process holds counts, too (Linux)."""
    held, _ = run_python(["-c", "b'x' * 400_000_000"])

    assert held.peak_mb > 400


def test_what_a_process_prints_is_returned_and_variables_reach_it():
    assert run_python(["-c", "import os; print(os.environ['GIVEN'])"], {"GIVEN": "words"})[1] == "words\n"


def test_a_process_keeps_its_bytecode_even_where_the_measuring_one_may_not(monkeypatch):
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")

    assert run_python(["-c", "import sys; print(sys.dont_write_bytecode)"])[1] == "False\n"


def test_a_process_that_fails_is_named_with_its_last_line():
    with pytest.raises(CannotRun, match=r"^python -c exit\('first\\nlast'\) ended with 1: last$"):
        run_python(["-c", r"exit('first\nlast')"])


def test_medians_are_of_each_figure_on_its_own():
    assert median_cost([Cost(1, 9, 5), Cost(2, 8, 4), Cost(9, 1, 6)]) == Cost(2, 8, 5)
