"""
Says how Sphinx builds the documentation: ``make docs``.

Tutorials are notebooks, which are executed when they are built: always with ``GPUSIM_DOCS_EXECUTE=force``, else where
the notebook has changed since it was last executed.
"""

import os
import re
import sys
from pathlib import Path

from sphinx.application import Sphinx

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
os.environ["PATH"] = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))  # notebooks call gpusim

import from_code  # noqa: E402

import gpusim  # noqa: E402

project = "gpusim"
author = "The gpusim authors"
copyright = f"2026, {author}"  # noqa: A001 - Sphinx's name
version = release = gpusim.__version__

extensions = ["myst_nb"]
exclude_patterns = ["images"]
source_suffix = {".md": "myst-nb", ".ipynb": "myst-nb"}

html_theme = "furo"
html_title = f"gpusim {version}"
html_copy_source = False
html_show_sourcelink = False

myst_heading_anchors = 3
myst_enable_extensions = ["colon_fence"]

nb_execution_mode = os.environ.get("GPUSIM_DOCS_EXECUTE", "cache")
nb_execution_raise_on_error = True
nb_execution_show_tb = True
nb_execution_in_temp = True
nb_execution_timeout = 120

OUTSIDE = re.compile(r"\]\((?:\.\./)+reports/([\w/]+)\.md\)")


def read_source(_: Sphinx, name: str, content: list[str]) -> None:
    """Fill in what code knows, and turn links to reports of the tree into links to their pages."""
    if not (HERE / f"{name}.md").is_file():
        return
    up = "../" * name.count("/")
    content[0] = OUTSIDE.sub(
        lambda link: f"]({up}reports/{link[1].rpartition('/')[2]}.md)", from_code.filled(content[0])
    )


def setup(app: Sphinx) -> dict[str, bool]:
    """Register what is done with a page when it is read."""
    app.connect("source-read", read_source)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
