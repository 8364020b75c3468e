"""A run shows itself: as data frames, as pictures, as a notebook's HTML, and as a trace file."""

import sys
from dataclasses import replace
from functools import cache

import pytest
from matplotlib import pyplot as plt

import gpusim


@cache
def run():
    return gpusim.simulate("gemm_ragged", stream="estimated")


def test_a_run_is_a_result_with_its_name_and_timeline():
    assert isinstance(run(), gpusim.Result)
    assert run().name == "gemm_ragged"
    assert len(run().timeline.warps) > 0


def test_the_counters_are_a_data_frame():
    frame = run().to_dataframe()

    assert list(frame.columns) == ["metric", "value"]
    assert dict(zip(frame["metric"], frame["value"], strict=True)) == run().counters


def test_bank_conflicts_stalls_and_the_pipeline_are_data_frames():
    conflicts, stalls, pipeline = map(run().to_dataframe, ("bank_conflicts", "stalls", "pipeline"))

    assert conflicts["wavefronts"].sum() == sum(row.wavefronts for row in run().bank_conflicts)
    assert stalls["share"].sum() == pytest.approx(1, abs=1e-3)
    assert list(pipeline["k_tile"]) == [row.k_tile for row in run().pipeline]


def test_a_table_that_is_not_there_is_refused():
    with pytest.raises(gpusim.GpusimError, match=r"^table must be one of counters, .*, got 'stall'$"):
        run().to_dataframe("stall")


def test_without_pandas_one_line_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)

    with pytest.raises(gpusim.GpusimError, match=r"^a data frame needs .*: pip install 'gpusim\[pandas\]'$"):
        run().to_dataframe()


@pytest.mark.parametrize("name", ["gemm_ragged", "attention_d64_v160"])
@pytest.mark.parametrize("picture", ["overlap", "conflicts", "stalls", "roofline"])
def test_a_picture_is_drawn_into_axes(name, picture):
    axes = (run() if name == run().name else gpusim.simulate(name, stream="estimated")).plot(picture)

    assert axes.figure is plt.gcf()
    assert any(text.get_text() for text in axes.figure.texts)
    plt.close(axes.figure)


def test_a_picture_that_is_not_there_is_refused():
    with pytest.raises(gpusim.GpusimError, match=r"^picture must be one of overlap, .*, got 'lanes'$"):
        run().plot("lanes")
    plt.close("all")


def test_a_notebook_shows_name_verdict_and_cycles():
    shown = run()._repr_html_()

    assert shown.startswith("<div><b>gemm_ragged: 68 of 132 SMs have no CTA; ")
    assert f"{run().cycles.elapsed:,} elapsed" in shown


def test_a_trace_is_written(tmp_path):
    run().write_trace(tmp_path / "trace.pftrace")
    run().write_trace(tmp_path / "trace.kanata", "kanata")

    assert (tmp_path / "trace.pftrace").stat().st_size > 0
    assert (tmp_path / "trace.kanata").read_text(encoding="utf-8").startswith("Kanata")


def test_a_run_directory_is_read_back(tmp_path, gpusim_json):
    gpusim_json("run", "gemm_ragged", "--no-figures", "--json", "--out", str(tmp_path / "run"))
    read = gpusim.read_run(tmp_path / "run")

    again = gpusim.simulate("gemm_ragged")

    assert read == replace(again, provenance=read.provenance)
    assert read.plot("stalls")
    plt.close("all")
