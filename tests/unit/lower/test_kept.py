"""Lowered streams in the cache: made once, found by all that determines them, replaced where damaged."""

import gzip
from dataclasses import replace
from pathlib import Path

import pytest

from gpusim.cuda.compiled_kernel import CompiledKernel
from gpusim.cuda.compiler import CACHE_VARIABLE
from gpusim.families.gemm.specialise import specialise
from gpusim.families.registry import load_scenario
from gpusim.lower import kept
from gpusim.lower.kept import kept_stream, stream_path
from gpusim.lower.shipped import SHIPPED
from gpusim.lower.stream_file import load_stream

SCENARIO = load_scenario(Path(__file__).parents[3] / "scenarios" / "gemm_ragged.toml")
COMPILED = CompiledKernel(b"cubin", "nvcc 13.0.88", specialise(SCENARIO))
CONSTANTS = b"bank 0"
STREAM = load_stream(SHIPPED / "h200" / "gemm_4096.json.gz")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path))
    return tmp_path


def never():
    pytest.fail("lowered again")


def test_a_kernel_is_lowered_once(folder):
    assert kept_stream(COMPILED, CONSTANTS, (0,), lambda: STREAM) is STREAM
    assert kept_stream(COMPILED, CONSTANTS, (0,), never) == STREAM
    assert [path.name for path in folder.iterdir()] == [stream_path(COMPILED, CONSTANTS, (0,)).name]


@pytest.mark.parametrize(
    "change",
    [
        lambda _: b"",
        lambda data: data[: len(data) // 2],
        lambda _: b"no gzip",
        lambda data: data[:40] + bytes(byte ^ 0xFF for byte in data[40:80]) + data[80:],
        lambda _: gzip.compress(b"[]"),
        lambda _: gzip.compress(b'{"schema": "gpusim.stream/0"}'),
        lambda data: gzip.compress(gzip.decompress(data).replace(b'"CopyAsync"', b'"Copy"')),
        lambda data: gzip.compress(gzip.decompress(data).replace(b'"segments":[', b'"segments":[[],')),
    ],
    ids=["empty", "half", "text", "flipped", "list", "schema", "op", "segment"],
)
def test_a_damaged_file_is_replaced(change):
    kept_stream(COMPILED, CONSTANTS, (0,), lambda: STREAM)
    path = stream_path(COMPILED, CONSTANTS, (0,))
    path.write_bytes(change(path.read_bytes()))

    assert kept_stream(COMPILED, CONSTANTS, (0,), lambda: STREAM) is STREAM
    assert load_stream(path) == STREAM


@pytest.mark.parametrize(
    "other",
    [
        replace(COMPILED, cubin=b"other"),
        replace(COMPILED, compiler="nvrtc 13.0"),
        replace(COMPILED, specialisation=replace(COMPILED.specialisation, options=("-DGPUSIM_GEMM_K=8",))),
        replace(COMPILED, specialisation=replace(COMPILED.specialisation, grid=(1, 2, 3))),
        replace(COMPILED, specialisation=replace(COMPILED.specialisation, k_iterations=5)),
        replace(COMPILED, specialisation=replace(COMPILED.specialisation, entry="mine")),
        replace(COMPILED, specialisation=replace(COMPILED.specialisation, extents=(1, 2, 3))),
    ],
    ids=["machine-code", "compiler", "options", "grid", "k-tiles", "entry", "extents"],
)
def test_what_determines_a_stream_is_in_its_name(other):
    assert stream_path(other, CONSTANTS, (0,)) != stream_path(COMPILED, CONSTANTS, (0,))


def test_a_launch_with_other_parameters_has_a_stream_of_its_own():
    assert stream_path(COMPILED, b"bank 1", (0,)) != stream_path(COMPILED, CONSTANTS, (0,))


def test_every_cta_has_a_stream_of_its_own():
    assert stream_path(COMPILED, CONSTANTS, (1,)) != stream_path(COMPILED, CONSTANTS, (0,))


def test_other_code_of_gpusim_finds_no_stream_of_before(monkeypatch):
    before = stream_path(COMPILED, CONSTANTS, (0,))
    monkeypatch.setattr(kept, "code_digest", lambda: "other")

    assert stream_path(COMPILED, CONSTANTS, (0,)) != before


def test_where_nothing_can_be_written_the_stream_is_made_each_time(monkeypatch, folder):
    monkeypatch.setenv(CACHE_VARIABLE, str(folder / "none"))

    assert kept_stream(COMPILED, CONSTANTS, (0,), lambda: STREAM) is STREAM
    assert kept_stream(COMPILED, CONSTANTS, (0,), lambda: STREAM) is STREAM
