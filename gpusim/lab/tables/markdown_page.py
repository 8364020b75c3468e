"""Pages of tables: a row in Markdown, and where a page goes: into a file, or to standard output."""

import sys
from pathlib import Path


def table_row(*cells: str) -> str:
    """Return a row of a table in Markdown."""
    return "| " + " | ".join(cells) + " |"


def put_page(text: str, out: Path | None) -> None:
    """Write a page to a file, or print it where none is named."""
    if out is None:
        sys.stdout.write(text)
    else:
        out.write_text(text, encoding="utf-8")
