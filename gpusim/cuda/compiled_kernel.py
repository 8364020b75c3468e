"""The cubin that a scenario's stream is lowered from, with what made it; compiling itself is the hardware room's."""

from dataclasses import dataclass

from gpusim.cuda.compiler import compile_cubin, find_compiler
from gpusim.cuda.specialise import Specialisation
from gpusim.errors import CannotRun


@dataclass(frozen=True, slots=True)
class CompiledKernel:
    """
    A kernel's cubin.

    Attributes:
        cubin: The file's bytes.
        compiler: "nvrtc 13.0" or "nvcc 13.0.88".
        specialisation: What it was compiled with.
    """

    cubin: bytes
    compiler: str
    specialisation: Specialisation


def compiler_at_hand() -> bool:
    """Whether a kernel whose stream does not come with gpusim can be compiled here."""
    try:
        find_compiler()
    except CannotRun:
        return False
    return True


def compile_kernel(specialisation: Specialisation, architecture: int) -> CompiledKernel:
    """
    The cubin of a kernel, from the cache where the same sources were compiled before.

    Args:
        specialisation: Of a plain build.
        architecture: 10 * major + minor of the target.

    Raises:
        CannotRun: No compiler is here, or it fails; says what to install, or the compiler's first complaint.
    """
    compiler = find_compiler()
    cubin = compile_cubin(specialisation, f"sm_{architecture}", compiler).read_bytes()
    return CompiledKernel(cubin, f"{compiler.name} {compiler.version}", specialisation)
