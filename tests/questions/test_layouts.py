"""
Questions that users of CUTLASS, CuTe, Triton and llama.cpp asked in public about shared-memory layouts, answered.

Each test names its thread, puts the question to ``gpusim layout`` and asserts the answer.
"""

import json

import pytest

LDSM_T_OF_A = "SM75_U16x8_LDSM_T, SM80_16x8x16_F32F16F16F32_TN.A 2x2"
LDSM_N_OF_B = "SM75_U32x4_LDSM_N, SM80_16x8x16_F32F16F16F32_TN.B 2x2"
COLUMN = "4B@" + ",".join(f"0:{row}" for row in range(32))


@pytest.fixture
def layout(gpusim):
    """Ask ``gpusim layout``: its JSON."""

    def ask(*arguments):
        answer = gpusim("layout", *arguments, "--json")
        assert answer.err == ""
        return json.loads(answer.out)

    return ask


@pytest.fixture
def ways(layout):
    """Ask for the accesses of a layout: how many ways each conflicts, 1 where it does not."""

    def ask(*arguments):
        return [access["ways"] for access in layout(*arguments)["accesses"]]

    return ask


def found(answer):
    return [candidate["layout"] for candidate in answer["search"]["found"]]


def test_cutlass_3172_swizzle_3_3_4_does_remove_the_conflicts_of_ldmatrix_trans(layout):
    """
    https://github.com/NVIDIA/cutlass/issues/3172: ncu shows conflicts with ldmatrix.x4.trans on M-major (128,8) atoms.

    Without a swizzle the ldmatrix conflicts 8 ways. Swizzle<3,3,4> removes all of it, and is the cheapest swizzle that
    does: it XORs the low three bits of k into the three bank bits above 16 bytes. What the counter still shows is not
    of the layout's making.
    """
    plain = layout("(_128,_32):(_1,_128)", "--copy-from", LDSM_T_OF_A, "--search")
    swizzled = layout("Sw<3,3,4> o _0 o ((_128,_1),(_8,_4)):((_1,_0),(_128,_1024))", "--copy-from", LDSM_T_OF_A)

    assert (plain["accesses"][0]["ways"], plain["accesses"][0]["conflicts"]) == (8, 896)
    assert swizzled["accesses"][0]["conflicts"] == 0
    assert found(plain)[0] == "Swizzle<3,3,4> o (128,32):(1,128)"
    assert "bank = bits 6-2 = c5^s2 c4^s1 c3^s0 c2 c1" in swizzled["address_bits"]


def test_cutlass_2116_tf32_along_n_takes_lds_with_mbase_2_and_bbits_3_or_mbase_3_and_bbits_2(layout, gpusim):
    """
    https://github.com/NVIDIA/cutlass/issues/2116: which MBase and SShift for TF32 along M and N, and no ldmatrix?

    ldmatrix.trans moves elements of 16 bits only. Loads of 32 bits a lane conflict 4 ways on 128 floats along M. With
    128-bit stores kept whole, Swizzle<2,3,4> or Swizzle<3,2,4> frees loads and stores: SShift lifts the row's bits,
    which begin at bit 7, down to MBase. MBase 2 with BBits 3, as was guessed in the thread, takes SShift 4 here; 5,
    which lifts bit 7 to bit 2, leaves lanes of one row to meet.
    """
    asked = ("--store", "16B", "--lds", "m16n8k8.tf32.a", "--lds", "m16n8k8.tf32.b", "--bits", "32")
    answer = layout("(128,8):(1,128)", *asked, "--search")

    assert [access["ways"] for access in answer["accesses"]] == [1, 4, 4]
    assert found(answer)[:2] == ["Swizzle<2,3,4> o (128,8):(1,128)", "Swizzle<3,2,4> o (128,8):(1,128)"]
    assert [access["ways"] for access in layout("Swizzle<3,2,5> o (128,8):(1,128)", *asked)["accesses"]] == [1, 2, 2]
    assert (
        "moves elements of 16 bits"
        in gpusim("layout", "(128,8):(1,128)", "--bits", "32", "--copy-from", "SM75_U16x8_LDSM_T, m16n8k8.tf32.A").err
    )


@pytest.mark.parametrize(("row", "bits", "without"), [(64, 3, 8), (32, 2, 4), (16, 1, 2), (8, 0, 1)])
def test_cutlass_2015_3_4_3_makes_eight_rows_of_16_byte_vectors_fill_all_banks(layout, ways, row, bits, without):
    """
    https://github.com/NVIDIA/cutlass/issues/2015: why Swizzle<3,4,3>?

    M = 4 leaves 16 bytes together; 2^3 of them are the 128 bytes of all banks; S = 3 reaches the row number, which
    begins 3 bits above. Rows of 64, 32 and 16 fp16 conflict 8, 4 and 2 ways in ldmatrix, and B = 3, 2, 1 is what each
    needs; rows of 16 bytes need none, which is CUTLASS's Swizzle<0,4,3>.
    """
    swizzle = f"Sw<{bits},4,3> o smem_ptr[16b](unset) o (_8,_{row}):(_{row},_1)"
    least = layout(f"(8,{row}):({row},1)", "--ldmatrix", "x1", "--search")["search"]["found"][0]

    assert ways(f"(8,{row}):({row},1)", "--ldmatrix", "x1") == [without]
    assert ways(swizzle, "--ldmatrix", "x1") == [1]
    assert (least["swizzle"] or [0])[0] == bits


def test_cutlass_1882_threads_along_columns_of_row_major_data_conflict_8_ways(ways):
    """
    https://github.com/NVIDIA/cutlass/issues/1882: why does a simple tiled copy of 128x32 fp16 conflict?

    16x16 threads in column-major order store 16 rows of 64 bytes at once: 8 ways. Threads in row-major order do not
    conflict, as CuTe's author answered.
    """
    by_columns, by_rows = (
        ways("(128,32):(32,1)", "--copy-to", f"UniversalCopy<uint16_t>, (16,16):({order}), (1,1)")
        for order in ("1,16", "16,1")
    )

    assert (by_columns, by_rows) == ([8], [1])


@pytest.mark.parametrize("base", [0, 64, 128, 1024, 33_000])
def test_cutlass_1882_more_shared_memory_than_needed_makes_no_conflict(layout, base):
    """
    https://github.com/NVIDIA/cutlass/issues/1882: 0 conflicts, but 5,713,107 once the array is declared larger.

    The addresses of a warp do not depend on the array's size, and wherever it begins, no store conflicts. The number
    is one of the counter, not of the layout.
    """
    copy = "UniversalCopy<uint16_t>, (8,32):(32,1), (1,1)"

    (access,) = layout("(16,32):(32,1)", "--copy-to", copy, "--base", str(base))["accesses"]

    assert (access["instructions"], access["wavefronts"], access["conflicts"]) == (16, 16, 0)


def test_cutlass_2810_neither_mainloop_nor_epilogue_of_the_cute_dsl_gemm_conflicts(ways):
    """
    https://github.com/NVIDIA/cutlass/issues/2810: tensorop_gemm.py with A along M shows conflicts of loads and stores.

    Its layouts are free of them: A's atoms (64,8):(1,64) and B's (8,32):(32,1) for cp.async and ldmatrix, C's atoms
    under Swizzle<3,3,4> for the stores of 32 bits and the loads of 128. C without a swizzle would conflict 8 ways, and
    with the mainloop's Swizzle<3,3,3>, whose row bits lie one bit too low for 128 columns, 2 ways.
    """
    a = "S<3,3,3> o 0 o ((64,2),(8,4)):((1,512),(64,1024))"
    b = "S<2,3,3> o 0 o ((8,16),(32,1)):((32,256),(1,0))"
    c = "((8,16),(128,1)):((128,1024),(1,0))"
    copy = "SM80_CP_ASYNC_CACHEGLOBAL<uint128_t>"
    stored = ("--copy-to", "UniversalCopy<uint32_t>, SM80_16x8x16_F32F16F16F32_TN.C 2x2")
    loaded = ("--copy-from", "UniversalCopy<uint128_t>, (8,16):(16,1), (1,8)")

    assert ways(a, "--copy-from", LDSM_T_OF_A, "--copy-to", f"{copy}, (16,8):(1,16), (8,1)") == [1, 1]
    assert ways(b, "--copy-from", LDSM_N_OF_B, "--copy-to", f"{copy}, (32,4):(4,1), (1,8)") == [1, 1]
    assert ways(f"S<3,3,4> o 0 o {c}", *loaded, *stored) == [1, 1]
    assert ways(c, *loaded, *stored) == [1, 8]
    assert ways(f"S<3,3,3> o 0 o {c}", *loaded, *stored) == [1, 2]


def test_cutlass_1858_the_swizzle_atom_frees_the_stores_of_rows(layout, ways):
    """
    https://github.com/NVIDIA/cutlass/issues/1858: what does composition(Swizzle<3,3,3>, (8,(8,8)):(8,(1,64))) do?

    The layout puts the same 8 columns of all rows side by side: ldmatrix is free without a swizzle, but the eight
    vectors of a row lie 128 bytes apart and their store conflicts 8 ways. The swizzle XORs the number of the column
    block into the bank bits, which frees the store and leaves the ldmatrix free.
    """
    atom = "(_8,(_8,_8)):(_8,(_1,_64))"
    both = ("--store", "16B", "--ldmatrix", "x1")

    assert ways(atom, *both) == [8, 1]
    assert ways(f"Swizzle<3,3,3> o {atom}", *both) == [1, 1]
    assert "bank = bits 6-2 = s2^c5 s1^c4 s0^c3 c2 c1" in layout(f"Swizzle<3,3,3> o {atom}")["address_bits"]


def test_cutlass_1234_sgemm_nt_of_the_tutorial_has_no_conflict_to_swizzle_away(ways):
    """
    https://github.com/NVIDIA/cutlass/issues/1234: how to avoid the conflicts of sgemm_nt_1.cu by a swizzle?

    There are none by layout: 32x8 threads copy 32 floats side by side, and of 16x16 threads a warp reads 16 of them,
    each for two lanes.
    """
    copy = "UniversalCopy<uint32_t>, (32,8):(1,32), (1,1)"
    read = "4B@" + ",".join(f"{lane % 16}:0" for lane in range(32))

    assert ways("(128,8):(1,128)", "--bits", "32", "--copy-to", copy, "--access", read) == [1, 1]


def test_cutlass_1443_only_sgemm_tn_of_the_tutorial_needs_padding(layout):
    """
    https://github.com/NVIDIA/cutlass/issues/1443: sgemm_1 does not pad 128 to 132; is there no conflict?

    Not in NT. In TN, whose tile (128,8):(8,1) is K-major, reading 16 rows of 32 bytes conflicts 4 ways. Padding K
    would help, and so do Swizzle<2,1,4> and Swizzle<2,0,5>, which take no memory. Storing K-major threads into the
    M-major tile would conflict 8 ways with 128, and 132 is what frees that.
    """
    read = "4B@" + ",".join(f"0:{lane % 16}" for lane in range(32))
    copy = "UniversalCopy<uint32_t>, (32,8):(8,1), (1,1)"
    k_major = layout("(128,8):(8,1)", "--bits", "32", "--copy-to", copy, "--access", read, "--search")
    m_major = {
        stride: layout(f"(128,8):(1,{stride})", "--bits", "32", "--copy-to", copy)["accesses"][0]["ways"]
        for stride in (128, 129, 132)
    }

    assert [access["ways"] for access in k_major["accesses"]] == [1, 4]
    assert found(k_major)[:2] == ["Swizzle<2,1,4> o (128,8):(8,1)", "Swizzle<2,0,5> o (128,8):(8,1)"]
    assert k_major["search"]["found"][1]["extra_bytes"] == 0
    assert m_major == {128: 8, 129: 4, 132: 1}


def test_cutlass_2212_ca_copies_are_counted_with_the_stores_and_cg_copies_are_not(layout):
    """
    https://github.com/NVIDIA/cutlass/issues/2212: cp.async.ca raises the conflicts of shared stores, .cg does not.

    Both write the same addresses without a conflict. ncu's counter of shared stores includes .ca copies and leaves out
    .cg ones, and both return every 128-byte line of global memory by itself: 8 wavefronts for 8 rows of 32 fp16, where
    the layout needs 4. No swizzle changes that.
    """
    ca, cg = layout("crosswise", "--tile", "32x64", "--cp-async", "16B.ca:4096", "--cp-async", "16B.cg:4096")[
        "accesses"
    ]

    assert (ca["conflicts"], cg["conflicts"]) == (0, 0)
    assert (ca["counter_wavefronts"], cg["counter_wavefronts"]) == (8, 8)
    assert set(ca["counters"]) - set(cg["counters"]) == {"l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum"}


@pytest.mark.parametrize("xnumel", [1 << 10, 1 << 20, 1 << 30])
def test_triton_8149_the_length_of_the_tensor_makes_no_conflict(layout, xnumel):
    """
    https://github.com/triton-lang/triton/issues/8149: cp.async in Gluon conflicts only where xnumel is large.

    A block of 1,024 floats needs 4 wavefronts a copy of 16 bytes, whatever the length: neither the layout nor the lines
    of global memory add to it. What the counter of LDGSTS adds for long tensors is contention, no conflict.
    """
    (access,) = layout("row_major", "--bits", "32", "--tile", "1024x1", "--cp-async", f"16B.cg:{xnumel}")["accesses"]

    assert (access["wavefronts"], access["conflicts"], access["counter_wavefronts"]) == (4, 0, 4)


def test_triton_3059_copies_of_64_byte_rows_count_twice_their_wavefronts(layout):
    """
    https://github.com/triton-lang/triton/issues/3059: load conflicts appear for M, N, K >= 1024 with 64x64x32 tiles.

    The tile of A, 32 fp16 wide and swizzled, is free in copy and ldmatrix. But its rows are half a line of global
    memory: each copy takes 8 wavefronts in place of 4. Tiles 64 deep would take 4.
    """
    narrow = layout("Swizzle<2,3,3>", "--tile", "32x64", "--cp-async", "16B.cg:1024", "--ldmatrix", "x4")["accesses"]
    wide = layout("Swizzle<3,3,3>", "--tile", "64x64", "--cp-async", "16B.cg:1024", "--ldmatrix", "x4")["accesses"]

    assert [access["conflicts"] for access in (*narrow, *wide)] == [0, 0, 0, 0]
    assert (narrow[0]["counter_wavefronts"], wide[0]["counter_wavefronts"]) == (8, 4)


@pytest.mark.parametrize("head", [64, 128, 256, 512])
def test_llama_cpp_28536_padding_and_xor_are_both_free_so_the_conflicts_are_elsewhere(layout, head):
    """
    https://github.com/ggml-org/llama.cpp/pull/28536: ncu shows more conflicts with the swizzle of K and V than without.

    For every head size the tile of K conflicts 8 ways in ldmatrix unswizzled, and neither the padding by 4 half2 nor
    the XOR of the row's low bits has a conflict left in copy or load. So the difference cannot come from K and V; the
    thread found it in the loads of the mask.
    """
    shift = head.bit_length() - 1 - 3
    asked = ("--tile", f"{head}x32", "--cp-async", "16B", "--ldmatrix", "x4", "--ldmatrix", "x4.trans@8:16")
    conflicts = {
        name: [access["conflicts"] for access in layout(name, *asked)["accesses"]]
        for name in ("row_major", "padded<8>", f"Swizzle<3,3,{shift}>")
    }

    assert conflicts["row_major"] == [0, 28, 28]
    assert conflicts["padded<8>"] == conflicts[f"Swizzle<3,3,{shift}>"] == [0, 0, 0]


def test_flash_attention_738_threads_0_7_and_8_15_are_of_different_phases(layout):
    """
    https://github.com/Dao-AILab/flash-attention/issues/738 and 2099: do threads 0-7 and 8-15 meet in 16-byte stores?

    They do not: a phase of a 16-byte access is 8 lanes. A row of 128 fp16 stored by 16 threads takes 4 wavefronts, the
    fewest, whether the row is one or two pages of 64. Its ldmatrix is another matter: Swizzle<3,3,3> over rows of 128
    leaves it 2-way, over pages of 64 free.
    """
    whole = layout("Swizzle<3,3,3> o (64,128):(128,1)", "--store", "16B", "--ldmatrix", "x4")["accesses"]
    pages = layout("Sw<3,3,3> o _0 o (_64,(_64,_2)):(_64,(_1,_4096))", "--store", "16B", "--ldmatrix", "x4")["accesses"]

    assert [(access["wavefronts"], access["ways"]) for access in whole] == [(4, 1), (8, 2)]
    assert [(access["wavefronts"], access["ways"]) for access in pages] == [(4, 1), (4, 1)]


def test_emmy_550_the_xor_must_take_its_bits_from_the_row(layout):
    """
    https://github.com/cloudrift-ai/emmy/pull/550: why do rows of 128 fp16 conflict under the swizzle of a 64-wide atom?

    Swizzle<3,3,3> reads bits 6-8 of the offset, and bit 6 of a 128-wide row is a column. S = 4 reads the row.
    """
    answer = layout("Swizzle<3,3,3>", "--tile", "128x64", "--ldmatrix", "x4", "--search")

    assert "bank = bits 6-2 = c5^s1 c4^s0 c3^c6 c2 c1" in answer["address_bits"]
    assert answer["accesses"][0]["ways"] == 2
    assert found(answer)[0] == "Swizzle<3,3,4>"


def test_cute_gemm_5_two_bits_are_enough_for_32_wide_tiles(layout, ways):
    """
    https://github.com/reed-lau/cute-gemm/issues/5: which B, M, S are best? B = 2 measured no worse than 3.

    With kTileK = 32 a line of banks holds two rows, so B = 2 frees ldmatrix and copy; B = 3 does no more.
    """
    both = ("--store", "16B", "--ldmatrix", "x4")
    answer = layout("(8,32):(32,1)", "--store", "16B", "--ldmatrix", "x1", "--search")

    assert (
        ways("Swizzle<2,3,3>", "--tile", "32x128", *both) == ways("Swizzle<3,3,3>", "--tile", "32x128", *both) == [1, 1]
    )
    assert ways("Swizzle<1,3,3>", "--tile", "32x128", *both) == [1, 2]
    assert found(answer)[0] == "Swizzle<2,3,3> o (8,32):(32,1)"


def test_cuda_oxide_544_a_column_of_floats_needs_five_bits_or_one_word_of_padding(ways):
    """https://github.com/NVlabs/cuda-oxide/pull/544: how a column of a float tile conflicts, line by line."""
    expected = {
        ("row_major", "32x32"): 32,
        ("row_major", "64x32"): 32,
        ("row_major", "16x32"): 16,
        ("padded<1>", "32x32"): 1,
        ("Swizzle<5,0,5>", "32x32"): 1,
        ("Swizzle<3,0,5>", "32x32"): 4,
        ("Swizzle<2,0,5>", "32x32"): 8,
    }

    counted = {
        (name, tile): ways(name, "--bits", "32", "--tile", tile, "--access", COLUMN)[0] for name, tile in expected
    }

    assert counted == expected


def test_sgemm_cuda_8_the_transposed_store_of_a_conflicts_and_the_store_of_b_does_not(layout):
    """
    https://github.com/siboehm/SGEMM_CUDA/issues/8: is it the write of As that conflicts, not that of Bs?

    Yes. Of As[8][128], written transposed, two lanes hold one column and 16 lanes one row: 2 ways, and 4 floats of
    padding free it. Bs takes float4 rows without a conflict.
    """
    transposed = "4B@" + ",".join(f"{lane // 2}:{lane % 2 * 4}" for lane in range(32))

    answer = layout(
        "row_major", "--bits", "32", "--tile", "128x8", "--store", "16B", "--access", transposed, "--search"
    )
    free = {candidate["layout"] for candidate in answer["search"]["found"]}

    assert [access["ways"] for access in answer["accesses"]] == [1, 2]
    assert "padded<4>" in free


def test_leetcuda_399_float4_rows_take_four_wavefronts_and_that_is_no_conflict(layout):
    """
    https://github.com/xlite-dev/LeetCUDA/issues/399: 32 float4 of a row of s_b[8][128] take four passes; a conflict?

    No: 512 bytes take four passes of 128 bytes at best.
    """
    (access,) = layout("row_major", "--bits", "32", "--tile", "128x8", "--store", "16B")["accesses"]

    assert (access["wavefronts"], access["ideal_wavefronts"], access["conflicts"]) == (4, 4, 0)


def test_cutlass_2634_a_swizzle_over_elements_is_not_the_swizzle_over_bytes_of_ptx(layout):
    """
    https://github.com/NVIDIA/cutlass/issues/2634: Swizzle<3,4,3> of TF32 gives 32 at (0,1), the PTX documentation 36.

    Both are right. Over element offsets M = 4 leaves 64 bytes together; PTX and ``smem_ptr[32b]`` count bytes.
    """
    elements = layout("S<3,4,3> o 0 o (32,8):(1,32)", "--bits", "32")
    pointer = layout("Sw<3,4,3> o smem_ptr[32b](unset) o (_32,_8):(_1,_32)", "--bits", "32")

    assert (elements["offsets"][1][0], pointer["offsets"][1][0]) == (32, 36)


def test_cutlass_1396_cute_prints_a_swizzle_over_a_pointer_unswizzled(layout):
    """
    https://github.com/NVIDIA/cutlass/issues/1396: print_layout of Layout_K_SW32_Atom shows plain numbers, not PTX's.

    The swizzle acts on the pointer, so CuTe's print leaves it out. As addresses, rows 4 to 7 have their two 16-byte
    vectors exchanged: (4, 0) lies at 72, not at 64.
    """
    answer = layout("Sw<1,4,3> o smem_ptr[16b](unset) o (_64,_16):(_16,_1)")

    assert [answer["offsets"][row][0] for row in (0, 3, 4, 7, 8)] == [0, 48, 72, 120, 128]


def test_imp_484_rows_of_128_bytes_conflict_8_ways_and_16_bytes_of_padding_free_them(ways):
    """
    https://github.com/kekzl/imp/pull/484: fp8 rows of 128 bytes; is a padding of 16 enough for the loads of Q?

    Rows of 128 bytes begin at the same bank: 8 ways for m16n8k32 fragments. Rows of 144 bytes begin 4 banks apart.
    """
    plain, padded = (
        ways(name, "--bits", "8", "--tile", "128x64", "--lds", "m16n8k32.s8.a") for name in ("row_major", "padded<16>")
    )

    assert (plain, padded) == ([8], [1])


@pytest.mark.parametrize(
    ("vector_of_lane", "wavefronts"),
    [(lambda lane: lane % 4, 4), (lambda lane: lane // 2, 2), (lambda _: 0, 2)],
    ids=["tid % 4", "pairs", "all equal"],
)
def test_nvidia_forum_77228_a_load_of_16_bytes_takes_2_wavefronts_where_neighbours_share_an_address(
    layout, vector_of_lane, wavefronts
):
    """
    https://forums.developer.nvidia.com/t/unexpected-shared-memory-bank-conflict/77228: why 4 requests at tid % 4 * 16?

    An LDS.128 returns four registers of a warp, one in a cycle. Lanes that pair by XOR 1 or by XOR 2 halve that; at
    tid % 4 they pair by XOR 4. No conflict in any of them.
    """
    lanes = ",".join(f"{4 * vector_of_lane(lane)}:0" for lane in range(32))
    (access,) = layout("row_major", "--bits", "32", "--tile", "64x1", "--access", f"16B@{lanes}")["accesses"]

    assert (access["wavefronts"], access["conflicts"]) == (wavefronts, 0)
