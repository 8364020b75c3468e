"""Loads compiled kernels into the current CUDA context and launches them; ``gpu.run`` supplies their parameters."""

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
        specialisation: Source, options and launch of the kernel.
        cubin: Path of its machine code.
    """

    def __init__(self, cupy: Any, specialisation: Specialisation, cubin: Path) -> None:
        """
        Load the kernel.

        Raises:
            CannotRun: The GPU rejects the machine code, or does not have enough shared memory.
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
        """Stack of one thread in bytes: spills and local arrays."""
        return int(self._function.local_size_bytes)

    def launch(self, params: npt.NDArray[np.void]) -> None:
        """
        Launch the kernel on the current stream. Run-time extents follow the parameters, as a structure by value.

        Args:
            params: Parameters, a structure of the dtype that the kernel takes, shape ().
        """
        own = self.specialisation
        arguments: tuple[npt.NDArray[np.void], ...] = (params,)
        if own.extents:
            arguments += (np.array(own.extents, [(f"extent_{at}", np.int32) for at in range(len(own.extents))]),)
        self._function(own.grid, (own.block_threads, 1, 1), arguments, shared_mem=own.shared_bytes)


def load_kernels(cupy: Any, kernels: Sequence[Specialisation]) -> tuple[LoadedKernel, ...]:
    """
    Load kernels, after compiling those that are not in the cache.

    Args:
        cupy: The CuPy module (``device.import_cupy``).
        kernels: Kernels in launch order.

    Raises:
        CannotRun: A kernel cannot be compiled or loaded.
    """
    return tuple(LoadedKernel(cupy, one, compile_cubin(one, architecture(cupy))) for one in kernels)


def architecture(cupy: Any) -> str:
    """Return the current GPU's architecture as in ``-arch``, such as "sm_90"."""
    return f"sm_{cupy.cuda.Device().compute_capability}"
