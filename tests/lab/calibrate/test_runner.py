"""Rows of a microbenchmark, written and read back; the span of all its warps; modules for an architecture."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np

from gpusim.lab.calibrate import runner
from gpusim.lab.calibrate.runner import Device, elapsed, microbench_source, read_rows, write_rows


def test_rows_come_back_as_they_were_written(tmp_path):
    rows = [{"what": "a, b", "cycles": 3}, {"what": "c", "interval": 6.25}]
    write_rows(tmp_path / "x.csv", rows, {"GPU": "NVIDIA H200", "date": "2026-01-01"})

    assert (tmp_path / "x.csv").read_text().splitlines()[:2] == ["# GPU: NVIDIA H200", "# date: 2026-01-01"]
    assert read_rows(tmp_path / "x.csv") == [
        {"what": "a, b", "cycles": "3", "interval": ""},
        {"what": "c", "cycles": "", "interval": "6.25"},
    ]


def test_elapsed_spans_all_warps():
    assert elapsed(np.array([[5, 20], [3, 18]])) == 17


def test_a_source_is_compiled_for_the_architecture_that_its_benchmark_asks_for(monkeypatch):
    """Without one CuPy compiles it; the module is loaded once."""
    loaded = []
    gpu = SimpleNamespace(attributes={"MultiProcessorCount": 132}, compute_capability="90")
    cupy = SimpleNamespace(RawModule=lambda **how: loaded.append(how) or how, cuda=SimpleNamespace(Device=lambda: gpu))
    monkeypatch.setattr(runner, "import_cupy", lambda: cupy)
    device = Device()
    monkeypatch.setattr(runner, "compile_cubin", lambda source, target: Path(f"{source.source.stem}.{target}.cubin"))

    assert device.module("wgmma_queue", "sm_90a") is device.module("wgmma_queue", "sm_90a")
    device.module("lines")

    assert [how.get("path") for how in loaded] == ["wgmma_queue.sm_90a.cubin", None]


def test_a_source_of_the_microbenchmarks_is_compiled_with_its_own_headers():
    source = microbench_source("wgmma_queue")

    assert source.include == source.source.parent
    assert len(source.sources) == 64
