"""
Checks the links inside a built site: every page, picture and section that a page links to is there.

``python docs/links.py FOLDER`` prints the links that lead nowhere, and exits with 1 if there are any.
"""

import sys
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """
    Links and anchors of one page.

    Attributes:
        links: Targets of ``href`` and ``src``.
        anchors: Values of ``id`` and ``name``.
    """

    def __init__(self) -> None:
        super().__init__()
        self.links: set[str] = set()
        self.anchors: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what a tag links to, and what it can be linked by."""
        for key, value in attrs:
            if value and key in {"href", "src"} and tag != "form":
                self.links.add(value)
            elif value and key in {"id", "name"}:
                self.anchors.add(value)


@cache
def page(path: Path) -> Page:
    """Read a page."""
    found = Page()
    found.feed(path.read_text(encoding="utf-8"))
    return found


def broken(site: Path) -> list[tuple[str, str]]:
    """Return each page with a link inside the site that leads nowhere."""
    return [
        (path.relative_to(site).as_posix(), link)
        for path in sorted(site.rglob("*.html"))
        for link in sorted(page(path).links)
        if not _leads_somewhere(path, link)
    ]


def _leads_somewhere(path: Path, link: str) -> bool:
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        return True
    target = (path.parent / unquote(parts.path)).resolve() if parts.path else path.resolve()
    if target.is_dir():
        target /= "index.html"
    if not target.is_file():
        return False
    return not parts.fragment or target.suffix != ".html" or unquote(parts.fragment) in page(target).anchors


if __name__ == "__main__":
    found = broken(Path(sys.argv[1]).resolve())
    for name, link in found:
        sys.stderr.write(f"{name}: {link} leads nowhere\n")
    sys.exit(bool(found))
