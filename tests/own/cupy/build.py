"""
Compiles kernels of CuPy, and keeps their machine code for tests that have no CuPy.

    python tests/own/cupy/build.py      # needs CuPy and nvcc; writes tests/own/cupy/cubins/sm_80.zip and sm_90.zip

Their sources stay in CuPy, which is under the licences in LICENSE. No driver is needed. The comment of each archive
names the versions of CuPy and of the compiler.
"""

import importlib
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from types import ModuleType
from typing import Any

from gpusim.cuda.compiler import find_compiler
from gpusim.lower.sass.cubin import kernel_names
from gpusim.machine.load import load_machine
from gpusim.python.kernel import ReadyKernel, ready_kernel

FOLDER = Path(__file__).parent
MACHINES = {80: "a100", 90: "h200"}
"""A machine of each target."""

OPTIONS = ("-std=c++17", "-ftz=true")
"""CuPy's for its own kernels."""

SOURCES = {
    "upfirdn": ("scipy.signal._upfirdn", "UPFIRDN_MODULE", ()),
    "lombscargle": ("scipy.signal._spectral_impl", "LOMBSCARGLE_MODULE", ()),
    "max_len_seq": ("scipy.signal._max_len_seq", "_max_len_seq", ()),
    "iir": (
        "scipy.signal._iir_utils",
        "IIR_MODULE",
        (
            "compute_correction_factors<double, double>",
            "first_pass_iir<double>",
            "correct_carries<double>",
            "second_pass_iir<double>",
        ),
    ),
    "sosfilt": (
        "scipy.signal._iir_utils",
        "IIR_SOS_MODULE",
        (
            "compute_correction_factors_sos<double, double>",
            "pick_carries<double>",
            "fir_sos<double>",
            "first_pass_iir_sos<double>",
            "correct_carries_sos<double>",
            "second_pass_iir_sos<double>",
        ),
    ),
    "peaks": ("scipy.signal._peak_finding", "PEAKS_MODULE", ("local_maxima_1d<double>", "peak_prominences<double>")),
    "interval": ("scipy.interpolate._bspline", "INTERVAL_MODULE", ()),
    "bspline": ("scipy.interpolate._bspline", "D_BOOR_MODULE", ("d_boor<double>",)),
    "kdtree": ("scipy.spatial._kdtree_utils", "KD_MODULE", ("compute_bounds<double>",)),
    "kdtree_query": ("scipy.spatial._kdtree_utils", "KNN_MODULE", ("knn<double>", "query_ball<double>")),
}
"""For each kept file: the module of cupyx, its raw module or kernel, and the instances of templates."""

EPOCH = (1980, 1, 1, 0, 0, 0)
"""Time of every member, so that equal machine code makes an equal archive."""


def archive_of(target: int) -> Path:
    """Return the archive of a target's machine code."""
    return FOLDER / "cubins" / f"sm_{target}.zip"


def kept(source: str, symbol: str, target: int) -> ReadyKernel:
    """Return a kept kernel by a part of its symbol."""
    with zipfile.ZipFile(archive_of(target)) as archive:
        data = archive.read(f"{source}.cubin")
    (entry,) = (name for name in kernel_names(data, source) if symbol in name)
    return ready_kernel(data, entry, source, load_machine(MACHINES[target]))


def raw_of(module: str, name: str) -> Any:
    """Return a raw module of cupyx. The packages around it are not imported, for they need cuBLAS and others."""
    importlib.import_module("cupy")
    cupyx = importlib.import_module("cupyx")
    parts = module.split(".")[:-1]
    for package in (*(".".join(parts[: end + 1]) for end in range(len(parts))), "scipy.sparse", "scipy.linalg"):
        stub = _Package(f"cupyx.{package}")
        stub.__path__ = [str(Path(cupyx.__file__).parent.joinpath(*package.split(".")))]
        sys.modules.setdefault(stub.__name__, stub)
    return getattr(importlib.import_module(f"cupyx.{module}"), name)


class _Package(ModuleType):
    """A package whose every name is an empty class."""

    def __getattr__(self, name: str) -> type:
        if name.startswith("__"):
            raise AttributeError(name)
        return object


def main() -> int:
    """Compile everything."""
    cupy, nvcc = importlib.import_module("cupy"), find_compiler("nvcc")
    headers = Path(cupy.__file__).parent / "_core" / "include"
    folders = [*sorted((headers / "cupy" / "_cccl").glob("*")), headers]
    for target in MACHINES:
        with tempfile.TemporaryDirectory() as work, zipfile.ZipFile(archive_of(target), "w") as archive:
            archive.comment = (
                f"CuPy {cupy.__version__}, nvcc {nvcc.version} {' '.join(OPTIONS)} -arch=sm_{target}".encode()
            )
            for source, (module, name, instances) in SOURCES.items():
                text, out = Path(work) / f"{source}.cu", Path(work) / f"{source}.cubin"
                asked = [f"template __global__ decltype({one}) {one};" for one in instances]
                text.write_text("\n".join([raw_of(module, name).code, *asked, ""]))
                command = [nvcc.path, "-cubin", *OPTIONS, *(f"-I{folder}" for folder in folders), f"-arch=sm_{target}"]
                subprocess.run([*map(str, command), "-o", str(out), text.name], check=True, cwd=work)
                archive.writestr(zipfile.ZipInfo(out.name, EPOCH), out.read_bytes(), zipfile.ZIP_DEFLATED, 9)
            sys.stderr.write(f"sm_{target}: {len(SOURCES)} sources\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
