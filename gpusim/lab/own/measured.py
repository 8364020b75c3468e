"""Says which tables of kernels were measured on an H200, and where measurements and machine code lie."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from gpusim.lab.own.kernel import OwnKernel
from gpusim.lab.own.machine_code import FRAMEWORKS_FOLDER, MEASURED_FOLDER, MEASURED_TARGET
from gpusim.lab.own.split import half_of
from gpusim.lab.own.table import FRAMEWORK_KERNELS, OWN_KERNELS, own_kernel
from gpusim.records.halves import Half


@dataclass(frozen=True, slots=True)
class OwnTable:
    """
    Kernels that were measured together.

    Attributes:
        words: What they are called on a page.
        kernels: The kernels.
        folder: Folder of the measurements and the machine code, in the source tree.
        option: Option of a command that takes this table; empty for the table that a command takes without one.
    """

    words: str
    kernels: tuple[OwnKernel, ...]
    folder: Path
    option: str = ""

    def command(self, module: str, half_option: str = "") -> str:
        """Return the command of a module that takes this table, with an option for the half."""
        return " ".join(filter(None, ("python -m", module, self.option, half_option)))

    def of_half(self, half: Half, names: Sequence[str] = ()) -> list[OwnKernel]:
        """
        Return the kernels of a half, or those of them that are named.

        Raises:
            BadInput: The table has no kernel of a name.
        """
        chosen = [own_kernel(name, self.kernels) for name in names] or self.kernels
        return [kernel for kernel in chosen if kernel.needs <= MEASURED_TARGET and half_of(kernel) == half]


OWN_TABLE: Final = OwnTable("own kernels", OWN_KERNELS, MEASURED_FOLDER)

FRAMEWORKS_TABLE: Final = OwnTable(
    "kernels of Triton and CuPy",
    FRAMEWORK_KERNELS,
    FRAMEWORKS_FOLDER,
    "--frameworks",
)
