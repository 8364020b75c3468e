"""``gpusim report`` of runs of kernels of the user's own: their machine code with stall cycles, on one page."""

from collections.abc import Sequence
from pathlib import Path

from gpusim.errors import BadInput
from gpusim.report.own.page import kernel_page
from gpusim.results.kernel_result import load_kernel_result
from gpusim.results.run_directory import RESULT, is_own_run
from gpusim.results.run_name import name_of_run


def own_report(directories: Sequence[Path]) -> str | None:
    """
    Return the page about runs of kernels of the user's own; None if the runs are of scenarios that gpusim schedules.

    Raises:
        BadInput: There are runs of both kinds, or a result is damaged.
    """
    own = [is_own_run(directory) for directory in directories]
    if not any(own):
        return None
    if not all(own):
        raise BadInput("a report shows runs of kernels of your own, or of scenarios that gpusim schedules, got both")
    return kernel_page([(name_of_run(one), load_kernel_result(one / RESULT)) for one in directories])
