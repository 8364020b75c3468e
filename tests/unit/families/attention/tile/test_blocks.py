"""Which queries and keys a CTA has, and in which order of the grid."""

import pytest
from problems.small import small_attention

from gpusim.errors import BadInput
from gpusim.families.attention.tile.blocks import attention_ctas, cta_blocks, launched_ctas
from gpusim.families.attention.timed import TimedFusedKernel
from gpusim.machine import load_machine
from gpusim.verbs.load import load
from gpusim.verbs.simulate import simulate


def test_flash_begins_with_the_last_queries_of_a_causal_problem():
    blocks = cta_blocks(small_attention("flash", queries=512, keys=512, mask="causal_top_left"))

    assert [len(walked) for walked in blocks] == [8, 6, 4, 2]


def causal(
    order=None, *, machine="h200", mainloop="flash", mask="causal_top_left", batch=2, heads=3, code="gpusim", **problem
):
    extents = {"kind": "attention", "batch": batch, "heads": heads, "queries": 512, "keys": 512, "mask": mask}
    extents |= {"head_dim": 64, "head_dim_v": 64} | problem
    kernel = {"mainloop": mainloop, "code": code} | ({} if order is None else {"cta_order": order})
    return load({"machine": machine, "problem": extents, "kernel": kernel})


@pytest.mark.parametrize("mainloop", ["attention", "flash"])
@pytest.mark.parametrize("order", ["ascending", "descending", "longest_first"])
def test_every_order_has_every_query_block_of_every_head_once(mainloop, order):
    scenario = causal(order, mainloop=mainloop)

    assert sorted(launched_ctas(scenario).tolist()) == sorted(attention_ctas(scenario).tolist())


def test_longest_first_is_by_work_over_all_heads_and_batches():
    """Four query blocks of 2, 4, 6 and 8 key blocks, of 2 * 3 heads: six of 8, six of 6, and so on."""
    blocks = cta_blocks(causal("longest_first"))

    assert [len(walked) for walked in blocks] == [8] * 6 + [6] * 6 + [4] * 6 + [2] * 6
    assert [tuple(cta) for cta in launched_ctas(causal("longest_first"))[:7].tolist()] == [
        *((3, 0, 0), (3, 1, 0), (3, 2, 0), (3, 0, 1), (3, 1, 1), (3, 2, 1)),
        (2, 0, 0),
    ]


def test_a_kernel_s_own_order_is_not_written_and_changes_no_digest():
    assert causal("descending").digest() == causal().digest()
    assert "cta_order" not in causal("descending").resolved()["kernel"]
    assert causal("longest_first").resolved()["kernel"]["cta_order"] == "longest_first"
    plain, own = (
        TimedFusedKernel(one, load_machine("h200")).specialisation.options for one in (causal(), causal("descending"))
    )
    assert plain == own


@pytest.mark.parametrize(
    ("of", "message"),
    [
        ({"mask": "none"}, 'cta_order must be "ascending" without a causal mask'),
        ({"mainloop": "attention", "code": "cutlass"}, 'cta_order must be "ascending" in CUTLASS'),
    ],
)
def test_an_order_that_means_nothing_is_refused(of, message):
    with pytest.raises(BadInput, match=message):
        causal("longest_first", **of)


def test_the_longest_first_end_a_grid_earlier_than_the_shortest_first():
    """
    16 query blocks of 5 heads are 80 CTAs of unequal work, two and a half for each of 33 SMs.

    The work is the same; what differs is how much of it is left at the end.
    """
    of = {"machine": "h200 with sms = 33", "batch": 1, "heads": 5, "queries": 2048, "keys": 2048}
    elapsed = {order: simulate(causal(order, **of))[0].cycles.elapsed for order in ("ascending", "longest_first")}

    assert elapsed["longest_first"] < elapsed["ascending"]
