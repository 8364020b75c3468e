"""The printed streams of attention: their columns, that they cover the tensors, and that they agree with each other."""

import numpy as np
import pytest
from problems.small import small_attention

from gpusim.errors import BadInput
from gpusim.families.attention.schedule import FusedKernel
from gpusim.families.attention.tile.shape import attention_shape
from gpusim.families.registry import parse_scenario
from gpusim.schedule.addresses import Selection, block_of, stream, stream_names
from gpusim.schedule.events import events
from gpusim.schedule.ops import LoadSource, StoreGlobal

EVERYTHING = Selection()
CTA = (1, 1, 1)


def attention(mainloop, **problem):
    whole = {"kind": "attention", "batch": 2, "heads": 3, "queries": 200, "keys": 170, "head_dim": 96, "head_dim_v": 64}
    data = {"machine": "h200", "problem": whole | problem, "kernel": {"mainloop": mainloop}}
    return parse_scenario(data, "unit")


SCENARIOS = {
    "attention": attention("attention"),
    "flash": attention("flash"),
    "buffer": attention("attention", head_dim_v=160, mask="causal_bottom_right"),
}
ATTENTION_STREAMS = stream_names(FusedKernel(SCENARIOS["attention"]))
whatever = pytest.mark.parametrize("scenario", SCENARIOS.values(), ids=SCENARIOS)


def attention_stream(scenario, name, ctaid, selection):
    return stream(FusedKernel(scenario), name, ctaid, selection)


def attention_events(scenario, ctaid, thread):
    kernel = FusedKernel(scenario)
    return events(kernel, block_of(kernel, ctaid), thread)


def column(table, name):
    return table.rows[:, table.columns.index(name)]


@whatever
@pytest.mark.parametrize("name", ATTENTION_STREAMS)
def test_columns_are_those_of_a_gemm_and_rows_are_distinct_and_in_order(scenario, name):
    table = attention_stream(scenario, name, CTA, EVERYTHING)
    columns = {
        "gmem": "thread k_tile access vec row column offset valid",
        "smem_store": "thread k_tile access stage offset",
        "ldmatrix": "warp k_tile k_group instruction lane offset",
        "epilogue": "thread step what access offset valid",
    }
    assert table.columns == tuple(columns[name.rpartition("_")[0] or name].split())
    assert table.rows.dtype == np.int64
    key = table.rows[:, : {"gmem": 4, "smem_store": 3, "ldmatrix": 5, "epilogue": 4}[name.rpartition("_")[0] or name]]
    assert (np.diff(np.lexsort(key.T[::-1])) == 1).all()
    assert len(np.unique(key, axis=0)) == len(key)
    assert (len(key) == 0) == (scenario.flash and name.endswith("_p"))


@pytest.mark.parametrize("mainloop", ["attention", "flash"])
def test_keys_and_values_are_fetched_once_and_queries_once_or_for_every_key_block(mainloop):
    """Head 1 of batch 1: element (row, column) of K lies at ((170 + row) * 3 + 1) * 96 + column."""
    scenario = SCENARIOS[mainloop]
    blocks = -(-170 // scenario.keys_per_block)
    for operand, length, width, times in (("k", 170, 96, 1), ("v", 170, 64, 1), ("q", 200, 96, blocks)):
        table = attention_stream(scenario, f"gmem_{operand}", CTA, EVERYTHING)
        valid = column(table, "valid") == 1
        found = np.sort((column(table, "offset")[valid][:, None] + np.arange(8)).ravel())
        begin = scenario.queries_per_block if operand == "q" else 0
        end = min(200, begin + scenario.queries_per_block) if operand == "q" else length
        rows = np.arange(begin, end)[:, None]
        expected = ((length + rows) * 3 + 1) * width + np.arange(width)
        again = times if mainloop == "attention" else 1
        assert np.array_equal(found, np.sort(np.repeat(expected.ravel(), again)))


@whatever
def test_events_are_the_streams_in_program_order(scenario):
    """What a thread copies and its lane loads, in the order of k tiles; P's stores; every mma between barriers."""
    thread = 37
    listed = attention_events(scenario, CTA, thread)
    warp, lane = divmod(thread, 32)
    for operand in "qkv":
        copies = [event for event in listed if event[0].startswith("cp_async") and event[1] == operand.upper()]
        mine = Selection(threads=[thread])
        fetched = attention_stream(scenario, f"gmem_{operand}", CTA, mine)
        stored = attention_stream(scenario, f"smem_store_{operand}", CTA, mine)
        assert [event[3] for event in copies] == column(fetched, "offset").tolist()
        assert [event[5] for event in copies] == column(fetched, "valid").tolist()
        assert [event[2] for event in copies] == column(stored, "offset").tolist()
    for operand in "qkpv":
        loads = [event[2] for event in listed if event[0].startswith("ldmatrix") and event[1] == operand.upper()]
        table = attention_stream(scenario, f"ldmatrix_{operand}", CTA, EVERYTHING)
        keep = (column(table, "warp") == warp) & (column(table, "lane") == lane)
        assert loads == column(table, "offset")[keep].tolist()
    stores = [event[2] for event in listed if event[:2] == ["sts", "P"]]
    assert (
        stores
        == column(attention_stream(scenario, "smem_store_p", CTA, Selection(threads=[thread])), "offset").tolist()
    )
    assert sum(event == ["sync"] for event in listed) > 4


@whatever
def test_every_element_of_the_output_is_stored_once_by_its_cta(scenario):
    stored = []
    for x in range(-(-200 // scenario.queries_per_block)):
        table = attention_stream(scenario, "epilogue", (x, 1, 1), EVERYTHING)
        keep = (column(table, "what") == 2) & (column(table, "valid") == 1)
        stored += column(table, "offset")[keep].tolist()
    width = scenario.problem.head_dim_v
    rows = np.arange(200)[:, None]
    assert sorted(stored) == (((200 + rows) * 3 + 1) * width + np.arange(0, width, 4)).ravel().tolist()


def test_a_selection_narrows_a_stream():
    scenario = SCENARIOS["attention"]
    whole = attention_stream(scenario, "gmem_k", CTA, EVERYTHING)
    some = attention_stream(scenario, "gmem_k", CTA, Selection(threads=[3, 64], k_tiles=[1, 4]))
    keep = np.isin(column(whole, "thread"), [3, 64]) & np.isin(column(whole, "k_tile"), [1, 4])
    assert np.array_equal(some.rows, whole.rows[keep])
    assert column(whole, "k_tile").max() + 1 == attention_shape(scenario).qk_tiles * 2


@pytest.mark.parametrize(
    ("name", "ctaid", "message"),
    [
        ("gmem_a", CTA, f"stream must be one of {', '.join(ATTENTION_STREAMS)}, events, got 'gmem_a'"),
        ("gmem_q", (9, 0, 0), "ctaid must be inside the grid (7, 3, 2), got (9, 0, 0)"),
        ("gmem_q", (3, 0, 1), "ctaid (3, 0, 1) has no query: it exits at once"),
    ],
)
def test_refusals(name, ctaid, message):
    with pytest.raises(BadInput) as refused:
        attention_stream(attention("attention", query_lengths=[200, 90]), name, ctaid, EVERYTHING)
    assert str(refused.value) == message


def test_the_command_prints_them(gpusim, tmp_path):
    file = tmp_path / "x.toml"
    file.write_text(
        'machine = "h200"\n[problem]\nkind = "attention"\nbatch = 1\nheads = 2\nqueries = 70\nkeys = 90\n'
        'head_dim = 64\nhead_dim_v = 64\n[kernel]\nmainloop = "attention"\n'
    )
    answer = gpusim("addresses", file, "ldmatrix_p", "--threads", "0-31", "--json")
    assert answer.code == 0
    assert '"columns"' in answer.out
    assert "atoms_max maximum" in gpusim("addresses", file, "events", "--thread", "7").out
    assert gpusim("addresses", file, "gmem_a").code == 2


BLOCKS_OF_64 = {"queries_per_block": 64, "keys_per_block": 64}


def test_events_have_every_mma_sync_of_both_gemms():
    """
    Flash, 32 queries by 64 keys a warp, m16n8k16: 2 x 8 mma.sync for each 16 of head_dim 64; then of an output 128 wide
    2 x 16 for each 16 of 64 keys.
    """
    listed = events(FusedKernel(small_attention("flash", head_dim_v=128)), 0, 0)

    assert [event[1] for event in listed if event[0] == "mma"] == [16] * 4 + [32] * 4


def test_events_of_a_softmax_through_shared_memory():
    """
    Lane 20 of warp 1 has rows 37, 45, 53 and 61 of 64 and columns 0 and 1 of each 8. It stores their partial sums, for
    20 mod 4 = 0. Rows 16 to 31 are the warp's to update, by 16 lanes: it would be row 36 and takes no part.

    Arrays of 64 floats: maximum, previous, sum, rescale, partial sums of two warp columns. P's rows are 72 elements.
    """
    listed = events(FusedKernel(small_attention(kernel=BLOCKS_OF_64)), 0, 52)
    rows, first = (37, 45, 53, 61), listed.index(["atoms_max", "maximum", 37])
    sums = [[["shfl", "sum", 1], ["shfl", "sum", 2], ["sts", "partial_sum", 256 + row, 1]] for row in rows]
    softmax = [event for event in listed[first:] if event[0] in {"atoms_max", "lds", "sts", "shfl"}]

    assert listed[:3] == [["sts", "maximum", 36, 0], ["sts", "previous", 64 + 36, 0], ["sts", "sum", 128 + 36, 0]]
    assert softmax == [
        *(["atoms_max", "maximum", row] for row in rows),
        *(["lds", "previous", 64 + 36, 0], ["lds", "maximum", 36, 0], ["lds", "sum", 128 + 36, 0]),
        *(["sts", "rescale", 192 + 36, 0], ["sts", "sum", 128 + 36, 0]),
        *(["lds", "maximum", row, 1] for row in rows),
        *(event for of_row in sums for event in of_row),
        *(["sts", "P", 72 * row + 8 * block, 4] for row in rows for block in range(4)),
        *(["lds", "partial_sum", 256 + 36, 0], ["lds", "partial_sum", 320 + 36, 0]),
        *(["sts", "sum", 128 + 36, 0], ["sts", "previous", 64 + 36, 0]),
        *(["lds", "sum", 128 + row, 1] for row in rows),
    ]


@pytest.mark.parametrize(("mainloop", "walked"), [("attention", (0, 1, 2)), ("flash", (2, 1, 0))])
def test_copies_are_in_the_order_of_the_walk(mainloop, walked):
    """Keys of three blocks of 64: flash begins with the last."""
    lanes = FusedKernel(small_attention(mainloop, keys=192)).lanes()
    cta = lanes.cta(0)
    row = [tensor for tensor, _, _ in lanes.rows].index("k")

    assert tuple(cta.fetches()[row].number.tolist()) == walked


def test_each_store_reaches_the_tensor_of_its_phase():
    """An output of 160 columns passes through the buffer from key block to key block."""
    kernel = FusedKernel(small_attention(keys=300, head_dim_v=160))
    cta = kernel.lanes().cta(0)
    reached = {
        (step.phase, type(step.op), cta.reached(step).tensor)
        for step in kernel.steps(0)
        if isinstance(step.op, StoreGlobal | LoadSource)
    }

    assert reached == {
        ("buffer", LoadSource, "buffer"),
        ("buffer", StoreGlobal, "buffer"),
        ("epilogue", LoadSource, "buffer"),
        ("epilogue", StoreGlobal, "output"),
    }
