"""What the pages of docs/ show and claim: their examples run, and the tests they name are there."""

import contextlib
import io
import re
from pathlib import Path

import pytest
import rooms

DOCS = Path(__file__).parents[2] / "docs"
ARCHITECTURE = (DOCS / "architecture.md").read_text(encoding="utf-8")
PYTHON = re.compile(r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```)?", flags=re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("page", sorted(page.name for page in DOCS.glob("*.md")))
def test_examples_print_what_the_page_shows(page):
    """Blocks of Python run one after another, as in one session; a block of text after one is its output."""
    session = {}
    for code, shown in PYTHON.findall((DOCS / page).read_text(encoding="utf-8")):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, page, "exec"), session)  # noqa: S102 - the page's own example

        assert printed.getvalue() == shown


def test_the_architecture_has_four_examples():
    assert len([shown for _, shown in PYTHON.findall(ARCHITECTURE) if shown]) == 4


def test_the_architecture_lists_every_room_on_its_storey():
    section = ARCHITECTURE.partition("## The rooms")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (\d+) \| (.+?) \|", section, flags=re.MULTILINE)
    listed = {room: int(storey) for storey, cell in rows for room in re.findall(r"`([\w/]+)`", cell)}

    assert listed == {room: storey for room, storey in rooms.HEIGHT_OF.items() if room != "__init__"}


def test_every_rule_names_a_test_that_is_there():
    named = re.findall(r"`(test_\w+\.py)::(test_\w+)`", ARCHITECTURE)

    assert len(named) > 10
    for file, function in named:
        assert f"def {function}(" in (Path(__file__).parent / file).read_text(encoding="utf-8")


@pytest.mark.parametrize("page", sorted(page.name for page in DOCS.glob("*.md")))
def test_the_links_of_a_page_lead_somewhere(page):
    links = re.findall(r"\]\(([^)#:]+)\)", (DOCS / page).read_text(encoding="utf-8"))

    assert {link for link in links if not (DOCS / link).exists()} == set()
