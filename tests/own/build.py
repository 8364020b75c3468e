"""
Compiles the own kernels for every target, and keeps their machine code for tests that have no compiler.

    python tests/own/build.py      # needs nvcc; writes tests/own/cubins/sm_80.zip and so on

Each archive names the compiler in its comment. A kernel that needs a later target than an archive's is not in it.
"""

import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from gpusim.cuda.compiler import find_compiler
from gpusim.lab.own.sources import OWN_OPTIONS
from gpusim.lab.own.table import OWN_KERNELS

FOLDER = Path(__file__).parent
OPTIONS = tuple(option for option in OWN_OPTIONS if option != "-lineinfo")
"""Without the line table, which has the name of a folder; it changes no instruction."""

TARGETS = (75, 80, 86, 89, 90)
EPOCH = (1980, 1, 1, 0, 0, 0)
"""Time of every member, so that equal machine code makes an equal archive."""


def archive_of(target: int) -> Path:
    """Return the archive of a target's machine code."""
    return FOLDER / "cubins" / f"sm_{target}.zip"


def cubin_of(source: str, target: int) -> bytes:
    """Return the kept machine code of a source."""
    with zipfile.ZipFile(archive_of(target)) as archive:
        return archive.read(f"{source}.cubin")


def main() -> int:
    """Compile everything."""
    nvcc = find_compiler("nvcc")
    for target in TARGETS:
        sources = sorted({kernel.source for kernel in OWN_KERNELS if kernel.needs <= target})
        with (
            tempfile.TemporaryDirectory() as work,
            zipfile.ZipFile(archive_of(target), "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive,
        ):
            archive.comment = f"nvcc {nvcc.version} {' '.join(OPTIONS)} -arch=sm_{target}".encode()
            for source in sources:
                out = Path(work) / f"{source}.cubin"
                command = [nvcc.path, "-cubin", *OPTIONS, f"-arch=sm_{target}", "-o", out, f"{source}.cu"]
                subprocess.run([*map(str, command)], check=True, cwd=FOLDER / "kernels")
                archive.writestr(zipfile.ZipInfo(f"{source}.cubin", EPOCH), out.read_bytes(), zipfile.ZIP_DEFLATED, 9)
            sys.stderr.write(f"sm_{target}: {len(sources)} sources\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
