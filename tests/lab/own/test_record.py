"""Measuring own kernels with doubles of ncu and of the launching process: rows, files, halves, and what is refused."""

import json
import re
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest

from gpusim.cuda.compiler import Compiler
from gpusim.errors import CannotRun
from gpusim.gpu import counters, device, ncu
from gpusim.lab.calibrate.runner import read_rows
from gpusim.lab.own import record
from gpusim.lab.own.record import OwnRun, entries_of
from gpusim.lab.own.table import own_kernel

NAMES = ("saxpy", "fft", "copy_stride_2", "copy_stride_8")  # development, held-out, development twice
KERNELS = tuple(own_kernel(name) for name in NAMES)
HEADER = (
    '"ID","Process ID","Kernel Name","Block Size","Grid Size","sm__cycles_elapsed.max","dram__bytes_read.sum",'
    '"sass__inst_executed_per_opcode"'
)
UNITS = '"","","","","","cycle","Kbyte",""'
ENVIRONMENT = {"gpu": "NVIDIA H200", "compute_capability": "9.0", "driver": "580"}


def shown(kernel):
    """What ncu calls a kernel: an instance of a template by the type it returns and its arguments, too."""
    return f"void {kernel.function}<double>" if kernel.entry.startswith("_Z") else kernel.entry


def page(kernels, size):
    """The raw page of ncu for launches of kernels."""
    rows = [
        f'"{number}","1","{shown(kernel)}(int)","{kernel.launch(size).block}","{kernel.launch(size).grid}",'
        f'"{1000 + number}","2","1,005 (FFMA: 1,000; LDS: 5)"'
        for number, kernel in enumerate(kernels)
    ]
    return "\n".join(["==PROF== Connected to process 1", HEADER, UNITS, *rows]) + "\n"


class Tools:
    """An ncu and a launching process that write what the real ones would."""

    def __init__(self, *, failed=(), missing=0):
        self.failed, self.missing = failed, missing
        self.profiled = []
        self.kernels, self.size = (), "small"

    def _launch(self, command):
        names = [word for word in command[command.index("--log") + 2 :] if not word.startswith("--")]
        self.size = command[command.index("--size") + 1]
        self.kernels = [own_kernel(name) for name in names if name not in self.failed]
        agreement = {"elements": 9, "wrong": 0, "error": 0.5}
        log = {
            "launched": {kernel.name: agreement for kernel in self.kernels},
            "failed": dict.fromkeys(self.failed, "why"),
        }
        Path(command[command.index("--log") + 1]).write_text(json.dumps(log))

    def ncu(self, command, _seconds):
        if "--import" in command:
            return page(self.kernels[self.missing :], self.size)
        self.profiled.append(command)
        self._launch(command)
        Path(command[command.index("--export") + 1]).write_bytes(b"report")
        return "==PROF== done\n"

    def run(self, command, **_):
        self._launch(command)
        return subprocess.CompletedProcess(command, 0, "", "")


@pytest.fixture
def with_tools(monkeypatch):
    def install(**ways):
        double = Tools(**ways)
        monkeypatch.setattr(counters, "_run", double.ncu)
        monkeypatch.setattr(counters, "import_ncu_report", lambda: None)
        monkeypatch.setattr(ncu, "find_ncu", lambda: "ncu")
        monkeypatch.setattr(ncu, "available_metrics", frozenset)
        processes = SimpleNamespace(run=double.run, TimeoutExpired=subprocess.TimeoutExpired)
        monkeypatch.setattr(record, "subprocess", processes)
        monkeypatch.setattr(device, "environment", lambda: ENVIRONMENT)
        monkeypatch.setattr(record, "find_compiler", lambda: Compiler("nvrtc", "13.0", Path("libnvrtc.so")))
        return double

    return install


def test_a_launch_gives_a_row_of_counters_and_rows_of_opcodes(with_tools, tmp_path):
    with_tools()

    rows, opcodes = record.profiled(OwnRun(KERNELS, "large", tmp_path), ["--metrics", "a"])

    assert [row["name"] for row in rows] == list(NAMES)
    assert rows[2] == {
        "name": "copy_stride_2",
        "source": "copy_strided",
        "entry": "copy_strided",
        "bound": "memory",
        "size": "large",
        "grid": "65536x1x1",
        "block": "256x1x1",
        "dynamic_shared_bytes": 0,
        "sm__cycles_elapsed.max": 1002.0,
        "dram__bytes_read.sum": 2000.0,
    }
    assert opcodes[:2] == [
        {"name": "saxpy", "size": "large", "opcode": "FFMA", "executed": 1000.0},
        {"name": "saxpy", "size": "large", "opcode": "LDS", "executed": 5.0},
    ]


def test_ncu_profiles_the_entries_cold_and_nothing_else(with_tools, tmp_path):
    double = with_tools()

    record.profiled(OwnRun(KERNELS, "small", tmp_path), ["--metrics", "a"])

    (command,) = double.profiled
    assert command[command.index("--cache-control") + 1] == "all"
    assert command[command.index("--clock-control") + 1] == "none"
    assert command[command.index("--kernel-name") + 1] == "regex:^(saxpy|fft|copy_strided)$"
    assert command[-4:] == list(NAMES)


def test_a_kernel_that_fails_has_no_row_and_the_others_have_theirs(with_tools, tmp_path):
    with_tools(failed=("fft",))

    rows, _ = record.profiled(OwnRun(KERNELS, "small", tmp_path), ["--metrics", "a"])

    assert [row["name"] for row in rows] == ["saxpy", "copy_stride_2", "copy_stride_8"]


def test_launches_that_ncu_did_not_see_are_refused(with_tools, tmp_path):
    with_tools(missing=1)

    with pytest.raises(CannotRun, match="ncu profiled 3 launches, which are not the 4 of saxpy_small"):
        record.profiled(OwnRun(KERNELS, "small", tmp_path), ["--metrics", "a"])


def test_a_session_writes_numerics_and_both_halves_with_their_origin(with_tools, tmp_path):
    with_tools()

    assert record.main([str(tmp_path), *NAMES, "--commit", "abc"]) == 0

    folder = tmp_path / "h200" / "own"
    assert sorted(path.name for path in folder.iterdir()) == [
        "development_counters.csv",
        "development_opcodes.csv",
        "held_out_counters.csv",
        "held_out_opcodes.csv",
        "numerics.csv",
    ]
    text = (folder / "held_out_counters.csv").read_text()
    assert text.startswith("# gpu: NVIDIA H200\n")
    assert "# compiler: nvrtc 13.0\n# commit: abc\n" in text
    rows = read_rows(folder / "held_out_counters.csv")
    assert [(row["name"], row["size"]) for row in rows] == [("fft", "small"), ("fft", "large")]
    numerics = read_rows(folder / "numerics.csv")
    assert len(numerics) == 8
    assert numerics[0] == {
        "name": "saxpy",
        "size": "small",
        "elements": "9",
        "wrong": "0",
        "error": "5.00e-01",
        "tolerance": "1.00e-06",
        "failed": "",
    }


def test_kernels_of_frameworks_have_a_folder_and_the_origin_of_their_machine_code(with_tools, tmp_path):
    double = with_tools()
    names = ("triton_matmul", "triton_add", "cupy_bspline")

    assert record.main([str(tmp_path), *names, "--frameworks", "--size", "large"]) == 0

    folder = tmp_path / "h200" / "own_frameworks"
    assert [row["name"] for row in read_rows(folder / "development_counters.csv")] == ["triton_matmul"]
    assert [row["name"] for row in read_rows(folder / "held_out_counters.csv")] == ["triton_add", "cupy_bspline"]
    text = (folder / "numerics.csv").read_text()
    assert re.search(r"^# compiler: Triton 3\S+; CuPy \S+, nvcc 13\.", text, re.MULTILINE)
    assert "# command: python -m gpusim.lab.own.record OUT --frameworks\n" in text
    assert double.profiled[-1][double.profiled[-1].index("--kernel-name") + 1] == "regex:^(matmul|add|d_boor)$"


def test_a_name_of_the_other_table_is_refused(with_tools, tmp_path, capsys):
    with_tools()

    assert record.main([str(tmp_path), "saxpy", "--frameworks"]) == 2
    assert record.main([str(tmp_path), "triton_add"]) == 2
    assert capsys.readouterr().err.count("no own kernel is called") == 2


def test_a_half_and_a_size_are_measured_alone(with_tools, tmp_path):
    double = with_tools()

    assert record.main([str(tmp_path), *NAMES, "--half", "held-out", "--size", "large", "--no-ncu"]) == 0

    assert double.profiled == []
    (row,) = read_rows(tmp_path / "h200" / "own" / "numerics.csv")
    assert (row["name"], row["size"]) == ("fft", "large")


def test_a_failed_kernel_is_named_and_the_exit_code_says_so(with_tools, tmp_path, capsys):
    with_tools(failed=("fft",))

    assert record.main([str(tmp_path), *NAMES, "--size", "small", "--no-ncu"]) == 1
    assert "failed or wrong: fft small\n" in capsys.readouterr().err


def test_nothing_is_begun_after_the_time_that_is_given(with_tools, tmp_path, capsys):
    double = with_tools()

    assert record.main([str(tmp_path), *NAMES, "--seconds", "-1"]) == 0
    assert double.profiled == []
    assert capsys.readouterr().err == "2 runs were not begun\n"


def test_entries_are_matched_whole():
    assert entries_of(KERNELS[2:]) == "^(copy_strided)$"


def test_no_metric_is_asked_for_twice():
    assert len(set(record.OWN_KERNEL_METRICS)) == len(record.OWN_KERNEL_METRICS)
    assert set(counters.METRICS) < set(record.OWN_KERNEL_METRICS)
