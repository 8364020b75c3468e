"""Gets the cubin of a specialised kernel, together with the compiler and the options that made it; needs no GPU."""

from dataclasses import dataclass

from gpusim.cuda.compiler import Compiler, compile_cubin, find_compiler
from gpusim.cuda.specialise import Specialisation
from gpusim.errors import CannotRun


@dataclass(frozen=True, slots=True)
class CompiledKernel:
    """
    A kernel's cubin, with its compiler and sources.

    Attributes:
        cubin: Bytes of the cubin file.
        compiler: Name and version of the compiler, such as "nvrtc 13.0" or "nvcc 13.0.88".
        specialisation: Source, options and launch that it was compiled for.
    """

    cubin: bytes
    compiler: str
    specialisation: Specialisation


def compiler_at_hand() -> bool:
    """Return whether NVRTC or nvcc is installed, so that a kernel without a shipped stream can be compiled."""
    try:
        find_compiler()
    except CannotRun:
        return False
    return True


def compiler_name() -> str:
    """
    Return name and version of the installed compiler, such as "nvrtc 13.0" or "nvcc 13.0.88".

    Raises:
        CannotRun: No compiler is installed.
    """
    return _name(find_compiler())


def _name(compiler: Compiler) -> str:
    return f"{compiler.name} {compiler.version}"


def compile_kernel(specialisation: Specialisation, architecture: int) -> CompiledKernel:
    """
    Return a kernel's cubin, from the cache if the same sources were compiled before.

    Args:
        specialisation: The kernel's plain build.
        architecture: Compute capability of the target as 10 * major + minor.

    Raises:
        CannotRun: No compiler is installed, or it fails. The message says what to install, or quotes the compiler's
            first error.
    """
    compiler = find_compiler()
    cubin = compile_cubin(specialisation, f"sm_{architecture}", compiler).read_bytes()
    return CompiledKernel(cubin, _name(compiler), specialisation)
