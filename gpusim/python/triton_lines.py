"""
Corrects the source lines in Triton's PTX, where inline assembly of several lines has moved them.

Triton writes a load as inline assembly of two lines or more. The LLVM of Triton 3.9 (not that of 3.5) adds n - 1 to the
source line of the n-th line of such a text, so that a load counts for the line below it.
"""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

HOOK_KEY: Final = "gpusim: lines of inline assembly, 1"
"""Part of the key by which Triton caches what it compiles with the hook."""

_INLINE: Final = re.compile(r"// begin inline asm\n.*?// end inline asm\n", re.DOTALL)
_LOC: Final = re.compile(r"^[ \t]*\.loc[ \t].*\n", re.MULTILINE)


def corrected_lines(ptx: str) -> str:
    """Return PTX in which all statements of an inline assembly have the source line of its first."""
    return _INLINE.sub(lambda asm: _with_first_line(asm[0]), ptx)


def _with_first_line(asm: str) -> str:
    first = _LOC.search(asm)
    return asm if first is None else asm[: first.end()] + _LOC.sub("", asm[first.end() :])


def inspect_stages(
    _backend: Any = None, stages: dict[str, Callable[..., str]] | None = None, *_: Any
) -> tuple[str, str] | None:
    """
    Have PTX corrected; Triton calls this hook before it compiles.

    Args:
        stages: Triton's stages by the name of what they make; changed. None asks for the key of the hook.
    """
    if stages is None:
        return HOOK_KEY, HOOK_KEY
    make = stages["ptx"]
    stages["ptx"] = lambda source, metadata: corrected_lines(make(source, metadata))
    return None


@contextmanager
def lines_corrected(knobs: Any) -> Iterator[None]:
    """
    Have Triton correct source lines within a block. A version without hooks, or a hook of the user's, is left alone.

    Args:
        knobs: Triton's settings at run time.
    """
    if getattr(knobs, "add_stages_inspection_hook", inspect_stages) is not None:
        yield
        return
    knobs.add_stages_inspection_hook = inspect_stages
    try:
        yield
    finally:
        knobs.add_stages_inspection_hook = None
