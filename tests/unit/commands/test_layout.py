"""``gpusim layout``: its JSON, and where its picture goes."""

import json


def test_layout_json_has_offsets_and_the_conflicts_asked_for(gpusim):
    answer = gpusim("layout", "row_major", "--tile", "64x8", "--json", "--ldmatrix", "x1", "--store", "16B")

    data = json.loads(answer.out)
    accesses = {access["access"]: access["conflicts"] for access in data["accesses"]}

    assert data["offsets"][7][63] == 7 * 64 + 63
    assert accesses == {"store 16B": 0, "ldmatrix.x1": 7}


def test_layout_draws_where_it_is_told(gpusim, tmp_path):
    picture = tmp_path / "map.png"

    answer = gpusim("layout", "crosswise", "--png", picture)

    assert answer.code == 0
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert str(picture) in answer.err


def test_a_picture_that_cannot_be_written_is_exit_1(gpusim, tmp_path):
    (tmp_path / "file").write_text("")

    answer = gpusim("layout", "crosswise", "--png", tmp_path / "file" / "map.png")

    assert answer.code == 1
    assert answer.err.startswith("gpusim: ")
    assert answer.err.count("\n") == 1


def test_a_layout_as_cute_prints_it_needs_no_tile(gpusim):
    spec = "Sw<3,4,3> o smem_ptr[16b](unset) o ((_8,_4),(_64,_1)):((_64,_512),(_1,_0))"

    data = json.loads(gpusim("layout", spec, "--ldmatrix", "x4", "--json").out)

    assert (data["contiguous"], data["strided"], data["accesses"][0]["conflicts"]) == (64, 32, 0)


def test_search_json_has_the_layouts_found_cheapest_first(gpusim):
    answer = gpusim("layout", "--search", "--tile", "64x64", "--store", "16B", "--ldmatrix", "x4", "--json")

    search = json.loads(answer.out)["search"]
    assert search["plain"]["conflicts"] == 28
    assert [found["layout"] for found in search["found"][:2]] == ["Swizzle<3,3,3>", "padded<8>"]


def test_search_text_shows_the_address_bits(gpusim):
    answer = gpusim("layout", "--search", "--tile", "64x64", "--ldmatrix", "x4")

    assert "No conflict, cheapest: Swizzle<3,3,3> (no more memory)" in answer.out
    assert "bank = bits 6-2 = c5^s2 c4^s1 c3^s0 c2 c1" in answer.out


def test_a_search_for_no_access_is_exit_2(gpusim):
    answer = gpusim("layout", "--search")

    assert answer.code == 2
    assert "--search needs the accesses that must not conflict" in answer.err


def test_a_swizzle_larger_than_the_tile_is_exit_2(gpusim):
    answer = gpusim("layout", "Swizzle<9,9,9>", "--tile", "64x64")

    assert answer.code == 2
    assert "permutes blocks of 262144 elements, which must be at most the 4096 elements of a stage" in answer.err


def test_a_copy_around_l1_counts_more_than_its_conflicts(gpusim):
    """Rows of 64 bytes, far apart in global memory: 8 lines return one by one where 4 wavefronts would do."""
    answer = gpusim("layout", "row_major", "--tile", "32x64", "--cp-async", "16B.cg:4096")

    assert "cp.async 16B.cg:4096: 4 wavefronts, ideal 4: no bank conflict" in answer.out
    assert "the counter of LDGSTS shows 8: 4 more" in answer.out


def test_a_gmma_atom_states_the_width_of_an_element(gpusim):
    answer = gpusim("layout", "GMMA::Layout_K_SW128_Atom<e4m3>", "--tile", "128x64", "--stages", "3", "--json")

    data = json.loads(answer.out)
    assert (data["element_bits"], data["contiguous"], data["strided"], data["stages"]) == (8, 128, 64, 3)
    assert data["offsets"][1][:2] == [128 + 16, 128 + 17]
    assert data["stage_offsets"][2][0][0] == 2 * 128 * 64


def test_a_tile_of_gmma_atoms_needs_no_tile(gpusim):
    spec = "tile_to_shape(GMMA::Layout_MN_SW128_Atom<f16>{}, Shape<_128,_64,_2>{}, Step<_2,_1,_3>{})"

    data = json.loads(gpusim("layout", spec, "--json").out)

    assert (data["contiguous"], data["strided"], data["stages"]) == (128, 64, 2)


def test_a_tile_that_is_not_whole_atoms_is_exit_2(gpusim):
    answer = gpusim("layout", "GMMA::Layout_K_SW128_Atom<f16>", "--tile", "32x128")

    assert answer.code == 2
    assert "M or N must be a multiple of 8 and K a multiple of 64, got 128 and 32" in answer.err
    assert answer.err.count("\n") == 1
