"""
Compiles the Triton functions, and keeps their machine code for tests that have no Triton.

    python tests/own/triton/build.py      # needs Triton; writes tests/own/triton/cubins/sm_80.zip and so on

Each archive names Triton's version in its comment, and has for each function what Triton's launcher reads.
"""

import json
import sys
import zipfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from gpusim.machine.load import load_machine
from gpusim.python.kernel import ReadyKernel, ready_kernel
from gpusim.python.triton_arguments import as_triton
from gpusim.python.triton_driver import TritonDriver, import_triton

FOLDER = Path(__file__).parent
MACHINES = {80: "a100", 89: "rtx4090", 90: "h200"}
"""A machine of each target."""

EPOCH = (1980, 1, 1, 0, 0, 0)
"""Time of every member, so that equal machine code makes an equal archive."""

READ = ("name", "num_warps", "num_ctas", "shared", "global_scratch_size", "profile_scratch_size")
"""What a launcher reads of the compiler's metadata."""


def archive_of(target: int) -> Path:
    """Return the archive of a target's machine code."""
    return FOLDER / "cubins" / f"sm_{target}.zip"


def kept(function: str, target: int) -> tuple[ReadyKernel, SimpleNamespace, SimpleNamespace]:
    """Return the kept kernel of a function, its source and its metadata, as a launcher reads them."""
    with zipfile.ZipFile(archive_of(target)) as archive:
        data = archive.read(f"{function}.cubin")
        said = json.loads(archive.read(f"{function}.json"))
    metadata = SimpleNamespace(**{name: said[name] for name in READ})
    kernel = ready_kernel(data, metadata.name, function, load_machine(MACHINES[target]))
    return kernel, SimpleNamespace(signature=said["signature"]), metadata


def compiled(function: Any, case: Any, target: int) -> Any:
    """Return the function of a case as Triton compiles it for a target."""
    driver = TritonDriver(load_machine(MACHINES[target]))
    given = [as_triton(name, value, case.types.get(name)) for name, value in case.arguments.items()]
    with driver.active():
        return function.run(*given, grid=(1,), warmup=True, enable_fp_fusion=True, **case.constants, **driver.options)


def main() -> int:
    """Compile everything."""
    triton = import_triton()
    triton.knobs.compilation.disable_line_info = True  # it has the name of a folder, and changes no instruction
    sys.path.insert(0, str(FOLDER.parents[1]))
    from own.triton import kernels  # noqa: PLC0415 # needs Triton
    from own.triton.launches import TRITON_CASES  # noqa: PLC0415 # the same

    for target in MACHINES:
        with zipfile.ZipFile(archive_of(target), "w") as archive:
            archive.comment = f"Triton {triton.__version__}, sm_{target}".encode()
            for case in (one for one in TRITON_CASES if one.needs <= target):
                kernel = compiled(getattr(kernels, case.function), case, target)
                said = {name: getattr(kernel.metadata, name) for name in READ} | {"signature": kernel.src.signature}
                for suffix, data in (("cubin", kernel.asm["cubin"]), ("json", json.dumps(said))):
                    member = zipfile.ZipInfo(f"{case.function}.{suffix}", EPOCH)
                    archive.writestr(member, data, zipfile.ZIP_DEFLATED, 9)
    return 0


if __name__ == "__main__":
    sys.exit(main())
