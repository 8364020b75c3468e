"""Where a test of a module lies: in that module's room, under its name; the laboratory's in a tree of their own."""

from pathlib import Path

import gpusim

PACKAGE = Path(gpusim.__file__).parent
UNIT = Path(__file__).parent
LAB = UNIT.with_name("lab")
TESTS = sorted(path.relative_to(UNIT) for path in UNIT.rglob("test_*.py"))
LAB_TESTS = sorted(path.relative_to(LAB) for path in LAB.rglob("test_*.py"))

FIT = "fit"
"""Microbenchmarks run on the simulated machine: they test the figures of all rooms, and no module."""

MOST_FILES = 20

WHOLE_PACKAGE = {
    "python/test_interface.py",
    "sim/core/test_units.py",
    "test_changelog.py",
    "test_code_lines.py",
    "test_deviations.py",
    "test_docs.py",
    "test_house.py",
    "test_imports.py",
    "test_readme.py",
    "test_recorded.py",
    "test_rooms.py",
    "test_site.py",
}
"""What these state is true of the package as a whole, or of what lies beside it."""


def module_of(test: Path) -> Path:
    return PACKAGE / test.with_name(test.name.removeprefix("test_"))


def test_every_unit_test_has_the_name_and_place_of_a_module():
    without = {str(test) for test in TESTS if not module_of(test).is_file()}

    assert without == WHOLE_PACKAGE


def test_every_test_of_the_laboratory_has_the_name_and_place_of_a_module():
    of_modules = [test for test in LAB_TESTS if test.parts[0] != FIT]

    assert [str(test) for test in of_modules if not module_of("lab" / test).is_file()] == []


def test_no_folder_of_unit_tests_holds_more_than_twenty():
    folders = [test.parent for test in (*TESTS, *("lab" / test for test in LAB_TESTS))]

    assert {str(folder) for folder in folders if folders.count(folder) > MOST_FILES} == set()
