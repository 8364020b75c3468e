"""``gpusim calibrate``: runs the microbenchmarks on the GPU, and derives figures of a machine file from their CSV."""

from dataclasses import asdict
from typing import TYPE_CHECKING

from gpusim.commands.options.calibrate import CalibrateOptions
from gpusim.commands.output import print_json, print_text, progress
from gpusim.gpu.device import environment, gpu_slug
from gpusim.machine.figure import printed_value
from gpusim.records.record import measured_folder
from gpusim.results.whole_file import refuse_taken

if TYPE_CHECKING:
    from gpusim.lab.calibrate.derive import Derived


def calibrate_machine(options: CalibrateOptions) -> None:
    """
    Measure, or read earlier measurements, and print the derived figures; write them to a machine file, if given.

    Raises:
        CannotRun: CuPy or a GPU is missing, a benchmark failed, or a file cannot be read or written.
        BadInput: The given machine file is not valid, or a CSV file is there that may not be replaced.
    """
    from gpusim.lab.calibrate.benchmarks import BENCHMARKS, calibrate
    from gpusim.lab.calibrate.derive import NOT_THE_FIGURE, derive
    from gpusim.lab.calibrate.machine_file import update_machine

    if options.derived_from is not None:
        folder, figures = options.derived_from, derive(options.derived_from)
    else:
        folder = options.out or measured_folder() / gpu_slug(environment()["gpu"]) / "microbench"
        for name in options.only or BENCHMARKS:
            refuse_taken(folder / f"{name}.csv", force=options.force)
        figures = calibrate(folder, quick=options.quick, only=options.only, progress=progress)
        progress(f"measured: {folder}")
    if options.machine is not None:
        source, title = (
            f"microbench-{options.machine.stem}",
            f"Microbenchmarks of gpusim calibrate, {options.machine.stem}",
        )
        written = {key: figure for key, figure in figures.items() if key not in NOT_THE_FIGURE}
        absent = update_machine(options.machine, written, source, title, folder.as_posix())
        progress(f"written into {options.machine}" + (f"; it has no {', '.join(absent)}" if absent else ""))
    if options.as_json:
        print_json({key: asdict(figure) for key, figure in figures.items()})
    else:
        print_text(_text(figures))


def _text(figures: "dict[str, Derived]") -> str:
    width = max(map(len, figures), default=0)
    return "\n".join(f"{key:{width}}  {printed_value(figure.value):>6}  {figure.at}" for key, figure in figures.items())
