"""Triton functions with Triton's launch syntax: what is refused before Triton is asked, and launches with Triton."""

from types import SimpleNamespace

import numpy as np
import pytest

import gpusim
from gpusim.errors import BadInput, CannotRun, CheckFailed, Unsupported

N = 1000


class InterpretedFunction:
    """What Triton makes of a function where TRITON_INTERPRET is set."""


def like_triton(*names):
    return SimpleNamespace(arg_names=names, run=lambda *_: None)


def test_what_is_no_triton_function_is_refused():
    with pytest.raises(BadInput, match=r"function must be a function with @triton\.jit, got <built-in function len>"):
        gpusim.triton(len)
    with pytest.raises(BadInput, match="TRITON_INTERPRET is set, so Triton compiles nothing"):
        gpusim.triton(InterpretedFunction())


def test_types_are_those_that_numpy_lacks():
    with pytest.raises(BadInput, match=r"types\['x'\] must be one of bf16, fp8e5, fp8e4nv, fp8e4b15, got 'f32'"):
        gpusim.triton(like_triton("x"), types={"x": "f32"})
    with pytest.raises(BadInput, match="types must be a table of parameters and types, got 'bf16'"):
        gpusim.triton(like_triton("x"), types="bf16")


def test_machines_without_triton_are_refused_before_anything_is_compiled():
    with pytest.raises(Unsupported, match="t4: Triton compiles for sm_80 and later"):
        gpusim.triton(like_triton("x"), machine="t4")


@pytest.fixture
def kernels(monkeypatch, tmp_path):
    """The Triton functions of tests/own, compiled anew: machine code that Triton kept may name another clone's file."""
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("TRITON_DEFAULT_FP_FUSION", "1")  # Triton warns about the default until it changes
    from own.triton import kernels  # noqa: PLC0415 # needs Triton

    return kernels


@pytest.fixture
def vectors():
    return np.arange(N, dtype=np.float32), np.ones(N, np.float32), np.zeros(N, np.float32)


def by_block(meta):
    return (-(-meta["n"] // meta["BLOCK"]),)


@pytest.mark.compiler("triton")
@pytest.mark.parametrize("machine", ["a100", "rtx3090", "rtx4090", "h200"])
def test_a_function_runs_with_tritons_launch_syntax(kernels, vectors, machine):
    x, y, out = vectors

    run = gpusim.triton(kernels.add, machine=machine)[by_block](x, y, out, N, BLOCK=128, num_warps=2)

    assert np.array_equal(out, x + 1)
    assert (run.launch.grid, run.launch.block) == ((8, 1, 1), (64, 1, 1))


@pytest.mark.compiler("triton")
@pytest.mark.parametrize("machine", ["a100", "h200"])
def test_a_load_counts_for_its_own_line(kernels, vectors, machine):
    """Every load and store of the function has its text on the line that the counts name."""
    run = gpusim.triton(kernels.add, machine=machine)[by_block](*vectors, N, BLOCK=256)

    accesses = [(row.text, line.text) for line in run.lines for row in line.rows if row.sectors]
    assert {text.split(".")[0].split()[-1] for text, _ in accesses} == {"LDG", "STG"}
    assert [one for one in accesses if ("tl.load" if "LDG" in one[0] else "tl.store") not in one[1]] == []


@pytest.mark.compiler("triton")
def test_numbers_are_specialised_as_triton_does(kernels, vectors):
    """992 is divisible by 16, so a thread accesses four floats at once; 1000 is not; 1 is compiled in."""
    x, y, out = vectors
    add = gpusim.triton(kernels.add, machine="a100")

    widest, ragged, one = (
        {word for row in run.rows for word in row.text.split() if word.startswith("LDG")}
        for run in (add[(8,)](x, y, out, n, BLOCK=128, num_warps=1) for n in (992, 1000, np.int64(1)))
    )

    assert widest == {"LDG.E.128"}
    assert "LDG.E.128" not in ragged
    assert one == {"LDG.E"}


@pytest.mark.compiler("triton")
def test_bits_of_bf16_are_integers_with_a_type(kernels):
    bits = np.full(256, 0x3F80, np.uint16)
    out = np.zeros_like(bits)
    types = dict.fromkeys(("x", "y", "out"), "bf16")

    gpusim.triton(kernels.add, machine="a100", types=types)[(2,)](bits, bits.copy(), out, 256, BLOCK=128)

    assert (out == 0x4000).all()


@pytest.mark.compiler("triton")
def test_a_tuned_function_takes_a_configuration(kernels, vectors):
    import triton  # noqa: PLC0415 # needs Triton

    configs = [triton.Config({"BLOCK": 64}), triton.Config({"BLOCK": 256}, num_warps=2)]
    tuned = triton.autotune(configs, key=["n"])(kernels.add)
    x, y, out = vectors

    run = gpusim.triton(tuned, machine="a100")[by_block](x, y, out, N, config=configs[1])

    assert np.array_equal(out, x + 1)
    assert (run.launch.grid, run.launch.block) == ((4, 1, 1), (64, 1, 1))
    assert tuned.cache == {}
    with pytest.raises(BadInput, match="config must be one of the function's configurations, got 5"):
        gpusim.triton(tuned)[by_block](x, y, out, N, config=5)
    with pytest.raises(BadInput, match="config is given, but add is not autotuned"):
        gpusim.triton(kernels.add)[by_block](x, y, out, N, config=configs[1])


@pytest.mark.compiler("triton")
def test_without_a_configuration_the_one_of_fewest_cycles_is_taken(kernels, vectors):
    import triton  # noqa: PLC0415 # needs Triton

    configs = [triton.Config({"BLOCK": size}, num_warps=1) for size in (1024, 32, 128)]
    tuned = triton.autotune(configs, key=["n"], restore_value=["out"])(kernels.add)
    x, y, out = vectors
    launch = gpusim.triton(tuned, machine="a100")[by_block]

    run = launch(x, y, out, N)

    assert np.array_equal(out, x + 1)
    alone = {config: launch(x, y, out, N, config=config).cycles for config in configs}
    best = min(alone, key=alone.get)
    assert run.cycles == alone[best]
    assert launch(x, y, out, N).launch.grid == (-(-N // best.kwargs["BLOCK"]), 1, 1)
    assert tuned.best_config == best
    assert {config: time for config, (time, *_) in tuned.configs_timings.items()} == alone
    assert tuned.cache == {}


@pytest.mark.compiler("triton")
def test_heuristics_compute_constants(kernels, vectors):
    import triton  # noqa: PLC0415 # needs Triton

    tuned = triton.heuristics({"BLOCK": lambda given: triton.next_power_of_2(given["x"].size)})(kernels.add)
    x, y, out = vectors

    run = gpusim.triton(tuned, machine="a100")[by_block](x, y, out, N)

    assert run.launch.grid == (1, 1, 1)
    assert np.array_equal(out, x + 1)


@pytest.mark.compiler("triton")
def test_what_triton_refuses_is_said_in_one_line(kernels, vectors):
    add = gpusim.triton(kernels.add, machine="a100")[(8,)]

    with pytest.raises(BadInput, match=r"Triton refuses add: add\(\) missing 1 required positional argument: 'n'"):
        add(*vectors, BLOCK=128)
    with pytest.raises(CannotRun, match=r"Triton does not compile add: .*arange's range must be a power of 2"):
        add(*vectors, N, BLOCK=100)
    with pytest.raises(BadInput, match=r"Triton refuses add: .*Keyword argument stages was specified but unrecognised"):
        add(*vectors, N, BLOCK=128, stages=3)
    with pytest.raises(BadInput, match="types names z, which is no parameter of x, y, out, n, BLOCK"):
        gpusim.triton(kernels.add, types={"z": "bf16"})[(8,)](*vectors, N, BLOCK=128)
    with pytest.raises(BadInput, match=r"grid must be one to three integers, got 1\.5"):
        gpusim.triton(kernels.add)[1.5](*vectors, N, BLOCK=128)


@pytest.mark.compiler("triton")
def test_an_access_out_of_bounds_is_found(kernels, vectors):
    x, y, _ = vectors

    with pytest.raises(CheckFailed, match=r"add: CTA \(3, 0, 0\), warp 3, thread 116: out of bounds"):
        gpusim.triton(kernels.add, machine="a100")[(8,)](x, y, np.zeros(500, np.float32), N, BLOCK=128)
