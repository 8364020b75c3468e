"""Fixtures for tests of any room where the machine has no GPU: an absent CuPy, or a double of it."""

import sys

import pytest
from doubles.cupy import Cupy
from problems.ragged import RAGGED

from gpusim.cuda.compiler import Compiler
from gpusim.gpu import device
from gpusim.measure import measure


@pytest.fixture
def no_cupy(monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", None)


@pytest.fixture
def gpu(tmp_path, monkeypatch):
    """A session on the double: scenario (and mistakes) to a CuPy whose kernels run that scenario."""

    def compile_cubin(kernel, architecture="sm_90", compiler=None):  # noqa: ARG001
        path = tmp_path / f"kernel-{kernel.build}"
        path.write_bytes(b"machine code")
        return path

    def make(scenario=RAGGED, mistakes=None):
        cupy = Cupy(mistakes)
        cupy.scenario = scenario
        monkeypatch.setattr(device, "import_cupy", lambda: cupy)
        return cupy

    monkeypatch.setattr("gpusim.gpu.module.compile_cubin", compile_cubin)
    monkeypatch.setattr(measure, "find_compiler", lambda: Compiler("nvcc", "13.0.88", tmp_path))
    return make
