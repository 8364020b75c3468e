"""Compiles the kernels for the host with g++. The standard headers, a third of the time, are compiled once."""

import subprocess
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

STANDARD = "standard.hpp"

# The same for a header compiled in advance as for those that include it.
FLAGS = ("-O0", "-w", "-std=c++17")


@cache
def compiled_headers(folder: Path) -> TemporaryDirectory[str]:
    """The folder, kept until the process ends, of a source folder's ``standard.hpp`` compiled in advance."""
    made = TemporaryDirectory(prefix="gpusim-headers-")
    command = ["g++", *FLAGS, "-x", "c++-header", str(folder / STANDARD), "-o", f"{made.name}/{STANDARD}.gch"]
    subprocess.run(command, check=True)
    return made


def compile_for_host(source: Path, options: Sequence[str], program: Path) -> None:
    """Compile and link a source; its options may say the standard again."""
    headers = compiled_headers(source.parent).name
    command = ["g++", *FLAGS, "-include", f"{headers}/{STANDARD}", *options, str(source), "-o", str(program)]
    subprocess.run(command, check=True)
