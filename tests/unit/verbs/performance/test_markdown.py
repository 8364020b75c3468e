"""The table of a pull request's comment."""

from gpusim.verbs.performance.check import PerfAnswer, PerfChange
from gpusim.verbs.performance.markdown import perf_markdown


def test_changes_have_rows_and_a_kernel_without_one_has_a_single_row():
    """1,500 cycles for 1,000 are 50 % more; conflicts where there were none have no percent."""
    slow = PerfAnswer(
        "slow",
        (
            PerfChange("cycles", 1000, 1500, 3.0),
            PerfChange("registers", 64, 64, 10.0),
            PerfChange("ctas_per_sm", 2, 1, 0.0),
            PerfChange("conflicts", 0, 8, float("inf")),
        ),
        reasons=("CTAs per SM: 1, 2 in the baseline",),
        trust="a100: unvalidated",
    )
    same = PerfAnswer("same", (PerfChange("cycles", 10, 10, 3.0),), trust="a100: unvalidated")
    broken = PerfAnswer("broken", error="a <b>: no | kernel", exit_code=2)

    assert perf_markdown([slow, same, broken]) == (
        "### gpusim: 1 of 3 kernels beyond a threshold, 1 failed\n"
        "\n"
        "| kernel | metric | baseline | now | change | allowed | |\n"
        "|---|---|---:|---:|---:|---:|---|\n"
        "| slow | cycles | 1,000 | 1,500 | +50.0 % | +3 % | **beyond** |\n"
        "| slow | CTAs per SM | 2 | 1 | -50.0 % | 0 % | **beyond** |\n"
        "| slow | bank conflicts, wavefronts | 0 | 8 | new | any | worse |\n"
        "| same | all | | | | | equal |\n"
        "| broken | failed: a &lt;b>: no \\| kernel | | | | | **failed** |\n"
        "\n"
        "- slow: CTAs per SM: 1, 2 in the baseline\n"
        "- Cycles are simulated (a100: unvalidated).\n"
    )


def test_the_page_ends_with_the_table_if_there_is_nothing_to_say():
    page = perf_markdown([PerfAnswer("k", error="no such file", exit_code=1)])

    assert page.splitlines()[-1] == "| k | failed: no such file | | | | | **failed** |"
