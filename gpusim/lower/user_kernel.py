"""A kernel that the user compiled: read from a cubin file and checked, but not executed."""

import hashlib
import struct
from dataclasses import dataclass, replace
from pathlib import Path

from gpusim.cuda.compiled_kernel import CompiledKernel
from gpusim.cuda.specialise import Specialisation
from gpusim.errors import BadInput, CannotRun
from gpusim.lower.sass.cubin import kernel_names, read_cubin
from gpusim.machine.spec import Machine


@dataclass(frozen=True, slots=True)
class UserKernel:
    """
    One kernel of a user's cubin.

    Attributes:
        file: The cubin's name, for messages.
        data: Bytes of the cubin.
        entry: Name of the kernel in the cubin.
        architecture: Compute capability of its target as 10 * major + minor.
    """

    file: str
    data: bytes
    entry: str
    architecture: int

    @property
    def provenance(self) -> dict[str, str]:
        """Return the entries that identify the kernel in a result."""
        return {"file": self.file, "entry": self.entry, "sha256": hashlib.sha256(self.data).hexdigest()}

    def compiled(self, launch: Specialisation) -> CompiledKernel:
        """Return the kernel as the code of a launch."""
        return CompiledKernel(self.data, self.file, replace(launch, entry=self.entry))

    def require(self, machine: Machine) -> None:
        """
        Check that the kernel was compiled for a machine.

        Raises:
            BadInput: It was compiled for another architecture.
        """
        if self.architecture != machine.compute_capability:
            raise BadInput(
                f"--cubin must be machine code of sm_{machine.compute_capability} ({machine.name}), {self.file} is of"
                f" sm_{self.architecture}"
            )


def read_user_kernel(path: Path, entry: str) -> UserKernel:
    """
    Read a kernel of a cubin file.

    Args:
        path: The file.
        entry: Name of the kernel in the cubin, or a part of it that no other kernel's name has.

    Raises:
        CannotRun: The file cannot be read.
        BadInput: It is not a cubin, or no kernel or several kernels have the name. The message lists the kernels.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise CannotRun(f"--cubin: {path}: {error.strerror}") from error
    try:
        cubin = read_cubin(data, _entry(kernel_names(data, str(path)), entry, path), str(path))
    except (struct.error, KeyError, ValueError, StopIteration, IndexError, OverflowError) as error:
        raise BadInput(f"{path}: not a readable cubin: its tables are cut short or damaged") from error
    return UserKernel(str(path), data, cubin.kernel, cubin.architecture)


def _entry(kernels: list[str], wanted: str, path: Path) -> str:
    """Return the only kernel whose name is, or contains, a text."""
    found = [wanted] if wanted in kernels else [kernel for kernel in kernels if wanted in kernel]
    if len(found) != 1:
        raise BadInput(
            f"--entry must name one kernel of {path}, or be a part of one name: {', '.join(kernels) or 'it has none'};"
            f" got {wanted!r}{f', which {len(found)} names have' if found else ''}"
        )
    return found[0]
