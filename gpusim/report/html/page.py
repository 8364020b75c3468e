"""Writes the report as one HTML file: its data as escaped JSON, and a security policy that allows no request."""

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from html import escape
from importlib.resources import files
from typing import Any, Final

SCRIPTS: Final = (
    "elements.js",
    "timeline_data.js",
    "timeline_paint.js",
    "timeline.js",
    "banks.js",
    "stalls.js",
    "roofline.js",
    "tables.js",
    "report.js",
)
"""Scripts of the page, in order; together they are one function."""

KERNEL_SCRIPTS: Final = ("elements.js", "stalls.js", "tables.js", "kernel.js")
"""Scripts of the page about kernels of the user's own."""


def page(data: Mapping[str, Any], title: str, scripts: Sequence[str] = SCRIPTS) -> str:
    """
    Return the text of the file.

    The Content-Security-Policy allows this style and these scripts by their digests, and nothing else: no request, no
    image, no form.

    Args:
        data: Plain data for the scripts.
        title: Title of the page.
        scripts: The scripts, in order.
    """
    style = _asset("report.css")
    script = '"use strict";\n(() => {\n' + "\n".join(_asset(name) for name in scripts) + "})();\n"
    policy = (
        f"default-src 'none'; script-src '{_digest(script)}'; style-src '{_digest(style)}'; base-uri 'none'; "
        "form-action 'none'"
    )
    parts = {"policy": policy, "title": escape(title), "style": style, "data": json_text(data), "script": script}
    text = _asset("shell.html")
    head, *others = text.split("{{")
    found = [head]
    for other in others:
        name, _, rest = other.partition("}}")
        found += [parts[name], rest]
    return "".join(found)


def json_text(data: Any) -> str:
    """Return data as JSON in ASCII for an HTML script element: no part of it is a tag."""
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _asset(name: str) -> str:
    return (files(__package__) / name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
