"""
Single instructions of sm_90 on random and special words: the executor writes what an H200 wrote, bit for bit.

The functions of the MUFU are compared within a bound: silicon's tables are not known.
"""

import json
from pathlib import Path

import numpy as np
import pytest
from own import single_instructions
from own.single_instructions import APPROXIMATE, COUNT, LISTS, sources

from gpusim.execute.image import image_of
from gpusim.execute.launch import KernelLaunch
from gpusim.execute.run import KernelExecution
from gpusim.lower.sass.cubin import read_cubin

MEASURED = Path(single_instructions.__file__).parent / "measured"
UNITS_IN_THE_LAST_PLACE = {"rcp": 1, "sqrt": 1, "rsqrt": 1, "ex2": 2}
BOUNDS = {"sin": 2.0**-20.5, "cos": 2.0**-20.5, "lg2": 2.0**-21.5}
"""Largest differences. Source: CUDA C++ programming guide, intrinsic functions, for angles up to pi; here for all."""


@pytest.fixture(scope="module")
def silicon():
    return np.load(MEASURED / "single_instructions_h200.npz")


def executed(name):
    instructions, *_ = LISTS[name]
    arrays = [*zip("abc", sources(), strict=True), ("out", np.zeros((len(instructions), COUNT), dtype=np.uint32))]
    image = image_of(arrays)
    cubin = read_cubin((MEASURED / "single_instructions_sm_90.cubin").read_bytes(), name, name)
    addresses = [one.address.to_bytes(8, "little") for one in image.allocations]
    list(KernelExecution(cubin, KernelLaunch((COUNT // 128, 1, 1), (128, 1, 1)), addresses, image).run())
    return image.bytes_of(3).view(np.uint32).reshape(len(instructions), COUNT)


@pytest.mark.compiled
@pytest.mark.parametrize("name", [name for name in LISTS if name != "approximate"])
def test_an_instruction_writes_what_silicon_wrote(silicon, name):
    ours = executed(name)

    differ = [
        (LISTS[name][0][number], int(wrong))
        for number, wrong in enumerate((ours != silicon[name]).sum(axis=1))
        if wrong
    ]

    assert differ == []


@pytest.mark.compiled
def test_functions_of_the_mufu_are_within_their_bounds(silicon):
    for text, ours, theirs in zip(APPROXIMATE, executed("approximate"), silicon["approximate"], strict=True):
        name = text.partition(".")[0]
        a, b = ours.view(np.float32), theirs.view(np.float32)
        assert (np.isnan(a) == np.isnan(b)).all(), text
        finite = np.isfinite(a) & np.isfinite(b)
        assert np.array_equal(a[~finite & ~np.isnan(a)], b[~finite & ~np.isnan(b)]), text
        if name in UNITS_IN_THE_LAST_PLACE:
            steps = np.abs(ours.astype(np.int64) - theirs.astype(np.int64))[finite]
            assert steps.max() <= UNITS_IN_THE_LAST_PLACE[name], text
        else:
            apart = np.abs(a[finite].astype(np.float64) - b[finite])
            scale = np.maximum(1, np.abs(b[finite])) if name == "lg2" else 1
            assert (apart / scale).max() <= BOUNDS[name], text


def test_the_measurement_says_where_it_comes_from(silicon):
    origin = json.loads(str(silicon["provenance"]))

    assert {"gpu", "driver", "cuda_runtime", "compiler", "commit", "date"} <= origin.keys()
    assert all(silicon[name].shape == (len(instructions), COUNT) for name, (instructions, *_) in LISTS.items())
