"""Which room may import which, read from the sources. The storeys stand in docs/rooms.py, which draws them."""

import ast
from graphlib import TopologicalSorter
from pathlib import PurePath

import pytest
import rooms

from gpusim.families.registry import FAMILIES

SOURCES = {str(source.relative_to(rooms.PACKAGE)): source for source in rooms.modules().values()}
MODULE_OF = {str(source.relative_to(rooms.PACKAGE)): module for module, source in rooms.modules().items()}

# Executors beside each other, and the streams that only one of them reads.
STRANGERS = ({"functional", "sim"}, {"functional", "gpu"}, {"sim", "gpu"}, {"functional", "lower"})

HOMES = {
    "cupy": {"gpu"},
    "matplotlib": {"report", "families", "python"},  # what is imported for a program returns axes
    "perfetto": {"report"},
    "rich": {"report"},
    "simpy": {"sim"},
    "typer": {"cli", "commands"},
}

# Rooms that may import gpusim.gpu, modules of a family that may, and one that does for types only.
GPU_ROOMS = {"gpu", "measure", "lab", "commands"}
GPU_STAGES = "families/*/device.py"
GPU_TYPES = "families/family.py"

# Rooms that may name a family, besides that family itself.
NAMERS = {"families/registry", "commands", "lab"}

# Commands that import the laboratory, inside their functions; nothing else outside it does.
LAB_COMMANDS = {"commands/calibrate.py", "commands/validate.py"}


def room_of(name):
    return rooms.room_of(MODULE_OF[name])


def imported_rooms(name):
    return {rooms.room_of(module) for module in rooms.module_imports()[MODULE_OF[name]]} - {room_of(name)}


def wing_of(module):
    """The family's package that a module belongs to; None outside all of them."""
    inside = module.split(".")
    return ".".join(inside[:3]) if inside[1:2] == ["families"] and len(inside) > 3 else None


def imported_at_run_time(source):
    """Modules of gpusim that are imported whatever a type checker sees."""
    tree = rooms.tree(source)
    for_types = {
        node
        for block in ast.walk(tree)
        if isinstance(block, ast.If) and ast.unparse(block.test) == "TYPE_CHECKING"
        for node in ast.walk(block)
    }
    return {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node not in for_types}


def test_every_source_belongs_to_a_storey():
    assert {name for name in SOURCES if room_of(name) not in rooms.HEIGHT_OF} == set()


def test_every_room_of_a_storey_is_there():
    assert {room_of(name) for name in SOURCES} == set(rooms.HEIGHT_OF)


def test_rooms_import_from_lower_storeys_only():
    upwards = {
        (name, other)
        for name in SOURCES
        for other in imported_rooms(name)
        if rooms.HEIGHT_OF[other] >= rooms.HEIGHT_OF[room_of(name)] and not {other, room_of(name)} <= set(rooms.GROUND)
    }

    assert upwards == set()


def test_modules_import_each_other_in_no_circle():
    """Imports within functions and imports for types count, too."""
    order = list(TopologicalSorter(rooms.module_imports()).static_order())

    assert set(order) == set(rooms.modules())


def test_executors_do_not_know_each_other():
    known = {(name, other) for name in SOURCES for other in imported_rooms(name) if {room_of(name), other} in STRANGERS}

    assert known == set()


def test_a_library_with_a_home_is_imported_only_there():
    strays = {
        (name, module)
        for name, source in SOURCES.items()
        for module in rooms.imported(source)
        if (folder := room_of(name).split("/")[0]) not in HOMES.get(module.split(".")[0], {folder})
    }

    assert strays == set()


def test_the_gpu_is_known_to_those_who_measure_and_to_a_familys_device():
    knowing = {
        name
        for name in SOURCES
        if "gpu" in imported_rooms(name) and room_of(name) not in GPU_ROOMS and not PurePath(name).match(GPU_STAGES)
    }

    assert knowing == {GPU_TYPES}
    assert not any(module.startswith("gpusim.gpu") for module in imported_at_run_time(SOURCES[GPU_TYPES]))


def test_a_family_is_named_by_the_registry_commands_and_the_laboratory():
    naming = {
        (name, module)
        for name in SOURCES
        for module in rooms.module_imports()[MODULE_OF[name]]
        if wing_of(module) and wing_of(MODULE_OF[name]) is None and room_of(name) not in NAMERS
    }

    assert naming == set()


def imported_with_the_module(source):
    """Modules of gpusim that are imported as soon as the source is: neither inside a function nor for types only."""
    tree = rooms.tree(source)
    later = {
        node
        for block in ast.walk(tree)
        if isinstance(block, ast.FunctionDef)
        or (isinstance(block, ast.If) and "TYPE_CHECKING" in ast.unparse(block.test))
        for node in ast.walk(block)
    }
    return {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node not in later}


def test_only_two_commands_import_the_laboratory_when_they_run():
    knowing = {name for name in SOURCES if "lab" in imported_rooms(name)}

    assert knowing == LAB_COMMANDS
    assert not any(
        module.startswith("gpusim.lab") for name in knowing for module in imported_with_the_module(SOURCES[name])
    )


def test_a_family_imports_no_other_but_the_one_it_extends():
    extended = {(family.folder, family.extends.folder) for family in FAMILIES if family.extends is not None}
    pairs = {
        (wing_of(module), wing_of(other))
        for module, others in rooms.module_imports().items()
        for other in others
        if wing_of(module) and wing_of(other)
    }

    assert {(wing, other) for wing, other in pairs if wing != other} <= extended


@pytest.mark.parametrize("name", SOURCES)
def test_a_module_opens_with_a_docstring(name):
    assert ast.get_docstring(rooms.tree(SOURCES[name]))
