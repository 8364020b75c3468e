"""``python -m gpusim.lab.main_loops.lives OUT FILE...``: when each CTA of plain GEMMs begins and ends on its SM."""

import argparse
import shutil
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from gpusim.arrays import IntArray
from gpusim.cuda.specialise import Specialisation
from gpusim.errors import CannotRun, GpusimError
from gpusim.families.registry import family_of, load_scenario
from gpusim.gpu.device import import_cupy
from gpusim.gpu.module import load_kernels
from gpusim.gpu.run import put_pointers
from gpusim.lab.calibrate.runner import Device, MeasuredRow, write_rows
from gpusim.units import WARP_SIZE

_STAMPS: Final = {
    "  using namespace gpusim;\n  Extents const extents{};\n": "  int64 const life_began = clock_wide();\n",
    "  mainloop(accumulators);\n": "  int64 const life_multiplied = clock_wide();\n",
    "  GPUSIM_STAMP(kernel_end());\n": """  if (lane == 0) {
    int64* const life = reinterpret_cast<int64*>(params.records) +
                        4 * (linear_block(extents, block_x(), block_y(), block_z()) * kWarps + warp);
    life[0] = sm_index();
    life[1] = life_began;
    life[2] = life_multiplied;
    life[3] = clock_wide();
  }
""",
}
"""Code that is inserted after lines of the kernel: at its begin, after its mainloop, and at its end."""

_FLUSH_BYTES: Final = 1 << 28
"""Bytes that are read before each launch, so that the L2 has no line of the operands and no modified line."""


def stamped(kernel: Specialisation, folder: Path) -> Specialisation:
    """
    Return a plain kernel whose warps store their SM and its cycles at their begin, after the mainloop and at their end.

    Args:
        kernel: A plain build with extents that are compiled in.
        folder: Folder for the changed source and its headers.

    Raises:
        CannotRun: The source has no place for the stamps.
    """
    text = kernel.source.read_text(encoding="utf-8")
    if any(text.count(place) != 1 for place in _STAMPS):
        raise CannotRun(f"{kernel.source}: begin, mainloop and end of the kernel are not where the stamps are put")
    for place, stamp in _STAMPS.items():
        text = text.replace(place, place + stamp)
    shutil.copytree(kernel.include, folder, dirs_exist_ok=True)
    path = folder / kernel.source.relative_to(kernel.include)
    path.write_text(text, encoding="utf-8")
    return replace(kernel, source=path, include=folder)


def lives_of(file: Path, folder: Path, cupy: Any) -> list[MeasuredRow]:
    """
    Launch a scenario's stamped kernel with a cold L2; return its CTAs in launch order.

    Columns are the CTA, its SM, and the SM's cycles from its first CTA's begin to this one's begin, to the end of its
    mainloop (its last warp's) and to its end.
    """
    scenario = load_scenario(file)
    family = family_of(scenario)
    (kernel,) = load_kernels(cupy, [stamped(one, folder) for one in family.cuda.specialisations(scenario, "plain")[:1]])
    problem = family.devices.upload(cupy, scenario, 0)
    own = kernel.specialisation
    ctas = int(np.prod(own.grid))
    stamps = cupy.zeros((ctas, own.block_threads // WARP_SIZE, 4), dtype=np.int64)
    params = problem.params(own.k_iterations)
    put_pointers(params, {"records": stamps})
    others = cupy.zeros(_FLUSH_BYTES // 4, dtype=np.uint32)
    for _ in range(2):
        others.max()
        cupy.cuda.runtime.deviceSynchronize()
        kernel.launch(params)
        cupy.cuda.runtime.deviceSynchronize()
    return rows_of(file.stem, cupy.asnumpy(stamps))


def rows_of(name: str, stamps: IntArray) -> list[MeasuredRow]:
    """Return a row for each CTA from its warps' stamps, shape [CTAs, warps, 4]; none for CTAs without work."""
    sm, begin, end = stamps[:, 0, 0], stamps[:, :, 1].min(axis=1), stamps[:, :, 3].max(axis=1)
    first = {one: begin[(sm == one) & (begin > 0)].min() for one in set(sm[begin > 0].tolist())}
    return [
        {
            "name": name,
            "cta": cta,
            "sm": int(sm[cta]),
            "begin": int(begin[cta] - first[int(sm[cta])]),
            "multiplied": int(stamps[cta, :, 2].max() - first[int(sm[cta])]),
            "end": int(end[cta] - first[int(sm[cta])]),
        }
        for cta in np.flatnonzero(begin > 0).tolist()
    ]


def main(argv: Sequence[str] | None = None) -> int:
    """Measure every file's kernel, write OUT/lives.csv; return the exit code of the last error, or 0."""
    parser = argparse.ArgumentParser(prog="python -m gpusim.lab.main_loops.lives", description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE")
    arguments = parser.parse_args(argv)
    rows: list[MeasuredRow] = []
    code = 0
    try:
        cupy = import_cupy()
        provenance = Device().provenance()
        with tempfile.TemporaryDirectory() as folder:
            for file in arguments.files:
                try:
                    rows += lives_of(file, Path(folder), cupy)
                except GpusimError as error:
                    sys.stderr.write(f"{file.stem}: {error}\n")
                    code = error.exit_code
        if rows:
            arguments.out.mkdir(parents=True, exist_ok=True)
            write_rows(arguments.out / "lives.csv", rows, provenance)
    except GpusimError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code
    return code


if __name__ == "__main__":
    sys.exit(main())
