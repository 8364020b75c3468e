"""The crosswise and congruous rules against the offsets CUTLASS itself computes, for every coordinate."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from gpusim.errors import BadInput
from gpusim.layout.crosswise import crosswise_factor, crosswise_offset, line_elements
from gpusim.layout.named import shared_layout

DATA = Path(__file__).parent / "data"
FILES = sorted(DATA.glob("layout_crosswise_*.json"))
CONGRUOUS = sorted(DATA.glob("layout_congruous_*.json"))


def type_parameters(name):
    return tuple(map(int, re.search(r"<(\d+), ?(\d+)>", name).groups()))


def test_every_file_is_read():
    assert (len(FILES), len(CONGRUOUS)) == (6, 3)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_offsets_are_those_of_cutlass(path):
    golden = json.loads(path.read_text())
    header = golden["header"]
    bits, crosswise = type_parameters(header["type"])

    ours = crosswise_offset(
        np.arange(header["extent_contiguous"]),
        np.arange(header["extent_strided"])[:, np.newaxis],
        header["stride_elements"],
        bits,
        crosswise,
    )

    assert ours.tolist() == golden["offsets"]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_stages_of_a_named_layout_lie_side_by_side_along_k(path):
    golden = json.loads(path.read_text())
    header = golden["header"]
    bits, crosswise = type_parameters(header["type"])
    stages = header["extent_contiguous"] // crosswise
    layout = shared_layout("crosswise", bits, crosswise, header["extent_strided"], stages)

    by_stage = [
        layout.offset(np.arange(crosswise), np.arange(header["extent_strided"])[:, np.newaxis], stage)
        for stage in range(stages)
    ]

    assert np.concatenate(by_stage, axis=1).tolist() == golden["offsets"]
    assert layout.elements == header["max_offset"] + 1


@pytest.mark.parametrize("stages", [1, 4])
@pytest.mark.parametrize("path", CONGRUOUS, ids=lambda path: path.stem)
def test_congruous_stages_lie_one_after_another_along_k(path, stages):
    golden = json.loads(path.read_text())
    header = golden["header"]
    bits, _ = type_parameters(header["type"])
    depth = header["extent_strided"] // stages
    layout = shared_layout("congruous", bits, header["extent_contiguous"], depth, stages)

    by_stage = [
        layout.offset(np.arange(layout.contiguous), np.arange(depth)[:, np.newaxis], stage) for stage in range(stages)
    ]

    assert np.concatenate(by_stage).tolist() == golden["offsets"]
    assert layout.elements == header["max_offset"] + 1


@pytest.mark.parametrize("path", [*FILES, *CONGRUOUS], ids=lambda path: path.stem)
def test_the_name_cutlass_gives_the_type_names_the_layout(path):
    golden = json.loads(path.read_text())
    header = golden["header"]
    bits, _ = type_parameters(header["type"])
    extents = (header["extent_contiguous"], header["extent_strided"])

    layout = shared_layout(header["type"], bits, *extents, stages=1)

    assert layout.offset(np.arange(extents[0]), np.arange(extents[1])[:, np.newaxis]).tolist() == golden["offsets"]


def test_factors_are_those_of_cutlass():
    constants = json.loads((DATA / "layout_wrappers_check.json").read_text())["layout_constants"]
    crosswise = {name: values for name, values in constants.items() if "Crosswise" in name}

    assert len(crosswise) == 10
    for name, values in crosswise.items():
        assert crosswise_factor(*type_parameters(name)) == values["kFactor"], name


def test_a_congruous_row_is_lines_of_the_length_cutlass_names():
    constants = json.loads((DATA / "layout_wrappers_check.json").read_text())["layout_constants"]
    congruous = {name: values for name, values in constants.items() if "Congruous" in name}

    assert len(congruous) == 2
    for name, values in congruous.items():
        bits, line = type_parameters(name)
        assert (line_elements(bits), crosswise_factor(bits, line)) == (line, values["kFactor"]), name
        assert shared_layout(name, bits, line, 8, 1).elements == 8 * line


def test_types_that_do_not_compile_are_refused():
    refused = json.loads((DATA / "layout_wrappers_check.json").read_text())["not_instantiable"]

    assert len(refused) == 3
    for name in refused:
        bits, crosswise = type_parameters(name)
        with pytest.raises(BadInput, match=r"kFactor would be 0"):
            shared_layout("crosswise", bits, crosswise, 128, stages=3)
