"""The sources of gpusim.kernel: CUDA C++ and its templates, PTX, machine code, and raw kernels of CuPy."""

from pathlib import Path

import numpy as np
import pytest

import gpusim
from gpusim.cuda import compiler
from gpusim.cuda.compiler import Compiler
from gpusim.errors import BadInput, CannotRun
from gpusim.python import sources

TEXT = 'extern "C" __global__ void shift(float* x) { x[threadIdx.x] += BY; }'
TEMPLATES = """
template<typename T, int N> __global__ void scale(T* x) { x[threadIdx.x] *= N; }
namespace signal { template<typename T> __global__ void negate(T* x) { x[threadIdx.x] = -x[threadIdx.x]; } }
"""
PTX = """.version 7.0
.target sm_80
.address_size 64
.visible .entry seven(.param .u64 out) {
  .reg .u64 %a; .reg .u32 %v;
  ld.param.u64 %a, [out]; cvta.to.global.u64 %a, %a; mov.u32 %v, 7; st.global.u32 [%a], %v; ret;
}
"""


def like_cupy(kind, **attributes):
    """An object of a class that CuPy has."""
    return type(kind, (), {"__module__": "cupy._core.raw", **attributes})()


def raw_kernel(**attributes):
    return like_cupy("RawKernel", **{"code": TEXT, "name": "shift", "options": (), "backend": "nvrtc"} | attributes)


@pytest.fixture
def builds(tmp_path, monkeypatch):
    """What would be compiled, and with which compiler; the cache is a folder of its own."""
    found = []

    def compile_cubin(build, architecture, chosen):
        found.append((build, architecture, chosen))
        return Path("compiled.cubin")

    monkeypatch.setenv(compiler.CACHE_VARIABLE, str(tmp_path / "cache"))
    monkeypatch.setattr(sources, "compile_cubin", compile_cubin)
    monkeypatch.setattr(sources, "find_compiler", lambda name: Compiler(name or "nvrtc", "13.0", Path("compiler")))
    return found


def test_a_file_of_cuda_is_compiled_and_machine_code_is_taken_as_it_is(builds, tmp_path):
    source = tmp_path / "shift.cu"
    source.write_text(TEXT)

    assert sources.machine_code(source, "shift", 80) == (Path("compiled.cubin"), "shift")
    assert sources.machine_code("any.cubin", "shift", 80) == (Path("any.cubin"), "shift")
    ((build, architecture, _),) = builds
    assert (build.source, build.include, architecture) == (source, tmp_path, "sm_80")
    assert build.options == ("-std=c++17", "-lineinfo")


def test_an_instance_of_a_template_is_asked_for_behind_the_text(builds, tmp_path):
    source = tmp_path / "templates.cu"
    source.write_text(TEMPLATES)

    _, scale = sources.machine_code(source, "scale<float, 3>", 80)
    _, negate = sources.machine_code(source, "signal::negate<int>", 80)

    assert (scale, negate) == ("5scaleIf", "6signal6negateIiE")
    text = builds[0][0].source.read_text()
    assert text.startswith(f'#line 1 "{source}"\n')
    assert text.endswith("\ntemplate __global__ decltype(scale<float, 3>) scale<float, 3>;\n")
    assert f"-I{tmp_path}" in builds[0][0].options


def test_a_raw_kernel_is_compiled_as_cupy_does(builds):
    """CuPy flushes subnormals to zero, whatever the options are."""
    sources.machine_code(raw_kernel(options=("-DBY=1",)), "", 90)
    sources.machine_code(raw_kernel(options=("--std=c++14",), backend="nvcc"), "", 90)

    (first, architecture, with_first), (second, _, with_second) = builds
    assert (first.source.read_text(), first.entry, architecture) == (TEXT, "shift", "sm_90")
    assert {"-std=c++17", "-DBY=1", "-ftz=true", "-lineinfo"} <= set(first.options)
    assert "-std=c++17" not in second.options
    assert (with_first.name, with_second.name) == ("nvrtc", "nvcc")


def test_a_raw_kernel_of_a_file_and_a_module_are_taken(builds, tmp_path):
    source = tmp_path / "shift.cu"
    source.write_text(TEXT)
    module = like_cupy("RawModule", code=TEXT, options=(), backend="nvrtc")

    sources.machine_code(raw_kernel(code=None, file_path=str(source)), "", 90)
    sources.machine_code(module, "shift", 90)

    assert [build.entry for build, *_ in builds] == ["shift", "shift"]
    assert builds[0][0].source == source


def test_other_kernels_of_cupy_are_refused_by_name():
    with pytest.raises(BadInput, match=r"ElementwiseKernel of CuPy has no source without a driver; give a cupy\.RawK"):
        gpusim.kernel(like_cupy("ElementwiseKernel"))


def test_what_is_no_source_is_refused(tmp_path):
    with pytest.raises(BadInput, match="source must be a path, got 5"):
        gpusim.kernel(5)
    with pytest.raises(CannotRun, match=r"none\.ptx: no such file"):
        gpusim.kernel("none.ptx")
    folder = tmp_path / "folder.ptx"
    folder.mkdir()
    with pytest.raises(CannotRun, match=r"folder\.ptx: Is a directory"):
        gpusim.kernel(folder)


@pytest.mark.compiler("nvcc")
def test_templates_and_ptx_run(tmp_path, monkeypatch):
    monkeypatch.setenv(compiler.CACHE_VARIABLE, str(tmp_path / "cache"))
    (tmp_path / "templates.cu").write_text(TEMPLATES)
    (tmp_path / "seven.ptx").write_text(PTX)
    x, out = np.arange(32, dtype=np.float32), np.zeros(1, np.int32)

    gpusim.kernel(tmp_path / "templates.cu", "scale<float, 3>", machine="a100")[1, 32](x)
    gpusim.kernel(tmp_path / "templates.cu", "signal::negate<float>", machine="a100")[1, 32](x)
    gpusim.kernel(tmp_path / "seven.ptx", machine="rtx4090")[1, 1](out)

    assert np.array_equal(x, -3 * np.arange(32))
    assert out == 7


@pytest.mark.compiler("cupy")
@pytest.mark.compiler("nvcc")
def test_a_raw_kernel_of_cupy_runs(tmp_path, monkeypatch):
    import cupy  # noqa: PLC0415 # needs CuPy

    monkeypatch.setenv(compiler.CACHE_VARIABLE, str(tmp_path / "cache"))
    text = (
        "#include <cupy/complex.cuh>\n"
        'extern "C" __global__ void square(complex<float>* x) { x[threadIdx.x] *= x[threadIdx.x]; }'
    )
    x = (np.arange(32) + 1j).astype(np.complex64)
    y = x.copy()

    gpusim.kernel(cupy.RawKernel(text, "square"), machine="a100")[1, 32](y)

    assert np.array_equal(y, x * x)
