"""The printed streams: their columns, their extent, and that they agree with each other."""

import numpy as np
import pytest

from gpusim.errors import BadInput
from gpusim.families.conv.fprop.problem import Conv2dFpropProblem
from gpusim.families.gemm.gemm import GemmProblem
from gpusim.families.gemm.schedule import TileKernel
from gpusim.scenario.gemm import GemmScenario
from gpusim.scenario.kernel import Kernel
from gpusim.schedule.addresses import Selection, block_of, stream_names
from gpusim.schedule.addresses import stream as stream_of
from gpusim.schedule.events import events as events_of

GEMM = GemmScenario(machine="h200", problem=GemmProblem(m=200, n=136, k=200))
CONVOLUTION = GemmScenario(
    machine="h200", problem=Conv2dFpropProblem(n=1, h=8, w=8, c=64, k=128, r=3, s=3, padding=(1, 1))
)
ORIGIN = (0, 0, 0)
EVERYTHING = Selection()
STREAMS = stream_names(TileKernel(GEMM))


def stream(scenario, name, ctaid, selection=EVERYTHING):
    return stream_of(TileKernel(scenario), name, ctaid, selection)


def events(scenario, ctaid, thread):
    kernel = TileKernel(scenario)
    return events_of(kernel, block_of(kernel, ctaid), thread)


def column(table, name):
    return table.rows[:, table.columns.index(name)]


@pytest.mark.parametrize(
    ("scenario", "name", "columns"),
    [
        (GEMM, "gmem_a", "thread k_tile access vec row column offset valid"),
        (GEMM, "gmem_b", "thread k_tile access vec row column offset valid"),
        (CONVOLUTION, "gmem_a", "thread k_tile access vec n h w c offset valid"),
        (CONVOLUTION, "gmem_b", "thread k_tile access vec k r s c offset valid"),
        (GEMM, "smem_store_a", "thread k_tile access stage offset"),
        (GEMM, "smem_store_b", "thread k_tile access stage offset"),
        (GEMM, "ldmatrix_a", "warp k_tile k_group instruction lane offset"),
        (GEMM, "ldmatrix_b", "warp k_tile k_group instruction lane offset"),
        (GEMM, "epilogue", "thread step what access offset valid"),
    ],
)
def test_columns(scenario, name, columns):
    table = stream(scenario, name, ORIGIN)
    assert table.columns == tuple(columns.split())
    assert table.rows.shape[1] == len(table.columns)
    assert table.rows.dtype == np.int64


@pytest.mark.parametrize("scenario", [GEMM, CONVOLUTION], ids=["gemm", "convolution"])
@pytest.mark.parametrize("name", STREAMS)
def test_rows_are_distinct_and_in_column_order(scenario, name):
    """
    The leading columns are a key, ascending.
    """
    table = stream(scenario, name, ORIGIN)
    key = table.rows[:, : 5 if name.startswith("ldmatrix") else 3 if name.startswith("smem") else 4]
    assert np.array_equal(np.unique(key, axis=0), key)


@pytest.mark.parametrize(("scenario", "k_iterations"), [(GEMM, 4), (CONVOLUTION, 9)], ids=["gemm", "convolution"])
def test_the_overrun_is_printed_and_brings_nothing(scenario, k_iterations):
    for name in ("gmem_a", "gmem_b"):
        table = stream(scenario, name, ORIGIN)
        k_tile, valid = column(table, "k_tile"), column(table, "valid")
        assert np.unique(k_tile).tolist() == list(range(k_iterations + 2))
        assert not valid[k_tile >= k_iterations].any()
        assert valid[k_tile < k_iterations].any()
    assert np.unique(column(stream(scenario, "smem_store_a", ORIGIN), "k_tile")).tolist() == list(
        range(k_iterations + 2)
    )


def test_ldmatrix_streams_end_with_the_fragment_nobody_consumes():
    table = stream(GEMM, "ldmatrix_a", ORIGIN)
    loaded = {(int(k_tile), int(k_group)) for k_tile, k_group in table.rows[:, 1:3]}
    assert loaded == {(k_tile, k_group) for k_tile in range(4) for k_group in range(4)} | {(4, 0)}
    assert len(table.rows) == 4 * (4 * 4 + 1) * 4 * 32


@pytest.mark.parametrize("scenario", [GEMM, CONVOLUTION], ids=["gemm", "convolution"])
def test_events_are_the_streams_in_program_order(scenario):
    thread = 37
    mine = Selection(threads=[thread])
    trace = events(scenario, ORIGIN, thread)
    for operand in ("a", "b"):
        copies = [event for event in trace if event[0].startswith("cp_async") and event[1] == operand.upper()]
        gmem = stream(scenario, f"gmem_{operand}", ORIGIN, mine)
        smem = stream(scenario, f"smem_store_{operand}", ORIGIN, mine)
        printed = np.stack([column(smem, "offset"), column(gmem, "offset"), column(gmem, "valid")], axis=-1)
        # A convolution goes on with the first share of one more fetch, which the streams leave out.
        assert [[event[2], event[3], event[5]] for event in copies][: len(printed)] == printed.tolist()
        assert {event[4] for event in copies} == {16}

        loads = [event[2] for event in trace if event[0] == "ldmatrix.x4" and event[1] == operand.upper()]
        ldmatrix = stream(scenario, f"ldmatrix_{operand}", ORIGIN, mine)
        assert loads == column(ldmatrix, "offset").tolist()


def test_selections_keep_the_rows_of_the_whole_stream():
    for name in STREAMS:
        whole = stream(GEMM, name, ORIGIN)
        some = stream(GEMM, name, ORIGIN, Selection(threads=[3, 70], k_tiles=None if name == "epilogue" else [1, 4]))
        thread = (
            column(whole, "warp") * 32 + column(whole, "lane")
            if name.startswith("ldmatrix")
            else column(whole, "thread")
        )
        keep = np.isin(thread, [3, 70])
        if "k_tile" in whole.columns:
            keep &= np.isin(column(whole, "k_tile"), [1, 4])
        assert keep.any()
        assert np.array_equal(some.rows, whole.rows[keep])


def test_the_cta_decides_the_tile_and_the_slice():
    """
    Column-major B of 136 columns: the second tile along N has 8 of them. A is the same for both.
    """
    first, second = (stream(GEMM, "gmem_b", ctaid) for ctaid in ((0, 0, 0), (0, 1, 0)))
    assert np.array_equal(column(second, "column"), column(first, "column") + 128)
    assert column(second, "column")[column(second, "valid") == 1].max() == 135
    assert np.array_equal(stream(GEMM, "gmem_a", (0, 0, 0)).rows, stream(GEMM, "gmem_a", (0, 1, 0)).rows)

    split = GEMM.model_copy(update={"problem": GemmProblem(m=200, n=136, k=200, split_k_slices=2)})
    assert column(stream(split, "gmem_a", (0, 0, 1)), "column").min() == 128


def test_every_output_vector_is_stored_once():
    stored = []
    for x in range(2):
        for y in range(2):
            table = stream(GEMM, "epilogue", (x, y, 0))
            keep = (column(table, "what") == 2) & (column(table, "valid") == 1)
            stored += column(table, "offset")[keep].tolist()
    assert sorted(stored) == list(range(0, 200 * 136, 4))


@pytest.mark.parametrize(
    ("name", "ctaid", "message"),
    [
        (
            "gmem_c",
            ORIGIN,
            f"stream must be one of {', '.join(STREAMS)}, events, got 'gmem_c'",
        ),
        ("gmem_a", (2, 0, 0), "ctaid must be inside the grid (2, 2, 1), got (2, 0, 0)"),
        ("gmem_a", (0, 0, -1), "ctaid must be inside the grid (2, 2, 1), got (0, 0, -1)"),
    ],
)
def test_refusals(name, ctaid, message):
    with pytest.raises(BadInput) as refusal:
        stream(GEMM, name, ctaid)
    assert str(refusal.value) == message


def test_a_thread_outside_the_cta_is_refused():
    with pytest.raises(BadInput, match=r"^thread must be 0..127, got 128$"):
        events(GEMM, ORIGIN, 128)


def test_a_cta_without_a_tile_is_refused():
    """
    Three tiles along N, four side by side: the fourth block exits at once.
    """
    scenario = GemmScenario(
        machine="h200",
        problem=GemmProblem(m=128, n=384, k=64),
        kernel=Kernel(threadblock_swizzle="identity<4>"),
    )
    with pytest.raises(BadInput, match=r"^ctaid \(3, 0, 0\) has no tile: it exits at once$"):
        events(scenario, (3, 0, 0), 0)


@pytest.mark.parametrize(
    ("name", "selection", "message"),
    [
        ("gmem_a", Selection(threads=[0, 128]), "--threads must be 0..127 for gmem_a, got 128"),
        ("gmem_b", Selection(k_tiles=[6, 7]), "--k-tiles must be 0..5 for gmem_b, got 6"),
        ("smem_store_a", Selection(k_tiles=[6]), "--k-tiles must be 0..5 for smem_store_a, got 6"),
        ("ldmatrix_b", Selection(k_tiles=[5]), "--k-tiles must be 0..4 for ldmatrix_b, got 5"),
        ("ldmatrix_a", Selection(threads=[500]), "--threads must be 0..127 for ldmatrix_a, got 500"),
        ("epilogue", Selection(threads=[128]), "--threads must be 0..127 for epilogue, got 128"),
        ("epilogue", Selection(k_tiles=[0]), "--k-tiles must be left out for epilogue, which has no k tiles"),
    ],
)
def test_a_selection_of_what_is_not_there_is_refused(name, selection, message):
    with pytest.raises(BadInput) as refusal:
        stream(GEMM, name, ORIGIN, selection)
    assert str(refusal.value) == message


@pytest.mark.parametrize("name", [name for name in STREAMS if name != "epilogue"])
def test_a_narrow_selection_of_a_long_sum_is_no_work(name):
    """
    Over a million k tiles: the whole stream would take gigabytes.
    """
    deep = GEMM.model_copy(update={"problem": GemmProblem(m=128, n=128, k=100_000_000)})
    table = stream(deep, name, ORIGIN, Selection(threads=[0], k_tiles=[1_000_000]))
    assert np.unique(column(table, "k_tile")).tolist() == [1_000_000]
