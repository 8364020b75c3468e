"""Arguments of a launch as text: what each form makes, and how a wrong one is refused."""

from pathlib import Path

import numpy as np
import pytest

from gpusim.errors import BadInput
from gpusim.own.arguments import ARGUMENT_TYPES, MAKERS_OF_DATA, read_argument, states_array


def read(text, folder=Path(), place=0):
    return read_argument("--arg x", text, folder, place)


@pytest.mark.parametrize(
    ("text", "array"),
    [
        ("f32[2,3]", np.zeros((2, 3), dtype=np.float32)),
        ("zeros:i64[4]", np.zeros(4, dtype=np.int64)),
        ("ones:f16[2]", np.ones(2, dtype=np.float16)),
        ("arange:i32[2,2]", np.array([[0, 1], [2, 3]], dtype=np.int32)),
        ("arange:bf16[3]", np.array([0, 0x3F80, 0x4000], dtype=np.uint16)),
    ],
)
def test_an_array_has_type_extents_and_elements(text, array):
    found = read(text)

    assert found.dtype == array.dtype
    assert np.array_equal(found, array)


@pytest.mark.parametrize("maker", MAKERS_OF_DATA)
@pytest.mark.parametrize("name", ARGUMENT_TYPES)
def test_every_type_is_made_every_way(maker, name):
    found = read(f"{maker}:{name}[3,5]")

    assert (found.shape, found.dtype) == ((3, 5), ARGUMENT_TYPES[name])
    assert found.flags.c_contiguous
    assert found.flags.writeable


def test_random_arrays_repeat_by_seed_and_differ_by_seed_and_place():
    first = read("random:f32[100]")

    assert np.array_equal(first, read("random:f32[100]:0"))
    assert not np.array_equal(first, read("random:f32[100]:1"))
    assert not np.array_equal(first, read("random:f32[100]", place=1))
    assert -1 <= first.min() < first.max() < 1
    assert set(np.unique(read("random:i8[10000]"))) == set(range(128))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1024", 1024),
        ("-3", -3),
        ("2.5", 2.5),
        ("i64:5", np.int64(5)),
        ("f64:2.5", np.float64(2.5)),
        ("u8:255", np.uint8(255)),
        ("bf16:1", np.uint16(0x3F80)),
    ],
)
def test_a_number_has_the_type_that_is_written(text, value):
    found = read(text)

    assert (found, type(found)) == (value, type(value))


def test_a_file_is_read_from_its_folder_in_c_order(tmp_path):
    np.save(tmp_path / "x.npy", np.asfortranarray(np.arange(6, dtype=">f4").reshape(2, 3)))

    found = read("x.npy", tmp_path)

    assert found.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert found.flags.c_contiguous
    assert found.dtype == np.float32


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("many", "--arg x must be a number (1024, 2.5, i64:5, f64:2.5), an array (f32[1024,1024], or zeros:, ones:,"),
        ("f23[3]", "--arg x: unknown type 'f23' in 'f23[3]', did you mean \"f32\"?"),
        ("q:f32[3]", "--arg x: an array is one of zeros, ones, arange, random, got 'q' in 'q:f32[3]'"),
        ("f32[0]", "--arg x: extents must be integers of at least 1, such as [1024,1024], got 'f32[0]'"),
        ("f32[]", "--arg x: extents must be integers of at least 1, such as [1024,1024], got 'f32[]'"),
        ("zeros:f32[3]:1", "--arg x: a seed is an integer behind a random array, such as random:f32[8]:1, got"),
        ("u8:256", "--arg x must be a number that u8 holds, got 'u8:256'"),
        ("i32:2.5", "--arg x must be a number that i32 holds, got 'i32:2.5'"),
        ("none.npy", "--arg x: none.npy: not a readable array ("),
    ],
)
def test_a_wrong_argument_is_refused_by_name(text, message):
    with pytest.raises(BadInput) as refused:
        read(text)

    assert str(refused.value).startswith(message)


def test_a_file_without_numbers_is_refused(tmp_path):
    np.save(tmp_path / "x.npy", np.array(["a"]))

    with pytest.raises(BadInput, match=r"x\.npy must hold an array of numbers"):
        read("x.npy", tmp_path)


def test_a_text_that_states_an_array_is_told_from_a_number():
    assert all(map(states_array, ("f32[8]", "random:f32[8]:1", "x.npy")))
    assert not any(map(states_array, ("8", "i64:5", "2.5", "x")))
