"""Stamps of kernels with cold caches: what runs under ncu, and what is kept of it."""

from pathlib import Path
from types import SimpleNamespace

from gpusim.gpu import device, ncu
from gpusim.lab.calibrate.runner import read_rows, write_rows
from gpusim.lab.recording import in_ncu_runs
from gpusim.lab.stamps import measure
from gpusim.lab.stamps.phases import STAMPS_FILE


def test_files_are_launched_ten_at_a_time_under_ncu_and_their_rows_are_put_together(tmp_path, monkeypatch):
    built, ran = [], []

    def profile(command, metrics, *, kernels):
        ran.append((list(metrics), kernels, command[-2:]))
        files = [Path(word).stem for word in command if word.endswith(".toml")]
        write_rows(Path(command[3]), [{"name": name, "end": 5} for name in files], {})

    origin = SimpleNamespace(environment={"gpu": "NVIDIA H200"}, commit="c0ffee", command=("python", "OUT", "FILE"))
    monkeypatch.setattr(in_ncu_runs, "RecordOrigin", SimpleNamespace(here=lambda *_: origin))
    monkeypatch.setattr(in_ncu_runs, "prebuild_one", lambda files, build: built.append((len(files), build)))
    monkeypatch.setattr(ncu, "profile", profile)

    assert measure.main([str(tmp_path), *(f"{number}.toml" for number in range(12))]) == 0

    rows = read_rows(tmp_path / device.gpu_slug("NVIDIA H200") / STAMPS_FILE)
    assert built == [(12, "timeline")]
    assert ran == [(["sm__cycles_elapsed.max"], r"^gpusim_\w+$", ["--times", "5"])] * 2
    assert rows == [{"name": f"{number}", "end": "5"} for number in range(12)]
