"""
Executes the examples of a page, and compares what they print with what the page shows.

Blocks run one after another, in one folder. ``python`` is executed; ``toml NAME`` is written to that file; of ``sh``,
each line that begins with ``gpusim`` is run. A block of ``text`` after an example is its output. A line ``...`` in it
stands for any lines. The files in ``docs/examples/PAGE`` lie in that folder. ``python docs/shown.py [PAGE...]`` names
what is shown and not printed; ``--write`` puts today's figures into the pages.
"""

import contextlib
import io
import os
import re
import shlex
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any, Final
from unittest import mock

from gpusim.cli import main

ROOT: Final = Path(__file__).parents[1]
EXAMPLES: Final = ROOT / "docs" / "examples"
"""Folder of the files that the examples of a page need, in a folder of the page's name."""

PAGES: Final = (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
"""Every page whose examples are executed."""

FENCE: Final = re.compile(r"^```(\w+)(?: ([\w./-]+))?\n(.*?)^```$", flags=re.DOTALL | re.MULTILINE)
EXITS: Final = re.compile(r"# exits with (\d+)$")
ANY: Final = "..."
COLUMNS: Final = "100"


class Differs(Exception):
    """A page shows what its example does not print. The text names the first line."""


@dataclass(frozen=True, slots=True)
class Block:
    """
    A fenced block of a page.

    Attributes:
        language: ``python``, ``sh``, ``toml``, ``text`` or another.
        name: Name of the file, of a ``toml`` block that has one.
        text: What stands between the fences.
        span: Places of the text's first and one past its last character in the page.
    """

    language: str
    name: str
    text: str
    span: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Shown:
    """
    A block of output with what its example printed.

    Attributes:
        block: The block.
        printed: What was printed.
    """

    block: Block
    printed: str


def lay_out(page: Path) -> None:
    """Copy the files that the examples of a page need to the working directory."""
    for file in sorted((EXAMPLES / page.stem).glob("*")):
        shutil.copy(file, file.name)


def blocks(page: str) -> tuple[Block, ...]:
    """Return the fenced blocks of a page's text."""
    return tuple(Block(each[1], each[2] or "", each[3], each.span(3)) for each in FENCE.finditer(page))


def executed(page: str) -> Iterator[Shown]:
    """
    Execute a page's examples in the working directory, and yield each block of output with what was printed.

    Raises:
        Differs: A command fails, or an example of Python prints what is not shown.
    """
    session: dict[str, Any] = {}
    found = blocks(page)
    for block, following in zip_longest(found, found[1:]):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed), mock.patch.dict(os.environ, COLUMNS=COLUMNS):
            if block.language == "python":
                exec(compile(block.text, "<example>", "exec"), session)  # noqa: S102 - the page's own example
            elif block.language == "sh":
                for command in commands(block.text):
                    run(command)
            elif block.language == "toml" and block.name:
                Path(block.name).write_text(block.text, encoding="utf-8")
        if following is not None and following.language == "text" and adjacent(page, block, following):
            yield Shown(following, printed.getvalue())
        elif block.language == "python" and printed.getvalue():
            raise Differs(f"an example prints what is not shown: {printed.getvalue()!r}")


def adjacent(page: str, block: Block, following: Block) -> bool:
    """Return whether nothing stands between two blocks."""
    return page[block.span[1] : following.span[0]].strip("`\n") == "text"


def commands(text: str) -> Iterator[str]:
    """Yield the commands of a block of shell that are gpusim's; a line may go on after a backslash."""
    lines = text.replace("\\\n", " ").splitlines()
    yield from (line for line in lines if line.startswith("gpusim "))


def run(command: str) -> None:
    """
    Run a command in this process, read as a shell reads it. A comment ``# exits with 3`` states its exit code.

    Raises:
        Differs: It exits with another code, which is 0 if none is stated.
    """
    arguments: list[str] = []
    for word in shlex.split(command, comments=True)[1:]:
        arguments += (sorted(map(str, Path().glob(word))) if "*" in word else []) or [word]
    said = io.StringIO()
    with contextlib.redirect_stderr(said):
        code = main(arguments)
    stated = EXITS.search(command)
    if code != int(stated[1] if stated else 0):
        raise Differs(f"{command!r} exits with {code}: {said.getvalue()}")


# --- what is shown beside what is printed ---


def compare(shown: Shown) -> None:
    """
    Compare a block with what was printed, line by line.

    Raises:
        Differs: A line is not there, or not in its place.
    """
    for line, real in _matched(shown, str):
        if line != real:
            raise Differs(f"{line!r} is shown, {real!r} is printed")


def refreshed(shown: Shown) -> str:
    """
    Return the text of a block with today's figures: each line becomes the next printed one with the same words.

    Raises:
        Differs: A line's words are not printed any more.
    """
    return "".join(f"{real}\n" for _, real in _matched(shown, _words))


def _words(line: str) -> str:
    """Return a line without its figures, and with single spaces and rules."""
    return re.sub(r"─+", "─", re.sub(r"[\s\d]+", " ", re.sub(r"-?\d[\d,.]*", "", line)))


def _matched(shown: Shown, key: Any) -> Iterator[tuple[str, str]]:
    """Yield each shown line with the printed one that it stands for; keys of both are equal after a gap."""
    printed = [line.rstrip() for line in shown.printed.splitlines()]
    place, gap = 0, False
    for line in shown.block.text.splitlines():
        if line.strip() == ANY:
            gap = True
            yield line, line
            continue
        rest = [number for number in range(place, len(printed)) if key(printed[number]) == key(line)]
        if (gap and not rest) or place >= len(printed):
            raise Differs(f"{line!r} is shown, and not printed")
        place = rest[0] if gap else place
        if key(printed[place]) != key(line):
            raise Differs(f"{line!r} is shown, {printed[place]!r} is printed")
        yield line, printed[place]
        place, gap = place + 1, False
    if not gap and any(printed[place:]):
        raise Differs(f"{printed[place]!r} is printed, and not shown")


@contextlib.contextmanager
def own_folder() -> Iterator[None]:
    """Work in an empty folder, with no compiler at hand: figures must not depend on the machine."""
    with (
        tempfile.TemporaryDirectory() as folder,
        contextlib.chdir(folder),
        mock.patch("gpusim.lower.compiled.compiler_at_hand", return_value=False),
    ):
        yield


def rewrite(path: Path) -> None:
    """Put today's figures into a page."""
    page = path.read_text(encoding="utf-8")
    with own_folder():
        lay_out(path)
        changes = [(shown.block.span, refreshed(shown)) for shown in executed(page)]
    for (begin, end), text in reversed(changes):
        page = page[:begin] + text + page[end:]
    path.write_text(page, encoding="utf-8")


def differing(path: Path) -> Iterator[str]:
    """Yield what a page shows and its examples do not print."""
    try:
        with own_folder():
            lay_out(path)
            for shown in executed(path.read_text(encoding="utf-8")):
                compare(shown)
    except Differs as error:
        yield str(error)


def show(arguments: Sequence[str]) -> int:
    """Check or rewrite the pages of the command line, or all, and return the exit code."""
    os.environ.setdefault("MPLBACKEND", "Agg")
    pages = [Path(each).resolve() for each in arguments if each != "--write"] or PAGES
    failed = 0
    for page in pages:
        if "--write" in arguments:
            rewrite(page)
        else:
            for why in differing(page):
                failed = 1
                sys.stderr.write(f"{page.name}: {why}\n")
    return failed


if __name__ == "__main__":
    sys.exit(show(sys.argv[1:]))
