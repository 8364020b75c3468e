"""Turns the sources of ``gpusim.kernel`` into machine code: CUDA C++, PTX, cubins, and raw kernels of CuPy."""

import hashlib
import re
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from itertools import takewhile
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from gpusim.arguments import path, refusal
from gpusim.cuda.assembler import assemble
from gpusim.cuda.compiler import cache_folder, compile_cubin, find_compiler, keep
from gpusim.cuda.specialise import Specialisation
from gpusim.errors import BadInput, CannotRun

OPTIONS = ("-std=c++17", "-lineinfo")
"""Compiler options of a source, besides the target."""

CUPY_OPTIONS = ("-ftz=true",)
"""What CuPy adds to the options of a raw kernel."""


Defines: TypeAlias = Mapping[str, str | float]
"""Macros of a source and their values."""


def machine_code(source: object, entry: str, target: int, defines: Defines | None = None) -> tuple[Path, str]:
    """
    Return a file of machine code, and the kernel's name in it or a part of that.

    Args:
        source: A file, or a raw kernel or module of CuPy.
        entry: Name of the kernel as the user knows it, "" for the only one.
        target: Compute capability as 10 * major + minor.
        defines: Macros of a source (.cu).

    Raises:
        BadInput: The source is of no known kind, or can take no macro.
        CannotRun: The file cannot be read, or no compiler is installed, or it rejects the source.
    """
    macros = macro_options({} if defines is None else defines)
    if macros and not (isinstance(source, str | Path) and Path(source).suffix == ".cu"):
        raise BadInput(f"defines are macros of a source (.cu), and {source} is none")
    if type(source).__module__.partition(".")[0] in ("cupy", "cupyx"):
        return _of_cupy(source, entry, target)
    file = path("source", source)
    if file.suffix == ".cu":
        return _compiled(file, entry, target, (*OPTIONS, *macros))
    if file.suffix == ".ptx":
        return assemble(_read(file), str(file), target), entry
    return file, entry


def macro_options(defines: object) -> tuple[str, ...]:
    """
    Return the compiler's options that define macros.

    Raises:
        BadInput: These are not macros: a name that is not one of C++, or a value that is no number or text.
    """
    if not isinstance(defines, Mapping):
        raise refusal("defines", "a table of macros and their values", defines)
    for name, value in defines.items():
        if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII):
            raise refusal("every macro of defines", "a name of C++", name)
        if not isinstance(value, str | int | float | np.number):
            raise refusal(f"defines.{name}", "a number or text", value)
    return tuple(f"-D{name}={int(value) if isinstance(value, bool) else value}" for name, value in defines.items())


def _of_cupy(raw: Any, entry: str, target: int) -> tuple[Path, str]:
    kind = type(raw).__name__
    if kind not in ("RawKernel", "RawModule"):
        raise BadInput(f"source: {kind} of CuPy has no source without a driver; give a cupy.RawKernel or RawModule")
    name = entry or getattr(raw, "name", "")
    if raw.code is None:
        return machine_code(raw.file_path, name, target)
    standard = () if any(re.match("-+std=", one) for one in raw.options) else OPTIONS[:1]
    options = (*standard, *OPTIONS[1:], *raw.options, *(f"-I{folder}" for folder in _cupy_headers()), *CUPY_OPTIONS)
    return _compiled(_kept_text(raw.code), name, target, options, raw.backend)


def _cupy_headers() -> Iterator[Path]:
    """Yield the folders of headers that CuPy brings: CCCL's, then its own."""
    spec = find_spec("cupy")
    for folder in (spec and spec.submodule_search_locations) or ():
        headers = Path(folder) / "_core" / "include"
        yield from sorted((headers / "cupy" / "_cccl").glob("*"))
        yield headers


def _compiled(
    source: Path, entry: str, target: int, options: tuple[str, ...], compiler: str | None = None
) -> tuple[Path, str]:
    text = _read(source)
    folder = source.parent
    if "<" in entry:
        text += f"\ntemplate __global__ decltype({entry}) {entry};\n".encode()
        source = _kept_text(f'#line 1 "{source}"\n{text.decode()}')
        options = (*options, f"-I{folder}")
        folder = source.parent
        entry = _mangled(entry)
    build = Specialisation(
        entry=entry,
        build="plain",
        options=options,
        grid=(1, 1, 1),
        block_threads=1,
        shared_bytes=0,
        k_iterations=0,
        semaphores=0,
        source=source,
        include=folder,
    )
    chosen = find_compiler("nvcc" if compiler == "nvcc" else None)
    return compile_cubin(build, f"sm_{target}", chosen), entry


def _kept_text(text: str) -> Path:
    """Return a file in the cache with a text."""
    data = text.encode()
    file = cache_folder() / f"{hashlib.sha256(data).hexdigest()[:32]}.cu"
    keep(file, data)
    return file


TYPE_CODES = {
    "bool": "b",
    "char": "c",
    "double": "d",
    "float": "f",
    "int": "i",
    "long": "l",
    "long long": "x",
    "short": "s",
    "unsigned": "j",
    "unsigned int": "j",
    "unsigned long long": "y",
}
"""Codes of types in symbols. Source: Itanium C++ ABI, mangling of builtin types."""


def _mangled(entry: str) -> str:
    """
    Return the beginning of an instance's symbol: the template's name, then the codes of its first types.

    That of "filter<float, 8>" is "6filterIf": the code of a value depends on its parameter's type, which is not known.
    """
    template, _, arguments = entry.partition("<")
    name = "".join(f"{len(one)}{one}" for one in template.strip().split("::") if one)
    codes = [TYPE_CODES.get(one.strip(), "") for one in arguments.rpartition(">")[0].split(",")]
    known = list(takewhile(bool, codes))
    return f"{name}I{''.join(known)}{'E' if len(known) == len(codes) else ''}"


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except FileNotFoundError as error:
        raise CannotRun(f"{file}: no such file") from error
    except OSError as error:
        raise CannotRun(f"{file}: {error.strerror}") from error
