"""A kernel that the user compiled: read from a cubin file and checked, but not executed."""

import hashlib
from dataclasses import dataclass, replace
from pathlib import Path

from gpusim.cuda.compiled_kernel import CompiledKernel
from gpusim.cuda.specialise import Specialisation
from gpusim.errors import BadInput, CannotRun, nearest
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


def read_user_kernel(
    path: Path, entry: str, *, source: Path | None = None, asked: tuple[str, str] = ("--cubin", "--entry")
) -> UserKernel:
    """
    Read a kernel of a cubin file.

    Args:
        path: The file.
        entry: Name of the kernel in the cubin, or a part of it that no other kernel's name has.
        source: The file that the user named, if the cubin was compiled from it.
        asked: What the user gave the file and the entry by, for messages.

    Raises:
        CannotRun: The file cannot be read.
        BadInput: It is not a cubin, or no kernel or several kernels have the name. The message lists the kernels.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise CannotRun(f"{asked[0]}: {path}: {error.strerror}") from error
    shown = str(source or path)
    cubin = read_cubin(data, _entry(kernel_names(data, shown), entry, shown, asked[1]), shown)
    return UserKernel(shown, data, cubin.kernel, cubin.architecture)


def _entry(kernels: list[str], wanted: str, shown: str, asked: str) -> str:
    """Return the only kernel whose name is, or contains, a text."""
    found = [wanted] if wanted in kernels else [kernel for kernel in kernels if wanted in kernel]
    if len(found) == 1:
        return found[0]
    listed = ", ".join(kernels) or "it has none"
    if not wanted and kernels:
        raise BadInput(f"{shown} has {len(kernels)} kernels, of which {asked} must name one: {listed}")
    near = nearest(wanted, kernels) if not found else None
    raise BadInput(
        f"{asked} must name one kernel of {shown}, or be a part of one name: {listed}; got {wanted!r}"
        f"{f', which {len(found)} names have' if found else ''}{f'; did you mean {near}?' if near else ''}"
    )
