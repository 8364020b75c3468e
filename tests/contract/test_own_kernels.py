"""
Own kernels are executed from their machine code, for every target, and write what numpy says; no warps of them race.

The sources are tests/own/kernels, the machine code that of nvcc, kept in tests/own/cubins.
"""

from typing import Any, NamedTuple

import numpy as np
import pytest
from own.build import TARGETS, cubin_of

from gpusim.compiled.choice import asked_for
from gpusim.errors import Unsupported
from gpusim.execute.checks.memory import MemoryFindings
from gpusim.execute.watch import LaunchWatch
from gpusim.lab.own.compare import compare
from gpusim.lab.own.contents import make_arguments
from gpusim.lab.own.counts.compared import execution_of
from gpusim.lab.own.kernel import OwnKernel
from gpusim.lab.own.table import OWN_KERNELS, own_kernel

REFUSED: dict[tuple[str, int], str] = {}
"""Kernels and targets of which an instruction is refused by name."""

EVERY = [(kernel, target) for target in TARGETS for kernel in OWN_KERNELS if kernel.needs <= target]
FEW = ("saxpy", "divide", "sgemm_shared", "reduce_shuffle_float", "transpose_padded", "named_barriers", "interpreter")


UNCHECKED = {"named_barriers": "the number or count of a barrier is in a register"}
"""Kernels whose warps have an order that cannot be told."""


class Written(NamedTuple):
    """The arguments of a launch, the arrays after it, the warp instructions that it took, and what checks found."""

    given: dict[str, Any]
    arrays: dict[str, Any]
    instructions: int
    findings: MemoryFindings | None


def executed(kernel: OwnKernel, target: int, *, checks: bool = False) -> Written:
    """Execute the small launch of a kernel, and check its shared memory or not."""
    given = make_arguments(kernel.small)
    arrays = [(name, value) for name, value in given.items() if isinstance(value, np.ndarray)]
    execution = execution_of(kernel, "small", cubin_of(kernel.source, target), given, keeps=checks)
    watch = LaunchWatch(execution, every_cta=True) if checks else None
    list(watch.watch(execution.run()) if watch else execution.run())
    after = {name: execution.image.contents_of(number, value) for number, (name, value) in enumerate(arrays)}
    return Written(given, after, execution.executed, watch and watch.findings())


@pytest.mark.compiled
@pytest.mark.parametrize(("kernel", "target"), EVERY, ids=[f"{one.name}-sm_{target}" for one, target in EVERY])
def test_a_kernel_writes_what_numpy_says(kernel, target):
    if (kernel.name, target) in REFUSED:
        with pytest.raises(Unsupported, match=REFUSED[kernel.name, target]):
            executed(kernel, target)
        return

    written = executed(kernel, target)

    agreement = compare(kernel, written.given, written.arrays)
    assert agreement.elements > 0
    assert agreement.wrong == 0, agreement


@pytest.mark.compiled
@pytest.mark.parametrize(("kernel", "target"), EVERY, ids=[f"{one.name}-sm_{target}" for one, target in EVERY])
def test_no_warps_race_and_nothing_is_read_unwritten(kernel, target):
    found = executed(kernel, target, checks=True).findings

    assert found is not None
    assert str(found) == "" or kernel.name in UNCHECKED
    assert (found.unchecked is None) == (kernel.name not in UNCHECKED)
    assert UNCHECKED.get(kernel.name, "") in str(found)


@pytest.mark.compiled
@pytest.mark.parametrize("name", FEW)
def test_the_interpreted_core_writes_the_same_bytes_with_as_many_instructions(name):
    compiled = executed(own_kernel(name), 80)
    with asked_for("interpreted"):
        interpreted = executed(own_kernel(name), 80)

    assert interpreted.instructions == compiled.instructions
    for array, values in compiled.arrays.items():
        assert interpreted.arrays[array].tobytes() == values.tobytes()
