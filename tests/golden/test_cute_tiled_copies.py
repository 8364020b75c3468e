"""CuTe's own tiled copies: the text it prints is read, and every lane asks for the element that CuTe gives it."""

import json
from pathlib import Path

import numpy as np
import pytest

from gpusim.layout.bank_map import tile_layout
from gpusim.layout.named import stated_extents
from gpusim.layout.tiled_copy import parse_tiled_copy, tiled_copy_access

GOLDEN = json.loads((Path(__file__).parent / "data" / "cute_tiled_copies.json").read_text())
COPIES = [(copy, form) for copy in GOLDEN["copies"] for form in ("printed", "made_by") if copy[form]]


def by_warp(offsets):
    """The 32 offsets of every instruction of each warp, in no particular order of instructions."""
    return [sorted(map(tuple, warp.T.tolist())) for warp in np.array(offsets).reshape(-1, 32, len(offsets[0]))]


@pytest.mark.parametrize(("copy", "form"), COPIES, ids=lambda value: value if isinstance(value, str) else value["name"])
def test_every_lane_asks_for_what_cute_gives_it(copy, form):
    layout = tile_layout(copy["layout"], copy["bits"])
    access = tiled_copy_access("copy", parse_tiled_copy(copy[form], copy["bits"]), layout, stores=False)
    warps = by_warp(copy["offsets"])

    found = layout.offset(access.contiguous, access.strided).reshape(len(warps), -1, 32)

    assert [sorted(map(tuple, warp.tolist())) for warp in found] == warps


@pytest.mark.parametrize("copy", GOLDEN["copies"], ids=lambda copy: copy["name"])
def test_matrix_instructions_are_told_from_loads_of_each_lane(copy):
    layout = tile_layout(copy["layout"], copy["bits"])
    access = tiled_copy_access("copy", parse_tiled_copy(copy["printed"], copy["bits"]), layout, stores=False)

    assert (access.op == "ldmatrix") == copy["name"].startswith("ldsm")
    assert access.active.sum(axis=-1).tolist() == [16 if " x2 " in copy["name"] else 32] * access.instructions


@pytest.mark.parametrize("text", [text for text in GOLDEN["layouts"] if ":" in text])
def test_layouts_are_read_as_cute_prints_them(text):
    bits = 32 if "[32b]" in text or ",2,3>" in text else 16
    layout = tile_layout(text, bits)
    stage, strided, contiguous = np.ogrid[: layout.stages, : layout.strided, : layout.contiguous]
    offsets = layout.offset(contiguous, strided, stage)

    assert stated_extents(text) == (layout.contiguous, layout.strided, layout.stages)
    assert np.array_equal(np.sort(offsets, axis=None), np.arange(layout.elements))
