"""CUTLASS's kernels from machine code: which count, what the page says of them, and of those that cannot be built."""

import json
from types import SimpleNamespace

import pytest

from gpusim.errors import CannotRun
from gpusim.measure.validation import from_cubins
from gpusim.measure.validation.from_cubins import BuiltKernel, built_kernels, main, page
from gpusim.measure.validation.observe import FigurePair, Observation

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
        BuiltKernel("fmha", refusal="fused attention is not built here"),
    ]

    lines = page(kernels, NVCC).splitlines()

    assert "1 of 3 do, with 2 rows" in lines[2]
    assert "| elapsed | 2 | 6.0 % | 6.0 % | 7.6 % | -8.0 % first b | -2.0 % |" in lines
    assert "| first | 96 | 96 | 49,152 | 49,152 | 2 | 6.0 % | 1.5 % |  |" in lines
    assert "| other | 96 | 128 | 49,152 | 49,152 | 0 |  |  | another kernel |" in lines
    assert lines[-1] == "| fmha |  |  |  |  |  |  |  | fused attention is not built here |"


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
        "fused attention is not built here",
    ]


def test_a_file_without_rows_is_named(tmp_path):
    (tmp_path / "rows.json").write_text("{}")

    with pytest.raises(CannotRun, match=r"rows\.json: no measured rows"):
        list(built_kernels([tmp_path / "rows.json"], tmp_path, NVCC, lambda _: None))


def test_without_headers_nothing_is_built(monkeypatch, capsys):
    monkeypatch.setattr(from_cubins, "headers", lambda: None)
    monkeypatch.setattr(from_cubins, "find_compiler", lambda _: NVCC)

    assert main([]) == CannotRun.exit_code
    assert "CUTLASS's headers are missing" in capsys.readouterr().err
