"""What changed: a fragment for each change, a section for each release, and one version wherever it is named."""

import re
import tomllib
from pathlib import Path

import gpusim

ROOT = Path(__file__).parents[2]
CONFIGURED = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["towncrier"]
KINDS = {kind["directory"]: kind["name"] for kind in CONFIGURED["type"]}
FOLDER = ROOT / CONFIGURED["directory"]
CHANGELOG = (ROOT / CONFIGURED["filename"]).read_text(encoding="utf-8")


def test_every_fragment_is_of_a_kind_and_full_sentences():
    fragments = [path for path in FOLDER.iterdir() if path.is_file() and path.name != "README.md"]

    for path in fragments:
        named = re.fullmatch(r"\+[a-z0-9-]+\.(\w+)\.md", path.name)
        assert named, path.name
        assert named[1] in KINDS, path.name
        text = path.read_text(encoding="utf-8")
        assert re.fullmatch(r"(?!- )\S.*[.:]\n", text, flags=re.DOTALL), path.name


def test_the_page_on_fragments_names_every_kind():
    assert set(re.findall(r"^- `(\w+)`:", (FOLDER / "README.md").read_text(encoding="utf-8"), re.MULTILINE)) == set(
        KINDS
    )


def test_sections_of_a_release_have_the_names_of_kinds():
    assert CONFIGURED["start_string"] in CHANGELOG
    assert set(re.findall(r"^### (.*)$", CHANGELOG, re.MULTILINE)) <= set(KINDS.values())


def test_the_latest_release_is_the_version_of_the_package_and_of_its_citation():
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    latest, day = re.findall(r"^## \[(.*)\] - (\d{4}-\d\d-\d\d)$", CHANGELOG, re.MULTILINE)[0]

    assert latest == gpusim.__version__
    assert f"\nversion: {latest}\ndate-released: {day}\n" in citation
