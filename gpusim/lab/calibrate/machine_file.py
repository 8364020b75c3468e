"""Writes measured figures into a machine file, line by line, and leaves everything else in it unchanged."""

import json
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path

from gpusim.errors import BadInput, CannotRun
from gpusim.lab.calibrate.derive import Derived
from gpusim.machine.load import parse_machine

_TABLE = re.compile(r"\[([^\[\]]+)\]\s*(?:#.*)?$")
_RECORD = re.compile(r"([\w.]+)(\s*)=\s*\{.*\}\s*$")


def update_machine(path: Path, derived: Mapping[str, Derived], source: str, title: str, file: str) -> tuple[str, ...]:
    """
    Replace the records of the derived figures in a machine file by measured ones.

    A record keeps its unit and its ``effect``, and loses its reason, spread and fitting runs. A missing source is added
    after the last one. No other line changes.

    Args:
        path: The machine file.
        derived: Figures by dotted key.
        source: Key of the source in the file.
        title: Title of the source.
        file: Folder of the CSV files, as written in the source.

    Returns:
        Keys of figures without a record in the file. They are not written.

    Raises:
        CannotRun: The file cannot be read or written.
        BadInput: The file is not a machine file, before or after.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise CannotRun(f"{path}: cannot be read ({error})") from error
    parse_machine(text, path.stem, str(path))
    lines, table, written = [], "", set[str]()
    for line in text.splitlines():
        if header := _TABLE.match(line):
            table = header[1].replace('"', "").replace(" ", "")
        record = _RECORD.match(line)
        key = f"{table}.{record[1]}" if record else ""
        if record and key in derived:
            written.add(key)
            lines.append(f"{record[1]}{record[2]}= {_measured(line, record[1], derived[key], source)}")
        else:
            lines.append(line)
    if written and source not in tomllib.loads(text).get("sources", {}):
        lines = _with_source(lines, source, title, file, str(path))
    new = "\n".join(lines) + "\n"
    parse_machine(new, path.stem, str(path))
    try:
        path.write_text(new, encoding="utf-8")
    except OSError as error:
        raise CannotRun(f"{path}: cannot be written ({error.strerror})") from error
    return tuple(key for key in derived if key not in written)


def _measured(line: str, name: str, figure: Derived, source: str) -> str:
    old = tomllib.loads(line)
    for key in name.split("."):
        old = old[key]
    fields: dict[str, object] = {"value": figure.value, "unit": old["unit"], "kind": "measured", "source": source}
    fields["at"] = figure.at
    if "effect" in old:
        fields["effect"] = old["effect"]
    # A JSON string of printable text is a TOML basic string.
    return "{ " + ", ".join(f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in fields.items()) + " }"


def _with_source(lines: list[str], source: str, title: str, file: str, where: str) -> list[str]:
    headers = [number for number, line in enumerate(lines) if line.startswith("[sources.")]
    if not headers:
        raise BadInput(f"{where}: a machine file must have sources, got none")
    end = headers[-1] + 1
    while end < len(lines) and lines[end].strip() and not lines[end].startswith("["):
        end += 1
    added = ["", f"[sources.{source}]", f"title = {json.dumps(title)}", f"file = {json.dumps(file)}"]
    return [*lines[:end], *added, *lines[end:]]
