"""Finds the sources of own kernels, and states how they are compiled; needs no GPU."""

from pathlib import Path
from typing import Final

import numpy as np

import gpusim
from gpusim.cuda.specialise import Specialisation
from gpusim.errors import CannotRun
from gpusim.lab.own.kernel import OwnKernel, Size

OWN_OPTIONS: Final = ("-std=c++17", "-lineinfo")
"""Compiler options of every own kernel, besides the target."""


def own_folder() -> Path:
    """
    Return the folder of the sources, in the source tree.

    Raises:
        CannotRun: gpusim is installed without its tests.
    """
    folder = Path(gpusim.__file__).parents[1] / "tests" / "own" / "kernels"
    if not folder.is_dir():
        raise CannotRun(f"{folder}: no own kernels; they lie in the source tree of gpusim, not in an installed package")
    return folder


def own_build(kernel: OwnKernel, size: Size) -> Specialisation:
    """
    Return the build of an own kernel for ``compile_cubin``; both sizes compile to one cubin.

    Raises:
        CannotRun: The sources are missing.
    """
    folder, launch = own_folder(), kernel.launch(size)
    return Specialisation(
        entry=kernel.entry,
        build="plain",
        options=OWN_OPTIONS,
        grid=launch.grid,
        block_threads=int(np.prod(launch.block)),
        shared_bytes=launch.shared_bytes,
        k_iterations=0,
        semaphores=0,
        source=folder / f"{kernel.source}.cu",
        include=folder,
    )
