"""P as an operand: where its elements lie, stored and loaded without conflict."""

import numpy as np
import pytest
from problems.small import small_attention

from gpusim.families.attention.tile.operands import attention_operand, p_store_offsets
from gpusim.families.attention.tile.shape import attention_shape
from gpusim.layout.banks import access_wavefronts
from gpusim.tile.mma import accumulator_map, fragment_map
from gpusim.tile.shared_tables import fragment_table


def lies(layout, key, query):
    """Where P's element of a key and a query lies: a k tile of the second GEMM is a stage of its layout."""
    return layout.offset(key % 32, query, key // 32)


@pytest.mark.parametrize("head_dim", [64, 128])
def test_p_is_stored_and_loaded_without_bank_conflicts(head_dim):
    """A row is 8 elements longer than the keys: 4 words further round the 32 banks from row to row."""
    scenario = small_attention(head_dim=head_dim, head_dim_v=head_dim)
    stores = p_store_offsets(scenario).reshape(4, 32, -1).transpose(0, 2, 1) * 2
    assert (access_wavefronts(stores, 4) == 1).all()
    assert (fragment_table(attention_operand(scenario, "p")).wavefronts == 4).all()


@pytest.mark.parametrize("head_dim", [64, 128])
def test_every_element_of_p_is_stored_once_and_where_its_row_and_key_lie(head_dim):
    scenario = small_attention(head_dim=head_dim, head_dim_v=head_dim)
    queries, keys, _ = attention_shape(scenario).qk.threadblock
    layout = attention_operand(scenario, "p").shared
    offsets = p_store_offsets(scenario)
    assert layout.elements == queries * (keys + 8)
    whole = lies(layout, np.arange(0, keys, 2), np.arange(queries)[:, None])
    assert np.array_equal(np.sort(offsets.ravel()), np.sort(whole.ravel()))
    place = accumulator_map(32, 32, scenario.instruction)
    tiles_m = 2
    for access in range(16):
        row, block = divmod(access, 4)
        element = (block * tiles_m + row // 2) * 4 + row % 2 * 2
        expected = lies(layout, place[:, element, 1], place[:, element, 0])
        assert np.array_equal(offsets[:32, access], expected)


def test_accumulators_of_two_column_blocks_are_an_a_fragment():
    """What lets flash keep P in registers: lane and register of S[16, 16] are those of A[16, 16] of m16n8k16."""
    scores = accumulator_map(16, 16, (16, 8, 16))
    fragment = fragment_map((16, 8, 16), "a")
    assert np.array_equal(scores, fragment)
