"""The rules of the house that no type checker sees: names, sizes of rooms, who asks what a scenario is."""

import ast
import json
import re
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest
import rooms
from PIL import Image

SOURCES = {source.relative_to(rooms.PACKAGE).as_posix(): source for source in rooms.modules().values()}
FOLDERS = sorted({Path(name).parent.as_posix() for name in SOURCES})

MOST_MODULES = 20
MOST_LOOSE = 8

# A unit of the core is read on a few pages, a method of it on one; a request of more fields is a row.
CORE = "sim/core/"
MOST_LINES_OF_A_UNIT = 420
MOST_LINES_OF_A_METHOD = 60
MOST_ARGUMENTS = 7
MOST_READERS = 3

# What every unit of an SM is about: the columns of warps.
SHARED_CLASS = "Warps"

# Functions that users call, so that gpusim.load can be one.
FUNCTIONS = ("load", "simulate", "verify", "compare", "explain", "tune", "sweep")

# Who may ask which problem or mainloop a scenario has.
OWNERS = ("families", "scenario")
MAINLOOPS = {"attention", "flash", "multistage", "pipelined", "chained"}

# A docstring of a room says what it answers, its face, and what it never knows.
FEWEST_SENTENCES = 3


def trees(folder=""):
    """The parsed sources by name, or those of one folder."""
    return {name: rooms.tree(source) for name, source in SOURCES.items() if name.startswith(folder)}


def defined(tree):
    """Public names that a module defines at its top, each with whether it is a class or an alias of types."""
    for node in tree.body:
        names = []
        if isinstance(node, ast.ClassDef):
            names = [node.name]
        elif isinstance(node, ast.Assign):
            names = [target.id for target in node.targets if isinstance(target, ast.Name)]
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            names = [node.target.id]
        is_type = isinstance(node, ast.ClassDef) or "TypeAlias" in ast.unparse(getattr(node, "annotation", node))
        yield from ((name, is_type or not name.isupper()) for name in names if not name.startswith("_"))


def homes(*, of_types):
    """Name -> the modules that define it, where there is more than one."""
    found = defaultdict(list)
    for module, tree in trees().items():
        for name, is_type in dict.fromkeys(defined(tree)):
            if is_type == of_types and name[0].isupper():
                found[name].append(module)
    return {name: modules for name, modules in found.items() if len(modules) > 1}


@cache
def scenario_classes():
    """Names of the classes that a scenario, a problem or a kernel description is made of."""
    return {
        node.name
        for module, tree in trees().items()
        if module.split("/")[0] in OWNERS
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef) and node.name.endswith(("Scenario", "Problem"))
    }


def asked_classes(tree):
    """Names of the classes that values are told by: isinstance, issubclass, type(...) is, and case patterns."""
    for node in ast.walk(tree):
        asked = []
        if isinstance(node, ast.Call) and getattr(node.func, "id", None) in ("isinstance", "issubclass"):
            asked = node.args[1:]
        elif isinstance(node, ast.Compare) and "type(" in ast.unparse(node.left):
            asked = node.comparators
        elif isinstance(node, ast.MatchClass):
            asked = [node.cls]
        for part in asked:
            yield from (each.id for each in ast.walk(part) if isinstance(each, ast.Name))
            yield from (each.attr for each in ast.walk(part) if isinstance(each, ast.Attribute))


def compared_strings(tree):
    """Strings that values are compared with, written there or as a constant of the module."""
    constants = {
        target.id: node.value.value
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare | ast.MatchValue):
            for part in ast.walk(node):
                if isinstance(part, ast.Constant):
                    yield part.value
                elif isinstance(part, ast.Name) and part.id in constants:
                    yield constants[part.id]


OUTSIDE = [name for name in SOURCES if name.split("/")[0] not in OWNERS]


def test_one_public_class_stands_under_one_name():
    """Aliases of types count, too: a reader who meets a name has met all there is of it."""
    assert homes(of_types=True) == {}


def test_one_public_constant_has_one_home():
    assert homes(of_types=False) == {}


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_room_has_at_most_twenty_modules(folder):
    modules = [name for name in SOURCES if Path(name).parent.as_posix() == folder and Path(name).name != "__init__.py"]

    assert len(modules) <= MOST_MODULES


def classes_of_the_core():
    """Its classes, by module and name."""
    return {
        f"{name.removeprefix(CORE)} {node.name}": node
        for name, tree in trees(CORE).items()
        for node in tree.body
        if isinstance(node, ast.ClassDef)
    }


def lines_of(node):
    """Lines of a class or function, docstrings included."""
    return node.end_lineno - node.lineno + 1


@pytest.mark.parametrize("unit", classes_of_the_core().values(), ids=classes_of_the_core())
def test_a_unit_of_the_core_is_small_and_so_are_its_methods(unit):
    methods = [node for node in unit.body if isinstance(node, ast.FunctionDef)]

    assert lines_of(unit) <= MOST_LINES_OF_A_UNIT
    assert [method.name for method in methods if lines_of(method) > MOST_LINES_OF_A_METHOD] == []
    for method in methods:
        named = method.args.args + method.args.kwonlyargs
        assert len([argument for argument in named if argument.arg != "self"]) <= MOST_ARGUMENTS, method.name


@cache
def units_held():
    """Attribute -> the class of the unit that it is, as the types of the core say."""
    found = (
        re.findall(r"^    cdef (?:readonly )?([A-Z]\w+) (\w+)$", types.read_text(encoding="utf-8"), flags=re.MULTILINE)
        for types in (rooms.PACKAGE / CORE).glob("*.pxd")
    )
    held = {attribute: name for pairs in found for name, attribute in pairs}
    return held | {"rows": "SmspRows", "cache": "Lines", "stage": "DataStage"}


def read_of_others(tree):
    """The attributes of other units that a module names, each with their class."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            owner = getattr(node.value, "attr", getattr(node.value, "id", None))
            if owner in units_held():
                yield units_held()[owner], node.attr


def test_an_attribute_of_a_unit_is_read_by_few_others():
    methods = {
        (node.name, method.name)
        for node in classes_of_the_core().values()
        for method in node.body
        if isinstance(method, ast.FunctionDef)
    }
    readers = defaultdict(set)
    for name, tree in trees(CORE).items():
        for owner, attribute in set(read_of_others(tree)) - methods:
            readers[owner, attribute].add(name)

    assert ("L2", "lines") in readers
    assert {
        read for read, modules in readers.items() if len(modules) > MOST_READERS and read[0] != SHARED_CLASS
    } == set()


def test_few_modules_lie_loose():
    assert len([name for name in SOURCES if "/" not in name]) <= MOST_LOOSE


@pytest.mark.parametrize("name", FUNCTIONS)
def test_no_module_has_the_name_of_a_function_of_the_package(name):
    """A module gpusim.simulate would stand where ``gpusim.simulate(scenario)`` is to be."""
    assert not (rooms.PACKAGE / name).exists()
    assert not (rooms.PACKAGE / f"{name}.py").exists()


@pytest.mark.parametrize("name", OUTSIDE)
def test_outside_families_nothing_asks_of_which_class_a_scenario_is(name):
    assert set(asked_classes(rooms.tree(SOURCES[name]))) & scenario_classes() == set()


@pytest.mark.parametrize("name", OUTSIDE)
def test_outside_families_nothing_compares_a_mainloops_name(name):
    assert MAINLOOPS.isdisjoint(compared_strings(rooms.tree(SOURCES[name])))


def test_the_rules_see_what_they_forbid():
    asking = ast.parse(
        "isinstance(x, GemmScenario | int); isinstance(y.problem, models.GemmProblem)\n"
        "match x:\n    case AttentionScenario(): pass\n    case 'flash': pass\n"
        "KIND = 'attention'\nx.kind == KIND\ny in ('pipelined', 'other')\ntype(x) is Conv2dFpropProblem\n"
    )

    assert {"GemmScenario", "GemmProblem", "AttentionScenario", "Conv2dFpropProblem"} <= scenario_classes() & set(
        asked_classes(asking)
    )
    assert {"flash", "attention", "pipelined"} <= set(compared_strings(asking))
    assert dict(defined(ast.parse("A = 1\nclass B: ...\nC: TypeAlias = int\n_d = 2"))) == {
        "A": False,
        "B": True,
        "C": True,
    }


@pytest.mark.parametrize("folder", [folder for folder in FOLDERS if folder != "."])
def test_a_room_says_what_it_answers_its_face_and_what_it_never_knows(folder):
    said = ast.get_docstring(rooms.tree(SOURCES[f"{folder}/__init__.py"])) or ""
    sentences = [sentence for sentence in " ".join(said.split()).split(". ") if sentence]

    assert len(sentences) >= FEWEST_SENTENCES
    assert "never" in said.casefold()


@pytest.mark.parametrize("folder", [folder for folder in FOLDERS if folder != "."])
def test_what_a_rooms_docstring_names_is_there(folder):
    said = ast.get_docstring(rooms.tree(SOURCES[f"{folder}/__init__.py"])) or ""
    named = {word.split(".")[-1] for word in re.findall(r"``([\w.]+)``", said)} - {"kernels_cuda", "cli"}
    there = {Path(name).stem for name in trees(f"{folder}/")}
    for tree in trees(f"{folder}/").values():
        there |= {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
        there |= {defined_name for defined_name, _ in defined(tree)}

    assert named - there == set()


def test_the_picture_of_the_rooms_shows_the_imports_there_are():
    """``make rooms`` draws it anew; its metadata is the list it was drawn from."""
    with Image.open(rooms.PICTURE) as picture:
        shown = json.loads(picture.text[rooms.METADATA_KEY])

    assert shown == rooms.edges()
