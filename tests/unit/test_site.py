"""The documentation site: all that code knows is in its reference, and its notebooks are as they were executed."""

import json
import re
from pathlib import Path

import first_steps
import from_code
import links
import nbformat
import notebooks
import pytest

import gpusim
from gpusim.cli import app

DOCS = Path(__file__).parents[2] / "docs"
PAGES = {page.relative_to(DOCS).as_posix(): page.read_text(encoding="utf-8") for page in DOCS.rglob("*.md")}
NOTEBOOKS = sorted(notebooks.TUTORIALS.glob("*.ipynb"))
LARGEST_BYTES = 250_000


def test_every_part_that_a_page_asks_for_is_there():
    asked = {part for text in PAGES.values() for part in from_code.ASKED.findall(text)}

    assert asked == set(from_code.PARTS)


def test_every_page_is_in_a_table_of_contents():
    listed = set()
    for name, text in PAGES.items():
        for toctree in re.findall(r"^```\{toctree\}\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE):
            entries = [line for line in toctree.splitlines() if line and not line.startswith(":")]
            listed |= {(Path(name).parent / entry).as_posix() for entry in entries}

    pages = {Path(name).with_suffix("").as_posix() for name in PAGES}
    tutorials = {path.relative_to(DOCS).with_suffix("").as_posix() for path in NOTEBOOKS}
    assert listed == (pages | tutorials) - {"index"}


def test_the_reference_has_every_command_with_its_help(monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    text = from_code.commands()

    assert text.count("\n## ") + 1 == len(app.registered_commands)
    assert from_code.printed("explain", "--help") in text
    assert "--set KEY=VALUE" in text


def test_the_reference_has_every_key_of_the_schema():
    text = from_code.scenario_keys()
    schema = json.loads(from_code.printed("schema"))

    for name, part in schema["$defs"].items():
        section = text.partition(f"## {name}\n")[2].partition("\n## ")[0]
        assert [re.match(r"\| `(\w+)`", line)[1] for line in section.splitlines() if line.startswith("| `")] == list(
            part["properties"]
        )


def test_the_reference_has_every_public_name():
    text = from_code.public_names()

    assert re.findall(r"auto(?:function|class):: gpusim\.(\w+)", text)
    assert set(re.findall(r"auto(?:function|class):: gpusim\.(\w+)", text)) == set(vars(gpusim)["_HOMES"])


def test_the_models_errors_are_those_of_the_committed_data():
    rows = from_code.validation().splitlines()
    data = json.loads((DOCS.parent / "reports" / "validation" / "held_out.json").read_text(encoding="utf-8"))
    mean = data["streams"]["compiled"]["overall"]["elapsed"]["mean"]

    (row,) = [row for row in rows if row.startswith("| held-out | elapsed | compiled |")]
    assert f"| {100 * mean:.1f} % |" in row


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_committed_as_it_was_executed(path):
    text = path.read_text(encoding="utf-8")
    notebook = nbformat.reads(text, as_version=4)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]

    assert text == notebooks.written(notebook)
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))
    assert not any(output.output_type == "error" for cell in code for output in cell.outputs)
    assert sum(bool(cell.outputs) for cell in code) >= 4
    assert len(text) < LARGEST_BYTES


def test_a_link_that_leads_nowhere_is_seen(tmp_path):
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "a.html").write_text('<a href="../b.html#there">.</a> <a href="../b.html#gone">.</a>')
    (tmp_path / "b.html").write_text(
        '<p id="there"><img src="no.png"><a href="https://x.y/z">.</a> <a href="inner/a.html">'
    )

    assert links.broken(tmp_path) == [("b.html", "no.png"), ("inner/a.html", "../b.html#gone")]


def test_the_page_of_first_steps_adds_up_their_times():
    steps = [first_steps.Step("make demo", 61.2, ""), first_steps.Step("gpusim explain", 8.9, "It waits.\n\nMore.\n")]
    text = first_steps.page(steps)

    assert "| `make demo` | 61 |\n| `gpusim explain` | 9 |\n| in all | 70 |\n" in text
    assert text.endswith("The last step says:\n\n> It waits.\n")
