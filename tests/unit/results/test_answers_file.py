"""A file of answers: what was added is found again, what was cut short is dropped, what is none of ours is refused."""

import pytest

from gpusim.errors import BadInput, CannotRun
from gpusim.results.answers_file import AnswersFile

SCHEMA = "gpusim.check/1"


@pytest.fixture
def path(tmp_path):
    """A file with two answers."""
    path = tmp_path / "answers.jsonl"
    answers = AnswersFile(path, SCHEMA)
    for number in range(2):
        answers.add({"file": number}, {"holds": True, "rows": [number]})
    return path


def test_what_was_added_is_found_again(path):
    answers = AnswersFile(path, SCHEMA)

    assert [answers.find({"file": number}) for number in range(3)] == [
        {"holds": True, "rows": [0]},
        {"holds": True, "rows": [1]},
        None,
    ]


def test_an_answer_cut_short_at_any_byte_is_dropped_and_written_over(path):
    whole = path.read_bytes()
    first = whole.index(b"\n") + 1

    for end in range(first, len(whole)):
        path.write_bytes(whole[:end])
        answers = AnswersFile(path, SCHEMA)
        assert answers.find({"file": 0}) is not None
        assert answers.find({"file": 1}) is None
        answers.add({"file": 1}, {"holds": True, "rows": [1]})
        assert path.read_bytes() == whole


@pytest.mark.parametrize(
    "text",
    ["thesis", "thesis\n", "[]\n", '{"schema": "gpusim.check/0", "asked": 1}\n', '{"schema": "gpusim.check/1"}\n'],
)
def test_another_file_is_refused_and_kept(tmp_path, text):
    path = tmp_path / "thesis.tex"
    path.write_text(text)

    with pytest.raises(BadInput, match="holds something else than answers"):
        AnswersFile(path, SCHEMA)
    assert path.read_text() == text


def test_a_folder_is_no_file_of_answers(tmp_path):
    with pytest.raises(CannotRun, match="cannot be read"):
        AnswersFile(tmp_path, SCHEMA)
