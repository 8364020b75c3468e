"""The page counts what is right, and shows every row."""

from types import SimpleNamespace

from gpusim.lab.explain_check.compared import GainRow
from gpusim.lab.explain_check.explain_page import page


def test_the_page_counts_what_is_right():
    bound = SimpleNamespace(
        resource="tensor core", percent=70.0, reason="", runner_up="barriers", runner_up_percent=9.0
    )
    row = SimpleNamespace(name="one", stream="compiled", measured=bound, simulated=bound, right=True)

    text = page([row], [GainRow("stages", "a", "b", 10, 4)])

    assert "| bound | 1 | 1 | 100 | 90 |" in text
    assert "| gain within 5 points | 0 | 1 | 0 | 80 |" in text
    assert "| stages | a | b | 10.0 | 4.0 | far |" in text
