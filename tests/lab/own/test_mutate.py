"""Mutations of cubins: drawn alike from alike seeds, and most of them in code."""

from random import Random as SeededRandom

from own.build import cubin_of

from gpusim.lab.own.mutate import mutated, sections_of


def drawing(seed):
    return SeededRandom(seed)  # noqa: S311 - nothing secret


def test_equal_seeds_change_alike_and_others_do_not():
    data, other = cubin_of("saxpy", 80), cubin_of("fft", 80)

    drawn = {mutated(data, other, drawing(seed)) for seed in range(50)}

    assert mutated(data, other, drawing(7)) == mutated(data, other, drawing(7))
    assert len(drawn) > 45


def test_sections_lie_in_the_file():
    data = cubin_of("saxpy", 80)

    found = sections_of(data)

    assert len(found) > 5
    assert all(offset + size <= len(data) for _, offset, size in found)
    assert sections_of(b"") == sections_of(data[:64]) == []


def test_what_is_left_of_a_file_can_be_changed_again():
    chance, data = drawing(1), cubin_of("saxpy", 80)
    for _ in range(300):
        data = mutated(data, b"", chance)

    assert isinstance(data, bytes)
