"""``gpusim run`` of a kernel of the user's own: executes it, simulates its time, and writes a run directory."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from gpusim.commands.options.run import RunOptions
from gpusim.commands.output import check_folder, print_json, progress, written
from gpusim.commands.own.launch import LAUNCH_OPTIONS, is_kernel_file, named_values
from gpusim.errors import BadInput
from gpusim.own.arguments import states_array
from gpusim.python.question import answer
from gpusim.report.own.tables import print_kernel
from gpusim.results import run_directory
from gpusim.results.kernel_result import KernelResult
from gpusim.results.whole_file import refuse_taken
from gpusim.scenario.own_kernel import KernelQuestion
from gpusim.scenario.text import write_toml
from gpusim.sim.core.engine import chosen


def run_question(file: str, question: KernelQuestion, options: RunOptions, wanted: Path) -> KernelResult:
    """
    Answer a question, write its run directory, and save the arrays that are asked for.

    Args:
        file: The file that was given, for messages.
        question: The question.
        options: The command's options.
        wanted: The run directory.

    Raises:
        BadInput: The question is wrong, or a file may not be replaced.
        CannotRun: The kernel cannot be compiled, or a file cannot be written.
        CheckFailed: The kernel fails: an access is out of bounds, or warps wait for ever.
    """
    places = _places(question, options)
    with run_directory.claim(wanted, force=options.force, say=progress) as claimed:
        with chosen(options.engine):
            found = answer(question, full=bool(places), progress=progress)
        command = _command(file, options)
        text = write_toml(question.resolved())
        run_directory.write_kernel_run(claimed.folder, found.result, found.log, text, command)
        directory = claimed.publish()
    _save(found.arrays, places, force=options.force)
    progress(f"{file}: written to {directory}")
    return found.result


def show_question(result: KernelResult, name: str, *, as_json: bool, alone: bool) -> None:
    """Print an answer; as JSON only if it is the only one."""
    if not as_json:
        print_kernel(result, name)
    elif alone:
        print_json(result.to_dict())


def _places(question: KernelQuestion, options: RunOptions) -> dict[str, Path]:
    """Return the file of each array that is saved."""
    places = {name: Path(text) for name, text in named_values("--save", options.save, "y=out.npy").items()}
    for name, path in places.items():
        if name not in question.arguments:
            raise BadInput(f"--save must name an argument: {', '.join(question.arguments) or 'none'}, got {name!r}")
        if not states_array(str(question.arguments[name])):
            raise BadInput(f"--save must name an array, and argument {name} is {question.arguments[name]}")
        if path.suffix != ".npy":
            raise BadInput(f"--save must write to a file.npy, got {str(path)!r}")
        check_folder(path)
        if path.exists():
            refuse_taken(path, force=options.force)
    return places


def _save(arrays: Mapping[str, npt.NDArray[Any]], places: Mapping[str, Path], *, force: bool) -> None:
    for name, path in places.items():
        with written(path, force=force) as aside, aside.open("wb") as file:
            np.save(file, arrays[name])
        progress(f"{name}: written to {path}")


def _command(file: str, options: RunOptions) -> list[str]:
    """Return the command that asks the same question alone."""
    if not is_kernel_file(file):
        settings = [part for override in options.overrides for part in ("--set", override)]
        return ["gpusim", "run", file, *settings]
    command = ["gpusim", "run", file, *(["--entry", options.entry] if options.entry else [])]
    for name, option in LAUNCH_OPTIONS.items():
        value = getattr(options, name)
        for one in value if isinstance(value, tuple) else [] if value is None else [value]:
            command += [option, str(one)]
    return [*command, *(part for override in options.overrides for part in ("--set", override))]
