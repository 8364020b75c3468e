"""CuTe's names of GMMA atoms: what each stands for, as a shared layout too, and what is refused in which words."""

import re

import numpy as np
import pytest

from gpusim.errors import BadInput
from gpusim.layout.bank_map import describe_layout, tile_layout
from gpusim.layout.gmma.atom import GMMA_SWIZZLES, MAJORS, GmmaAtom
from gpusim.layout.gmma.names import GmmaSpec, is_gmma, parse_gmma
from gpusim.layout.named import parse_layout_spec, shared_layout, stated_bits, stated_extents
from gpusim.layout.search_report import search_layout

K16 = GmmaAtom("K", "SW128", 16)
TYPES = "f16, bf16, tf32, f32, e4m3, e5m2, s8, u8, s4, u4, s32"


@pytest.mark.parametrize(
    ("text", "spec"),
    [
        ("GMMA::Layout_K_SW128_Atom<f16>", GmmaSpec(K16)),
        ("cute::GMMA::Layout_K_SW128_Atom<cutlass::half_t>", GmmaSpec(K16)),
        ("cute::SM90::GMMA::Layout_MN_SW64_Atom< bf16 >{}", GmmaSpec(GmmaAtom("MN", "SW64", 16))),
        ("Layout_K_INTER_Atom<tf32>", GmmaSpec(GmmaAtom("K", "INTER", 32))),
        ("GMMA::Layout_K_SW32_Atom<cutlass::float_e4m3_t>", GmmaSpec(GmmaAtom("K", "SW32", 8))),
        ("GMMA::Layout_K_SW128_Atom<cutlass::int4b_t>", GmmaSpec(GmmaAtom("K", "SW128", 4))),
        ("GMMA::Layout_K_SW128_Atom<f16>, Step<2,1,3>", GmmaSpec(K16, (2, 1, 3))),
        (
            "tile_to_shape(GMMA::Layout_K_SW128_Atom<f16>{}, Shape<_128,_64,_4>{}, Step<_2,_1,_3>{})",
            GmmaSpec(K16, (2, 1, 3), (128, 64, 4)),
        ),
        ("tile_to_shape(GMMA::Layout_K_SW128_Atom<f16>{}, Shape<128, 64>)", GmmaSpec(K16, (1, 2, 3), (128, 64, 1))),
    ],
)
def test_names_are_read(text, spec):
    assert is_gmma(text)
    assert parse_gmma(text) == spec
    assert parse_layout_spec(text) == spec


@pytest.mark.parametrize("swizzle", GMMA_SWIZZLES)
@pytest.mark.parametrize("major", MAJORS)
def test_every_atom_is_a_shared_layout_of_its_name(major, swizzle):
    name = f"GMMA::Layout_{major}_{swizzle}_Atom<bf16>"
    layout = shared_layout(name, 16, 128, 64, 3)
    stage, strided, contiguous = np.ogrid[:3, :64, :128]

    assert np.array_equal(np.sort(layout.offset(contiguous, strided, stage), axis=None), np.arange(layout.elements))
    assert layout.first_is_contiguous == (major == "MN")


def test_a_name_states_the_width_of_an_element_and_perhaps_a_tile():
    name = "tile_to_shape(GMMA::Layout_MN_SW128_Atom<f16>{}, Shape<_128,_64,_4>{}, Step<_2,_1,_3>{})"

    assert (stated_bits(name), stated_extents(name)) == (16, (128, 64, 4))
    assert stated_extents(name.replace("MN", "K")) == (64, 128, 4)
    assert (stated_bits("GMMA::Layout_K_SW128_Atom<e5m2>"), stated_extents("GMMA::Layout_K_SW128_Atom<e5m2>")) == (
        8,
        None,
    )


def test_other_layouts_state_the_width_of_an_element_if_they_name_it():
    names = ("crosswise<8,64>", "congruous<32,32>", "crosswise", "row_major", "(8,64):(64,1)")

    assert [stated_bits(name) for name in names] == [8, 32, None, None, None]
    assert stated_bits("Sw<3,4,3> o smem_ptr[16b](unset) o (_8,_64):(_64,_1)") == 16


def test_rows_of_the_atom_of_128_bytes_have_no_conflicts():
    report = describe_layout(
        "GMMA::Layout_K_SW128_Atom<f16>", 16, 64, 128, accesses=[("ldmatrix", "x4"), ("load", "16B")]
    )

    assert [access.conflicts for access in report.accesses] == [0, 0]


def test_a_search_starts_from_the_atoms_without_their_swizzle():
    search = search_layout("GMMA::Layout_K_SW128_Atom<f16>", 16, 64, 64, accesses=[("ldmatrix", "x4")])

    assert search.plain.conflicts == 28
    assert "Swizzle<3,3,3> o ((8,8),(64,1)):((64,512),(1,4096))" in [found.name for found in search.found]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "GMMA::Layout_K_SW_Atom<f16>",
            "GMMA atoms are GMMA::Layout_{K,MN}_{INTER,SW32,SW64,SW128}_Atom<type>, got 'GMMA::Layout_K_SW_Atom<f16>'",
        ),
        (
            "GMMA::Layout_K_SW128_Atom",
            "GMMA atoms are GMMA::Layout_{K,MN}_{INTER,SW32,SW64,SW128}_Atom<type>, got 'GMMA::Layout_K_SW128_Atom'",
        ),
        (
            "GMMA::Layout_K_SW128_Atom<f64>",
            (f"GMMA::Layout_K_SW128_Atom<f64>: type must be one of {TYPES}, or CUTLASS's name of one, got 'f64'"),
        ),
        (
            "tile_to_shape(GMMA::Layout_K_SW128_Atom<f16>{})",
            (
                "a tile of GMMA atoms must read tile_to_shape(ATOM, Shape<MN,K,STAGES>, Step<1,2,3>) or Step<2,1,3>, "
                "got 'tile_to_shape(GMMA::Layout_K_SW128_Atom<f16>{})'"
            ),
        ),
    ],
)
def test_other_names_are_refused_in_one_line(text, message):
    with pytest.raises(BadInput, match=f"^{re.escape(message)}$"):
        parse_layout_spec(text)


@pytest.mark.parametrize(
    ("name", "extents", "message"),
    [
        (
            "GMMA::Layout_K_SW128_Atom<f16>",
            (8, 64, 128, 1),
            "GMMA::Layout_K_SW128_Atom<f16>: element bits must be those of the operand, 8, got 16",
        ),
        (
            "GMMA::Layout_K_SW128_Atom<e4m3>",
            (8, 64, 128, 1),
            "GMMA::Layout_K_SW128_Atom<8b>: M or N must be a multiple of 8 and K a multiple of 128, got 128 and 64",
        ),
        (
            "tile_to_shape(GMMA::Layout_K_SW128_Atom<f16>{}, Shape<128,64,2>)",
            (16, 64, 128, 3),
            (
                "tile_to_shape(GMMA::Layout_K_SW128_Atom<f16>{}, Shape<128,64,2>): the tile must be the stated one, "
                "(M or N, K, stages) = (128, 64, 2), got (128, 64, 3)"
            ),
        ),
    ],
)
def test_tiles_that_do_not_fit_are_refused_in_one_line(name, extents, message):
    with pytest.raises(BadInput, match=f"^{re.escape(message)}$"):
        shared_layout(name, *extents)


def test_a_tile_starts_where_an_atom_may_start():
    message = "GMMA::Layout_K_SW128_Atom<f16>: the base must be a multiple of 1024 bytes, got 512"
    with pytest.raises(BadInput, match=f"^{re.escape(message)}$"):
        describe_layout("GMMA::Layout_K_SW128_Atom<f16>", 16, 64, 128, base=512)

    assert describe_layout("GMMA::Layout_K_INTER_Atom<f16>", 16, 64, 128, base=16).base == 16
    assert tile_layout("GMMA::Layout_K_INTER_Atom<f16>", 16, 8, 8).elements == 64
