"""Chooses how a core is executed: compiled if it was built from the present text, else interpreted."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Final, Literal, NamedTuple, TypeAlias, get_args

from gpusim.compiled.text import CoreText
from gpusim.errors import BadInput, CannotRun

Execution: TypeAlias = Literal["compiled", "interpreted"]
"""Executions of a core."""

EngineChoice: TypeAlias = Literal["auto", "compiled", "interpreted"]
"""Executions that can be requested; "auto" takes the one of ``GPUSIM_ENGINE``, else the compiled one if it is built."""

_CHOSEN: ContextVar[EngineChoice] = ContextVar("engine", default="auto")

VARIABLE: Final = "GPUSIM_ENGINE"
"""Environment variable that chooses an execution; without it, the compiled one is used if it is built."""

_EXECUTIONS: Final = ("compiled", "interpreted")


class Engine(NamedTuple):
    """
    An execution of a core.

    Attributes:
        name: "compiled" or "interpreted".
        module: The module that has the core's classes.
        why: Why it is not the compiled one; empty if it is.
    """

    name: Execution
    module: ModuleType
    why: str


def engine_of(text: CoreText, interpreted: ModuleType) -> Engine:
    """
    Return the execution of a core to use.

    Args:
        text: The core's text.
        interpreted: The module that has its classes where it is not compiled.

    Raises:
        BadInput: ``GPUSIM_ENGINE`` names no execution, or the compiled one, which is not built.
        CannotRun: ``chosen`` requests the compiled one, which is not built.
    """
    asked = _CHOSEN.get()
    if asked == "interpreted":
        return Engine("interpreted", interpreted, "it was asked for")
    if asked == "compiled":
        if _compiled(text, interpreted).why:
            raise CannotRun(f"the compiled core was asked for, but {_compiled(text, interpreted).why}")
        return _compiled(text, interpreted)
    wanted = os.environ.get(VARIABLE, "")
    if wanted and wanted not in _EXECUTIONS:
        raise BadInput(f"{VARIABLE} must be one of {', '.join(_EXECUTIONS)}, got {wanted!r}")
    if wanted == "interpreted":
        return Engine("interpreted", interpreted, f"{VARIABLE} asks for it")
    found = _compiled(text, interpreted)
    if wanted and found.why:
        raise BadInput(f"{VARIABLE} asks for the compiled core, but {found.why}")
    return found


@contextmanager
def asked_for(execution: EngineChoice) -> Iterator[None]:
    """
    Use an execution of all cores within a block.

    Raises:
        BadInput: There is no such execution.
    """
    if execution not in get_args(EngineChoice):
        raise BadInput(f"engine must be one of {', '.join(get_args(EngineChoice))}, got {execution!r}")
    before = _CHOSEN.set(execution)
    try:
        yield
    finally:
        _CHOSEN.reset(before)


@cache
def _compiled(text: CoreText, interpreted: ModuleType) -> Engine:
    """Return the compiled core, or the interpreted one with the reason why it is not the compiled one."""
    try:
        module = import_module(f"{text.package}.{text.module}")
    except ImportError:
        return Engine("interpreted", interpreted, "the core was not compiled when gpusim was installed")
    if text.digest() != module.SOURCE_DIGEST:
        return Engine("interpreted", interpreted, "the compiled core is of another text: run `python hatch_build.py`")
    return Engine("compiled", module, "")
