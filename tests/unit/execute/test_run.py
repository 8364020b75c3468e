"""A launch that does not end well: what is said of it, and where."""

from pathlib import Path

import numpy as np
import pytest
from own.build import cubin_of

from gpusim.errors import BadInput, CheckFailed
from gpusim.execute import run
from gpusim.execute.core import constants as core
from gpusim.execute.image import image_of
from gpusim.execute.launch import KernelLaunch
from gpusim.execute.rows import SPECIAL_ROW
from gpusim.execute.rows_control import SPECIALS
from gpusim.execute.run import KernelExecution
from gpusim.lower.sass.cubin import read_cubin

CHECKS = (Path(__file__).parent / "data" / "checks.cu").read_text().splitlines()


def line_of(text):
    """The number of the first line of checks.cu that has a text."""
    return next(number for number, line in enumerate(CHECKS, 1) if text in line)


def saxpy(n, *, shift=0, threads=32, limit=None):
    """An execution of y += a x on arrays of 32 floats, their addresses moved by some bytes."""
    image = image_of([("x", np.zeros(32, dtype=np.float32)), ("y", np.zeros(32, dtype=np.float32))])
    addresses = [(one.address + shift).to_bytes(8, "little") for one in image.allocations]
    values = [*addresses, np.float32(2).tobytes(), np.int32(n).tobytes()]
    return KernelExecution(
        read_cubin(cubin_of("saxpy", 80), "saxpy", "saxpy"),
        KernelLaunch((1, 1, 1), (threads, 1, 1)),
        values,
        image,
        limit=limit,
    )


def test_a_misaligned_access_is_named_with_its_address():
    execution = saxpy(31, shift=2)

    with pytest.raises(CheckFailed) as refused:
        list(execution.run())

    address = execution.image.allocations[0].address + 2
    assert f"warp 0, thread 0: misaligned: global address {address:#x}, byte 2 of x, which has 128 in text" in str(
        refused.value
    )


def test_an_access_behind_an_array_names_the_array():
    with pytest.raises(CheckFailed, match=r"thread 32: out of bounds: global address 0x[0-9a-f]+, byte 128 of x"):
        list(saxpy(33, threads=64).run())


def test_arguments_of_another_size_are_refused_before_anything_runs():
    image = image_of([("x", np.zeros(1, dtype=np.float32))])

    with pytest.raises(BadInput, match=r"saxpy takes 4 arguments of \[8, 8, 4, 4\] bytes, got 1 of \[8\]"):
        KernelExecution(
            read_cubin(cubin_of("saxpy", 80), "saxpy", "saxpy"), KernelLaunch((1, 1, 1), (32, 1, 1)), [bytes(8)], image
        )


def test_a_cta_that_executes_too_many_instructions_is_said_to_spin(monkeypatch):
    monkeypatch.setattr(run, "LONGEST_CTA", 10)
    monkeypatch.setattr(run, "TURN", 4)

    with pytest.raises(CheckFailed, match=r"saxpy: CTA \(0, 0, 0\) has executed 12 warp instructions without an end"):
        list(saxpy(32).run())


def test_a_launch_ends_at_its_limit():
    """Two instructions before the end of saxpy, which is executed by one warp."""
    whole = saxpy(32)
    list(whole.run())
    limited = saxpy(32, limit=whole.executed - 2)

    with pytest.raises(
        CheckFailed, match=rf"saxpy: the launch has executed {whole.executed - 2} warp .* is {whole.executed - 2}; CTA"
    ):
        list(limited.run())
    list(saxpy(32, limit=whole.executed).run())


def test_a_launch_with_more_warps_than_its_limit_does_not_begin():
    with pytest.raises(CheckFailed, match=r"saxpy: the launch has 3 warps, and may execute 2 warp instructions"):
        list(saxpy(96, threads=96, limit=2).run())


def test_the_row_of_a_ctas_number_is_that_of_its_special_register():
    assert SPECIAL_ROW + SPECIALS.index("SR_CTAID.X") == core.CTAID_ROW


def test_a_trace_that_is_full_is_read_and_goes_on():
    """Three steps at once: the pieces together are the whole path of the one warp."""
    whole = saxpy(32)
    list(whole.run())
    image = image_of([("x", np.zeros(32, dtype=np.float32)), ("y", np.zeros(32, dtype=np.float32))])
    addresses = [one.address.to_bytes(8, "little") for one in image.allocations]
    values = [*addresses, np.float32(2).tobytes(), np.int32(32).tobytes()]
    cubin, launch = read_cubin(cubin_of("saxpy", 80), "saxpy", "saxpy"), KernelLaunch((1, 1, 1), (32, 1, 1))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(run, "STEPS_AT_ONCE", 3)
        pieces = list(KernelExecution(cubin, launch, values, image, keeps=True).run())

    assert len(pieces) > 3
    assert sum(len(piece.steps) for piece in pieces) == whole.executed
    assert np.concatenate([piece.steps for piece in pieces])[0] == 0


def test_errors_name_the_source_line_and_the_calls_that_it_is_inlined_at(checks):
    """The kernel is a call of a template, copied(), in one line; its access is inlined there."""
    with pytest.raises(CheckFailed) as plain:
        checks("turned")[1, 128](np.zeros(100, np.float32), np.zeros(128, np.float32))
    with pytest.raises(CheckFailed) as inlined:
        checks("tallied_safe")[1, 128](np.zeros(100, np.int32), np.zeros(128, np.int32))

    assert "LDG.E" in str(plain.value)
    assert str(plain.value).endswith(f"(checks.cu:{line_of('s[threadIdx.x] = x[threadIdx.x];')})")
    inner, outer = line_of("atomicAdd(&bins"), line_of("KERNEL tallied_safe")
    assert str(inlined.value).endswith(f"(checks.cu:{inner}, inlined at checks.cu:{outer})")


def test_warps_that_wait_for_ever_are_named_with_barrier_instruction_and_line(checks):
    with pytest.raises(CheckFailed) as refused:
        checks("never_met")[1, 64](np.zeros(64, np.float32))

    assert "never_met: CTA (0, 0, 0): warps 0, 1 wait for ever at barrier 3 in text 0x" in str(refused.value)
    assert str(refused.value).endswith(f"BAR.SYNC 0x3, 0x100 (checks.cu:{line_of('barrier.sync 3, 256')})")
