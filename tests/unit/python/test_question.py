"""The answer about a launch of a kernel of one's own: the same by a slice as in full."""

import json

import numpy as np
import pytest
from own.build import cubin_of

from gpusim.errors import BadInput
from gpusim.python.question import answer
from gpusim.results.kernel_result import KERNEL_SCHEMA, load_kernel_result
from gpusim.scenario.own_kernel import KernelQuestion
from gpusim.sim import pace

TRANSPOSE = {"in": "random:f32[64,64]", "out": "f32[64,64]", "rows": 64, "columns": 64}


@pytest.fixture
def question(tmp_path):
    """Returns the question of a kept kernel of the own kernels."""

    def ask(source, grid, block, arguments):
        file = tmp_path / f"{source}.cubin"
        file.write_bytes(cubin_of(source, 80))
        return KernelQuestion("a100", file, source, grid, block, 0, arguments)

    return ask


def test_a_slice_takes_the_time_and_counts_of_the_whole(question):
    asked = question("transpose_tile", (2, 2), (32, 8), TRANSPOSE)

    part, whole = answer(asked), answer(asked, full=True)

    assert (part.result.data.executed, whole.result.data.executed) == ("slice", "all")
    assert part.result.cycles == whole.result.cycles
    assert part.result.stalls == whole.result.stalls
    for name in ("issues", "wavefronts", "ideal_wavefronts", "sectors", "ideal_sectors"):
        assert part.result.total(name) == whole.result.total(name)
    assert (part.arrays["out"] == 0).all()
    assert np.array_equal(whole.arrays["out"], whole.arrays["in"].T)


def test_lanes_of_what_a_slice_leaves_out_are_not_known(question):
    saxpy = question("saxpy", (8,), (128,), {"x": "f32[1000]", "y": "f32[1000]", "a": 2.0, "n": 1000})

    part, whole = answer(saxpy).result, answer(saxpy, full=True).result

    assert not part.data.data_steers
    unknown = {row.text.split()[0] for row in part.rows if row.lanes is None}
    assert "FFMA" in unknown
    assert all(row.lanes is not None for row in whole.rows)
    known = {row.address: row.lanes for row in part.rows if row.lanes is not None}
    assert known == {row.address: row.lanes for row in whole.rows if row.address in known}


def test_stall_cycles_of_the_instructions_are_those_of_the_launch(question):
    result = answer(question("transpose_tile", (2, 2), (32, 8), TRANSPOSE)).result

    found = {}
    for row in result.rows:
        for reason, cycles in row.stalls.items():
            found[reason] = found.get(reason, 0) + cycles
    assert found == result.stalls
    assert sum(row.stalls["selected"] for row in result.rows) == result.warp_instructions == result.total("issues")


def test_data_that_reach_an_address_steer_it(question):
    index = {"in": "arange:f32[1000]", "index": "random:i32[1000]", "out": "f32[1000]", "n": 1000}
    gather = question("gather", (4,), (256,), index)

    asked = answer(gather, full=True)

    assert asked.result.data.data_steers
    assert not asked.result.data.order_steers
    assert answer(gather).result.cycles == asked.result.cycles
    assert np.array_equal(asked.arrays["out"], asked.arrays["index"].astype(np.float32))


def test_as_many_arguments_as_the_signature_has_are_needed(question):
    with pytest.raises(BadInput) as refused:
        answer(question("gather", (4,), (256,), {"in": "f32[8]"}))

    assert str(refused.value) == (
        "gather takes 4 arguments, of 8, 8, 8, 4 bytes, got 1 (in); state each in the order of the signature"
    )


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("f32[8]", "argument n has 4 bytes in the signature of gather, an array takes 8"),
        ("i64:3", "argument n has 4 bytes in the signature of gather, i64:3 has 8"),
    ],
)
def test_an_argument_of_another_size_is_refused_by_its_name(question, value, message):
    arguments = {"in": "f32[1024]", "index": "i32[1024]", "out": "f32[1024]", "n": value}

    with pytest.raises(BadInput) as refused:
        answer(question("gather", (4,), (256,), arguments))

    assert str(refused.value) == message


def test_a_result_is_read_as_it_was_written(question, tmp_path):
    result = answer(question("transpose_tile", (2, 2), (32, 8), TRANSPOSE)).result
    path = tmp_path / "result.json"
    path.write_text(json.dumps(result.to_dict()))

    assert load_kernel_result(path) == result
    assert result.schema == KERNEL_SCHEMA


def test_a_wrong_argument_is_refused_by_its_name(question):
    with pytest.raises(BadInput, match=r"^argument in: unknown type 'f23' in 'f23\[8\]', did you mean \"f32\"\?$"):
        answer(question("transpose_tile", (2, 2), (32, 8), {**TRANSPOSE, "in": "f23[8]"}))


def test_a_long_execution_says_how_far_it_is(question, monkeypatch):
    monkeypatch.setattr(pace, "EVERY", 0.0)
    said = []

    answer(question("transpose_tile", (2, 2), (32, 8), TRANSPOSE), progress=said.append)

    assert "CTAs that are executed: 3 of 4" in said
    assert any(line.startswith("CTAs that have ended: ") for line in said)
