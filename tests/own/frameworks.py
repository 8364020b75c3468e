"""
Keeps the machine code of the kernels of Triton and CuPy that are measured, beside the measurements.

    python tests/own/frameworks.py      # needs Triton; writes reports/measured/h200/own_frameworks/cubins.zip

Triton's is compiled for the arguments of the large launches. CuPy's is that of tests/own/cupy, under the licences
there.
The comment of the archive names the versions of both.
"""

import sys
import zipfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

sys.path.append(str(Path(__file__).parents[1]))

from own.cupy.build import archive_of as cupy_archive
from own.triton.build import EPOCH, compiled

from gpusim.lab.own.frameworks.cupy import CUPY_KERNELS
from gpusim.lab.own.frameworks.triton import TRITON_CONSTANTS, TRITON_KERNELS
from gpusim.lab.own.kernel import ArrayArgument, OwnKernel, Size
from gpusim.lab.own.machine_code import ARCHIVE, MEASURED_TARGET, frameworks_folder
from gpusim.python.triton_driver import import_triton


def compiled_for(kernel: OwnKernel, size: Size) -> Any:
    """Return a kernel as Triton compiles it for the arguments of a launch."""
    from own.triton import kernels  # noqa: PLC0415 # needs Triton

    arguments = {
        name: np.empty(one.shape, one.dtype) if isinstance(one, ArrayArgument) else _number(one.dtype, one.value)
        for name, one in kernel.launch(size).arguments.items()
        if not name.endswith("_scratch")
    }
    case = SimpleNamespace(arguments=arguments, constants=TRITON_CONSTANTS[kernel.name], types={})
    return compiled(getattr(kernels, kernel.source), case, MEASURED_TARGET)


def _number(dtype: str, value: float) -> float:
    return value if dtype.startswith("float") else int(value)


def main() -> int:
    """Compile what is Triton's, copy what is CuPy's."""
    triton = import_triton()
    triton.knobs.compilation.disable_line_info = True  # it has the name of a folder, and changes no instruction
    with zipfile.ZipFile(cupy_archive(MEASURED_TARGET)) as archive:
        made_by = archive.comment.decode()
        code = {
            f"cupy_{source}": archive.read(f"{source}.cubin") for source in sorted({one.source for one in CUPY_KERNELS})
        }
    for kernel in TRITON_KERNELS:
        made = compiled_for(kernel, "large")
        code[kernel.kept] = made.asm["cubin"]
        sys.stderr.write(f"{kernel.name}: {made.metadata.shared} bytes of shared memory\n")
    folder = frameworks_folder()
    folder.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(folder / ARCHIVE, "w") as archive:
        archive.comment = f"Triton {triton.__version__}; {made_by}".encode()
        for name, data in sorted(code.items()):
            archive.writestr(zipfile.ZipInfo(f"{name}.cubin", EPOCH), data, zipfile.ZIP_DEFLATED, 9)
    return 0


if __name__ == "__main__":
    sys.exit(main())
