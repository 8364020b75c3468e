"""
Presents a simulated GPU to Triton as its driver, so that Triton binds, specialises, compiles, tunes and launches.

Triton asks its active driver for the device's target and limits, and for the launcher of a compiled kernel.
"""

import importlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import RLock
from typing import Any, Final

import numpy as np

from gpusim.errors import Unsupported, missing_extra
from gpusim.machine.spec import Machine
from gpusim.python.kernel import KernelRun, ReadyKernel, ready_kernel
from gpusim.python.triton_arguments import parameter_values
from gpusim.python.triton_lines import lines_corrected
from gpusim.units import WARP_SIZE

FIRST_TARGET: Final = 80
"""Lowest compute capability that Triton compiles for."""

LAST_TARGET: Final = 90
"""Highest compute capability whose machine code is executed."""

LATEST_INSTRUCTIONS: Final = 89
"""
Latest compute capability whose instructions Triton may emit.

For sm_90 Triton emits wgmma and TMA by default, which are not executed. So it is told to emit instructions of sm_89,
such as mma.sync; ptxas assembles them for sm_90.
"""

_ONE_AT_A_TIME = RLock()
"""Held while a driver is active: a process has one active driver of Triton."""


def import_triton() -> Any:
    """
    Import Triton.

    Raises:
        CannotRun: It is not installed. The message says what to install.
    """
    try:
        return importlib.import_module("triton")
    except ImportError as error:
        raise missing_extra("gpusim.triton", "triton") from error


class TritonDriver:
    """
    A machine as Triton's driver during a launch.

    Attributes:
        machine: The machine.
        runs: What each launch did.
        utils: The functions that Triton calls besides; this object has them, too.
        launcher_cls: Class of what launches a compiled kernel.
    """

    def __init__(self, machine: Machine) -> None:
        """
        Prepare launches on a machine.

        Raises:
            Unsupported: Triton has no such target, or its machine code is not executed.
        """
        capability = machine.compute_capability
        if capability < FIRST_TARGET:
            raise Unsupported(
                f"{machine.name}: Triton compiles for sm_{FIRST_TARGET} and later, the machine has sm_{capability}"
            )
        if capability > LAST_TARGET:
            raise Unsupported(f"{machine.name}: Triton's machine code for sm_{capability} is not executed")
        self.machine = machine
        self.runs: list[KernelRun] = []
        self.utils = self
        self.launcher_cls = TritonLauncher
        self._tuning = False

    @property
    def is_tuning(self) -> bool:
        """Whether launches are trials of an autotuner."""
        return self._tuning

    @property
    def options(self) -> dict[str, str]:
        """Compiler options of every launch on the machine."""
        return {"arch": f"sm{LATEST_INSTRUCTIONS}"} if self.machine.compute_capability >= LAST_TARGET else {}

    @contextmanager
    def active(self) -> Iterator[None]:
        """Make this the active driver of Triton within a block."""
        config = importlib.import_module("triton.runtime.driver").driver
        knobs = importlib.import_module("triton.knobs").runtime
        with _ONE_AT_A_TIME, lines_corrected(knobs):
            before = config._active  # noqa: SLF001 # reset_active looks for a GPU, and fails where there is none
            config.set_active(self)
            try:
                yield
            finally:
                config.set_active(before)

    def get_current_target(self) -> Any:
        """Return the target that Triton compiles for."""
        target = importlib.import_module("triton.backends.compiler").GPUTarget
        return target("cuda", self.machine.compute_capability, WARP_SIZE)

    def get_current_device(self) -> Machine:
        """Return the machine, which is the key of the kernels that Triton has compiled."""
        return self.machine

    def get_current_stream(self, _device: object) -> "TritonDriver":
        """Return the stream that Triton passes to a launcher: this driver."""
        return self

    def get_device_properties(self, _device: object) -> dict[str, int]:
        """Return the limits that Triton checks."""
        return {"max_shared_mem": self.machine.limits.shared_bytes_per_cta}

    def load_binary(
        self, name: str, data: bytes, _shared: int, _device: object
    ) -> tuple[None, ReadyKernel, int, int, int]:
        """Return a kernel as Triton's module (none), function, registers, spills, and most threads of a CTA."""
        kernel = ready_kernel(data, name, f"Triton's {name}", self.machine)
        return None, kernel, kernel.cubin.registers, 0, self.machine.limits.threads_per_cta

    def trial(self, launch: Callable[[], None]) -> KernelRun:
        """Execute a launch for an autotuner on copies of its arrays, and return the run."""
        self._tuning = True
        try:
            launch()
        finally:
            self._tuning = False
        return self.runs.pop()


class TritonLauncher:
    """Launches a compiled kernel when Triton calls it."""

    def __init__(self, source: Any, metadata: Any) -> None:
        self._types = tuple(source.signature.values())
        self._metadata = metadata

    def __call__(self, x: int, y: int, z: int, driver: TritonDriver, kernel: ReadyKernel, *rest: Any) -> None:
        """
        Launch the kernel.

        Args:
            x, y, z: CTAs of the grid.
            driver: The active driver.
            kernel: The kernel.
            rest: Packed metadata, launch metadata and two hooks, which are not used; then the arguments.
        """
        values = rest[4:]
        described = self._metadata
        if described.num_ctas > 1:
            raise Unsupported(f"{described.name}: clusters of {described.num_ctas} CTAs are not executed")
        block = described.num_warps * WARP_SIZE
        scratch = described.global_scratch_size * x * y * z
        if described.profile_scratch_size:
            raise Unsupported(f"{described.name}: Triton's profiler is not executed")
        given = [
            *parameter_values(self._types, values, copied=driver.is_tuning),
            np.zeros(scratch, dtype=np.uint8) if scratch else 0,
            0,
        ]
        bound = kernel[(x, y, z), block, described.shared]
        driver.runs.append(bound(*given[: len(kernel.cubin.parameters)]))
