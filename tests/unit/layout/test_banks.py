"""The wavefront rule: laws, hand-worked accesses, and a brute-force twin."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusim.errors import BadInput
from gpusim.layout.banks import (
    ACCESS_WIDTHS,
    MisalignedAccess,
    access_ideal,
    access_wavefronts,
    conflict_groups,
    ldmatrix_ideal,
    ldmatrix_lanes,
    ldmatrix_wavefronts,
)

WARP_SIZE = np.arange(32)


@st.composite
def warp_accesses(draw):
    """A width, 32 aligned addresses (few enough lines that words coincide), and which lanes take part."""
    width = draw(st.sampled_from(ACCESS_WIDTHS))
    lines = draw(st.integers(1, 6))
    slots = st.integers(0, lines * 128 // width - 1)
    shared = draw(st.sampled_from((0, 1, 2, 4)))  # lanes that differ in this bit alone share an address
    addresses = np.array(draw(st.lists(slots, min_size=32, max_size=32)))[WARP_SIZE & ~shared] * width
    active = np.array(draw(st.lists(st.booleans(), min_size=32, max_size=32)))
    return width, addresses, active


def brute_force(addresses, width, active, *, loads=False):
    """Word by word: each phase takes as many passes as its busiest bank has different words."""
    passes = 0
    lanes_per_phase = min(32, 128 // width)
    wanted = [int(address) if taking else None for address, taking in zip(addresses, active, strict=True)]
    if (
        loads
        and width > 4
        and any(
            all(None in (own, other := wanted[lane ^ apart]) or own == other for lane, own in enumerate(wanted))
            for apart in (1, 2)
        )
    ):
        lanes_per_phase *= 2
    for first in range(0, 32, lanes_per_phase):
        words_of_bank = {}
        for lane in range(first, first + lanes_per_phase):
            if active[lane]:
                for byte in range(0, width, 4):
                    word = (int(addresses[lane]) + byte) // 4
                    words_of_bank.setdefault(word % 32, set()).add(word)
        passes += max(map(len, words_of_bank.values()), default=0)
    return passes


@given(warp_accesses(), st.booleans())
def test_wavefronts_equal_the_brute_force_count(access, loads):
    width, addresses, active = access

    counted = access_wavefronts(addresses, width, active, loads=loads)

    assert counted == brute_force(addresses, width, active, loads=loads)


@given(warp_accesses(), st.booleans())
def test_wavefronts_are_at_least_ideal_and_at_most_one_a_lane(access, loads):
    width, addresses, active = access
    ideal = access_ideal(width, active, loaded=addresses if loads else None)

    assert ideal <= access_wavefronts(addresses, width, active, loads=loads) <= active.sum()


@given(warp_accesses())
def test_sharing_addresses_in_pairs_never_costs_a_load_more(access):
    width, addresses, active = access

    assert access_wavefronts(addresses, width, active, loads=True) <= access_wavefronts(addresses, width, active)


@pytest.mark.parametrize(
    ("slots", "eight_bytes", "sixteen_bytes"),
    [
        (WARP_SIZE, 2, 4),
        (WARP_SIZE * 0, 1, 2),
        (WARP_SIZE // 2, 1, 2),
        (WARP_SIZE // 4 * 2 + WARP_SIZE % 2, 1, 2),
        (WARP_SIZE & ~4, 2, 4),
        (WARP_SIZE % 4, 2, 4),
        (np.where(WARP_SIZE < 16, WARP_SIZE // 2, WARP_SIZE & ~2), 2, 4),
    ],
    ids=["own", "all equal", "xor 1", "xor 2", "xor 4", "modulo 4", "xor 1, then xor 2"],
)
def test_phases_of_a_wide_load_pass_together_where_all_lanes_pair_alike(slots, eight_bytes, sixteen_bytes):
    """Seen on an H200 (broadcast.csv). Stores of the same addresses take 2 and 4 wavefronts throughout."""
    for width, wavefronts, apart in ((8, eight_bytes, 2), (16, sixteen_bytes, 4)):
        assert access_wavefronts(slots * width, width, loads=True) == wavefronts
        assert access_wavefronts(slots * width, width) == apart
        assert access_ideal(width, loaded=slots * width) == wavefronts


def test_a_lane_that_takes_no_part_shares_with_any():
    """Even lanes alone, 8 bytes each: one phase of 16 lanes whose addresses span 256 bytes, two wavefronts."""
    even = WARP_SIZE % 2 == 0

    assert access_wavefronts(WARP_SIZE * 8, 8, even, loads=True) == 2
    assert access_ideal(8, even, loaded=WARP_SIZE * 8) == 1
    assert len({group.phase for group in conflict_groups(WARP_SIZE * 8, 8, even, loads=True)}) == 1


@given(warp_accesses(), st.integers(0, 100))
def test_moving_every_lane_by_whole_lines_changes_nothing(access, lines):
    width, addresses, active = access

    assert access_wavefronts(addresses + lines * 128, width, active) == access_wavefronts(addresses, width, active)


@given(warp_accesses(), st.booleans())
def test_conflict_groups_explain_every_conflict(access, loads):
    width, addresses, active = access
    groups = conflict_groups(addresses, width, active, loads=loads)
    worst = {}
    for group in groups:
        worst[group.phase] = max(worst.get(group.phase, 0), group.wavefronts)

    conflicts = sum(wavefronts - 1 for wavefronts in worst.values())

    ideal = access_ideal(width, active, loaded=addresses if loads else None)
    assert conflicts == access_wavefronts(addresses, width, active, loads=loads) - ideal


@given(warp_accesses())
def test_conflict_groups_name_lanes_that_want_the_word(access):
    width, addresses, active = access
    for group in conflict_groups(addresses, width, active):
        assert group.wavefronts > 1
        for word, lanes in group.lanes_of_word.items():
            assert word % 32 == group.bank
            for lane in lanes:
                assert active[lane]
                assert lane // (128 // width) == group.phase
                assert addresses[lane] < word * 4 + 4
                assert word * 4 < addresses[lane] + width


@given(st.lists(warp_accesses(), min_size=1, max_size=4))
def test_counting_many_instructions_at_once_is_counting_each(accesses):
    width = accesses[0][0]
    addresses = np.stack([access[1] // 16 * 16 for access in accesses])[:, np.newaxis]
    active = np.stack([access[2] for access in accesses])[:, np.newaxis]

    together = access_wavefronts(addresses, width, active)

    assert together.shape == (len(accesses), 1)
    assert together.ravel().tolist() == [
        int(access_wavefronts(a, width, t)) for a, t in zip(addresses[:, 0], active[:, 0], strict=True)
    ]


@pytest.mark.parametrize(
    ("stride", "wavefronts"),
    [(0, 1), (4, 1), (8, 2), (12, 1), (16, 4), (64, 16), (128, 32), (132, 1)],
    ids=str,
)
def test_four_byte_accesses_by_stride(stride, wavefronts):
    """An even stride of words meets every 32/gcd banks; an odd one, and padding to 33 words, meets all 32."""
    assert access_wavefronts(WARP_SIZE * stride, 4) == wavefronts


@pytest.mark.parametrize(("width", "phases"), [(2, 1), (4, 1), (8, 2), (16, 4)])
def test_a_full_warp_of_consecutive_accesses_is_ideal(width, phases):
    assert access_wavefronts(WARP_SIZE * width, width) == access_ideal(width) == phases


def test_lanes_of_different_phases_never_conflict():
    """Lanes 0 and 8 want one bank, in different phases of a 16-byte access: 4 wavefronts, the ideal."""
    addresses = WARP_SIZE % 8 * 16 + WARP_SIZE // 8 * 128

    assert access_wavefronts(addresses, 16) == 4


def test_inactive_lanes_cost_nothing_and_may_point_anywhere():
    addresses = np.where(WARP_SIZE < 8, WARP_SIZE * 16, -3)

    assert access_wavefronts(addresses, 16, WARP_SIZE < 8) == access_ideal(16, WARP_SIZE < 8) == 1


def test_a_warp_without_active_lanes_takes_no_wavefront():
    nobody = np.zeros(32, dtype=np.bool_)

    assert access_wavefronts(WARP_SIZE, 16, nobody) == access_ideal(16, nobody) == 0


@pytest.mark.parametrize("matrices", [1, 2, 4])
def test_ldmatrix_serves_one_matrix_at_a_time(matrices):
    """Rows of 128 bytes put the 8 rows of a matrix in the same 4 banks; rows of 144 bytes spread them."""
    assert ldmatrix_wavefronts(WARP_SIZE * 128, matrices) == 8 * matrices
    assert ldmatrix_wavefronts(WARP_SIZE * 144, matrices) == ldmatrix_ideal(matrices) == matrices


def test_ldmatrix_x1_uses_the_addresses_of_eight_lanes():
    assert ldmatrix_lanes(1).nonzero()[0].tolist() == list(range(8))
    assert ldmatrix_wavefronts(np.where(WARP_SIZE < 8, WARP_SIZE * 16, 5), 1) == 1


def test_conflict_groups_of_two_words_in_one_bank():
    """Lanes 0 and 2 share word 0; lane 1 wants word 32, in the same bank."""
    addresses = np.array([0, 128, 0] + [4] * 29)

    (group,) = conflict_groups(addresses, 4)

    assert (group.phase, group.bank, group.lanes_of_word) == (0, 0, {0: (0, 2), 32: (1,)})


@pytest.mark.parametrize(
    ("addresses", "message"),
    [
        (WARP_SIZE * 16 + (WARP_SIZE > 4) * 8, "lane 5: shared address 88 must be a multiple of 16, at least 0"),
        (WARP_SIZE * 16 - 16, "lane 0: shared address -16 must be a multiple of 16, at least 0"),
        (
            np.stack([WARP_SIZE * 16, WARP_SIZE * 16 + (WARP_SIZE == 31) * 4]),
            "lane 31: shared address 500 must be a multiple of 16, at least 0 (instruction [1])",
        ),
    ],
    ids=["misaligned", "negative", "of-several"],
)
def test_misaligned_addresses_name_the_first_lane(addresses, message):
    with pytest.raises(MisalignedAccess, match=f"^{re.escape(message)}$"):
        access_wavefronts(addresses, 16)


def test_widths_lanes_and_matrices_are_checked():
    with pytest.raises(BadInput, match=r"^shared access must be one of 2, 4, 8, 16 bytes wide, got 3$"):
        access_wavefronts(WARP_SIZE, 3)
    with pytest.raises(
        BadInput, match=r"^shared addresses must have 32 lanes in their last dimension, got shape \(8,\)$"
    ):
        access_wavefronts(np.arange(8), 4)
    with pytest.raises(BadInput, match=r"^ldmatrix must load one of 1, 2, 4 matrices, got 3$"):
        ldmatrix_wavefronts(WARP_SIZE, 3)
    with pytest.raises(
        BadInput, match=r"^conflict_groups takes the 32 addresses of one instruction, got shape \(2, 32\)$"
    ):
        conflict_groups(np.zeros((2, 32), dtype=np.int64), 4)
