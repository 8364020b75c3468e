"""Makes a question of a kernel's file and the options of a launch."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from gpusim.commands.options.run import RunOptions
from gpusim.commands.options.sweep import SweepOptions
from gpusim.errors import BadInput, CannotRun
from gpusim.scenario.own_kernel import KERNEL_SUFFIXES, KernelQuestion, own_question
from gpusim.scenario.read import OWN_KIND, overridden

NEEDED = ("machine", "grid", "block")
"""Options that a kernel's file needs."""

LAUNCH_OPTIONS = {
    "machine": "--machine",
    "grid": "--grid",
    "block": "--block",
    "shared": "--shared",
    "arguments": "--arg",
    "defines": "--define",
}
"""Options of a launch, which a scenario has as keys."""

SCHEDULED_OPTIONS = {
    "exact": "--exact",
    "stream": "--stream",
    "cubin": "--cubin",
    "reference_check": "--reference-check",
    "save_tensors": "--save-tensors",
    "seed": "--seed",
}
"""Options of scenarios that gpusim schedules, which a kernel of the user's own has not."""

EXAMPLE = "--machine a100 --grid 32,32 --block 32,8 --arg x=random:f32[1024,1024] --arg n=1024"


def is_kernel_file(text: str) -> bool:
    """Return whether a text names the file of a kernel, by its ending."""
    return text.endswith(KERNEL_SUFFIXES)


def question_of(file: str, options: RunOptions) -> KernelQuestion:
    """
    Return the question that a kernel's file and the options of its launch ask.

    Raises:
        BadInput: An option is missing or wrong.
        CannotRun: There is no such file.
    """
    given = {name: getattr(options, name) for name in NEEDED}
    missing = [LAUNCH_OPTIONS[name] for name, value in given.items() if value is None]
    if missing:
        raise BadInput(f"{file} is a kernel, whose launch needs {', '.join(missing)}, such as {EXAMPLE}")
    if not Path(file).is_file():
        raise CannotRun(f"{file}: no such file")
    data: dict[str, Any] = {
        "kind": OWN_KIND,
        "machine": options.machine,
        "file": file,
        "entry": options.entry or "",
        "grid": extents_of("--grid", str(options.grid)),
        "block": extents_of("--block", str(options.block)),
        "shared_bytes": options.shared or 0,
        "arguments": named_values("--arg", options.arguments, "x=random:f32[1024]"),
        "defines": named_values("--define", options.defines, "TILE=32"),
    }
    return own_question(overridden(data, file, options.overrides, Path(), Path(file).stem))


def extents_of(option: str, text: str) -> list[int]:
    """
    Return the extents that an option states.

    Raises:
        BadInput: These are not one to three integers of at least 1.
    """
    parts = [part.strip() for part in text.split(",")]
    if len(parts) > 3 or not all(part.isdecimal() and int(part) for part in parts):
        raise BadInput(f"{option} must be one to three integers of at least 1, such as 32,32, got {text!r}")
    return [int(part) for part in parts]


def named_values(option: str, texts: Sequence[str], example: str) -> dict[str, str]:
    """
    Return what a repeatable option ``NAME=VALUE`` gave, in order.

    Raises:
        BadInput: A text is not ``NAME=VALUE``, or a name is given twice.
    """
    found: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name or not value:
            raise BadInput(f"{option} must be NAME=VALUE, such as {example}, got {text!r}")
        if name in found:
            raise BadInput(f"{option} gives {name} twice: {found[name]!r} and {value!r}")
        found[name] = value
    return found


def refuse_launch_options(options: RunOptions) -> None:
    """
    Refuse options of a launch where no kernel's file is given.

    Raises:
        BadInput: One is given.
    """
    for name, option in LAUNCH_OPTIONS.items():
        if getattr(options, name) not in (None, ()):
            raise BadInput(
                f"{option} is of a kernel's file ({', '.join(KERNEL_SUFFIXES)}); a scenario has such keys, which --set"
                " changes"
            )


def refuse_scheduled_options(
    options: RunOptions | SweepOptions, file: str, scheduled: Mapping[str, str] = SCHEDULED_OPTIONS
) -> None:
    """
    Refuse options of scenarios that gpusim schedules.

    Args:
        options: The command's options.
        file: The kernel's file, or a scenario of it.
        scheduled: The options that are refused, by the name of their field.

    Raises:
        BadInput: One is given.
    """
    plain = type(options)()
    for name, option in scheduled.items():
        if getattr(options, name) != getattr(plain, name):
            raise BadInput(f"{option} is not for a kernel of your own, which {file} is")
