"""Thread maps equal CUTLASS's, thread by thread."""

import json
import re
from pathlib import Path

import pytest

from gpusim.tile.thread_map import StripMinedThreadMap, WarpThreadMap

DATA = Path(__file__).parent / "data"
OPERANDS = sorted(path.name for path in DATA.glob("threadmap_*.json") if "_raw_" not in path.name)
WARPS = sorted(path.name for path in DATA.glob("threadmap_raw_warp*.json"))
STRIPS = sorted(path.name for path in DATA.glob("threadmap_raw_stripmined_*.json"))


def facts(thread_map):
    return {
        "kThreads": thread_map.threads,
        "kElementsPerAccess": thread_map.elements_per_access,
        "Iterations_contiguous_strided": list(thread_map.iterations),
        "Delta_contiguous_strided": list(thread_map.delta),
        "initial_offset_per_thread_contiguous_strided": thread_map.initial_offsets().tolist(),
    }


def numbers(recorded):
    return {key: value for key, value in recorded.items() if key != "type"}


def test_the_recorded_files_are_here():
    assert (len(OPERANDS), len(WARPS), len(STRIPS)) == (11, 4, 2)


@pytest.mark.parametrize("operand", ["a", "b"])
@pytest.mark.parametrize("name", OPERANDS)
def test_map_of_an_operand(name, operand, scenario_of):
    recorded = json.loads((DATA / name).read_text())

    thread_map = scenario_of(recorded["header"]["template"]).operand(operand).thread_map

    letter = operand.upper()
    assert facts(thread_map) == numbers(recorded[f"{letter}_gmem"])
    # The Turing-style file has no maps of the stores.
    assert recorded.get(f"{letter}_smem", f"same as {letter}_gmem") == f"same as {letter}_gmem"


def parameters(recorded):
    """The map's kind, and the integers of its type: shape, threads, lanes of a warp (if any), elements."""
    (kind,) = re.findall(r"PitchLinear(\w+)ThreadMap", recorded["type"])
    return kind, [int(number) for number in re.findall(r"(?<=[<, ])\d+", recorded["type"])]


@pytest.mark.parametrize("name", WARPS)
def test_warp_raked_and_warp_striped_map(name):
    recorded = json.loads((DATA / name).read_text())["map"]
    kind, (contiguous, strided, threads, lanes, rows, elements) = parameters(recorded)

    thread_map = WarpThreadMap(
        (contiguous, strided), threads, elements, warp_arrangement=(lanes, rows), striped=kind == "WarpStriped"
    )

    assert facts(thread_map) == numbers(recorded)


@pytest.mark.parametrize("name", STRIPS)
def test_strip_mined_map(name):
    recorded = json.loads((DATA / name).read_text())["map"]
    _, (contiguous, strided, threads, elements) = parameters(recorded)

    assert facts(StripMinedThreadMap((contiguous, strided), threads, elements)) == numbers(recorded)
