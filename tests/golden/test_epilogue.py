"""The tensor-op epilogue against CUTLASS's own iterators."""

import json
from pathlib import Path

import numpy as np
import pytest

from gpusim.tile.epilogue import EpilogueTile

DATA = Path(__file__).parent / "data"
FILES = sorted(DATA.glob("epilogue_*.json"))
TYPES = {"float": "f32", "cutlass::half_t": "f16"}


@pytest.fixture(params=FILES, ids=lambda path: path.stem)
def golden(request):
    return json.loads(request.param.read_text())


@pytest.fixture
def tile(golden):
    header = golden["header"]
    problem = header["problem"]
    return EpilogueTile(
        threadblock=tuple(header["ThreadblockShape_MNK"]),
        warp=tuple(header["WarpShape_MNK"]),
        instruction=tuple(header["InstructionShape_MNK"]),
        output_type=TYPES[header["element_output"]],
        elements_per_access=header["elements_per_access"],
        extent=(problem["M"], problem["N"]),
        leading=problem["ldc"],
        accumulator_type=TYPES[header["element_accumulator"]],
    )


def test_every_configuration_is_here():
    assert len(FILES) == 3


def test_constants(golden, tile):
    header, thread_map = golden["header"], tile.thread_map
    assert tile.steps == header["epilogue_iterations"]
    assert tile.storage_rows == header["smem_storage_rows"]
    assert tile.storage_columns == header["smem_storage_columns"]
    assert tile.padding_columns == header["smem_padding_columns"]
    assert tile.pointer_offset == header["kSmemPointerOffset"]
    assert tile.fragments_per_iteration == header["kFragmentsPerIteration"]
    assert tile.storage_bytes * 8 == tile.storage_rows * tile.storage_columns * header["smem_element_bits"]
    assert tile.store_bytes == header["smem_store_bytes_per_instruction"]
    assert tile.load_bytes == header["smem_load_bytes_per_instruction"]
    assert tile.accumulator_bits == header["smem_element_bits"]
    assert tile.mixed == ("SharedLoadIteratorMixed" in header["type_shared_load_iterator"])
    assert tile.accumulator_map().shape[1] == header["accumulator_elements_per_thread"]
    rows, columns = thread_map.iterations
    one = {"group": 1, "cluster": 1, "tile": 1}
    assert header["thread_map_Iterations"] == {"column": columns, "row": rows, **one}
    assert header["thread_map_Delta"] == {"column": thread_map.delta[1], "row": thread_map.delta[0], **one}
    assert header["thread_map_Count"] == {"column": 1, "row": tile.steps, **one, "tile": tile.steps}
    assert header["thread_map_Shape"] == {"column": thread_map.columns, "row": 8, **one, "group": thread_map.groups}


def test_accumulator_place_of_every_lane(golden, tile):
    np.testing.assert_array_equal(tile.accumulator_map(), golden["accumulator_row_col_per_lane"])


def test_initial_offset_of_every_thread(golden, tile):
    np.testing.assert_array_equal(tile.thread_map.initial_offsets(), golden["output_thread_initial_offset"])


def test_shared_stores_of_the_first_and_last_step(golden, tile):
    assert golden["header"]["store_offsets_same_every_iteration"]
    assert set(golden["smem_store"]) == {"iteration_0", f"iteration_{tile.steps - 1}"}
    compared = 0
    for name, per_thread in golden["smem_store"].items():
        step = int(name.removeprefix("iteration_"))
        elements = np.broadcast_to(tile.store_elements(step), tile.store_offsets().shape)
        pairs = np.stack([elements, tile.store_offsets()], axis=-1).reshape(tile.threads, -1, 2)
        for thread, expected in enumerate(per_thread):
            if expected:
                np.testing.assert_array_equal(pairs[thread], expected)
                compared += 1
    assert compared > tile.threads


def test_shared_loads_of_every_thread(golden, tile):
    offsets = tile.load_offsets()
    np.testing.assert_array_equal(offsets.reshape(tile.threads, -1), golden["smem_load"])


def test_output_offsets_and_predicates(golden, tile):
    problem = golden["header"]["problem"]
    for row in golden["output"]:
        access = tile.output(row["iteration"], problem["tile_m"], problem["tile_n"])
        found = np.stack([access.offset[row["thread"]], access.valid[row["thread"]]], axis=-1)
        np.testing.assert_array_equal(found, row["accesses_off_pred"])
