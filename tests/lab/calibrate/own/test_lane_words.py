"""The words of an atomic's lanes: every pattern once, within the memory of a warp's atomic."""

import pytest

from gpusim.lab.calibrate.own.lane_words import REPEAT_KERNELS, REPEAT_PART, lane_words, repeat_launches

PATTERNS = lane_words(quick=False)


def test_every_pattern_has_a_word_for_each_lane_within_a_part_of_the_memory():
    for words in PATTERNS.values():
        assert len(words) == 32
        assert min(words) >= 0
        assert 4 * max(words) < REPEAT_PART


def test_no_two_patterns_have_the_same_words():
    assert len(set(PATTERNS.values())) == len(PATTERNS)


@pytest.mark.parametrize(
    ("name", "begin"),
    [
        ("block 2 spacing 4", (0, 0, 1, 1)),
        ("interleaved 16 spacing 4", (0, 1, 0, 1)),
        ("aabb 0 and 8", (0, 0, 8, 8)),
        ("block 1 spacing 16", (0, 4, 8, 12)),
        ("odd lanes repeat 2", (0, 32, 1, 32, 2, 33)),
        ("lanes 0 and 1 share", (0, 0, 2, 3)),
        ("first 2 pairs share", (0, 0, 2, 2, 4, 5)),
    ],
)
def test_a_pattern_repeats_words_as_its_name_says(name, begin):
    assert PATTERNS[name][: len(begin)] == begin


def test_random_words_are_the_same_in_every_process():
    assert lane_words(quick=False) == PATTERNS


def test_each_kernel_is_profiled_with_every_pattern_whose_words_stand_in_its_row():
    launches = repeat_launches(132, quick=False)

    assert [launch.kernel for launch in launches] == [name for name in REPEAT_KERNELS for _ in PATTERNS]
    for launch in launches:
        assert tuple(map(int, str(launch.columns["words"]).split())) == launch.words
        assert PATTERNS[str(launch.columns["pattern"])] == launch.words
