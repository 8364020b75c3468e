"""The machine code that was measured: what is kept, and what compiler may make it."""

from pathlib import Path

import pytest

from gpusim.cuda.compiler import Compiler
from gpusim.errors import CannotRun
from gpusim.lab.own import machine_code
from gpusim.lab.own.machine_code import ARCHIVE, MEASURED_TARGET, keep_code, main, read_code
from gpusim.lab.own.table import OWN_KERNELS, own_kernel
from gpusim.lower.sass.cubin import read_cubin

MEASURED = Path(__file__).parents[3] / "reports" / "measured" / "h200" / "own"


def compiling(monkeypatch, version, folder):
    """Let an NVRTC of some version be installed, whose machine code is the options and the source's name."""

    def compile_cubin(build, architecture, compiler):
        out = folder / f"{build.source.stem}.cubin"
        out.write_text(f"{compiler.version} {architecture} {' '.join(build.options)} {build.source.stem}")
        return out

    monkeypatch.setattr(machine_code, "find_compiler", lambda wanted: Compiler(wanted, version, Path("libnvrtc.so")))
    monkeypatch.setattr(machine_code, "compile_cubin", compile_cubin)


@pytest.mark.parametrize("kernel", OWN_KERNELS, ids=[kernel.name for kernel in OWN_KERNELS])
def test_every_measured_kernel_has_its_machine_code(kernel):
    if kernel.needs > MEASURED_TARGET:
        pytest.skip("it needs a later target")

    cubin = read_cubin(read_code(MEASURED, kernel.source), kernel.entry, kernel.source)

    assert cubin.architecture == MEASURED_TARGET
    assert cubin.code


def test_a_source_is_kept_once_and_without_its_line_table(monkeypatch, tmp_path):
    compiling(monkeypatch, "13.0", tmp_path)

    assert keep_code(tmp_path, [own_kernel("copy_stride_2"), own_kernel("copy_stride_8"), own_kernel("saxpy")]) == 2

    assert read_code(tmp_path, "copy_strided") == b"13.0 sm_90 -std=c++17 copy_strided"


def test_another_compiler_is_refused(monkeypatch, tmp_path, capsys):
    compiling(monkeypatch, "13.2", tmp_path)

    assert main([str(tmp_path)]) != 0
    assert capsys.readouterr().err == "the kernels were measured with NVRTC 13.0, NVRTC 13.2 is here\n"
    assert not (tmp_path / ARCHIVE).exists()


def test_machine_code_that_was_not_kept_is_named(monkeypatch, tmp_path):
    with pytest.raises(CannotRun, match=r"cubins\.zip: no machine code of saxpy"):
        read_code(tmp_path, "saxpy")
    compiling(monkeypatch, "13.0", tmp_path)
    keep_code(tmp_path, [own_kernel("saxpy")])
    with pytest.raises(CannotRun, match=r"cubins\.zip: no machine code of haxpy"):
        read_code(tmp_path, "haxpy")
