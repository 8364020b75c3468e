"""Mutated cubins and launches are executed or refused in one line; the command ``gpusim.lab.own.fuzz`` tries more."""

import numpy as np
import pytest
from own.build import cubin_of

import gpusim
from gpusim.errors import BadInput
from gpusim.lab.own import fuzz
from gpusim.lab.own.fuzz import FuzzedLaunch, fuzzed_launch, outcome_of
from gpusim.lower.sass.cubin import read_cubin

SEED = 11


@pytest.mark.compiled
@pytest.mark.parametrize("count", [400, pytest.param(4000, marks=pytest.mark.slow)])
def test_mutated_cubins_and_launches_break_nothing(capsys, count):
    assert fuzz.main(["--count", str(count), "--seed", str(SEED)]) == 0

    said = capsys.readouterr().out
    assert said.startswith(f"{count} cases of seed {SEED}: ")
    for kind in ("BadInput", "CheckFailed", "Unsupported", "executed"):
        assert kind in said


def test_equal_numbers_give_equal_cases():
    one, same = fuzzed_launch(3, SEED), fuzzed_launch(3, SEED)

    assert (one.data, one.shape, one.entry) == (same.data, same.shape, same.entry)
    assert one.data != fuzzed_launch(4, SEED).data


@pytest.mark.parametrize(
    ("raised", "kind"),
    [(BadInput("no"), "BadInput"), (ZeroDivisionError("no"), "TRACEBACK"), (MemoryError(), "TRACEBACK")],
)
def test_an_error_that_is_not_for_the_user_breaks_a_rule(monkeypatch, tmp_path, raised, kind):
    def fails(*_, **__):
        raise raised

    monkeypatch.setattr(gpusim, "kernel", fails)

    assert outcome_of(fuzzed_launch(0, SEED), 0, tmp_path / "k.cubin").kind == kind


def test_a_case_that_takes_long_breaks_a_rule(monkeypatch, tmp_path):
    monkeypatch.setattr(fuzz, "MOST_CASE_SECONDS", -1.0)

    assert outcome_of(fuzzed_launch(0, SEED), 0, tmp_path / "k.cubin").kind == "SLOW"


def test_an_endless_loop_ends_near_the_limit(tmp_path):
    """A kernel's text ends with a branch to itself, behind EXIT; here its first instruction is that one, too."""
    code = read_cubin(cubin_of("saxpy", 80), "saxpy", "saxpy").code
    loop = next(code[at : at + 16] for at in range(0, len(code), 16) if code[at : at + 2] == b"\x47\x79")
    arguments = np.zeros(32, np.float32), np.zeros(32, np.float32), 2.0, 32
    data = cubin_of("saxpy", 80).replace(code, loop + code[16:])

    ended = outcome_of(FuzzedLaunch("saxpy", "a100", data, "saxpy", (1, 32), arguments), 0, tmp_path / "k.cubin")

    assert ended.kind == "CheckFailed"
    assert (
        "executed 65536 warp instructions, its limit is 60000; CTA (0, 0, 0), warp 0 is at text 0x0000 BRA"
        in ended.text
    )
