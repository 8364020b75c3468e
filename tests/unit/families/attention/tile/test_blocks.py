"""Which queries and keys a CTA has, and in which order of the grid."""

from problems.small import small_attention

from gpusim.families.attention.tile.blocks import cta_blocks


def test_flash_begins_with_the_last_queries_of_a_causal_problem():
    blocks = cta_blocks(small_attention("flash", queries=512, keys=512, mask="causal_top_left"))

    assert [len(walked) for walked in blocks] == [8, 6, 4, 2]
