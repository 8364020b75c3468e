"""What the pages show and claim: their examples run, and the tests, files, modules and names they name are there."""

import ast
import re
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest
import rooms
import shown

from gpusim.families.registry import FAMILIES

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
ARCHITECTURE = (DOCS / "architecture.md").read_text(encoding="utf-8")

BESIDE = ("README.md", "CHANGELOG.md", "changelog.d/README.md", "tests/README.md")

PAGES = {
    page.relative_to(ROOT).as_posix(): page for page in (*sorted(DOCS.rglob("*.md")), *(ROOT / name for name in BESIDE))
}

# A word is a path if it has a slash or one of these endings; a module of gpusim by its dotted name is told apart.
ENDINGS = (".py", ".cu", ".cuh", ".toml", ".md", ".json", ".csv", ".png", ".txt", ".log", ".gz")
PATH = re.compile(r"[\w.*<>/-]+")
MODULE = re.compile(r"gpusim(\.\w+)+")

# How comments and docstrings of a source name another.
IN_A_SOURCE = re.compile(r"\b(?:gpusim|kernels_cuda|scenarios|tests)/[\w/.-]+\.(?:py|cuh?|toml)\b")

# What commands and examples write, relative to where they write it.
WRITTEN = {
    *("result.json", "overlay.png", "half.toml", "my_gemm.toml", "runs/", ".csv"),
    "build/docs",
    *("points.parquet", "points.csv", "journal.jsonl", "axes.toml"),
    *("gpusim-perf.toml", "perf.md"),
}


MEASURED = tuple(ROOT / "reports" / "measured" / folder for folder in ("", "h200", "h200/microbench"))
"""Where a file lies whose name is evidence on a page of the machine."""

MOST_CELL = 300
"""Characters of a cell of a table: two lines."""

SIMULATING = {
    "how-to.md",
    "own-kernels-time.md",
    "own-kernels-perf.md",
    "get-started.md",
    "index.md",
    "sweeping.md",
    "explaining.md",
    "python.md",
}
"""Pages whose examples take five seconds or more."""


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, marks=pytest.mark.slow) if page in SIMULATING else page
        for page in sorted(page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md"))
    ],
)
def test_examples_print_what_the_page_shows(page, tmp_path, monkeypatch):
    """Blocks run one after another, as in one session; a block of text after one is its output, or a part of it."""
    monkeypatch.chdir(tmp_path)
    shown.lay_out(DOCS / page)
    for each in shown.executed((DOCS / page).read_text(encoding="utf-8")):
        shown.compare(each)


@pytest.mark.parametrize(
    ("output", "why"),
    [
        ("one\n...\nthree 3\n", None),
        ("...\ntwo 2\n...\n", None),
        ("one\ntwo 2\nthree 3\n", None),
        ("one\ntwo 3\nthree 3\n", "'two 3' is shown, 'two 2' is printed"),
        ("one\nthree 3\n", "'three 3' is shown, 'two 2' is printed"),
        ("one\ntwo 2\n", "'three 3' is printed, and not shown"),
        ("...\nfour\n", "'four' is shown, and not printed"),
        ("one\n...\none\n...\n", "'one' is shown, and not printed"),
    ],
)
def test_output_may_be_shortened_and_must_hold(output, why):
    (block,) = shown.blocks(f"```text\n{output}```\n")
    found = shown.Shown(block, "one\ntwo 2\nthree 3\n")

    if why is None:
        shown.compare(found)
    else:
        with pytest.raises(shown.Differs, match=f"^{re.escape(why)}$"):
            shown.compare(found)


def test_figures_of_a_shortened_output_are_refreshed():
    (block,) = shown.blocks("```text\n...\nelapsed    26,396 cycles\n...\n```\n")
    printed = "active 3 cycles\nelapsed  1,023,766 cycles\nrest\n"

    assert shown.refreshed(shown.Shown(block, printed)) == "...\nelapsed  1,023,766 cycles\n...\n"


def test_a_command_that_fails_on_a_page_is_seen():
    with pytest.raises(shown.Differs, match=r"^'gpusim run nothing' exits with 2: gpusim: .*nothing"):
        list(shown.executed("```sh\ngpusim run nothing\n```\n"))


def test_a_command_on_a_page_exits_as_its_comment_says():
    list(shown.executed("```sh\ngpusim run nothing  # exits with 2\n```\n"))

    with pytest.raises(shown.Differs, match=r"exits with 0: "):
        list(shown.executed("```sh\ngpusim --version  # exits with 3\n```\n"))


def test_the_architecture_has_four_examples():
    assert [block.language for block in shown.blocks(ARCHITECTURE)].count("text") == 4


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


def test_no_cell_of_a_table_is_longer_than_two_lines():
    """Pages of reports are shown on the site, too."""
    rows = [
        (page.name, line)
        for page in (*PAGES.values(), *(ROOT / "reports").rglob("*.md"))
        for line in page.read_text(encoding="utf-8").splitlines()
        if line.startswith("|")
    ]

    assert [(name, cell) for name, row in rows for cell in row.split("|") if len(cell.strip()) > MOST_CELL] == []


@pytest.mark.parametrize("page", sorted(page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md")))
def test_the_links_of_a_page_lead_somewhere(page):
    text = re.sub(
        r"^```.*?^```$|`[^`]+`", "", (DOCS / page).read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE
    )
    links = re.findall(r"\]\(([^)#:]+)\)", text)

    assert {link for link in links if not (DOCS / page).parent.joinpath(link).exists()} == set()


def told(text):
    """The text of a page, less the columns of tables that tell of the tree as it was ("before")."""
    was_before = False
    for line in text.splitlines():
        cells = line.strip("| ").split("|") if line.startswith("|") else []
        was_before = bool(cells) and (was_before or cells[-1].strip() == "before")
        yield line.rpartition(cells[-1])[0] if was_before else line


def spans(text):
    """What stands in backticks, outside of blocks of code; a span may go over the end of a line."""
    prose = re.sub(r"^```.*?^```$", "", "\n".join(told(text)), flags=re.DOTALL | re.MULTILINE)
    return re.findall(r"`([^`]+)`", prose)


def named_files(text):
    """Paths, and dotted names of modules, that a page has in backticks, also among the words of a command."""
    words = (word.partition("::")[0].strip(",;:()") for span in spans(text) for word in span.split())
    return {
        word
        for word in words
        if MODULE.fullmatch(word) or (PATH.fullmatch(word) and ("/" in word or word.endswith(ENDINGS)))
    }


def is_stage(name):
    """Whether several families have a file of this name."""
    return sum((ROOT / family.folder.replace(".", "/") / name).is_file() for family in FAMILIES) > 1


def is_there(name, page):
    """Whether a page's path lies at the top of the tree, in gpusim/, beside the page, among unit tests or measured."""
    if MODULE.fullmatch(name):
        return is_module(name)
    if is_stage(name):
        return True
    pattern = re.sub(r"<\w+>", "*", name)
    folders = (ROOT, ROOT / "gpusim", page.parent, Path(__file__).parent, *MEASURED)
    return any(any(folder.glob(each)) for folder in folders for each in (pattern, f"{pattern.rstrip('/')}.py"))


def is_module(name):
    """Whether a dotted name is a module of gpusim, or what a module defines."""
    module, _, attribute = name.rpartition(".")
    return name in rooms.modules() or (module in rooms.modules() and hasattr(import_module(module), attribute))


@cache
def source_words():
    """Names and words of strings in the sources of gpusim, without their docstrings and comments."""
    words = set()
    for name, source in rooms.modules().items():
        tree = rooms.tree(source)
        told_of = {node.value for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        words |= set(name.split("."))
        for node in ast.walk(tree):
            for field in ("id", "attr", "arg", "name", "asname"):
                words.add(getattr(node, field, None))
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in told_of:
                words |= set(re.findall(r"\w+", node.value))
    return words


@pytest.mark.parametrize("page", PAGES)
def test_every_path_and_module_that_a_page_names_is_there(page):
    named = named_files(PAGES[page].read_text(encoding="utf-8"))

    assert {name for name in named - WRITTEN if not is_there(name, PAGES[page])} == set()


def test_every_file_that_a_source_names_is_there():
    sources = (*rooms.modules().values(), *sorted((ROOT / "kernels_cuda").rglob("*.cu*")))
    named = {(source.name, name) for source in sources for name in IN_A_SOURCE.findall(source.read_text("utf-8"))}

    assert len(named) > 30
    assert {(source, name) for source, name in named if not (ROOT / name).is_file()} == set()


def unknown_words(text):
    """Words in backticks that are no names of the sources; the words of a path are tested as a path."""
    named = {word for span in spans(text) for word in re.findall(r"[A-Za-z_]\w*", span)}
    paths = {word for name in named_files(text) for word in re.findall(r"\w+", name)}
    return named - paths - source_words()


def test_every_name_in_the_design_is_one_of_the_sources():
    assert unknown_words(PAGES["docs/design.md"].read_text(encoding="utf-8")) == set()


@pytest.mark.parametrize(
    "name",
    [
        *("sim/kernel.py", "hardware/", "hardware/record", "program.py", "mainloop.cuh", "kernels_cuda/none_*"),
        *("gpusim.hardware.run", "gpusim.sim.code.Nothing", "python -m gpusim.hardware.launch FILE"),
    ],
)
def test_a_name_of_what_is_gone_is_seen(name):
    page = PAGES["docs/design.md"]
    (named,) = named_files(f"It is `{name}`.")

    assert not is_there(named, page)


def test_what_is_there_is_found_and_what_was_before_is_let_be():
    page = PAGES["docs/architecture.md"]
    text = "`families/registry` `gpusim/lower/streams/h200/dgrad_*` `gpu/` `schedule.py` `gpusim.sim.code.Decoded`"
    table = "| | room | before |\n|---|---|---|\n| 1 | `sim/launch` | `sim/kernel` |\n\n`sim/attention`"

    assert all(is_there(name, page) for name in named_files(text))
    assert len(named_files(text)) == 5
    assert named_files(table) == {"sim/launch", "sim/attention"}
    assert unknown_words("`load_any_scenario(path) -> Scenario`") == {"load_any_scenario"}
