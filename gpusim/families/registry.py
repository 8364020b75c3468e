"""The families there are, and scenarios of any of them by file, by data, and by the name of a CUTLASS kernel."""

from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final, cast

from gpusim.families.attention.family import ATTENTION
from gpusim.families.dgrad.family import DGRAD
from gpusim.families.family import Family
from gpusim.families.gemm.family import GEMM
from gpusim.scenario import read
from gpusim.scenario.cutlass_name import parse_name
from gpusim.scenario.gemm import GemmScenario
from gpusim.scenario.models import Scenario
from gpusim.scenario.read import Kind, Text
from gpusim.scenario.text import Origin

FAMILIES: Final[tuple[Family, ...]] = (
    GEMM,
    DGRAD,
    ATTENTION,
)
"""Every family; ``docs/architecture.md`` says what another one needs."""


@cache
def kinds() -> tuple[Kind, ...]:
    """How the problem kinds of all families are read."""
    return tuple(kind for family in FAMILIES for kind in family.kinds)


def family_of(scenario: Scenario) -> Family:
    """The family whose kernels a scenario asks about."""
    return next(family for family in FAMILIES if any(kind.name == scenario.kind for kind in family.kinds))


def load_scenario(path: str | Path, overrides: Iterable[str] = ()) -> Scenario:
    """
    The scenario of a TOML file, all checks held.

    Args:
        path: The file. A machine given as a path is relative to its folder.
        overrides: ``key=value`` with a dotted key and a TOML value or a bare word; the last one of a key holds.

    Raises:
        BadInput: The file is missing or no TOML, or a check does not hold. One line: what is allowed, what was found,
            file and key, and the ``--set`` that gave it.
    """
    return read.parse(read.read_text(path, overrides), kinds())


def load_gemm_scenario(path: str | Path, overrides: Iterable[str] = ()) -> GemmScenario:
    """As ``load_scenario``, of a GEMM or convolution only."""
    return _gemm(read.read_text(path, overrides))


def named_scenario(name: str, overrides: Iterable[str] = ()) -> GemmScenario:
    """
    The scenario of a kernel that CUTLASS's profiler names, all checks held.

    Args:
        name: As the profiler prints it (``cutlass_name``).
        overrides: As in ``load_scenario``; they must give the problem's extents. A machine given as a path is relative
            to the working directory.

    Raises:
        BadInput: It is no such name, an extent is missing, or a check does not hold.
    """
    return _gemm(read.overridden(parse_name(name), name, overrides, Path()))


def parse_scenario(data: Mapping[str, Any], where: str) -> Scenario:
    """
    The scenario of plain data, all checks held.

    Args:
        data: As ``tomllib`` reads it.
        where: File name for messages; a machine given as a path is relative to its folder.

    Raises:
        BadInput: A check does not hold.
    """
    return read.parse(Text(data, Origin(where), Path(where).parent), kinds())


def parse_gemm_scenario(data: Mapping[str, Any], where: str) -> GemmScenario:
    """As ``parse_scenario``, of a GEMM or convolution only."""
    return _gemm(Text(data, Origin(where), Path(where).parent))


def _gemm(text: Text) -> GemmScenario:
    own = tuple(kind for kind in kinds() if kind.scenario is GemmScenario)
    others = {kind.name for kind in kinds()} - {kind.name for kind in own}
    return cast("GemmScenario", read.parse(text, own, " for this command" if text.kind in others else ""))


def scenario_schema() -> dict[str, Any]:
    """JSON Schema of a scenario file."""
    return read.schema(kinds())
