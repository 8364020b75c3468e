"""
Writes the parts of the pages that code, schema and records know: commands, keys, results, public names, errors.

A part stands between ``<!-- from code: PART -->`` and ``<!-- end of PART -->``. ``python docs/from_code.py --write``
writes all of them anew; a test refuses a page that is not current, and ``conf.py`` fills pages when Sphinx reads them.
Nothing that lies elsewhere is typed into a page.
"""

import contextlib
import inspect
import io
import json
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, Final

import gpusim
from gpusim.cli import COMMANDS, main
from gpusim.families import registry
from gpusim.machine.keys import FigureKey, figure_keys
from gpusim.results import kernel_result, result
from gpusim.scenario.keys import ScenarioKey, shared_keys

ROOT: Final = Path(__file__).parents[1]
ASKED: Final = re.compile(r"^<!-- from code: (.+?) -->$(?:.*?^<!-- end of \1 -->$)?", flags=re.MULTILINE | re.DOTALL)
WIDTH: Final = "100"
"""Columns of a command's help."""


def filled(text: str) -> str:
    """
    Return a page's text with every part in its place.

    Raises:
        KeyError: There is no such part.
    """
    os.environ["COLUMNS"] = WIDTH
    return ASKED.sub(
        lambda asked: f"<!-- from code: {asked[1]} -->\n\n{PARTS[asked[1]]()}\n\n<!-- end of {asked[1]} -->", text
    )


def pages() -> Iterator[Path]:
    """Yield the pages that have parts."""
    for page in sorted((ROOT / "docs").rglob("*.md")):
        if ASKED.search(page.read_text(encoding="utf-8")):
            yield page


def write() -> None:
    """Write every part of every page anew."""
    for page in pages():
        page.write_text(filled(page.read_text(encoding="utf-8")), encoding="utf-8")


# --- the command line ---


def printed(*arguments: str) -> str:
    """Return what a command prints."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        main(arguments)
    return out.getvalue().rstrip()


def commands() -> str:
    """Return a section for each command, with its help as the command line prints it."""
    sections = [f"## gpusim {name}\n\n```text\n{printed(name, '--help')}\n```" for name in sorted(COMMANDS)]
    return "\n\n".join(sections)


def shipped_scenarios() -> str:
    """Return a table of the shipped scenarios, each with its question."""
    rows = json.loads(printed("scenarios", "--json"))
    return _table(("scenario", "question"), ((f"`{row['name']}`", row["question"]) for row in rows))


# --- keys ---


def scenario_keys() -> str:
    """Return tables of the keys of scenarios: those of several kinds once, then those of each."""
    sections = []
    for names, keys in shared_keys(registry.scenario_keys()).items():
        rows = ((f"`{key.key}`", _code(key.values), _default(key), key.meaning) for key in keys)
        sections.append(f"### {', '.join(names)}\n\n{_table(('key', 'value', 'default', 'meaning'), rows)}")
    return "\n\n".join(sections)


def machine_keys() -> str:
    """Return tables of the keys of machine files, one for each of their tables."""
    tables: dict[str, list[FigureKey]] = {}
    for key in figure_keys().values():
        tables.setdefault(key.key.partition(".")[0] if "." in key.key else "the chip", []).append(key)
    head = ("key", "value", "unit", "meaning")
    return "\n\n".join(
        f"### {name}\n\n{_table(head, ((f'`{key.key}`', _allowed(key), key.unit.name, key.meaning) for key in keys))}"
        for name, keys in tables.items()
    )


def _allowed(key: FigureKey) -> str:
    zero = f"; 0: {key.unit.zero}" if key.unit.zero else ""
    return key.allowed.removeprefix("an integer of ") + zero + (f" (`{key.table}` is optional)" if key.table else "")


def _code(values: str) -> str:
    """Return allowed values with those that are written as they stand in backticks."""
    return re.sub(r'"[^"]+"|\[[\d, ]+\]|\btrue\b|\bfalse\b', lambda found: f"`{found[0]}`", values)


def _default(key: ScenarioKey) -> str:
    return "must be given" if key.required else f"`{key.default}`" if key.default else ""


# --- Python ---


def public_names() -> str:
    """Return the documentation of every public name of ``gpusim``, functions before classes."""
    names = sorted(vars(gpusim)["_HOMES"])
    classes = [name for name in names if inspect.isclass(getattr(gpusim, name))]
    functions = [name for name in names if name not in classes]
    blocks = ["## Functions", *(_function(f"gpusim.{name}", getattr(gpusim, name), "###") for name in functions)]
    for name in classes:
        of = getattr(gpusim, name)
        members = [
            _function(f"{name}.{member}", found, "####")
            for member, found in vars(of).items()
            if _is_told(member, found)
        ]
        blocks += ["## Classes"] * (name == classes[0]) + [f"### gpusim.{name}", _prose(of), *members]
    return "\n\n".join(blocks)


def _is_told(name: str, found: object) -> bool:
    routine = isinstance(found, property | classmethod | staticmethod) or inspect.isfunction(found)
    return routine and not name.startswith("_") and bool(inspect.getdoc(found))


def _function(name: str, of: Any, level: str) -> str:
    if isinstance(of, property):
        return f"{level} {name}\n\n{_prose(of)}"
    called = of.__func__ if isinstance(of, classmethod | staticmethod) else of
    return f"{level} {name}\n\n```text\n{name}{_signature(called)}\n```\n\n{_prose(called)}"


def _signature(of: Any) -> str:
    """Return the names of parameters with their defaults; the types stand in the sources."""
    signature = inspect.signature(of)
    plain = [
        one.replace(annotation=inspect.Parameter.empty)
        for one in signature.parameters.values()
        if one.name not in {"self", "cls"}
    ]
    return str(signature.replace(parameters=plain, return_annotation=inspect.Signature.empty))


def result_fields() -> str:
    """Return the documentation of each part of a result, the result first."""
    parts = [one for one in vars(result).values() if inspect.isclass(one) and is_dataclass(one)]
    own = sorted((one for one in parts if one.__module__ == result.__name__), key=lambda one: one is not result.Result)
    return "\n\n".join(f"## {one.__name__}\n\n{_prose(one)}\n\n{_fields(one)}" for one in own)


def kernel_fields() -> str:
    """Return the documentation of each part of the answer about a kernel of one's own, the answer first."""
    parts = (
        kernel_result.KernelResult,
        kernel_result.KernelRow,
        kernel_result.ConflictNote,
        kernel_result.ExecutedData,
    )
    return "\n\n".join(f"### {one.__name__}\n\n{_prose(one)}\n\n{_fields(one)}" for one in parts)


def _fields(of: Any) -> str:
    names = ", ".join(f"`{field.name}`" for field in fields(of))
    return f"All fields: {names}."


_SECTION: Final = re.compile(r"^(Args|Returns|Raises|Attributes|Yields):$")


def _prose(of: Any) -> str:
    """Return a docstring as Markdown: its sections as lists, its examples as sessions."""
    lines, out, section = (inspect.getdoc(of) or "").splitlines(), [], ""
    for line in lines:
        found = _SECTION.match(line)
        if found:
            section = found[1]
            out += [f"{section}:", ""]
        elif section == "Returns" and line.startswith("    "):
            out.append(line.strip())
        elif section and line.startswith("    ") and not line.startswith("     "):
            name, colon, text = line.strip().partition(": ")
            out.append(f"- `{name}`: {text}" if colon else f"- {line.strip()}")
        elif section and line.startswith("     "):
            out.append(f"  {line.strip()}")
        else:
            section = "" if line.strip() else section
            out.append(line)
    text = re.sub(r"``+([^`]+)``+", r"`\1`", "\n".join(out))
    return _escaped(re.sub(r"(?:^>>> .*\n?(?:^(?!\s*$).*\n?)*)+", _session, text, flags=re.MULTILINE).strip())


def _session(found: re.Match[str]) -> str:
    return f"```pycon\n{found[0].rstrip()}\n```\n"


# --- what was measured ---


def validation() -> str:
    """Return the errors of simulated figures in both halves of the records, from the committed data."""
    rows = []
    for half in ("development", "held_out"):
        data = json.loads((ROOT / "reports" / "validation" / f"{half}.json").read_text(encoding="utf-8"))
        for stream, groups in data["streams"].items():
            rows += [
                (data["half"], figure, stream, str(of["kernels"]), *(f"{100 * of[key]:.1f} %" for key in _SHOWN))
                for figure, of in groups["overall"].items()
            ]
    return _table(("half", "figure", "stream", "kernels", "mean", "median", "90th percentile", "signed mean"), rows)


_SHOWN: Final = ("mean", "median", "p90", "signed")


def _table(head: tuple[str, ...], rows: Any) -> str:
    lines = [head, tuple("---" for _ in head), *rows]
    return "\n".join("| " + " | ".join(_cell(cell) for cell in line) + " |" for line in lines)


def _cell(text: str) -> str:
    return _escaped(" ".join(text.split())).replace("|", "\\|").replace("``", "`")


def _escaped(text: str) -> str:
    """Return a text whose angle brackets and asterisks outside of backticks are characters, not markup."""
    pieces = re.split(r"(`+[^`]*`+)", text)
    return "".join(
        piece if number % 2 else re.sub(r"([<>*\[\]_])", r"\\\1", piece) for number, piece in enumerate(pieces)
    )


PARTS: Final[Mapping[str, Callable[[], str]]] = {
    "commands": commands,
    "kernel fields": kernel_fields,
    "machine keys": machine_keys,
    "public names": public_names,
    "result fields": result_fields,
    "scenario keys": scenario_keys,
    "shipped scenarios": shipped_scenarios,
    "validation": validation,
}
"""Name of each part, as a page asks for it."""

if __name__ == "__main__":
    if sys.argv[1:] != ["--write"]:
        sys.exit("usage: python docs/from_code.py --write")
    write()
