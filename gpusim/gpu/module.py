"""A compiled kernel on the GPU: loaded, with its resources, and its launches; what it is given is run.py's business."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from gpusim.cuda.compiler import compile_cubin
from gpusim.cuda.specialise import Specialisation
from gpusim.errors import CannotRun


class LoadedKernel:
    """
    One kernel in the current CUDA context.

    Attributes:
        specialisation: What it was compiled from.
        cubin: Its machine code.
    """

    def __init__(self, cupy: Any, specialisation: Specialisation, cubin: Path) -> None:
        """
        Raises:
            CannotRun: The GPU does not take the machine code, or not so much shared memory.
        """
        self.specialisation = specialisation
        self.cubin = cubin
        try:
            self._module = cupy.RawModule(path=str(cubin))
            self._function = self._module.get_function(specialisation.entry)
            self._function.max_dynamic_shared_size_bytes = specialisation.shared_bytes
        except (cupy.cuda.driver.CUDADriverError, cupy.cuda.runtime.CUDARuntimeError) as error:
            raise CannotRun(f"the GPU does not load {cubin}: {error}") from error

    @property
    def registers(self) -> int:
        """Registers of one thread."""
        return int(self._function.num_regs)

    @property
    def local_bytes(self) -> int:
        """Stack of one thread: spills and local arrays."""
        return int(self._function.local_size_bytes)

    def launch(self, params: npt.NDArray[np.void]) -> None:
        """
        Launch on the current stream.

        Args:
            params: One element of ``specialise.PARAMS``, shape ().
        """
        own = self.specialisation
        self._function(own.grid, (own.block_threads, 1, 1), (params,), shared_mem=own.shared_bytes)


def load_kernels(cupy: Any, kernels: Sequence[Specialisation]) -> tuple[LoadedKernel, ...]:
    """
    Compile (or take from the cache) and load kernels.

    Args:
        cupy: ``device.import_cupy()``.
        kernels: In the order of their launches.

    Raises:
        CannotRun: One cannot be compiled or loaded.
    """
    return tuple(LoadedKernel(cupy, one, compile_cubin(one, architecture(cupy))) for one in kernels)


def architecture(cupy: Any) -> str:
    """What ``-arch`` calls the current GPU: sm_90."""
    return f"sm_{cupy.cuda.Device().compute_capability}"
