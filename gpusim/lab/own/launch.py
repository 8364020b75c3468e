"""``python -m gpusim.lab.own.launch --size SIZE --log FILE NAME...``: launches own kernels, for a profiler to see."""

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

import numpy as np

from gpusim.cuda.compiler import compile_cubin
from gpusim.errors import CannotRun, GpusimError
from gpusim.gpu.device import import_cupy
from gpusim.gpu.module import architecture
from gpusim.lab.own.compare import OwnAgreement, compare
from gpusim.lab.own.contents import make_arguments
from gpusim.lab.own.kernel import OWN_SIZES, OwnKernel, Size, Stored
from gpusim.lab.own.machine_code import frameworks_folder, read_code
from gpusim.lab.own.sources import own_build
from gpusim.lab.own.table import own_kernel
from gpusim.measure.measure import context_is_lost

SHARED_BYTES_UNASKED: Final = 48 * 1024
"""Dynamic shared memory of a CTA that every kernel may have; for more, it asks."""


@contextmanager
def _machine_code(cupy: Any, kernel: OwnKernel, size: Size) -> Iterator[Path]:
    """Yield the file of a kernel's machine code, which may be gone afterwards."""
    if not kernel.kept:
        yield Path(compile_cubin(own_build(kernel, size), architecture(cupy)))
        return
    with tempfile.TemporaryDirectory() as folder:
        cubin = Path(folder) / f"{kernel.code}.cubin"
        cubin.write_bytes(read_code(frameworks_folder(), kernel.code))
        yield cubin


def launch_own(cupy: Any, kernel: OwnKernel, size: Size, before: dict[str, Any]) -> dict[str, Stored]:
    """
    Load an own kernel on the current GPU, launch it once, and return its arrays afterwards.

    A framework's kernel is loaded from the machine code that is kept; others are compiled.

    Args:
        cupy: The CuPy module (``device.import_cupy``).
        kernel: The kernel.
        size: Which launch.
        before: Its arguments, which stay as they are.

    Raises:
        CannotRun: The kernel cannot be compiled or loaded.
    """
    launch = kernel.launch(size)
    try:
        with _machine_code(cupy, kernel, size) as cubin:
            function = cupy.RawModule(path=str(cubin)).get_function(kernel.entry)
        if launch.shared_bytes > SHARED_BYTES_UNASKED:
            function.max_dynamic_shared_size_bytes = launch.shared_bytes
    except (cupy.cuda.driver.CUDADriverError, cupy.cuda.runtime.CUDARuntimeError) as error:
        raise CannotRun(f"the GPU does not load {kernel.name}: {error}") from error
    arguments = {
        name: cupy.asarray(value) if isinstance(value, np.ndarray) else value for name, value in before.items()
    }
    function(launch.grid, launch.block, tuple(arguments.values()), shared_mem=launch.shared_bytes)
    cupy.cuda.runtime.deviceSynchronize()
    return {name: cupy.asnumpy(value) for name, value in arguments.items() if not isinstance(value, np.generic)}


def launch_each(
    kernels: Sequence[OwnKernel], size: Size, *, check: bool
) -> tuple[dict[str, OwnAgreement | None], dict[str, str]]:
    """
    Launch own kernels in order, each once.

    If a kernel breaks the CUDA context, those behind it are not launched.

    Args:
        kernels: The kernels.
        size: Which launch of each.
        check: Compare what each wrote with its oracle.

    Returns:
        By name, the agreement of each kernel that was launched (None without ``check``), and the failures of others.

    Raises:
        CannotRun: CuPy or a GPU is missing.
    """
    cupy = import_cupy()
    launched, failed = dict[str, OwnAgreement | None](), dict[str, str]()
    for kernel in kernels:
        before = make_arguments(kernel.launch(size))
        try:
            written = launch_own(cupy, kernel, size, before)
        except (GpusimError, RuntimeError) as error:  # CuPy's errors are RuntimeErrors
            failed[kernel.name] = str(error)
            if context_is_lost(cupy):
                break
        else:
            launched[kernel.name] = compare(kernel, before, written) if check else None
        cupy.get_default_memory_pool().free_all_blocks()
    return launched, failed


def main(argv: Sequence[str] | None = None) -> int:
    """
    Launch own kernels, and write ``{launched: {name: agreement}, failed: {name: reason}}`` as JSON to ``--log``.

    Returns:
        Exit code: 0, 1 if a kernel failed, or that of the error.
    """
    parser = argparse.ArgumentParser(prog="python -m gpusim.lab.own.launch", description=__doc__)
    parser.add_argument("names", nargs="+", metavar="NAME")
    parser.add_argument("--size", choices=OWN_SIZES, required=True)
    parser.add_argument("--check", action="store_true", help="compare what each kernel writes with its oracle")
    parser.add_argument("--log", type=Path, required=True)
    arguments = parser.parse_args(argv)
    try:
        kernels = [own_kernel(name) for name in arguments.names]
        launched, failed = launch_each(kernels, arguments.size, check=arguments.check)
    except GpusimError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code
    agreements = {name: agreement and asdict(agreement) for name, agreement in launched.items()}
    arguments.log.write_text(json.dumps({"launched": agreements, "failed": failed}) + "\n", encoding="utf-8")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
