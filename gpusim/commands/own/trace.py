"""``gpusim trace`` of a run of a kernel of the user's own."""

from pathlib import Path

from gpusim.commands.options.figures import TraceOptions
from gpusim.commands.output import written
from gpusim.errors import BadInput
from gpusim.report.own.trace import kernel_trace
from gpusim.results.kernel_result import load_kernel_result
from gpusim.results.kernel_warps import load_warp_log
from gpusim.results.run_directory import RESULT, TIMELINE


def trace_kernel(options: TraceOptions, path: Path) -> None:
    """
    Write the warps of a CTA as a Perfetto trace.

    Raises:
        BadInput: Another format is asked for, the run is damaged, or something is there that may not be replaced.
        CannotRun: The file cannot be written.
    """
    if options.trace_format != "perfetto":
        raise BadInput(f"--format must be perfetto for a kernel of your own, got {options.trace_format}")
    directory = options.run_directory
    text = kernel_trace(load_kernel_result(directory / RESULT), load_warp_log(directory / TIMELINE))
    with written(path, force=options.force, follow=options.out is not None) as aside:
        aside.write_bytes(text)
