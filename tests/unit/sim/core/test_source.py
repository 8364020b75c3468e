"""What is compiled of the units: all of their texts but the lines that import one from another."""

import ast
from itertools import combinations

import pytest

from gpusim.sim.core.source import CHIP, CORE_UNITS

TEXTS = {unit: (CHIP.folder / f"{unit.replace('.', '/')}.py").read_text(encoding="utf-8") for unit in CORE_UNITS}
NO_UNITS = {"__init__", "constants", "engine", "source", "sm90.__init__"}


def modules(suffix):
    """The modules of the room and of the rooms within it, as units are named."""
    found = [path.relative_to(CHIP.folder) for path in CHIP.folder.rglob(f"*{suffix}")]
    return {".".join(path.with_suffix("").parts) for path in found}


def test_every_module_of_the_room_is_a_unit_with_types():
    assert modules(".py") - NO_UNITS == set(CORE_UNITS)
    assert modules(".pxd") == {*CORE_UNITS, "constants"}


@pytest.mark.parametrize("unit", CORE_UNITS)
def test_a_unit_imports_those_before_it_alone(unit):
    assert set(CHIP.imported_units(TEXTS[unit])) <= set(CORE_UNITS[: CORE_UNITS.index(unit)])


@pytest.mark.parametrize("unit", CORE_UNITS)
def test_what_is_left_out_of_a_unit_is_its_imports_of_units(unit):
    whole, left = (ast.parse(text).body for text in (TEXTS[unit], CHIP.without_units(TEXTS[unit])))
    left_out = [ast.unparse(node) for node in whole if ast.dump(node) not in set(map(ast.dump, left))]

    assert len(whole) == len(left) + len(left_out)
    assert all(line.startswith("from gpusim.sim.core.") for line in left_out)
    named = [line.split()[1].removeprefix("gpusim.sim.core.") for line in left_out]
    assert named == list(CHIP.imported_units(TEXTS[unit]))


@pytest.mark.parametrize("unit", CORE_UNITS)
def test_a_unit_imports_another_under_its_own_names_at_its_top(unit):
    """Names that were changed, or imports within functions, would be left in the text of the compiled core."""
    imports = [node for node in ast.walk(ast.parse(TEXTS[unit])) if isinstance(node, ast.Import | ast.ImportFrom)]
    names = [alias for node in imports if getattr(node, "module", None) for alias in node.names]
    at_top = CHIP.imported_units(TEXTS[unit])
    anywhere = [node.module for node in imports if getattr(node, "module", None)]

    assert not any(alias.asname for alias in names)
    prefix = "gpusim.sim.core."
    assert {module.removeprefix(prefix) for module in anywhere if module.startswith(prefix)} <= {
        *at_top,
        "constants",
    }


def test_no_two_units_define_one_name():
    """In the compiled core they are one module."""
    defined = {
        unit: {node.name for node in ast.parse(text).body if isinstance(node, ast.ClassDef | ast.FunctionDef)}
        for unit, text in TEXTS.items()
    }

    assert {(one, other) for one, other in combinations(CORE_UNITS, 2) if defined[one] & defined[other]} == set()


def test_the_compiled_text_and_types_import_no_unit():
    assert CHIP.imported_units(CHIP.code()) == {}
    assert not any("gpusim.sim.core" in line for line in CHIP.types().splitlines() if "cimport" in line)
