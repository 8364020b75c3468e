"""Streams as files: every shipped scenario has one, and what is none is refused."""

import gzip
from dataclasses import replace
from pathlib import Path

import pytest

from gpusim.errors import BadInput
from gpusim.families.gemm.specialise import specialise
from gpusim.families.registry import load_scenario
from gpusim.lower.shipped import SHIPPED as STREAMS
from gpusim.lower.shipped import shipped_stream
from gpusim.lower.stream_file import Line, load_stream, parameter_lines, save_stream
from gpusim.machine.load import load_machine

SCENARIOS = Path(__file__).parents[3] / "scenarios"
SHIPPED = sorted(path for path in SCENARIOS.glob("*.toml") if load_scenario(path).kind != "attention")


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_every_shipped_scenario_has_its_stream(path):
    """
    Of its kernel as it stands in kernels_cuda/: `python -m gpusim.lab.ship_streams` writes them anew.
    """
    scenario = load_scenario(path)
    architecture = load_machine(scenario.machine).compute_capability
    one = shipped_stream(specialise(scenario, "plain"), architecture, 0)

    assert one is not None
    assert one.stream.segments[1].trips == scenario.k_iterations(0)


def test_a_stream_with_run_time_extents_says_so_when_read_back(tmp_path):
    one = load_stream(STREAMS / "h200" / "gemm_4096.json.gz")
    other = replace(one, stream=replace(one.stream, run_time_extents=True))
    save_stream(tmp_path / "x.json.gz", other)

    assert not one.stream.run_time_extents
    assert load_stream(tmp_path / "x.json.gz") == other


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"no gzip", r"x\.json\.gz: not a readable stream "),
        (gzip.compress(b'{"schema": "other"}'), r"x\.json\.gz: schema must be 'gpusim\.stream/1', got 'other'$"),
    ],
    ids=["damaged", "schema"],
)
def test_a_file_that_is_no_stream_is_refused(tmp_path, data, message):
    path = tmp_path / "x.json.gz"
    path.write_bytes(data)

    with pytest.raises(BadInput, match=message):
        load_stream(path)


@pytest.mark.parametrize(
    ("texts", "lines"),
    [
        (["EXIT"], 1),
        (["LDC R1, c[0x0][0x28]"], 1),
        (["ULDC.64 UR4, c[0x0][0x210]", "ULDC.64 UR6, c[0x0][0x218]"], 1),
        (["ULDC.64 UR4, c[0x0][0x208]", "FMUL R4, R4, c[0x0][0x240]", "ULDC UR5, c[0x0][0x278]"], 2),
        (["MOV R1, c[0x0][0x160]", "MOV R2, c[0x0][0x1c0]", "MOV R3, c[0x4][0x300]"], 2),
    ],
    ids=["none", "the stack", "one", "two", "of sm_75"],
)
def test_a_listing_says_how_many_lines_of_parameters_it_reads(texts, lines):
    """Lines of 64 bytes of constant bank 0, from where a launch's parameters lie; at least one."""
    listing = [[Line(16 * place, text) for place, text in enumerate(texts)]]

    assert parameter_lines(listing) == lines
