"""
Counts lines of Python code, without docstrings, comments and blank lines.

``python docs/code_lines.py gpusim`` prints one total; with ``--by-room``, a line for each room before it, and
``--without lab`` leaves the laboratory out. A line counts where any token of code stands, so an argument on a line of
its own is a line, and a string that spans lines is all of them. Docstrings are strings that are statements, those after
a constant included.
"""

import argparse
import ast
import io
import sys
import tokenize
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

NO_CODE = frozenset(
    (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)
)


def code_lines(text: str) -> int:
    """
    Lines of a Python source with code on them.

    Raises:
        SyntaxError: It is no Python.
    """
    documentation: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            documentation.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in NO_CODE:
            lines.update(range(token.start[0], token.end[0] + 1))
    return len(lines - documentation)


def lines_by_room(folder: Path) -> Counter[str]:
    """Room -> its lines: a folder right under ``folder`` with all that is in it, and each loose module."""
    found = Counter[str]()
    for source in sorted(folder.rglob("*.py")):
        found[source.relative_to(folder).parts[0]] += code_lines(source.read_text(encoding="utf-8"))
    return found


def main(argv: Sequence[str] | None = None) -> int:
    """Print the total of a folder, after its rooms where they are asked for, the largest first."""
    parser = argparse.ArgumentParser(prog="python docs/code_lines.py", description="Count lines of Python code.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--by-room", action="store_true", help="a line for each room, too")
    parser.add_argument("--without", action="append", default=[], metavar="ROOM", help="a room that is left out")
    arguments = parser.parse_args(argv)
    rooms = lines_by_room(arguments.folder)
    for room in arguments.without:
        if room not in rooms:
            parser.error(f"{arguments.folder} has no room {room}")
        del rooms[room]
    if arguments.by_room:
        for room, lines in rooms.most_common():
            sys.stdout.write(f"{lines:6} {room}\n")
    sys.stdout.write(f"{rooms.total()}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
