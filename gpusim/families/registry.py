"""Lists all families, and reads their scenarios from a file, from data, or from the name of a CUTLASS kernel."""

from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final, cast

from gpusim.arguments import plain_table
from gpusim.families.attention.family import ATTENTION
from gpusim.families.conv.family import CONV
from gpusim.families.family import Family
from gpusim.families.gemm.family import GEMM
from gpusim.families.hopper.family import HOPPER
from gpusim.scenario import read
from gpusim.scenario.cutlass3_name import PREFIX_3X, parse_3x_name
from gpusim.scenario.cutlass_name import parse_name
from gpusim.scenario.gemm import GemmScenario
from gpusim.scenario.keys import ScenarioKey
from gpusim.scenario.models import Scenario
from gpusim.scenario.own_kernel import OWN_KEYS, KernelQuestion, own_question
from gpusim.scenario.read import OWN_KIND, Kind, Text
from gpusim.scenario.text import Origin

FAMILIES: Final[tuple[Family, ...]] = (
    GEMM,
    CONV,
    ATTENTION,
    HOPPER,
)
"""All families. ``docs/architecture.md`` describes how to add one."""


@cache
def kinds() -> tuple[Kind, ...]:
    """Return the problem kinds of all families, and how their scenarios are read."""
    return tuple(kind for family in FAMILIES for kind in family.kinds)


def family_of(scenario: Scenario) -> Family:
    """Return the family that a scenario's problem kind belongs to."""
    return next(family for family in FAMILIES if any(kind.name == scenario.kind for kind in family.kinds))


def load_scenario(path: str | Path, overrides: Iterable[str] = ()) -> Scenario:
    """
    Read and validate the scenario of a TOML file.

    Args:
        path: The file. A machine given as a path is relative to its folder.
        overrides: Settings ``key=value`` with a dotted key and a TOML value or a bare word. The last one of a key
            holds.

    Raises:
        BadInput: The file is missing or not TOML, or a check does not hold. The message is one line: what is allowed,
            what was found, file and key, and the ``--set`` that gave it.
    """
    return read.parse(read.read_text(path, overrides), kinds())


def load_question(path: str | Path, overrides: Iterable[str] = ()) -> Scenario | KernelQuestion:
    """Read a scenario of any family, or of a kernel of the user's own; the rest is as in ``load_scenario``."""
    text = read.read_text(path, overrides)
    return own_question(text) if text.is_own else read.parse(text, kinds())


def load_gemm_scenario(path: str | Path, overrides: Iterable[str] = ()) -> GemmScenario:
    """Read and validate a GEMM or convolution; arguments and errors are those of ``load_scenario``."""
    return _gemm(read.read_text(path, overrides))


def named_scenario(name: str, overrides: Iterable[str] = ()) -> GemmScenario:
    """
    Return the validated scenario of a kernel named by CUTLASS's profiler, whose machine code is CUTLASS's.

    Args:
        name: Name as the profiler prints it (``cutlass_name``).
        overrides: Settings as in ``load_scenario``, which must give the problem's extents. A machine given as a path is
            relative to the working directory.

    Raises:
        BadInput: The name is no such name, an extent is missing, or a check does not hold.
    """
    data = parse_name(name)
    data["kernel"]["code"] = "cutlass"
    return _gemm(read.overridden(data, name, overrides, Path(), name))


def any_named_scenario(name: str, overrides: Iterable[str] = ()) -> Scenario:
    """Return the scenario of a kernel of CUTLASS 2.x or 3.x by its name; the rest is as in ``named_scenario``."""
    if not name.startswith(PREFIX_3X):
        return named_scenario(name, overrides)
    return read.parse(read.overridden(parse_3x_name(name), name, overrides, Path(), name), kinds())


def parse_scenario(data: Mapping[str, Any], where: str) -> Scenario:
    """
    Validate plain data as a scenario, and return it.

    Args:
        data: Data in the form that ``tomllib`` returns.
        where: File name for messages. A machine given as a path is relative to its folder.

    Raises:
        BadInput: A check does not hold.
    """
    return read.parse(Text(data, Origin(where), Path(where).parent), kinds())


def scenario_of(data: Mapping[str, Any], overrides: Iterable[str] = (), name: str = "") -> Scenario:
    """
    Validate plain data with overrides as a scenario, and return it. The data is not changed.

    Args:
        data: Data in the form that ``tomllib`` returns.
        name: Name of the scenario; empty if it has none.
        overrides: Settings as in ``load_scenario``. A machine given as a path is relative to the working directory.

    Raises:
        BadInput: A check does not hold.
    """
    own = plain_table(name or "scenario", data)
    return read.parse(read.overridden(own, name or "scenario", overrides, Path(), name), kinds())


def parse_gemm_scenario(data: Mapping[str, Any], where: str) -> GemmScenario:
    """Validate plain data as a GEMM or convolution; arguments and errors are those of ``parse_scenario``."""
    return _gemm(Text(data, Origin(where), Path(where).parent))


def _gemm(text: Text) -> GemmScenario:
    own = tuple(kind for kind in kinds() if kind.scenario is GemmScenario)
    others = [kind.name for kind in kinds() if kind not in own]  # a list: what stands there may be unhashable
    return cast("GemmScenario", read.parse(text, own, " for this command" if text.kind in others else ""))


def scenario_keys() -> dict[str, tuple[ScenarioKey, ...]]:
    """Return the keys of scenarios by kind, those of a kernel of the user's own last."""
    return {**{kind.name: kind.listed() for kind in kinds()}, OWN_KIND: OWN_KEYS}


def scenario_schema() -> dict[str, Any]:
    """Return the JSON Schema of a scenario file."""
    return read.schema(kinds())
