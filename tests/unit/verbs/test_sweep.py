"""Sweeps: every point as a run of its own would have it, refusals as rows, resumed after an end."""

import gc
import json
from dataclasses import asdict

import pytest

import gpusim
from gpusim.errors import BadInput, CannotRun
from gpusim.verbs.sweep import read_sweep, sweep
from gpusim.verbs.sweeping import workers
from gpusim.verbs.sweeping.journal import JOURNAL
from gpusim.verbs.sweeping.point import POINT_FIGURES, base_of, point_row

SMALL = {
    "machine": "h200",
    "problem": {"kind": "gemm", "m": 64, "n": 64, "k": 64},
    "kernel": {"threadblock": [64, 64, 32], "warp": [32, 32, 32]},
}
OVER = {"kernel.stages": [1, 3, 4], "problem.k": [64, 96]}


def swept(**options):
    return sweep(SMALL, OVER, jobs=1, stream="estimated", **options)


def test_a_point_has_the_figures_of_a_run():
    found = sweep("gemm_ragged", {"problem.k": [192]}, jobs=1)
    result = gpusim.simulate(gpusim.load("gemm_ragged").replace(problem={"k": 192}))
    (row,) = found.rows

    assert row["cycles"] == result.cycles.elapsed
    assert (row["time_us"], row["tflops"], row["waves"]) == (result.time_us, result.tflops, result.waves)
    assert row["occupancy"] == result.ctas_per_sm * 4 / 64
    assert row["bank_conflicts"] == sum(one.conflicts for one in result.bank_conflicts)
    assert row["bound"] == result.bound["resource"]
    assert row["stall_wait"] == pytest.approx(result.stalls["wait"], abs=1e-6)
    assert set(row) == {"problem.k", *POINT_FIGURES} - {"error"}


def test_a_refused_point_is_a_row_with_the_reason():
    found = swept()

    assert (len(found.rows), found.refused) == (6, 2)
    assert [row["kernel.stages"] for row in found.rows] == [1, 1, 3, 3, 4, 4]
    assert found.rows[0] == {
        "kernel.stages": 1,
        "problem.k": 64,
        "error": "stages must be 2..10, got 1 (scenario: kernel.stages, by --set kernel.stages=1)",
    }
    assert found.to_dict()["rows"][0]["cycles"] is None


def test_axes_may_make_a_base_legal_that_is_not():
    found = sweep("cutlass_tensorop_f16_s16816gemm_f16_128x128_32x4_tn_align8", {"problem.k": [256]}, jobs=1)
    given = sweep(
        "cutlass_tensorop_f16_s16816gemm_f16_128x128_32x4_tn_align8",
        {"problem.k": [256], "problem.m": [128], "problem.n": [128]},
        jobs=1,
        overrides=["machine=h200"],
    )
    assert found.rows[0]["error"].startswith("m must be given, got nothing")
    assert given.refused == 0


def test_figures_of_the_machine_are_axes():
    """A launch takes 1,000 cycles more where its overhead is 1,000 more; the file's own figure is a plain run."""
    known = gpusim.load_machine("h200").launch.overhead
    without = ["machine.launch.cta_setup=400"]
    found = sweep(
        SMALL | {"machine": "a100"},
        {"machine.launch.overhead": [known, known + 1000]},
        jobs=1,
        overrides=without,
        stream="estimated",
    )
    plain = gpusim.simulate(
        {**SMALL, "machine": f"a100 with launch.cta_setup = 400, launch.overhead = {known}"}, stream="estimated"
    )

    assert [row["machine.launch.overhead"] for row in found.rows] == [known, known + 1000]
    assert found.rows[1]["cycles"] - found.rows[0]["cycles"] == 1000
    assert found.rows[0]["cycles"] == plain.cycles.elapsed


def test_a_figure_that_all_points_share_holds_for_each_machine_of_an_axis():
    base = base_of(SMALL, ["machine.l2.bytes=1048576"])
    machines = ["a100", "l40s", "h200 with l2.bytes = 2097152"]

    assert [base.scenario({"machine": one}).machine for one in machines] == [
        "a100 with l2.bytes = 1048576",
        "l40s with l2.bytes = 1048576",
        "h200 with l2.bytes = 2097152",
    ]
    assert base.scenario({"machine": "a100", "machine.l2.bytes": 524288}).machine == "a100 with l2.bytes = 524288"


def test_keys_that_vary_together_are_columns_of_their_own():
    tiles = [
        {"kernel.threadblock": [64, 64, 32], "kernel.warp": [32, 32, 32]},
        {"kernel.threadblock": [128, 64, 32], "kernel.warp": [64, 32, 32]},
    ]
    found = sweep(SMALL, {"tile": tiles}, jobs=1, stream="estimated")

    assert found.columns[:2] == ("kernel.threadblock", "kernel.warp")
    assert [row["kernel.warp"] for row in found.rows] == ["[32, 32, 32]", "[64, 32, 32]"]


def test_a_data_frame_has_a_row_for_each_point():
    pytest.importorskip("pandas")
    table = swept().to_dataframe()
    assert list(table.columns) == ["kernel.stages", "problem.k", *POINT_FIGURES]
    assert table["error"].notna().sum() == 2


def test_a_finished_point_is_not_simulated_again(tmp_path, monkeypatch):
    whole = swept(out=tmp_path / "one")
    before = (tmp_path / "one" / JOURNAL).read_bytes()
    asked = []

    def counted(base, settings):
        asked.append(settings)
        return point_row(base, settings)

    monkeypatch.setattr(workers, "point_row", counted)
    assert swept(out=tmp_path / "one") == whole
    assert asked == []
    assert (tmp_path / "one" / JOURNAL).read_bytes() == before

    lines = before.splitlines(keepends=True)
    (tmp_path / "one" / JOURNAL).write_bytes(b"".join(lines[:2] + lines[4:]))
    assert swept(out=tmp_path / "one") == whole
    assert asked == [{"kernel.stages": 3, "problem.k": 64}, {"kernel.stages": 3, "problem.k": 96}]


def test_an_interrupt_keeps_what_was_finished_and_its_table(tmp_path, monkeypatch):
    def interrupted(base, settings):
        if settings["kernel.stages"] == 4:
            raise KeyboardInterrupt
        return point_row(base, settings)

    monkeypatch.setattr(workers, "point_row", interrupted)
    with pytest.raises(KeyboardInterrupt):
        swept(out=tmp_path, table="csv")

    assert len((tmp_path / "points.csv").read_text().splitlines()) == 1 + 4
    assert len(read_sweep(tmp_path).rows) == 4


def test_a_finished_sweep_can_be_read(tmp_path):
    found = swept(out=tmp_path)
    assert read_sweep(tmp_path).rows == found.rows
    assert [asdict(axis) for axis in read_sweep(tmp_path).axes] == [asdict(axis) for axis in found.axes]


@pytest.mark.parametrize("change", [{"exact": True}, {"overrides": ["problem.m=128"]}, {"stream": "auto"}])
def test_another_sweep_does_not_go_on_there(tmp_path, change):
    swept(out=tmp_path)
    options = {"stream": "estimated"} | change
    with pytest.raises(BadInput, match="holds another sweep"):
        sweep(SMALL, OVER, tmp_path, 1, **options)


def test_processes_give_what_one_process_gives():
    assert sweep(SMALL, OVER, jobs=2, stream="estimated").rows == swept().rows


def test_a_point_that_kills_its_process_is_a_row_and_the_others_go_on(monkeypatch):
    base = base_of(SMALL, stream="estimated")
    points = {number: {"kernel.stages": 3 + number} for number in range(3)}
    monkeypatch.setattr(workers, "point_row", kill_at_four)
    rows = dict(workers.simulated(base, points, jobs=2, scheduler=None))

    assert rows[1] == {"error": workers.KILLED}
    assert rows[0]["cycles"]
    assert rows[2]["cycles"]


def kill_at_four(base, settings):
    import os  # noqa: PLC0415 - it runs in a process of its own
    import signal  # noqa: PLC0415

    if settings["kernel.stages"] == 4:
        os.kill(os.getpid(), signal.SIGKILL)
    return point_row(base, settings)


def test_wrong_arguments_are_refused():
    with pytest.raises(BadInput, match="jobs must be an integer of 1 to 1024, got 0"):
        sweep(SMALL, OVER, jobs=0)
    with pytest.raises(BadInput, match="stream must be one of auto, estimated, compiled, got 'fast'"):
        sweep(SMALL, OVER, stream="fast")


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:1", "nowhere"])
def test_a_scheduler_that_does_not_answer_is_one_line_and_leaves_no_client_open(monkeypatch, address):
    """An open one waits for a lock for ever if it is collected while the next one starts."""
    distributed = pytest.importorskip("distributed")
    monkeypatch.setattr(workers, "CONNECT_SECONDS", 0.2)

    with pytest.raises(CannotRun, match=f"^--scheduler: no Dask scheduler answers at {address}$"):
        sweep(SMALL, OVER, scheduler=address)

    clients = [one for one in gc.get_objects() if isinstance(one, distributed.Client)]
    assert {client.status for client in clients} <= {"closed"}


def test_the_definition_is_data(tmp_path):
    swept(out=tmp_path)
    kept = json.loads((tmp_path / "sweep.json").read_text())
    assert kept["version"] == gpusim.__version__
    assert kept["axes"][0]["name"] == "kernel.stages"
    assert set(kept["machines"]) == {"h200"}
