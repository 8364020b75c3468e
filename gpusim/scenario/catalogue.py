"""The shipped scenarios: their paths and their questions; knows nothing of a scenario's content."""

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpusim.arguments import refusal
from gpusim.errors import BadInput, CannotRun, nearest
from gpusim.machine.text_file import STANDARD_INPUT

_PACKAGE = Path(__file__).parents[1]

RECORDED_MACHINE = "h200"
"""Name of the machine for which there are records."""


@dataclass(frozen=True, slots=True)
class ShippedScenario:
    """
    One scenario that comes with gpusim.

    Attributes:
        name: Name that ``gpusim run`` takes, which is the file's stem.
        path: Path of the file.
        question: The comment that opens the file, on one line.
    """

    name: str
    path: Path
    question: str


def scenario_folder() -> Path:
    """
    Find the shipped scenarios: inside an installed wheel, or at the top of the source tree.

    Raises:
        CannotRun: Neither folder exists, so the installation is damaged.
    """
    folders = (_PACKAGE / "_scenarios", _PACKAGE.parent / "scenarios")
    for folder in folders:
        if folder.is_dir():
            return folder
    raise CannotRun(f"no shipped scenarios: neither {folders[0]} nor {folders[1]} is a folder; reinstall gpusim")


def shipped_scenarios() -> tuple[ShippedScenario, ...]:
    """Return every shipped scenario, sorted by name."""
    return tuple(
        ShippedScenario(path.stem, path, _question(path.read_text(encoding="utf-8")))
        for path in sorted(scenario_folder().glob("*.toml"))
    )


def scenario_names() -> tuple[str, ...]:
    """Return the names of the shipped scenarios, sorted."""
    return tuple(scenario.name for scenario in shipped_scenarios())


def recordable_scenarios() -> tuple[Path, ...]:
    """
    Return the scenarios that are measured on hardware: those of the folder ``recorded``, and the shipped ones.

    Scenarios for another machine than ``RECORDED_MACHINE`` are left out. So are shipped scenarios of fused attention,
    whose problems are recorded under other names.
    """
    made, shipped = scenario_folder() / "recorded", _all_scenarios()
    return tuple(
        path
        for path in shipped
        if _data(path).get("machine") == RECORDED_MACHINE and (made in path.parents or not _is_attention(path))
    )


def validation_scenarios() -> tuple[Path, ...]:
    """
    Return the recordable scenarios that were chosen to judge simulated time, before any of them was measured.

    They are those of the folder ``recorded/validation``.
    """
    return tuple(path for path in recordable_scenarios() if path.parent.name == "validation")


def _is_attention(path: Path) -> bool:
    problem = _data(path).get("problem")
    return isinstance(problem, dict) and problem.get("kind") == "attention"


def _all_scenarios() -> tuple[Path, ...]:
    folder = scenario_folder()
    return (*sorted(folder.glob("*.toml")), *sorted(folder.glob("recorded/**/*.toml")))


def _data(path: Path) -> dict[str, Any]:
    return tomllib.loads(path.read_text(encoding="utf-8"))


def find_scenario(name: str) -> Path:
    """
    Resolve what the user typed: an existing file, the bare name of a shipped scenario, or "-" for standard input.

    Raises:
        BadInput: It is neither; the message names the nearest shipped scenario.
    """
    if not name:
        raise BadInput('scenario must be a file or the name of a shipped one, got ""')
    path = Path(name)
    if name == STANDARD_INPUT:
        return path
    try:
        if path.is_file():
            return path
        if path.is_dir():
            raise BadInput(f"{name}: is a folder, not a scenario file")
        if path.exists():
            raise BadInput(f"{name}: is a device or a pipe, not a scenario file")
    except OSError as error:  # a name that is too long, or a folder without permission
        reason = error.strerror or str(error)
        raise refusal("scenario", f"a file that can be read ({reason}) or the name of a shipped one", name) from error
    if path.name == name and path.suffix in {"", ".toml"}:
        for shipped in _all_scenarios():
            if shipped.stem == path.stem:
                return shipped
    known = [shipped.stem for shipped in _all_scenarios()]
    near = nearest(path.stem, known)
    hint = f"did you mean {near!r}?" if near else "`gpusim scenarios` lists those that are shipped"
    raise BadInput(f"{name}: no such file, and no shipped scenario of that name; {hint}")


def _question(text: str) -> str:
    comment: list[str] = []
    for line in text.splitlines():
        if not line.startswith("#"):
            break
        comment.append(line.lstrip("#").strip())
    return " ".join(comment)
