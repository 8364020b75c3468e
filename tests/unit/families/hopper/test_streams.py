"""The printed streams of sm_90 GEMMs: what each tells, and what is refused."""

import pytest

from gpusim.errors import BadInput, Unsupported
from gpusim.families.hopper.streams import MBARRIER_ACTIONS, PIPELINES, STREAM_COLUMNS, events, stream
from gpusim.families.registry import scenario_of
from gpusim.schedule.addresses import Selection

CTA = (0, 0, 0)


def scenario(problem=None, **kernel):
    return scenario_of({
        "machine": "h200",
        "problem": {"kind": "hopper_gemm", "m": 256, "n": 256, "k": 512, **(problem or {})},
        "kernel": kernel,
    })  # fmt: skip


def rows(asked, name, **selection):
    """The rows of a stream as tables by column."""
    table = stream(asked, name, CTA, Selection(**selection))
    return [dict(zip(table.columns, row, strict=True)) for row in table.rows.tolist()]


def test_each_k_tile_has_a_box_of_each_operand_and_the_wgmma_of_both_consumers():
    """Eight k tiles of 64: four instructions each, by two warpgroups."""
    asked = scenario()

    assert [row["k_tile"] for row in rows(asked, "tma_a")] == list(range(8))
    assert {row["bytes"] for row in rows(asked, "tma_b")} == {128 * 64 * 2}
    assert len(rows(asked, "wgmma")) == 8 * 4 * 2
    assert {row["thread"] for row in rows(asked, "wgmma", k_tiles={3})} == {128, 256}


def test_bytes_that_are_expected_are_those_of_the_boxes():
    asked = scenario()
    expected = [
        row
        for row in rows(asked, "mbarrier")
        if row["what"] == MBARRIER_ACTIONS.index("arrive_and_expect")
        and row["barrier"] == PIPELINES.index("mainloop.full")
    ]

    brought = [a["bytes"] + b["bytes"] for a, b in zip(rows(asked, "tma_a"), rows(asked, "tma_b"), strict=True)]
    assert [row["bytes"] for row in expected] == brought


def test_a_cluster_s_slices_are_multicast_to_those_that_share_the_tile():
    asked = scenario(cluster=[2, 1])

    assert {row["mask"] for row in rows(asked, "tma_a")} == {0}
    assert {(row["mask"], row["box_y"]) for row in rows(asked, "tma_b")} == {(0b11, 64)}


def test_of_a_shared_tile_one_cta_stores():
    """Stream-K: only units that compute the epilogue have stores, and events of CTAs that share are refused."""
    asked = scenario({"k": 4096}, scheduler="stream_k")
    units = rows(asked, "scheduler")

    assert any(unit["fixup"] for unit in units)
    assert len(rows(asked, "tma_d")) == 4 * sum(unit["epilogue"] for unit in units)
    with pytest.raises(Unsupported, match=r"^stream_k: how CTAs add the sums of a tile that they share has no events"):
        events(asked, CTA, 0)


@pytest.mark.parametrize(
    ("name", "ctaid", "selection", "message"),
    [
        ("gmem_a", CTA, {}, f"stream must be one of {', '.join(STREAM_COLUMNS)}, events, got 'gmem_a'"),
        ("tma_a", (9, 0, 0), {}, "ctaid must be inside the grid (1, 4, 1), got (9, 0, 0)"),
        ("tma_d", CTA, {"k_tiles": {0}}, "--k-tiles must be left out for tma_d, which has none"),
        ("tma_a", CTA, {"k_tiles": {8}}, "--k-tiles must be 0..7 for tma_a, got 8"),
        ("wgmma", CTA, {"threads": {384}}, "--threads must be 0..383 for wgmma, got 384"),
    ],
)
def test_what_a_stream_lacks_is_said(name, ctaid, selection, message):
    with pytest.raises(BadInput) as error:
        stream(scenario(), name, ctaid, Selection(**selection))
    assert str(error.value) == message


def test_a_thread_outside_the_cta_has_no_events():
    with pytest.raises(BadInput, match=r"^--thread must be 0\.\.383, got 384$"):
        events(scenario(), CTA, 384)
