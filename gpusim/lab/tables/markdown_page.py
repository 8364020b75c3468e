"""Pages of tables: formats a row in Markdown, and writes a page to a file or to standard output."""

import sys
from pathlib import Path


def table_row(*cells: str) -> str:
    """Return a row of a table in Markdown."""
    return "| " + " | ".join(cells) + " |"


def put_page(text: str, out: Path | None) -> None:
    """Write a page to a file, or print it if ``out`` is None."""
    if out is None:
        sys.stdout.write(text)
    else:
        out.write_text(text, encoding="utf-8")
