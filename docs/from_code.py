"""
Writes the parts of the pages that code, schema and records know: commands, scenario keys, results, errors.

A page asks for a part by a line ``<!-- from code: PART -->``; ``conf.py`` puts the part in its place when Sphinx reads
the page. Nothing that lies elsewhere is typed into a page.
"""

import contextlib
import inspect
import io
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import is_dataclass
from pathlib import Path
from typing import Any, Final

import gpusim
from gpusim.cli import app, main
from gpusim.results import result

ROOT: Final = Path(__file__).parents[1]
ASKED: Final = re.compile(r"^<!-- from code: (.+?) -->$", flags=re.MULTILINE)


def filled(text: str) -> str:
    """
    Return a page's text with every part in its place.

    Raises:
        KeyError: There is no such part.
    """
    return ASKED.sub(lambda asked: PARTS[asked[1]](), text)


# --- the command line ---


def printed(*arguments: str) -> str:
    """Return what a command prints."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        main(arguments)
    return out.getvalue().rstrip()


def commands() -> str:
    """Return a section for each command, with its help as the command line prints it."""
    names = sorted(filter(None, (_command_name(command) for command in app.registered_commands)))
    sections = [f"## gpusim {name}\n\n```text\n{printed(name, '--help')}\n```" for name in names]
    return "\n\n".join(sections)


def _command_name(command: Any) -> str:
    return str(command.name or command.callback.__name__)


def shipped_scenarios() -> str:
    """Return a table of the shipped scenarios, each with its question."""
    rows = json.loads(printed("scenarios", "--json"))
    return _table(("scenario", "question"), ((f"`{row['name']}`", row["question"]) for row in rows))


# --- the scenario's schema ---


def scenario_keys() -> str:
    """Return a table of keys for each part of a scenario, as ``gpusim schema`` has them."""
    schema = json.loads(printed("schema"))
    sections = []
    for name, part in schema["$defs"].items():
        about = " ".join(part.get("description", "").split("\n\n")[0].split())
        rows = ((f"`{key}`", _type(of), _default(of), of.get("description", "")) for key, of in _keys(part))
        sections.append(f"## {name}\n\n{_escaped(about)}\n\n{_table(('key', 'value', 'default', 'meaning'), rows)}")
    return "\n\n".join(sections)


def _keys(part: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    yield from part.get("properties", {}).items()


def _type(of: Mapping[str, Any]) -> str:
    """Say which values a key takes."""
    if "$ref" in of:
        return f"table {of['$ref'].rpartition('/')[2]}"
    if "const" in of:
        return f"`{of['const']}`"
    if "enum" in of:
        return ", ".join(f"`{one}`" for one in of.get("supported", of["enum"]))
    if options := of.get("anyOf") or of.get("oneOf"):
        return " or ".join(_type(one) for one in options if one.get("type") != "null")
    if of.get("type") == "array":
        items = of.get("prefixItems") or [of.get("items", {})]
        return "[" + ", ".join(_type(one) for one in items) + "]"
    least, most = of.get("minimum"), of.get("maximum")
    bounds = "" if least is None else f", at least {least}" + ("" if most in {None, 2**31 - 1} else f", at most {most}")
    return str(of.get("type", "")) + bounds


def _default(of: Mapping[str, Any]) -> str:
    return f"`{json.dumps(of['default'])}`" if of.get("default") is not None else ""


# --- Python ---


def public_names() -> str:
    """Return the documentation of every public name of ``gpusim``, functions before classes."""
    names = sorted(vars(gpusim)["_HOMES"])
    classes = [name for name in names if inspect.isclass(getattr(gpusim, name))]
    functions = [name for name in names if name not in classes]
    blocks = ["## Functions", *(_autodoc(f"autofunction:: gpusim.{name}") for name in functions)]
    blocks += ["## Classes", *(_autodoc(f"autoclass:: gpusim.{name}", ":members:") for name in classes)]
    return "\n\n".join(blocks)


def result_fields() -> str:
    """Return the documentation of each part of a result, the result first."""
    parts = [one for one in vars(result).values() if inspect.isclass(one) and is_dataclass(one)]
    own = sorted(
        (one.__name__ for one in parts if one.__module__ == result.__name__), key=lambda name: name != "Result"
    )
    return "\n\n".join(
        f"## {name}\n\n" + _autodoc(f"autoclass:: gpusim.results.result.{name}", ":no-index:") for name in own
    )


def _autodoc(*lines: str) -> str:
    head, *options = lines
    return "\n".join(["```{eval-rst}", f".. {head}", *(f"   {option}" for option in options), "```"])


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
    "public names": public_names,
    "result fields": result_fields,
    "scenario keys": scenario_keys,
    "shipped scenarios": shipped_scenarios,
    "validation": validation,
}
"""Name of each part, as a page asks for it."""
