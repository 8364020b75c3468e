"""Caches lowered streams beside the compiled kernels, so that each kernel is lowered once; it knows no schedule."""

import hashlib
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path

import gpusim
from gpusim.cuda.compiled_kernel import CompiledKernel
from gpusim.cuda.compiler import cache_folder
from gpusim.errors import BadInput
from gpusim.lower.stream_file import OPS, CompiledStream, Kinds, load_stream, save_stream


def kept_stream(
    compiled: CompiledKernel,
    constants: bytes,
    steering: Sequence[int],
    make: Callable[[], CompiledStream],
    kinds: Kinds = OPS,
) -> CompiledStream:
    """
    Return the stream of a kernel from the cache, or make and cache it.

    The file's name is a hash of everything that determines the stream: machine code, launch with its extents,
    parameters, options, and gpusim's own code. A damaged file is replaced. A stream that cannot be written to the cache
    is made again each time.

    Args:
        compiled: The kernel's machine code.
        constants: Constant bank 0 of the launch, parameters included.
        steering: Further inputs that determine the paths of the stream, such as the CTA.
        make: Lowers the kernel.
        kinds: Classes of the steps and of their ops, by name.
    """
    path = stream_path(compiled, constants, steering)
    with suppress(BadInput):  # missing or damaged
        return load_stream(path, kinds)
    made = make()
    with suppress(OSError):
        # Several processes may lower the same kernel: each writes a file of its own, and the last name wins.
        with tempfile.NamedTemporaryFile(dir=path.parent, suffix=".part", delete=False) as part:
            pass
        save_stream(Path(part.name), made)
        Path(part.name).replace(path)
    return made


def stream_path(compiled: CompiledKernel, constants: bytes, steering: Sequence[int]) -> Path:
    """Return the file in the cache of a kernel's stream."""
    own = compiled.specialisation
    launch = (
        *(own.entry, own.options, own.grid, own.block_threads, own.shared_bytes, own.k_iterations, own.extents),
        *steering,
    )
    sha = hashlib.sha256(f"{compiled.compiler} {launch} {code_digest()}\n".encode())
    for data in (constants, compiled.cubin):
        sha.update(hashlib.sha256(data).digest())
    return cache_folder() / f"{sha.hexdigest()[:32]}.stream.json.gz"


@cache
def code_digest() -> str:
    """Return the SHA-256 of gpusim's Python sources, because schedules and addresses, too, determine a stream."""
    folder = Path(gpusim.__file__).parent
    sha = hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        sha.update(f"{path.relative_to(folder).as_posix()}\n".encode() + path.read_bytes() + b"\n")
    return sha.hexdigest()
