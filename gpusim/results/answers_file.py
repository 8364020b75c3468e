"""A file of answers, one JSON object a line. A long command appends to it, and reads it when it is resumed."""

import json
import os
from pathlib import Path
from typing import Any

from gpusim.errors import BadInput, CannotRun

ASKED = "asked"
"""Key of the question in the object of each answer."""


class AnswersFile:
    """
    A file of answers. Each answer is appended in one piece. An incomplete last line of a killed process is dropped.

    Args:
        path: The file; it need not exist.
        schema: Name of the answers' schema, which each line states.

    Raises:
        BadInput: The file holds something else.
        CannotRun: It cannot be read.
    """

    def __init__(self, path: Path, schema: str) -> None:
        self._path, self._schema = path, schema
        self._whole_bytes = 0
        self._answers: dict[str, dict[str, Any]] = {}
        try:
            content = path.read_bytes() if os.path.lexists(path) else b""
        except OSError as error:
            raise CannotRun(f"{path}: cannot be read ({error.strerror or error})") from error
        for line in content.splitlines(keepends=True):
            if not line.endswith(b"\n"):
                break
            self._keep(line)
            self._whole_bytes += len(line)
        if content and not self._whole_bytes and not content.startswith(b'{"schema": '):
            raise self._refusal()

    def _keep(self, line: bytes) -> None:
        try:
            data = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise self._refusal() from error
        if not isinstance(data, dict) or data.pop("schema", None) != self._schema or ASKED not in data:
            raise self._refusal()
        self._answers[_text(data.pop(ASKED))] = data

    def _refusal(self) -> BadInput:
        return BadInput(f"{self._path}: holds something else than answers ({self._schema}), which are added to it")

    def find(self, asked: dict[str, Any]) -> dict[str, Any] | None:
        """Return the answer to a question; None if there is none."""
        return self._answers.get(_text(asked))

    def add(self, asked: dict[str, Any], answer: dict[str, Any]) -> None:
        """
        Add an answer.

        Raises:
            CannotRun: It cannot be written.
        """
        line = _text({"schema": self._schema, ASKED: asked} | answer).encode() + b"\n"
        try:
            with self._path.open("r+b" if self._path.exists() else "xb") as file:
                file.seek(self._whole_bytes)
                file.truncate()
                file.write(line)
        except OSError as error:
            raise CannotRun(f"{self._path}: cannot be written ({error.strerror or error})") from error
        self._whole_bytes += len(line)
        self._answers[_text(asked)] = json.loads(_text(answer))


def _text(data: Any) -> str:
    return json.dumps(data)
