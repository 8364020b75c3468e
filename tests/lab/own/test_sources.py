"""Sources of own kernels compile for every target that the table states, and for none below."""

import shutil
from pathlib import Path

import pytest
from slow import one_in

from gpusim.cuda.compiler import compile_cubin, find_compiler
from gpusim.errors import CannotRun
from gpusim.lab.own import sources
from gpusim.lab.own.sources import own_build, own_folder
from gpusim.lab.own.table import OWN_KERNELS

LOWEST, HIGHEST = 75, 90
BY_SOURCE = {kernel.source: kernel for kernel in OWN_KERNELS}


@pytest.fixture
def nvcc(tmp_path, monkeypatch):
    monkeypatch.setenv("GPUSIM_KERNEL_CACHE", str(tmp_path))
    return find_compiler("nvcc")


@pytest.mark.compiler("nvcc")
@pytest.mark.parametrize("source", one_in(40, BY_SOURCE))
def test_a_source_compiles_for_the_target_that_it_needs_and_for_none_below(nvcc, source):
    kernel = BY_SOURCE[source]
    build = own_build(kernel, "small")

    for target in (kernel.needs, HIGHEST):
        assert compile_cubin(build, f"sm_{target}", nvcc).stat().st_size > 0
    if kernel.needs > LOWEST:
        with pytest.raises(CannotRun, match=f"refuses .*{source}.cu"):
            compile_cubin(build, f"sm_{LOWEST}", nvcc)


def test_both_sizes_are_one_build():
    for kernel in OWN_KERNELS:
        assert own_build(kernel, "small").digest == own_build(kernel, "large").digest


def test_an_installation_without_the_source_tree_is_told(tmp_path, monkeypatch):
    package = tmp_path / "site" / "gpusim"
    package.mkdir(parents=True)
    shutil.copy(sources.gpusim.__file__, package)
    monkeypatch.setattr(sources.gpusim, "__file__", str(package / "__init__.py"))

    with pytest.raises(CannotRun, match="no own kernels; they lie in the source tree of gpusim"):
        own_folder()


def test_no_source_includes_anything_but_the_ptx_header():
    """NVRTC compiles them alone, without the toolkit's headers."""
    for path in sorted(own_folder().glob("*.cu*")):
        included = [line for line in Path(path).read_text(encoding="utf-8").splitlines() if line.startswith("#include")]
        assert included in ([], ['#include "ptx.cuh"'])
