"""Every recorded coordinate, offset and predicate of CUTLASS's analytic dgrad iterators is reproduced."""

import json
from pathlib import Path

import numpy as np
import pytest
from problems.recorded import conv_shape, recorded_map

from gpusim.families.conv.dgrad.iterators import DgradFilterIterator, OutputGradientIterator
from gpusim.tile.k_walk import implicit_gemm_walk

DATA = Path(__file__).parent / "data"
FILES = sorted(path.name for path in DATA.glob("gmem_dgrad_[AB]_*.json"))
ITERATORS = {"A": OutputGradientIterator, "B": DgradFilterIterator}


def test_the_recorded_files_are_here():
    assert {name.removeprefix("gmem_dgrad_")[0] for name in FILES} == {"A", "B"}


@pytest.mark.parametrize("name", FILES)
def test_dgrad_iterator(name):
    recorded = json.loads((DATA / name).read_text())
    header, rows = recorded["header"], np.array(recorded["rows"]).T
    column = dict(zip(recorded["columns"], rows, strict=True))
    thread_map = recorded_map(header)
    vector = thread_map.elements_per_access // header["accesses_per_vector"]
    iterator = ITERATORS[name.removeprefix("gmem_dgrad_")[0]](
        *(conv_shape(header["problem"]), header["element_bits"], thread_map, vector),
        tile=column["tile"],
        slice_=column["slice"],
    )

    # Each row is a CTA of its own.
    access = iterator.fetch(column["kit"])
    row = np.arange(len(column["kit"])), column["thread"], column["access"], column["vec"]

    assert len(column["kit"]) > 100
    assert {name: axis[row].tolist() for name, axis in access.coordinates.items()} == {
        name: column[name].tolist() for name in access.coordinates
    }
    assert (access.offset[row] == column["off_analytic"]).all()
    assert (access.valid[row] == column["valid_analytic"]).all()


@pytest.mark.parametrize("name", FILES)
def test_k_tiles_of_the_gradient(name):
    header = json.loads((DATA / name).read_text())["header"]
    tile_k = header["template"]["ThreadblockShape_MNK"][2]
    walk = implicit_gemm_walk(conv_shape(header["problem"]), "dgrad", tile_k)

    assert walk.k_tiles == header["gemm_k_iterations"]
