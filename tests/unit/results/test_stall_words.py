"""Every stall reason that a simulation knows has a definition, and the glossary has the same."""

from pathlib import Path

from gpusim.results.stall_words import STALL_WORDS
from gpusim.sim.stall_reasons import REASONS

GLOSSARY = Path(__file__).parents[3] / "docs" / "glossary.md"


def test_every_reason_is_defined():
    assert set(STALL_WORDS) == set(REASONS)
    assert all(words.meaning for words in STALL_WORDS.values())


def test_what_is_no_loss_has_no_remedy_and_waits_for_nothing():
    """A warp that issues, or that could, waits for nothing that a kernel could change."""
    no_wait = {reason for reason, words in STALL_WORDS.items() if not words.waits_for}

    assert no_wait == {reason for reason, words in STALL_WORDS.items() if not words.helps}
    assert no_wait == {"selected", "not_selected"}


def test_the_glossary_has_the_definitions_that_the_command_prints():
    rows = [line.strip("| ").split(" | ") for line in GLOSSARY.read_text(encoding="utf-8").splitlines()]
    told = {row[0]: row[1] for row in rows if row[0] in STALL_WORDS}
    helps = {row[0]: row[2] for row in rows if row[0] in STALL_WORDS and len(row) > 2}

    assert told == {reason: words.meaning for reason, words in STALL_WORDS.items()}
    assert helps == {reason: words.helps for reason, words in STALL_WORDS.items() if words.helps}
