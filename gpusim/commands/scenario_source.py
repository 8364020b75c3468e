"""Reads the scenario that a command was given: a file, a shipped scenario, or the name of a CUTLASS kernel."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from gpusim.errors import BadInput, printable
from gpusim.families.registry import load_gemm_scenario, load_question, named_scenario
from gpusim.machine.text_file import STANDARD_INPUT
from gpusim.scenario.catalogue import find_scenario
from gpusim.scenario.cutlass_name import PREFIX
from gpusim.scenario.gemm import GemmScenario
from gpusim.scenario.models import Scenario
from gpusim.scenario.own_kernel import KernelQuestion
from gpusim.verbs.load import is_kernel_name, load


@dataclass(frozen=True, slots=True)
class NamedScenario:
    """
    A scenario with its origin.

    Attributes:
        name: Stem of its file, or the kernel's name.
        path: Its file; None for a kernel's name or standard input.
        scenario: The validated scenario, overrides included.
    """

    name: str
    path: Path | None
    scenario: Scenario


def read_named(text: str, overrides: tuple[str, ...]) -> NamedScenario:
    """Read a scenario of any family with its origin; arguments and errors are those of ``read_any_scenario``."""
    path = None if is_kernel_name(text) or text == STANDARD_INPUT else find_scenario(text)
    return NamedScenario(scenario_name(text), path, read_any_scenario(text, overrides))


def read_scenario(text: str, overrides: tuple[str, ...]) -> GemmScenario:
    """
    Read a GEMM or convolution.

    Args:
        text: A file, the name of a shipped scenario, or a kernel's name.
        overrides: Settings ``key=value``, in order.

    Raises:
        BadInput: The text is none of these, or its scenario breaks a rule.
    """
    if is_kernel_name(text):
        return named_scenario(text, overrides)
    return load_gemm_scenario(find_scenario(text), overrides)


def read_any_scenario(text: str, overrides: tuple[str, ...]) -> Scenario:
    """Read a scenario of any family; arguments and errors are those of ``read_scenario``."""
    return load(text, overrides)


def read_question(text: str, overrides: tuple[str, ...]) -> Scenario | KernelQuestion:
    """Read a scenario of any family, or of a kernel of the user's own; errors are those of ``read_scenario``."""
    return load(text, overrides) if is_kernel_name(text) else load_question(find_scenario(text), overrides)


def scenario_name(text: str) -> str:
    """
    Return the name that runs of a scenario get: the printable stem of its file, the kernel's name, or "stdin".

    Raises:
        BadInput: There is no such file.
    """
    if text == STANDARD_INPUT:
        return "stdin"
    return text if is_kernel_name(text) else printable(find_scenario(text).stem)


def scenario_texts(files: Sequence[str], names: Sequence[str]) -> list[str]:
    """
    Return the scenarios that a command was given: FILEs, then ``--cutlass`` names.

    Raises:
        BadInput: There is none, or a ``--cutlass`` is no kernel's name.
    """
    for name in names:
        if not is_kernel_name(name):
            raise BadInput(f"--cutlass must be a kernel's name, which begins with {PREFIX}_, got {name!r}")
    if not files and not names:
        raise BadInput("a scenario is missing: give a FILE, or a kernel's name with --cutlass")
    return [*files, *names]


def scenario_text(file: str | None, name: str | None) -> str:
    """
    Return the one scenario that a command was given.

    Raises:
        BadInput: There is none, there are two, or a ``--cutlass`` is no kernel's name.
    """
    if file is not None and name is not None:
        raise BadInput(f"a scenario must be a FILE or a --cutlass name, got both: {file} and {name}")
    return scenario_texts(() if file is None else (file,), () if name is None else (name,))[0]
