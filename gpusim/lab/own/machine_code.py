"""
``python -m gpusim.lab.own.machine_code FOLDER``: keeps the machine code that was measured, beside the measurements.

``record`` compiles with the NVRTC of the measuring machine, which was NVRTC 13.0: with its code, 45 of 47 development
kernels execute each opcode as often as ncu counted. nvcc 13.0 and NVRTC 13.2 make other code of some sources.
"""

import argparse
import sys
import zipfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from gpusim.cuda.compiler import compile_cubin, find_compiler
from gpusim.errors import CannotRun, GpusimError
from gpusim.lab.own.kernel import OwnKernel
from gpusim.lab.own.sources import OWN_OPTIONS, own_build
from gpusim.lab.own.table import OWN_KERNELS
from gpusim.records.record import reports_folder

MEASURED_COMPILER: Final = ("nvrtc", "13.0")
"""Name and version of the compiler that the committed measurements were made with."""

MEASURED_TARGET: Final = 90

MEASURED_FOLDER: Final = Path("reports/measured/h200/own")
"""Folder of the committed measurements."""

FRAMEWORKS_FOLDER: Final = MEASURED_FOLDER.with_name("own_frameworks")
"""Folder of the committed measurements of frameworks' kernels."""

ARCHIVE: Final = "cubins.zip"

_EPOCH: Final = (1980, 1, 1, 0, 0, 0)
"""Time of every member, so that equal machine code makes an equal archive."""


def frameworks_folder() -> Path:
    """Return ``FRAMEWORKS_FOLDER`` in the source tree; it has the machine code that is measured."""
    return reports_folder().parent / FRAMEWORKS_FOLDER


def read_code(folder: Path, source: str) -> bytes:
    """
    Return the kept machine code of a source.

    Raises:
        CannotRun: The folder has no archive, or the archive has no such source.
    """
    path = folder / ARCHIVE
    try:
        with zipfile.ZipFile(path) as archive:
            return archive.read(f"{source}.cubin")
    except (OSError, KeyError) as error:
        raise CannotRun(f"{path}: no machine code of {source}: {error}") from error


def code_made_by(folder: Path) -> str:
    """
    Return which compilers made the kept machine code, with their versions.

    Raises:
        CannotRun: The folder has no archive.
    """
    try:
        with zipfile.ZipFile(folder / ARCHIVE) as archive:
            return archive.comment.decode()
    except OSError as error:
        raise CannotRun(f"{folder / ARCHIVE}: no machine code: {error}") from error


def keep_code(folder: Path, kernels: Sequence[OwnKernel] = OWN_KERNELS) -> int:
    """
    Compile the sources of kernels as they were measured, and keep the machine code; return how many sources there are.

    The line table is left out, because it has the name of a folder; it changes no instruction.

    Raises:
        CannotRun: Another compiler is installed, or none.
    """
    compiler = find_compiler("nvrtc")
    if (compiler.name, compiler.version) != MEASURED_COMPILER:
        raise CannotRun(
            f"the kernels were measured with NVRTC {MEASURED_COMPILER[1]}, NVRTC {compiler.version} is here"
        )
    chosen = {kernel.source: kernel for kernel in kernels if kernel.needs <= MEASURED_TARGET}
    options = tuple(option for option in OWN_OPTIONS if option != "-lineinfo")
    with zipfile.ZipFile(folder / ARCHIVE, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        archive.comment = f"NVRTC {compiler.version} {' '.join(options)} -arch=sm_{MEASURED_TARGET}".encode()
        for source, kernel in sorted(chosen.items()):
            build = replace(own_build(kernel, "large"), options=options)
            data = compile_cubin(build, f"sm_{MEASURED_TARGET}", compiler).read_bytes()
            archive.writestr(zipfile.ZipInfo(f"{source}.cubin", _EPOCH), data, zipfile.ZIP_DEFLATED, 9)
    return len(chosen)


def main(argv: Sequence[str] | None = None) -> int:
    """Keep the machine code of all kernels in a folder; return an exit code."""
    parser = argparse.ArgumentParser(prog="python -m gpusim.lab.own.machine_code", description=__doc__)
    parser.add_argument("folder", type=Path, help="folder of the measurements, as reports/measured/h200/own")
    folder = parser.parse_args(argv).folder
    try:
        kept = keep_code(folder)
    except GpusimError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code
    sys.stdout.write(f"{folder / ARCHIVE}: {kept} sources\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
