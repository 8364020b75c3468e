"""Every recorded coordinate, offset and predicate of CUTLASS's global iterators is reproduced, invalid ones too."""

import json
from dataclasses import astuple
from pathlib import Path

import numpy as np
import pytest
from problems.recorded import conv_shape, recorded_map

from gpusim.families.conv.fprop.iterators import ActivationIterator, FilterIterator
from gpusim.families.conv.fprop.optimized import (
    ActivationIteratorOptimized,
    FilterIteratorOptimized,
    activation_steps,
    filter_steps,
)
from gpusim.tile.extents import gemm_k_ranges, implicit_gemm_extents
from gpusim.tile.gemm_iterators import GemmSource, PredicatedIterator
from gpusim.tile.k_walk import implicit_gemm_walk

DATA = Path(__file__).parent / "data"
CONV = sorted(path.name for path in DATA.glob("gmem_fprop_[AB]_*_f16_*.json"))
GEMM = sorted(path.name for path in DATA.glob("gmem_gemm_[AB]_*.json"))
KINDS = {
    "analytic": (ActivationIterator, FilterIterator),
    "optimized": (ActivationIteratorOptimized, FilterIteratorOptimized),
}


def columns(recorded):
    rows = np.array(recorded["rows"]).T
    return dict(zip(recorded["columns"], rows, strict=True))


def fetched(iterator, column):
    """The iterator's accesses at the recorded (thread, access, vec), each row being a CTA of its own."""
    access = iterator.fetch(column["kit"])
    row = np.arange(len(column["kit"])), column["thread"], column["access"], column["vec"]
    return {name: axis[row] for name, axis in access.coordinates.items()}, access.offset[row], access.valid[row]


def test_the_recorded_files_are_here():
    assert (len(CONV), len(GEMM)) == (14, 10)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", CONV)
def test_convolution_iterator(name, kind):
    recorded = json.loads((DATA / name).read_text())
    header, column = recorded["header"], columns(recorded)
    iterator = KINDS[kind][name.startswith("gmem_fprop_B")](
        *(conv_shape(header["problem"]), header["element_bits"], recorded_map(header), header["alignment_elements"]),
        tile=column["tile"],
        slice_=column["slice"],
    )

    coordinates, offset, valid = fetched(iterator, column)

    assert all((axis == column[axis_name]).all() for axis_name, axis in coordinates.items())
    assert (offset == column[f"off_{kind}"]).all()
    assert (valid == column[f"valid_{kind}"]).all()


@pytest.mark.parametrize("name", CONV)
def test_steps_that_the_host_computes_beforehand(name):
    header = json.loads((DATA / name).read_text())["header"]
    shape, bits, thread_map = conv_shape(header["problem"]), header["element_bits"], recorded_map(header)
    recorded = header["optimized_params"]
    if name.startswith("gmem_fprop_A"):
        steps = activation_steps(shape, bits, thread_map.shape[0])
        names = ("inc_next_s_bytes", "inc_next_r_bytes", "inc_next_c_bytes")
    else:
        steps = filter_steps(shape, bits, thread_map)
        names = ("inc_next_k_bytes", "inc_next_rs_bytes", "inc_next_c_bytes")

    assert astuple(steps) == tuple(recorded[key] for key in names)


@pytest.mark.parametrize("name", CONV)
def test_implicit_gemm_of_the_convolution(name):
    header = json.loads((DATA / name).read_text())["header"]
    shape = conv_shape(header["problem"])
    walk = implicit_gemm_walk(shape, "fprop", header["ThreadblockShape_MNK"][2])

    assert list(implicit_gemm_extents(shape)) == header["implicit_gemm_MNK"]
    assert walk.k_tiles == header["gemm_k_iterations"]


@pytest.mark.parametrize("name", GEMM)
def test_predicated_gemm_iterator(name):
    recorded = json.loads((DATA / name).read_text())
    header, column = recorded["header"], columns(recorded)
    problem = header["problem"]
    letter = name.removeprefix("gmem_gemm_")[0]
    source = GemmSource(
        side=letter.lower(),
        extent=problem["M" if letter == "A" else "N"],
        k=problem["K"],
        leading=problem["leading_dim"],
        bits=header["element_bits"],
        k_contiguous=header["template"][f"layout_{letter}"] == ("RowMajor" if letter == "A" else "ColumnMajor"),
        split_k_slices=problem["split_k_slices"],
    )
    iterator = PredicatedIterator(
        *(source, recorded_map(header), header["access_elements"]),
        tile=column["tile"],
        slice_=column["slice"],
    )

    _, offset, valid = fetched(iterator, column)

    assert (offset == column["off"]).all()
    assert (valid == column["valid"]).all()


@pytest.mark.parametrize("name", GEMM)
def test_k_ranges_of_the_slices(name):
    header = json.loads((DATA / name).read_text())["header"]
    problem, tile_k = header["problem"], header["template"]["ThreadblockShape_MNK"][2]
    ranges = gemm_k_ranges(problem["K"], tile_k, problem["split_k_slices"])

    for recorded in header["k_slices"]:
        begin, end = ranges[recorded["slice"]].tolist()
        assert (begin, end) == (recorded["k_begin"], recorded["k_end"])
        assert -(-(end - begin) // tile_k) == recorded["gemm_k_iterations"]
