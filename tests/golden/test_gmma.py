"""The operands of wgmma against CuTe itself: layouts of shared memory, descriptors, fragments and instructions."""

import json
import re
import zipfile
from pathlib import Path

import numpy as np
import pytest

from gpusim.element_types import element_bits
from gpusim.layout.bank_map import describe_layout, tile_layout
from gpusim.layout.gmma.atom import GmmaAtom
from gpusim.layout.gmma.names import parse_gmma
from gpusim.layout.gmma.tile import tile_to_shape
from gpusim.tile.wgmma import accumulator_layout, parse_wgmma, register_a_layout, thread_values
from gpusim.tile.wgmma_descriptors import BlockDescriptors, decode_descriptor

DATA = Path(__file__).parent / "data"
LAYOUTS = DATA / "hopper" / "gmma_layouts.zip"
NAMES = zipfile.ZipFile(LAYOUTS).namelist()

# What CuTe prints of an atom once its swizzle is one of elements, and of tiles of atoms without a Step.
PRINTED = {
    "GMMA::Layout_K_SW128_Atom<half_t>": "Sw<3,3,3> o _0 o (_8,_64):(_64,_1)",
    "GMMA::Layout_K_SW128_Atom<float>": "Sw<3,2,3> o _0 o (_8,_32):(_32,_1)",
    "GMMA::Layout_MN_SW128_Atom<half_t>": "Sw<3,4,3> o smem_ptr[16b](unset) o (_64,_8):(_1,_64)",
    "GMMA::Layout_K_SW32_Atom<float>": "Sw<1,4,3> o smem_ptr[32b](unset) o (_8,_8):(_8,_1)",
    "tile_to_shape(GMMA::Layout_K_SW128_Atom<half_t>{}, Shape<_128,_64,_3>{})": (
        "Sw<3,4,3> o smem_ptr[16b](unset) o ((_8,_16),(_64,_1),(_1,_3)):((_64,_512),(_1,_0),(_0,_8192))"
    ),
    "tile_to_shape(GMMA::Layout_MN_SW128_Atom<half_t>{}, Shape<_128,_64,_3>{})": (
        "Sw<3,4,3> o smem_ptr[16b](unset) o ((_64,_2),(_8,_8),(_1,_3)):((_1,_512),(_64,_1024),(_0,_8192))"
    ),
}


def rows(name):
    return json.loads((DATA / "hopper" / f"{name}.json").read_text())["rows"]


def layout_file(name):
    with zipfile.ZipFile(LAYOUTS) as archive:
        return json.loads(archive.read(name))


def tile_of(name, header):
    step = tuple(map(int, re.search(r"Step(\d)_(\d)_(\d)", name).groups()))
    return tile_to_shape(
        GmmaAtom(header["major"], header["swizzle"], header["element_bits"]), tuple(header["shape"]), step
    )


def offsets(function, tile, stages):
    row, column = np.ogrid[: tile.mn, : tile.k]
    return [function(row, column, stage).tolist() for stage in stages]


def test_every_file_is_read():
    found = [len(NAMES), *(len(rows(f"gmma_{name}")) for name in ("descriptors", "instructions", "thread_value"))]

    assert found == [48, 38, 88, 5]


@pytest.mark.parametrize("name", NAMES)
def test_layouts_are_those_of_cute(name):
    """CuTe was asked for the numbers of its layout objects, which have no pointer."""
    golden = layout_file(name)
    header = golden["header"]
    tile = tile_of(name, header)

    assert offsets(tile.unset_offset, tile, header["stages_listed"]) == golden["offsets"]
    assert (tile.elements, tile.stages) == (header["max_offset"] + 1, header["shape"][2])
    assert [tile.atom.mn, tile.atom.k] == header["atom_shape"]


@pytest.mark.parametrize("name", [name for name in NAMES if "_b8_" in name or "_INTER_" in name])
def test_without_a_swizzle_or_of_single_bytes_these_numbers_are_the_places(name):
    golden = layout_file(name)
    tile = tile_of(name, golden["header"])

    assert offsets(tile.offset, tile, golden["header"]["stages_listed"]) == golden["offsets"]


@pytest.mark.parametrize("name", PRINTED)
def test_places_are_those_of_the_layouts_that_cute_prints(name):
    printed, spec = PRINTED[name], parse_gmma(name)
    shape = spec.shape or (spec.atom.mn, spec.atom.k, 1)
    ours = tile_to_shape(spec.atom, shape, spec.step)
    cute = tile_layout(printed, spec.atom.element_bits)

    assert printed in json.loads((DATA / "cute_tiled_copies.json").read_text())["layouts"]
    assert places(ours.shared) == places(cute)


def places(layout):
    stage, strided, contiguous = np.ogrid[: layout.stages, : layout.strided, : layout.contiguous]
    return layout.offset(contiguous, strided, stage).tolist()


@pytest.mark.parametrize(
    "row",
    rows("gmma_descriptors"),
    ids=lambda row: "-".join(str(row[key]) for key in ("type", "major", "swizzle", "tile_mn_k", "instruction_mn_k")),
)
def test_descriptors_are_those_of_cute(row):
    atom = GmmaAtom(row["major"], row["swizzle"], element_bits(row["type"]))
    blocks = BlockDescriptors(tile_to_shape(atom, (*row["tile_mn_k"], row["stages"])), row["instruction_mn_k"][0])
    encoded = blocks.encoded()
    stages, along_mn, along_k = blocks.shape
    fields = ("start", "leading", "stride", "base_offset", "layout_type")

    found = []
    for stage, block, step in np.ndindex(stages, along_mn, along_k):
        descriptor = blocks.descriptor(stage, block, step)
        assert decode_descriptor(int(encoded[stage, block, step])) == descriptor
        if stage in (0, stages - 1):
            found.append([stage, block, step, *(getattr(descriptor, field) for field in fields)])

    assert found == row["descriptors"]
    assert blocks.depth == row["instruction_mn_k"][1]


@pytest.mark.parametrize("row", rows("gmma_instructions"), ids=lambda row: row["op"])
def test_instructions_are_those_of_cute(row):
    wgmma = parse_wgmma(row["op"])

    assert wgmma.cute_name == row["op"]
    assert wgmma.shape == (row["M"], row["N"], row["K"])
    for key in ("accumulator_registers", "a_registers", "descriptor_operands"):
        assert getattr(wgmma, key) == row[key]


@pytest.mark.parametrize("row", rows("gmma_thread_value"), ids=lambda row: row["layout"])
def test_the_elements_of_every_thread_are_those_of_cute(row):
    kind, columns = re.fullmatch(r"([AC])Layout_64x(\d+)", row["layout"]).groups()
    layout = accumulator_layout(int(columns)) if kind == "C" else register_a_layout(256 // int(columns))

    assert thread_values(layout).tolist() == row["row_col"]


@pytest.mark.parametrize("name", NAMES)
def test_the_printed_offsets_are_those_of_cute(name):
    """``gpusim layout --json`` has the golden numbers, and beside them the bytes in shared memory."""
    golden = layout_file(name)
    header = golden["header"]
    mn, k, stages = header["shape"]
    step = ",".join(re.search(r"Step(\d)_(\d)_(\d)", name).groups())
    kind = {8: "e4m3", 16: "f16", 32: "tf32"}[header["element_bits"]]
    spec = f"GMMA::Layout_{header['major']}_{header['swizzle']}_Atom<{kind}>, Step<{step}>"
    extents = (k, mn) if header["major"] == "K" else (mn, k)

    report = describe_layout(spec, header["element_bits"], *extents, stages)
    data = report.as_dict()

    turned = [np.array(data.get("stage_offsets", [data["offsets"]])[stage]) for stage in header["stages_listed"]]
    found = [one if header["major"] == "K" else one.T for one in turned]
    assert [one.tolist() for one in found] == golden["offsets"]
    assert data["addresses"][0] == (report.offsets() * header["element_bits"] // 8).tolist()
