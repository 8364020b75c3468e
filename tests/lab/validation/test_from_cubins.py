"""CUTLASS's kernels from machine code: which count, what the page says of them, and of those that cannot be built."""

import json
from types import SimpleNamespace

import pytest

from gpusim.errors import CannotRun
from gpusim.lab import cutlass_kernels
from gpusim.lab.validation import from_cubins
from gpusim.lab.validation.from_cubins import BuiltKernel, built_kernels, main, page
from gpusim.lab.validation.observe import FigurePair, Observation

NVCC = SimpleNamespace(name="nvcc", version="13.0.88")


def seen(name, elapsed, active):
    """
    Return a row whose elapsed and active cycles were 100, with what was simulated.
    """
    figures = {"elapsed": FigurePair(100, elapsed), "active": FigurePair(100, active)}
    return Observation(name, "compiled", {}, figures, {}, "", 1, 1.0)


def test_a_kernel_counts_with_the_registers_and_shared_bytes_that_were_measured():
    assert BuiltKernel("same", (96, 96), (49152, 49152)).counts
    assert not BuiltKernel("registers", (96, 98), (49152, 49152)).counts
    assert not BuiltKernel("shared", (96, 96), (49152, 65536)).counts
    assert not BuiltKernel("not built", refusal="no headers").counts


def test_the_page_has_errors_of_those_that_count_and_says_of_others_why_not():
    """
    Elapsed +4 and -8 %: 6 % in the mean, worst -8. Another kernel's rows are in no mean.
    """
    kernels = [
        BuiltKernel("first", (96, 96), (49152, 49152), (seen("first a", 104, 100), seen("first b", 92, 103))),
        BuiltKernel("other", (96, 128), (49152, 49152)),
        BuiltKernel("fmha", refusal="not built"),
    ]

    lines = page(kernels, NVCC).splitlines()

    assert "1 of 3 do, with 2 rows" in lines[2]
    assert "| elapsed | 2 | 6.00 % | 6.00 % | 7.60 % | -8.0 % first b | -2.0 % |" in lines
    assert "| first | 96 | 96 | 49,152 | 49,152 | 2 | 6.00 % | 1.50 % |  |" in lines
    assert "| other | 96 | 128 | 49,152 | 49,152 | 0 |  |  | another kernel |" in lines
    assert lines[-1] == "| fmha |  |  |  |  |  |  |  | not built |"


def test_a_kernel_that_cannot_be_built_is_told_and_the_next_one_follows(monkeypatch, tmp_path):
    def refuse(scenario, _include, _compiler):
        raise CannotRun(f"nvcc does not compile it: {scenario.kind}")

    monkeypatch.setattr(from_cubins, "build", refuse)
    rows = tmp_path / "rows.json"
    (committed, attention) = from_cubins.committed_rows()
    taken = [json.loads(path.read_text())["rows"][0] for path in (committed, attention)]
    rows.write_text(json.dumps({"rows": taken}))
    said = []

    found = list(built_kernels([rows], tmp_path, NVCC, said.append))

    assert [one.name for one in found] == said == [row["name"] for row in taken]
    assert [one.refusal for one in found] == [
        f"nvcc does not compile it: {taken[0]['kind']}",
        "kind must be gemm or conv2d_fprop, got 'fmha'",
    ]


@pytest.mark.parametrize(("registers", "rows"), [(None, 2), (1, 0)])
def test_rows_are_simulated_from_the_machine_code_where_it_has_the_registers_that_were_measured(
    monkeypatch, tmp_path, registers, rows
):
    """
    Elapsed cycles are simulated 10 % too long in both rows of one kernel, which names itself and its extents.
    """
    committed = json.loads(from_cubins.committed_rows()[0].read_text())["rows"]
    own = [row for row in committed if row["name"] == committed[0]["name"]][:2]
    (tmp_path / "rows.json").write_text(json.dumps({"rows": own}))
    had = registers or own[0]["registers_per_thread"]
    entries = []

    def simulated(_scenario, user):
        entries.append(user.entry)
        measured = own[len(entries) - 1]["counters"]["sm__cycles_elapsed.max"]
        cycles = SimpleNamespace(elapsed=1.1 * measured, active=1)
        return (SimpleNamespace(cycles=cycles, counters={}, stalls={}, ctas=1, stream="compiled", waves=1.0),)

    monkeypatch.setattr(from_cubins, "build", lambda *_: b"cubin")
    monkeypatch.setattr(from_cubins, "kernel_names", lambda *_: ["kernel"])
    monkeypatch.setattr(from_cubins, "read_cubin", lambda *_: SimpleNamespace(registers=had))
    monkeypatch.setattr(from_cubins, "read_user_kernel", lambda _, entry: SimpleNamespace(entry=entry))
    monkeypatch.setattr(from_cubins, "simulate", simulated)
    monkeypatch.setattr(from_cubins, "observation", lambda one, result: seen(one.name, 110, result.cycles.active))

    (found,) = built_kernels([tmp_path / "rows.json"], tmp_path, NVCC, lambda _: None)

    assert found.registers == (had, own[0]["registers_per_thread"])
    assert found.counts == bool(rows)
    assert [one.name for one in found.observations] == [from_cubins.name_of(row) for row in own][:rows]
    assert entries == ["kernel"] * rows


def test_a_file_without_rows_is_named(tmp_path):
    (tmp_path / "rows.json").write_text("{}")

    with pytest.raises(CannotRun, match=r"rows\.json: no measured rows"):
        list(built_kernels([tmp_path / "rows.json"], tmp_path, NVCC, lambda _: None))


def test_without_headers_nothing_is_built(monkeypatch, capsys):
    monkeypatch.setattr(cutlass_kernels, "headers", lambda: None)

    assert main([]) == CannotRun.exit_code
    assert "CUTLASS's headers are missing" in capsys.readouterr().err
