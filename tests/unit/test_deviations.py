"""The pages of the machine: one a unit, from one template, with each known difference from silicon under a number."""

import re
from pathlib import Path

import units

import gpusim

PACKAGE = Path(gpusim.__file__).parent
FOLDER = PACKAGE.parent / "docs" / "machine"
MEASURED = PACKAGE.parent / "reports" / "measured"
NO_UNIT = {"index", "changing", "failed_hypotheses"}
PAGES = {page.stem: page.read_text(encoding="utf-8") for page in FOLDER.glob("*.md")}
SM_90 = FOLDER.parent / "hopper.md"
UNITS = {name: text for name, text in PAGES.items() if name not in NO_UNIT}

TEMPLATE = ["Silicon does", "gpusim does", "Evidence", "How far off", "Open", "Deviations"]
MOST_LINES = 115
"""Two screens of 120 characters, or so."""


def numbered():
    """The page of each number that has a section."""
    return {
        number: name for name, text in UNITS.items() for number in re.findall(r"^### (D\d+)$", text, flags=re.MULTILINE)
    }


def cited():
    """Numbers that sources and machine files name, as in "(D7)"."""
    sources = [*PACKAGE.rglob("*.py"), *PACKAGE.rglob("*.toml")]
    return {number for source in sources for number in re.findall(r"\((D\d+)\)", source.read_text(encoding="utf-8"))}


def test_each_deviation_has_one_section_of_one_page_and_numbers_leave_no_gap():
    sections = [number for text in UNITS.values() for number in re.findall(r"^### (.*)$", text, flags=re.MULTILINE)]

    assert sorted(sections, key=lambda number: int(number[1:])) == [f"D{n}" for n in range(1, len(sections) + 1)]


def test_the_index_leads_from_each_number_to_its_page():
    listed = re.findall(r"^\| \[(D\d+)\]\((\w+)\.md#(d\d+)\) \| (\w+)", PAGES["index"], flags=re.MULTILINE)

    assert [number for number, *_ in listed] == sorted(numbered(), key=lambda number: int(number[1:]))
    assert all(page == shown == numbered()[number] for number, page, _, shown in listed)
    assert all(anchor == number.lower() for number, _, anchor, _ in listed)


def test_links_to_numbers_lead_to_their_page():
    pages = [*FOLDER.parent.rglob("*.md"), PACKAGE.parent / "README.md"]
    links = {link for page in pages for link in re.findall(r"(\w+)\.md#(d\d+)\)", page.read_text(encoding="utf-8"))}

    assert {link for link in links if numbered().get(link[1].upper()) != link[0]} == set()


def test_every_cited_deviation_is_explained_and_every_explained_one_is_cited():
    assert cited() == set(numbered())


def test_the_page_of_a_unit_has_the_sections_of_all_others_and_fits_two_screens():
    for text in UNITS.values():
        assert re.findall(r"^## (.*)$", text, flags=re.MULTILINE) == TEMPLATE
        assert text.count("\n") <= MOST_LINES


def test_the_page_of_changes_has_a_row_for_every_unit():
    """All but streams, which are no unit of the core."""
    rows = re.findall(r"^\| (\[.*?) \|", PAGES["changing"], flags=re.MULTILINE)

    assert {name for row in rows for name in re.findall(r"\[(\w+)\]", row)} == set(UNITS) - {"streams"}


def test_every_open_question_says_what_would_decide_it():
    for name, text in UNITS.items():
        assert "*Decides" in text.partition("\n## Open\n")[2].partition("\n## ")[0], name


def test_every_microbenchmark_that_was_measured_is_evidence_of_some_unit():
    """Those of TMA, mbarriers and wgmma stand on the page of sm_90: no unit of the core simulates these yet."""
    measured = {path.name for path in (MEASURED / "h200" / "microbench").glob("*.csv")}
    pages = (*UNITS.values(), SM_90.read_text(encoding="utf-8"))
    shown = {word for text in pages for word in re.findall(r"\b(\w+\.csv)`", text)}

    assert measured - shown == set()


def test_the_drawing_has_a_box_for_every_unit():
    assert set(units.UNITS) == set(UNITS)

    drawn = units.PICTURE.read_text(encoding="utf-8")
    assert all(f">{name}</text>" in drawn for name in units.UNITS)
    assert all(f">{way.name}</text>" in drawn for way in units.WAYS)
