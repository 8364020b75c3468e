"""Thread maps equal CUTLASS's, thread by thread."""

import json
import re
from pathlib import Path

import pytest

from gpusim.tile.thread_map import ThreadMap, crosswise_thread_map

DATA = Path(__file__).parent / "data"
TN = sorted(path.name for path in DATA.glob("threadmap_f16_tn_*.json"))
RAW = sorted(path.name for path in DATA.glob("threadmap_raw_warpraked_*.json"))


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
    assert (len(TN), len(RAW)) == (4, 3)


@pytest.mark.parametrize("operand", ["A", "B"])
@pytest.mark.parametrize("name", TN)
def test_map_of_a_k_contiguous_f16_operand(name, operand):
    recorded = json.loads((DATA / name).read_text())
    template = recorded["header"]["template"]
    m, n, k = template["ThreadblockShape_MNK"]
    warps_m, warps_n, warps_k = template["WarpCount_MNK"]
    strided = m if operand == "A" else n

    thread_map = crosswise_thread_map(k, strided, 32 * warps_m * warps_n * warps_k, bits=16)

    assert facts(thread_map) == numbers(recorded[f"{operand}_gmem"])


@pytest.mark.parametrize("name", RAW)
def test_warp_raked_map(name):
    recorded = json.loads((DATA / name).read_text())["map"]
    pattern = r"PitchLinearShape<(\d+), (\d+)>, (\d+), cutlass::PitchLinearShape<(\d+), (\d+)>, (\d+)>"
    contiguous, strided, threads, lanes, rows, elements = map(int, re.search(pattern, recorded["type"]).groups())

    thread_map = ThreadMap((contiguous, strided), threads, (lanes, rows), elements)

    assert facts(thread_map) == numbers(recorded)
