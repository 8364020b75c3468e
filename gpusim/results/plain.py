"""Converts dataclasses to plain data, as in JSON, and rows of plain data to a pandas data frame."""

from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any

from gpusim.errors import missing_extra

if TYPE_CHECKING:
    import pandas as pd


def plain(value: Any) -> Any:
    """Return a value as JSON would read it back: dataclasses and mappings as dicts, sequences as lists."""
    if is_dataclass(value):
        return {each.name: plain(getattr(value, each.name)) for each in fields(value)}
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [plain(item) for item in value]
    return value


def frame(rows: Sequence[Any], columns: Sequence[str]) -> "pd.DataFrame":
    """
    Return rows as a pandas data frame, which has its columns even without rows.

    Args:
        rows: Mappings or dataclasses with a value for each column.
        columns: Names of the columns, in order.

    Raises:
        CannotRun: pandas is not installed.
    """
    try:
        import pandas as pd  # noqa: PLC0415 - an extra, and slow to import
    except ImportError as error:
        raise missing_extra("a data frame", "pandas") from error
    return pd.DataFrame([plain(row) for row in rows], columns=list(columns))
