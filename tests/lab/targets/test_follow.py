"""Kernels of every target, compiled and followed: a sample of what ``python -m gpusim.lab.targets`` follows."""

import pytest
from slow import one_in

from gpusim.cuda.compiler import CACHE_VARIABLE
from gpusim.errors import CheckFailed
from gpusim.lab.targets import __main__ as command
from gpusim.lab.targets.follow import Followed, follow
from gpusim.lab.targets.matrix import TARGETS, Combination, combinations
from gpusim.lab.targets.targets_page import section, with_section
from gpusim.lower.compiled import CompilableKernel

EVERY = 29
SAMPLED = [one for machine in TARGETS for one in list(combinations(machine))[::EVERY]]

F32 = {"ab": "f16", "accumulator": "f32", "output": "f32"}
README = {"kind": "gemm", "m": 2048, "n": 2048, "k": 512}
SPILLS = {
    "machine": "rtx4090",
    "problem": {
        "kind": "gemm",
        "m": 91,
        "n": 8,
        "k": 48,
        "ldb": 64,
        "layout_a": "row",
        "layout_b": "column",
        "bias": True,
        "dtype": {"ab": "s8", "accumulator": "s32", "output": "s8"},
    },
    "kernel": {
        "threadblock": [64, 64, 64],
        "warp": [64, 64, 64],
        "instruction": [16, 8, 32],
        "stages": 2,
        "mainloop": "pipelined",
        "shared": {"b": "row_major"},
    },
}
"""A kernel of 255 registers, whose fragments wait on the stack for their mma.sync."""


def shown(one):
    return f"sm_{one.target} {one.family} {one.name}"


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path))


@pytest.mark.compiler("nvcc")
@pytest.mark.parametrize("combination", one_in(len(SAMPLED) // 3, SAMPLED), ids=shown)
def test_a_sample_is_followed_or_refused_for_what_the_gpu_lacks(combination):
    found = follow(combination)

    assert found.verdict != "failed", found.why


@pytest.mark.slow
@pytest.mark.compiler("nvcc")
@pytest.mark.parametrize("machine", ["a100", "rtx3060", "rtx3090", "rtx4090", "l40s", "h100_sxm", "h100_pcie", "h200"])
def test_the_readme_s_gemm_is_followed_on_every_machine_that_has_cp_async(machine):
    assert follow(Combination(0, "", "", {"machine": machine, "problem": README})).verdict == "followed"


@pytest.mark.compiler("nvcc")
def test_a_fragment_that_waits_on_the_stack_is_found_again():
    assert follow(Combination(89, "", "", SPILLS)).verdict == "followed"


def test_code_that_is_not_the_schedule_s_has_failed(monkeypatch):
    def stream(*_):
        raise CheckFailed("0x40 LDG has no op")

    monkeypatch.setattr(CompilableKernel, "compiled", stream)
    found = follow(next(combinations("t4")))

    assert (found.verdict, found.why) == ("failed", "0x40 LDG has no op")


def row(family, verdict, target=80, why=""):
    return Followed(Combination(target, family, "TN", {}), verdict, why, 1.0)


def test_the_page_counts_by_family_and_target_and_says_why():
    found = [row("gemm", "followed"), row("gemm", "refused", 90, "no u4"), row("dgrad", "failed", 80, "no op")]
    text = section("nvcc 13.0", ["Measured."], found)

    assert "| gemm | 1 | 0, 1 refused |\n| dgrad | 0, 1 failed | - |\n| all | 1, 1 failed | 0, 1 refused |" in text
    assert "1 failed:\n\n- sm_80 TN: no op\n\n1 refused:\n\n- 1: no u4\n" in text


def test_a_section_replaces_that_of_its_own_compiler_alone():
    first, second = (section(name, [name], [row("gemm", "followed")]) for name in ("nvcc 13.0", "nvrtc 12.9"))
    both = with_section(with_section("", second), first)

    assert both.index("## nvcc 13.0") < both.index("## nvrtc 12.9")
    assert with_section(both, first) == both
    assert with_section(with_section("", first), second) == both


def test_the_command_ends_with_3_where_one_has_failed(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(command, "find_compiler", lambda: command.Compiler("nvcc", "13.0", tmp_path))
    monkeypatch.setattr(command, "followed", lambda *_: [row("gemm", "failed", why="no op"), row("gemm", "followed")])

    assert command.main(["--out", str(tmp_path / "page.md")]) == 3
    assert capsys.readouterr().err == "1 of 2 combinations could not be followed, first no op\n"
    assert "## nvcc 13.0\n" in (tmp_path / "page.md").read_text()
