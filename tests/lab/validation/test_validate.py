"""A validation of one half: it opens no record of the other, and hides what would show a held-out row."""

import json
from dataclasses import asdict

import pytest

from gpusim.errors import BadInput, CannotRun
from gpusim.lab.validation.markdown import markdown
from gpusim.lab.validation.validate import records_of, shown_sizes, validate


def answer_of(half, *, show_rows, **options):
    measured = records_of(half, "h200", ())
    return validate(measured, half, "h200", ["estimated"], exact=False, jobs=1, show_rows=show_rows, **options)


def test_development_runs_without_any_held_out_data(folder):
    (folder / "h200" / "secret.json").unlink()

    answer = answer_of("development", show_rows=True)

    (row,) = answer.rows
    assert (answer.records, row.name, row.figures["elapsed"].measured) == (1, "open", 50000.0)
    assert row.figures["L2 sectors read"].measured == 1e5
    assert row.stalls["wait"].measured == 1.0


def test_a_development_record_is_read_and_a_held_out_one_is_not_even_opened(folder):
    (folder / "h200" / "secret.json").write_text("no JSON at all")

    assert [one.name for one in records_of("development", "h200", ())] == ["open"]


def test_a_record_in_no_half_is_refused(folder):
    (folder / "h200" / "new.json").write_text("{}")

    with pytest.raises(BadInput, match=r"^new: stands in no half of "):
        records_of("development", "h200", ())


def test_without_records_like_the_pattern_there_is_nothing_to_validate(folder):
    with pytest.raises(CannotRun, match=r"no development record with counters is like conv_\*$"):
        records_of("development", "h200", ["conv_*"])
    assert [one.name for one in records_of("development", "h200", ["op*"])] == ["open"]
    assert folder.is_dir()


@pytest.mark.usefixtures("folder")
def test_aggregates_of_held_out_records_name_none_and_have_no_small_groups():
    answer = answer_of("held-out", show_rows=False)

    text = markdown(answer, "abc", "0123456789abcdef") + json.dumps(asdict(answer))
    assert "secret" not in text
    assert "77,777" not in text
    assert "77777" not in text
    assert answer.rows == ()
    assert all(groups == {} for groups in answer.streams["estimated"].groups.values())
    assert answer.streams["estimated"].overall["elapsed"].kernels == 1


@pytest.mark.usefixtures("folder")
def test_the_flag_shows_rows_names_and_groups():
    answer = answer_of("held-out", show_rows=True)

    text = markdown(answer, None, "0123456789abcdef")
    assert "| secret | estimated |" in text
    assert "77,777" in text
    assert answer.streams["estimated"].groups["kind"].keys() == {"conv2d_fprop"}


@pytest.mark.usefixtures("folder")
def test_the_page_has_every_table_and_says_what_it_is_of():
    text = markdown(answer_of("development", show_rows=True), "abc", "0123456789abcdef")

    assert text.startswith("# Validation, development half, h200\n\n1 records, simulated sampled at commit abc,")
    heads = [line for line in text.splitlines() if line.startswith("## ")]
    assert heads == [
        *("## Errors", "## By kind", "## By size", "## By kind and size", "## By bound", "## By stages"),
        *("## Stalls", "## Steady k tile", "## Every record"),
    ]


@pytest.mark.usefixtures("folder")
def test_streams_that_kernels_do_not_have_are_counted():
    said = []
    measured = records_of("development", "h200", ())
    with pytest.raises(BadInput, match=r"^no development record can be simulated with magic streams$"):
        validate(measured, "development", "h200", ["magic"], exact=False, jobs=1, show_rows=True, say=said.append)
    assert said == ["1 of 1 kernels have no magic stream"]


@pytest.mark.parametrize(
    ("sizes", "shown"),
    [
        ({"below 1 wave": 9, "1 to 3 waves": 6}, {"below 1 wave", "1 to 3 waves"}),
        ({"below 1 wave": 9, "1 to 3 waves": 6, "3 to 10 waves": 1}, {"below 1 wave"}),
        ({"below 1 wave": 9, "3 to 10 waves": 4}, set()),
        ({"below 1 wave": 9, "1 to 3 waves": 4, "3 to 10 waves": 1}, {"below 1 wave"}),
    ],
    ids=["all", "one is left", "four are left", "five are left"],
)
def test_of_what_the_sizes_of_a_kind_leave_no_few_kernels_can_be_told(sizes, shown):
    """One kernel's error would follow from those of its kind and of the other sizes: the smallest size goes, too."""
    told = shown_sizes({"gemm": sum(sizes.values())}, {f"gemm: {size}": count for size, count in sizes.items()})

    assert told == {f"gemm: {size}" for size in shown}
