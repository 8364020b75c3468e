"""
Triton functions are executed from their machine code, and write what numpy says.

The sources are tests/own/triton/kernels.py, the machine code is Triton's, kept in tests/own/triton/cubins.
"""

import numpy as np
import pytest
from own.triton.build import MACHINES, compiled, kept
from own.triton.launches import TRITON_CASES

from gpusim.compiled.choice import asked_for
from gpusim.lab.own.compare import compare
from gpusim.lower.sass.decode import decode
from gpusim.machine.load import load_machine
from gpusim.python.triton_arguments import as_triton
from gpusim.python.triton_driver import TritonDriver, TritonLauncher

EVERY = [
    pytest.param(case, target, id=f"{case.function}-sm_{target}")
    for target in MACHINES
    for case in TRITON_CASES
    if case.needs <= target
]
FEW = ("product64", "narrow", "narrow8")
MULTIPLIES = ("matmul", "attention", "grouped", "dequantise")


@pytest.mark.compiled
@pytest.mark.parametrize(("case", "target"), EVERY)
def test_a_triton_function_writes_what_numpy_says(case, target):
    run = executed(case, target)

    assert run.launch.threads == 32 * case.constants["num_warps"]
    assert run.counts.executed == set(range(int(np.prod(case.grid))))


@pytest.mark.compiled
def test_a_run_whose_time_is_not_simulated_says_so_and_has_its_counts():
    (case,) = (one for one in TRITON_CASES if one.function == "product64")

    said = str(executed(case, 80))

    assert said.startswith("product64: the time of an instruction is not simulated: DMMA has no pipe in the model")
    assert "DMMA.884" in said.partition("SASS")[2]


@pytest.mark.parametrize("case", [one for one in TRITON_CASES if one.function in FEW], ids=FEW)
def test_the_interpreted_core_does_too(case):
    with asked_for("interpreted"):
        executed(case, case.needs)


def executed(case, target):
    """Execute a case, compare what it writes, and return the run."""
    kernel, source, metadata = kept(case.function, target)
    driver = TritonDriver(load_machine(MACHINES[target]))
    given = {name: as_triton(name, value, case.types.get(name)) for name, value in copies(case).items()}
    values = [*given.values(), *(one for name, one in case.constants.items() if name in source.signature)]

    TritonLauncher(source, metadata)(*(*case.grid, 1, 1)[:3], driver, kernel, None, None, None, None, *values)

    written = {name: given[name].array for name in case.oracle(case.arguments)}
    assert compare(case, case.arguments, written).wrong == 0
    (run,) = driver.runs
    assert str(run.findings) == ""
    return run


@pytest.mark.parametrize("target", MACHINES)
@pytest.mark.parametrize("function", MULTIPLIES)
def test_matrices_are_multiplied_by_mma_sync_on_every_target(function, target):
    """As Triton compiles for sm_90 by itself, they would be those of wgmma."""
    opcodes = {one.mnemonic.split(".")[0] for one in decode(kept(function, target)[0].cubin.code, target)}

    assert {"HMMA", "LDSM", "LDGSTS"} <= opcodes
    assert not {"HGMMA", "WARPGROUP", "UTMALDG"} & opcodes


@pytest.mark.compiler("triton")
@pytest.mark.parametrize(("case", "target"), EVERY)
def test_kept_machine_code_is_of_todays_sources(case, target):
    from own.triton import kernels  # noqa: PLC0415 # needs Triton

    kernel = compiled(getattr(kernels, case.function), case, target)

    _, source, metadata = kept(case.function, target)
    assert kernel.src.signature == source.signature
    assert {name: getattr(kernel.metadata, name) for name in vars(metadata)} == vars(metadata)


def copies(case):
    """The arguments of a case, arrays copied."""
    return {name: value.copy() if isinstance(value, np.ndarray) else value for name, value in case.arguments.items()}
