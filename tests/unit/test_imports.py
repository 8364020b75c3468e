"""Which room may import which, read from the sources."""

import ast
from pathlib import Path

import gpusim

PACKAGE = Path(gpusim.__file__).parent

# From the ground up; a room imports only from lower rows and from itself.
STOREYS = (
    {"__init__", "arrays", "errors", "units"},
    {"element_types"},
    {"machine"},
    {"layout"},
    {"tile"},
    {"scenario", "results"},
    {"numerics"},
    {"schedule"},
    {"functional", "cuda"},
    {"records", "gpu"},
    {"lower"},
    {"sim"},
    {"report"},
    {"families"},
    {"verbs", "measure"},
    {"commands"},
    {"cli"},
    {"__main__"},
)
STOREY = {room: height for height, rooms in enumerate(STOREYS) for room in rooms}

# Rooms of one storey, or of two, that are executors beside each other.
STRANGERS = ({"functional", "sim"}, {"functional", "gpu"}, {"sim", "gpu"}, {"functional", "lower"})

HOMES = {
    "cupy": {"gpu"},
    "matplotlib": {"report", "families"},
    "perfetto": {"report"},
    "rich": {"report"},
    "simpy": {"sim"},
    "typer": {"cli", "commands"},
}


def room_of(source: Path) -> str:
    return source.relative_to(PACKAGE).with_suffix("").parts[0]


def imported_modules(source: Path) -> set[str]:
    modules = set()
    for node in ast.walk(ast.parse(source.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            modules.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{source}:{node.lineno}: imports are absolute"
            modules.update(f"{node.module}.{alias.name}" for alias in node.names)
    return modules


def imported_rooms(source: Path) -> set[str]:
    inside = {module.split(".")[1] for module in imported_modules(source) if module.startswith("gpusim.")}
    return {room if room in STOREY else "__init__" for room in inside}


SOURCES = {str(source.relative_to(PACKAGE)): source for source in sorted(PACKAGE.rglob("*.py"))}


def test_every_source_belongs_to_a_storey():
    assert {name for name, source in SOURCES.items() if room_of(source) not in STOREY} == set()


def test_rooms_import_downwards():
    upwards = {
        (name, other)
        for name, source in SOURCES.items()
        for other in imported_rooms(source) - {room_of(source)}
        if STOREY[other] > STOREY[room_of(source)]
    }

    assert upwards == set()


def test_executors_do_not_know_each_other():
    known = {
        (name, other)
        for name, source in SOURCES.items()
        for other in imported_rooms(source)
        if {room_of(source), other} in STRANGERS
    }

    assert known == set()


def test_a_library_with_a_home_is_imported_only_there():
    strays = {
        (name, module)
        for name, source in SOURCES.items()
        for module in imported_modules(source)
        if room_of(source) not in HOMES.get(module.split(".")[0], {room_of(source)})
    }

    assert strays == set()


def test_every_module_with_anything_in_it_opens_with_a_docstring():
    trees = {name: ast.parse(source.read_text(encoding="utf-8")) for name, source in SOURCES.items()}

    assert {name for name, tree in trees.items() if tree.body and not ast.get_docstring(tree)} == set()
