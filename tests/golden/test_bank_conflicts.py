"""The wavefronts of the address streams CUTLASS itself produces equal every row of the golden conflict table."""

import json
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from gpusim.layout.banks import access_ideal, access_wavefronts, ldmatrix_ideal, ldmatrix_wavefronts

DATA = Path(__file__).parent / "data"
ROWS = json.loads((DATA / "bank_conflicts.json").read_text())["results"]


def load(name):
    return json.loads((DATA / f"{name}.json").read_text())


def histogram(wavefronts, ideal):
    counts = Counter(np.ravel(wavefronts).tolist())
    return {f"{passes} transactions (ideal {int(ideal)})": count for passes, count in counts.items()}


def by_warp(per_thread):
    """Offsets [thread][instruction] as [instruction, warp, lane]."""
    offsets = np.asarray(per_thread).T
    return offsets.reshape(len(offsets), -1, 32)


def pipeline_store(row):
    golden = load(f"smem_write_{row['config']}")
    bits = golden["header"][f"element_bits_{row['operand']}"]
    offsets = np.array([entry["offsets"] for entry in golden["data"] if entry["operand"] == row["operand"]])
    addresses = offsets.reshape(len(offsets), -1, 32) * bits // 8
    return histogram(access_wavefronts(addresses, row["width_bytes"]), access_ideal(row["width_bytes"]))


def fragment_load(row):
    golden = load(f"warp_read_{row['config']}")
    bits = golden["header"][f"element_bits_{row['operand']}"]
    entries = [entry for entry in golden["data"] if entry["op"] == row["operand"]]
    (kind,) = {entry["kind"] for entry in entries}
    addresses = np.array([entry["lanes"] for entry in entries]) * bits // 8
    if kind == "frag_word32":
        return histogram(access_wavefronts(addresses, 4), access_ideal(4))
    matrices = int(re.fullmatch(r"ldmatrix(?:\.trans)?\.x([124])", kind)[1])
    return histogram(ldmatrix_wavefronts(addresses, matrices), ldmatrix_ideal(matrices))


def epilogue_store(row):
    golden = load(row["config"])
    width = golden["header"]["smem_store_bytes_per_instruction"]
    stored = np.array(golden["smem_store"]["iteration_0"])[..., 1]
    addresses = by_warp(stored[:, ::2]) * golden["header"]["smem_element_bits"] // 8
    return histogram(access_wavefronts(addresses, width), access_ideal(width))


def epilogue_load(row):
    golden = load(row["config"])
    bits, width = golden["header"]["smem_element_bits"], golden["header"]["smem_load_bytes_per_instruction"]
    addresses = by_warp(np.array(golden["smem_load"])[:, :: width * 8 // bits]) * bits // 8
    return histogram(access_wavefronts(addresses, width), access_ideal(width))


COUNTS = {
    "shared-memory store": pipeline_store,
    "warp fragment load": fragment_load,
    "epilogue shared store": epilogue_store,
    "epilogue shared load": epilogue_load,
}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['config']}-{row.get('operand', '')}-{row['kind'][:24]}")
def test_wavefronts_equal_the_golden_table(row):
    count = COUNTS[row["kind"].partition(" (")[0]]

    assert count(row) == row["instructions"]


def test_one_access_of_the_table_conflicts():
    assert [row["config"] for row in ROWS if not row["conflict_free"]] == [
        "epilogue_f16out_f16acc_128x128_w64x64_m200n136_tile1_1"
    ]
