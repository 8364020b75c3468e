"""The documentation site: all that code knows is in its reference, and its notebooks are as they were executed."""

import json
import re
from pathlib import Path

import first_steps
import first_value
import from_code
import links
import nbformat
import notebooks
import pytest

import gpusim
from gpusim.cli import COMMANDS
from gpusim.families.registry import scenario_keys
from gpusim.machine.keys import figure_keys

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

    assert text.count("\n## ") + 1 == len(COMMANDS)
    assert from_code.printed("explain", "--help") in text
    assert "--set KEY=VALUE" in text


@pytest.mark.parametrize("page", [page.relative_to(DOCS).as_posix() for page in from_code.pages()])
def test_what_code_knows_is_committed_as_it_is_today(page):
    """``python docs/from_code.py --write`` makes a page current: it reads alike on a forge and on the site."""
    assert PAGES[page] == from_code.filled(PAGES[page])


def test_a_part_that_is_there_is_replaced_whole():
    page = "# A\n\n<!-- from code: validation -->\n\nold\n\n<!-- end of validation -->\n\nend\n"
    text = from_code.filled(page)

    assert "old" not in text
    assert from_code.filled(text) == text == from_code.filled("# A\n\n<!-- from code: validation -->\n\nend\n")


def test_the_page_of_keys_has_every_key_of_every_kind_and_of_machine_files():
    scenarios, machine = PAGES["keys.md"].split("\n## Machine files\n")
    sections = dict(re.findall(r"^### (.+)\n\n((?:\|.*\n)+)", scenarios, flags=re.MULTILINE))

    for kind, keys in scenario_keys().items():
        listed = [
            key
            for names, rows in sections.items()
            if kind in names.split(", ")
            for key in re.findall(r"^\| `([\w.]+)` \|", rows, flags=re.MULTILINE)
        ]
        assert sorted(listed) == sorted(key.key for key in keys)
    assert re.findall(r"^\| `([\w.]+)` \|", machine, flags=re.MULTILINE) == list(figure_keys())


def test_the_reference_has_every_public_name_with_what_it_says():
    text = PAGES["reference/python.md"]

    assert set(re.findall(r"^### gpusim\.(\w+)$", text, flags=re.MULTILINE)) == set(vars(gpusim)["_HOMES"])
    assert "gpusim.load(source, overrides=())" in text
    assert "- `overrides`: Settings `key=value`" in text


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


def test_a_planted_fault_is_found_by_the_line_that_has_its_mark():
    """Its ninth line loads with a 32-way bank conflict, and races with its sixth; a table has wide columns."""
    conflict, race = first_value.CUDA_FAULTS
    row = "65,536   2,048  32.00   2,048   0x01b0 LDS R5, [R5.X4]  (turn.cu:9)"
    said = "race at shared address 0x4: warp 0, thread 1 writes it in text 0x0130 STS\n[R9.X4], R2 (turn.cu:6), "
    said += "warp 1, thread 32 reads it in text 0x01b0 LDS R5, [R5.X4]\n(turn.cu:9), and no barrier lies between"

    assert conflict.finding(f"...\n{row}\n") == " ".join(row.split())
    assert race.finding(f"{row}\nturn: CTA (0, 0, 0): {said}\n") == " ".join(said.split())
    assert (conflict.finding(row.replace(":9", ":8")), race.finding(row)) == ("", "")


def test_the_page_of_first_findings_has_times_and_findings():
    steps = [first_value.Step("pip", 31.24), first_value.Step("gpusim run", 5.0, ("a conflict", "a race"))]
    text = first_value.page(steps, "2026-01-01")

    assert "| `pip` | 31.2 |\n| `gpusim run` | 5.0 |\n" in text
    assert text.endswith("They print:\n\n> a conflict\n>\n> a race\n")


def test_a_fault_that_is_not_named_or_not_in_time_is_late():
    assert not first_value.Step("pip", 100.0).is_late
    assert first_value.Step("gpusim run", 61.0, ("found",)).is_late
    assert first_value.Step("gpusim run", 1.0, ("found", "")).is_late
