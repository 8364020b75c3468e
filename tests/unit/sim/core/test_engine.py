"""Which execution of the core is used: what is asked for, what is there, and what is out of date."""

import re
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

from gpusim.compiled import choice
from gpusim.errors import BadInput
from gpusim.sim.core import chip, constants
from gpusim.sim.core.engine import engine
from gpusim.sim.core.source import CHIP, CORE_UNITS

FOLDER = Path(chip.__file__).parent
TODAY = CHIP.digest()


def integers_of_the_core():
    """The numbers that the units' texts have names for."""
    modules = [import_module(f"gpusim.sim.core.{unit}") for unit in CORE_UNITS]
    return {name: value for module in modules for name, value in vars(module).items() if type(value) is int}


@pytest.fixture
def built(monkeypatch):
    """Puts a compiled core of some digest in the place of what is built here; None for no compiled core."""

    def build(digest):
        module = None if digest is None else ModuleType("_chip")
        if module is not None:
            module.SOURCE_DIGEST = digest
        monkeypatch.setitem(sys.modules, "gpusim.sim.core._chip", module)
        return module

    kept = choice._compiled  # noqa: SLF001 - what it finds is kept for the process
    kept.cache_clear()
    monkeypatch.delenv("GPUSIM_ENGINE", raising=False)
    yield build
    kept.cache_clear()


STALE = "the compiled core is of another text: run `python hatch_build.py`"
ABSENT = "the core was not compiled when gpusim was installed"


@pytest.mark.parametrize("wanted", ["", "compiled"])
def test_a_core_compiled_from_today_s_text_is_used(built, monkeypatch, wanted):
    monkeypatch.setenv("GPUSIM_ENGINE", wanted)
    module = built(TODAY)

    assert engine() == ("compiled", module, "")


@pytest.mark.parametrize(("digest", "why"), [("0" * 64, STALE), (None, ABSENT)], ids=["stale", "absent"])
def test_without_one_the_text_is_interpreted_and_the_reason_said(built, digest, why):
    built(digest)

    assert engine() == ("interpreted", chip, why)


@pytest.mark.parametrize(("digest", "why"), [("0" * 64, STALE), (None, ABSENT)], ids=["stale", "absent"])
def test_who_asks_for_the_compiled_core_gets_no_other(built, monkeypatch, digest, why):
    monkeypatch.setenv("GPUSIM_ENGINE", "compiled")
    built(digest)

    with pytest.raises(BadInput) as refused:
        engine()

    assert str(refused.value) == f"GPUSIM_ENGINE asks for the compiled core, but {why}"


def test_who_asks_for_the_interpreted_core_gets_it(built, monkeypatch):
    built(TODAY)
    monkeypatch.setenv("GPUSIM_ENGINE", "interpreted")

    assert engine() == ("interpreted", chip, "GPUSIM_ENGINE asks for it")


def test_another_word_is_refused(built, monkeypatch):
    built(TODAY)
    monkeypatch.setenv("GPUSIM_ENGINE", "fast")

    with pytest.raises(BadInput) as refused:
        engine()

    assert str(refused.value) == "GPUSIM_ENGINE must be one of compiled, interpreted, got 'fast'"


@pytest.mark.compiled
def test_the_compiled_core_carries_the_digest_of_its_text():
    assert engine().module.SOURCE_DIGEST == TODAY


def test_every_constant_of_the_core_has_a_type():
    """One without is an object of Python's in the compiled core, and with three gemm_4096 took 8.2 s for 6.2."""
    types = (FOLDER / "constants.pxd").read_text(encoding="utf-8")
    typed = {
        name for names in re.findall(r"^cdef long long ([A-Z_, ]+)$", types, re.MULTILINE) for name in names.split(", ")
    }

    assert set(integers_of_the_core()) <= typed


def test_a_number_that_has_changed_makes_the_compiled_core_stale(built, monkeypatch):
    """C has it in place of its name, so the text alone does not tell."""
    built(TODAY)
    monkeypatch.setattr(constants, "MILLI", 1001)

    assert engine() == ("interpreted", chip, STALE)


def test_c_knows_every_constant_of_the_core_that_fits_into_32_bits():
    known = CHIP.named_integers()
    own = integers_of_the_core()

    assert {name: value for name, value in own.items() if value < 1 << 31} == {
        name: value for name, value in known.items() if name in own
    }
    assert known["MILLI"] == 1000
    assert known["SCOREBOARDS"] == 6
    assert known["BARRIER"] == own["BARRIER"]
    assert "NEVER" not in known
