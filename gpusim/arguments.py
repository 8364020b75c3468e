"""Checks the arguments of public functions. An error names the argument, the allowed values and the given one."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from numbers import Integral, Real
from pathlib import Path
from typing import Any, Final, TypeVar

from gpusim.errors import BadInput

MOST_JOBS: Final = 1024
"""Largest number of processes."""

MOST_SEED: Final = (1 << 64) - 1
"""Largest seed of random tensors."""

_MOST_SHOWN = 60
_MOST_DEEP = 20

_WordT = TypeVar("_WordT", bound=str)


def refusal(name: str, rule: str, value: object) -> BadInput:
    """Return the error "NAME must be RULE, got VALUE"."""
    try:
        text = repr(value)
    except Exception:  # noqa: BLE001 # a repr of the caller's
        text = f"a {type(value).__name__}"
    return BadInput(f"{name} must be {rule}, got {text if len(text) <= _MOST_SHOWN else f'{text[:_MOST_SHOWN]}...'}")


def integer(name: str, value: object) -> int:
    """
    Return an argument that is an integer, of Python or NumPy.

    Raises:
        BadInput: It is not an integer.
    """
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise refusal(name, "an integer", value)
    return int(value)


def whole_number(name: str, value: object, least: int, most: int) -> int:
    """
    Return an argument that is an integer in a range, of Python or NumPy.

    Raises:
        BadInput: It is not an integer, or not between ``least`` and ``most``.
    """
    if isinstance(value, bool) or not isinstance(value, Integral) or not least <= int(value) <= most:
        raise refusal(name, f"an integer of {least} to {most}", value)
    return int(value)


def flag(name: str, value: object) -> bool:
    """
    Return an argument that is a truth value, of Python or NumPy.

    Raises:
        BadInput: It is neither true nor false.
    """
    found = _plain(value)
    if not isinstance(found, bool):
        raise refusal(name, "True or False", value)
    return found


def exactness(value: object) -> bool | None:
    """
    Return the argument ``exact`` of a simulation.

    Raises:
        BadInput: It is neither true, nor false, nor None.
    """
    found = _plain(value)
    if found is not None and not isinstance(found, bool):
        raise refusal("exact", "True, False or None", value)
    return found


def word(name: str, value: object, allowed: Sequence[_WordT]) -> _WordT:
    """
    Return an argument that is one of the allowed words.

    Raises:
        BadInput: It is not one of them.
    """
    found = next((one for one in allowed if isinstance(value, str) and one == value), None)
    if found is None:
        raise refusal(name, f"one of {', '.join(allowed)}", value)
    return found


def text(name: str, value: object) -> str:
    """
    Return an argument that is a text.

    Raises:
        BadInput: It is not a text.
    """
    if not isinstance(value, str):
        raise refusal(name, "text", value)
    return value


def texts(name: str, value: object, rule: str) -> tuple[str, ...]:
    """
    Return an argument that is a sequence of texts.

    Raises:
        BadInput: It is a single text, or not a sequence of texts.
    """
    found = tuple(value) if isinstance(value, Iterable) and not isinstance(value, str | bytes | Mapping) else None
    if found is None or not all(isinstance(one, str) for one in found):
        raise refusal(name, rule, value if found is None else found)
    return found


def path(name: str, value: object) -> Path:
    """
    Return an argument that is a path.

    Raises:
        BadInput: It is neither a ``Path`` nor a text, or it is empty, or no path of the operating system.
    """
    if isinstance(value, str | Path) and str(value) and "\0" not in str(value):
        try:
            Path(value).exists()
        except OSError as error:
            raise refusal(name, f"a path ({error.strerror or error})", value) from error
        return Path(value)
    raise refusal(name, "a path", value)


def function(name: str, value: Any) -> Callable[..., Any] | None:
    """
    Return an argument that is a function or None.

    Raises:
        BadInput: It cannot be called.
    """
    if value is not None and not callable(value):
        raise refusal(name, "a function or None", value)
    return value  # type: ignore[no-any-return] # it can be called


def overrides_of(value: object) -> tuple[str, ...]:
    """
    Return an argument that is a sequence of settings ``key=value``.

    Raises:
        BadInput: They are not texts.
    """
    return texts("overrides", value, 'a list of settings, such as ["kernel.stages=4"]')


def plain_table(name: str, value: Mapping[Any, Any]) -> dict[str, Any]:
    """
    Return a table of plain data as ``tomllib`` would return it: NumPy's values and paths are converted.

    Raises:
        BadInput: A key is not a text, or a value is not plain data.
    """
    table: dict[str, Any] = _plain_data(name, value, 0)
    return table


def _plain_data(name: str, value: Any, depth: int) -> Any:
    if depth > _MOST_DEEP:
        raise BadInput(f"{name} must have at most {_MOST_DEEP} tables and lists within each other")
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str):
                raise refusal(f"every key of {name}", "text", key)
        return {key: _plain_data(f"{name}.{key}", one, depth + 1) for key, one in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return [_plain_data(name, one, depth + 1) for one in value]
    found = _plain(value)
    if not isinstance(found, bool | int | float | str | list):
        raise refusal(name, "a number, text, a list or a table", value)
    return found


def _plain(value: Any) -> Any:
    """Return a NumPy number, truth value or array, or a path, as plain data; return any other value unchanged."""
    if isinstance(value, bool):
        return value
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real):
        return float(value)
    if isinstance(value, Path | str):
        return str(value)
    if type(value).__module__ == "numpy" and hasattr(value, "tolist"):
        return value.tolist()
    return value
