"""What instructions do with shared memory and with the order of warps."""

import numpy as np
from own.build import cubin_of

from gpusim.execute.checks.instructions import AWAITS, COMMITS, MEETS, NO_ACCESS, shared_instructions
from gpusim.execute.image import image_of
from gpusim.execute.launch import KernelLaunch
from gpusim.execute.run import KernelExecution
from gpusim.lower.sass.cubin import read_cubin
from gpusim.schedule.warp_events import Effect, Sync


def of_kernel(source):
    """The columns of an own kernel's instructions, and the instructions."""
    cubin = read_cubin(cubin_of(source, 80), source, source)
    values = [bytes(size) for _, size in cubin.parameters]
    made = KernelExecution(cubin, KernelLaunch((1, 1, 1), (128, 1, 1)), values, image_of([]))
    return shared_instructions(made.rows, made.code), made.code


def of_name(code, name):
    return [at for at, sass in enumerate(code) if sass is not None and sass.name == name]


def test_copies_matrices_and_barriers_of_a_tensor_core_kernel():
    """ldmatrix.x4 takes the rows of 32 lanes, 16 bytes each; cp.async copies 16 bytes."""
    found, code = of_kernel("mma_fp16")

    copies, matrices = of_name(code, "LDGSTS"), of_name(code, "LDSM")
    assert set(found.effect[copies]) == {Effect.ASYNC_WRITE}
    assert found.copies[copies].all()
    assert set(found.effect[matrices]) == {Effect.READ}
    assert set(found.size[matrices]) == {16}
    assert set(found.role[of_name(code, "LDGDEPBAR")]) == {COMMITS}
    assert set(found.role[of_name(code, "DEPBAR")]) == {AWAITS}
    assert set(found.role[of_name(code, "BAR")]) == {MEETS}
    assert set(found.barriers.values()) == {Sync(0)}


def test_a_kernel_without_shared_memory_has_no_access():
    found, _ = of_kernel("saxpy")

    assert (found.effect == NO_ACCESS).all()


def test_a_generic_access_may_be_one_of_shared_memory():
    found, code = of_kernel("generic_pointer")

    generic = of_name(code, "LD")
    assert generic
    assert found.generic[generic].all()
    assert (found.effect[generic] == Effect.READ).all()
    assert found.granule == np.min(found.size[found.effect != NO_ACCESS])


def test_a_barrier_whose_count_is_in_a_register_has_that_of_the_others_at_it(checks):
    """nvcc puts BAR.ARV 0x1, R6 behind the kernel's end, for warps that have diverged before BAR.ARV 0x1, 0x80."""
    kernel = checks("handed_over_safe")
    values = [bytes(size) for _, size in kernel.cubin.parameters]
    made = KernelExecution(kernel.cubin, KernelLaunch((1, 1, 1), (128, 1, 1)), values, image_of([]))

    found = shared_instructions(made.rows, made.code)

    counted = {at: str(made.code[at].operands["c"]) for at in found.barriers}
    assert {counted[at] for at in counted} >= {"0x80", "R6"}
    assert {event.expected for event in found.barriers.values()} == {4}


def test_a_barrier_whose_number_is_in_a_register_is_not_known(checks):
    kernel = checks("computed_barrier")
    values = [bytes(size) for _, size in kernel.cubin.parameters]
    made = KernelExecution(kernel.cubin, KernelLaunch((1, 1, 1), (128, 1, 1)), values, image_of([]))

    assert list(shared_instructions(made.rows, made.code).barriers.values()) == [None]
