"""Compiled kernels: which compiler, what is kept, and what is said where there is none or it refuses."""

import os
import stat
from dataclasses import replace
from pathlib import Path

import pytest

from gpusim.cuda import compiler
from gpusim.cuda.compiler import Compiler, compile_cubin, find_compiler
from gpusim.errors import CannotRun
from gpusim.families.gemm.specialise import specialise
from gpusim.families.registry import parse_scenario

KERNEL = {"threadblock": [64, 64, 32], "warp": [32, 32, 32], "stages": 3, "shared": {"a": "Swizzle<2,3,3>"}}
SCENARIO = parse_scenario(
    {"machine": "h200", "problem": {"kind": "gemm", "m": 64, "n": 64, "k": 64}, "kernel": KERNEL}, "test"
)
NVCC = r"""#!/bin/sh
if [ "$1" = --version ]; then echo "Cuda compilation tools, release 13.0, V13.0.88"; exit; fi
printf '%s\n' "$*" >> "$0.calls"
while [ $# -gt 0 ]; do if [ "$1" = -o ]; then printf cubin > "$2"; fi; shift; done
"""
REFUSING = """#!/bin/sh
if [ "$1" = --version ]; then echo "release 13.0, V13.0.88"; exit; fi
echo "kernel.cu(3): warning: unused" >&2
echo "kernel.cu(7): error: no such layout" >&2
exit 1
"""


@pytest.fixture
def nvcc(tmp_path, monkeypatch):
    """Puts an nvcc of a given text on an otherwise empty PATH, and the cache into a folder of its own."""

    def install(text=NVCC):
        path = tmp_path / "bin" / "nvcc"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setenv("PATH", f"{path.parent}{os.pathsep}/usr/bin{os.pathsep}/bin")
        return path

    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv(compiler.CACHE_VARIABLE, str(tmp_path / "cache"))
    monkeypatch.setattr(compiler, "_nvrtc_libraries", lambda: iter(()))
    return install


def test_nvcc_is_found_with_its_version(nvcc):
    path = nvcc()
    assert find_compiler() == Compiler("nvcc", "13.0.88", path)


def test_a_missing_compiler_says_what_to_install(nvcc):
    assert nvcc
    with pytest.raises(CannotRun) as missing:
        find_compiler()
    assert str(missing.value) == (
        "no CUDA compiler is installed: pip install 'gpusim[compiler]' brings NVRTC, the CUDA toolkit has nvcc"
    )
    with pytest.raises(CannotRun, match="nvrtc is not installed"):
        find_compiler("nvrtc")


def test_a_kernel_is_compiled_once(nvcc):
    path = nvcc()
    kernel = specialise(SCENARIO)

    first, second = compile_cubin(kernel), compile_cubin(kernel)

    assert first == second
    assert first.read_bytes() == b"cubin"
    (call,) = Path(f"{path}.calls").read_text().splitlines()
    words = call.split()
    assert words[0] == "-cubin"
    assert {"-std=c++17", "-arch=sm_90", f"-I{kernel.include}", str(kernel.source)} <= set(words)
    assert set(kernel.options) <= set(words)


def test_another_build_architecture_or_compiler_is_another_file(nvcc):
    nvcc()
    plain, trace = specialise(SCENARIO), specialise(SCENARIO, "trace")
    other = replace(find_compiler(), version="13.1.1")

    files = {
        compile_cubin(plain),
        compile_cubin(trace),
        compile_cubin(plain, "sm_80"),
        compile_cubin(plain, compiler=other),
    }

    assert len(files) == 4


def test_a_refusal_shows_the_compiler_s_first_error(nvcc):
    nvcc(REFUSING)

    with pytest.raises(
        CannotRun, match=r"nvcc 13\.0\.88 refuses .*kernel\.cu: kernel\.cu\(7\): error: no such layout$"
    ):
        compile_cubin(specialise(SCENARIO))


def test_a_cache_that_cannot_be_written_is_said(nvcc, tmp_path):
    nvcc()
    (tmp_path / "cache").write_text("a file")

    with pytest.raises(CannotRun, match="the compiled kernel cannot be kept"):
        compile_cubin(specialise(SCENARIO))
