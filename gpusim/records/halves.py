"""Divides the validation's records into two halves, development and held-out; it knows no figure of a record."""

import hashlib
import json
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from gpusim.errors import BadInput
from gpusim.records.record import reports_folder

Half: TypeAlias = Literal["development", "held-out"]

HELD_OUT_BELOW: Final = 160
"""A configuration is held out if the first byte of its SHA-256 is below this number: five of eight are."""

PROBLEM_KEYS: Final = ("kind", "layout_a", "layout_b", "dtype", "mask", "head_dim", "head_dim_v")
"""Keys of a problem that belong to its configuration. All others are extents, or scale the output."""

KERNEL_KEYS: Final = (
    *("mainloop", "iterator", "threadblock", "warp", "instruction", "stages", "shared"),
    *("queries_per_block", "keys_per_block", "preload_v", "keep_output_in_registers"),
)
"""Keys of a kernel that belong to its configuration: all but the order of its CTAs."""

HALVES: Final = "halves.toml"
"""Name of the frozen list, in the folder reports/validation."""


@dataclass(frozen=True, slots=True)
class Halves:
    """
    The frozen list of halves.

    Attributes:
        seen: Records older than the halves, which were seen before. They and their configurations are development.
        development, held_out: Records that were measured after the rule was fixed, by half.
    """

    seen: frozenset[str]
    development: frozenset[str]
    held_out: frozenset[str]

    def half(self, name: str) -> Half:
        """
        Return the half of a record.

        Raises:
            BadInput: The record is not in the list.
        """
        if name in self.held_out:
            return "held-out"
        if name in self.seen or name in self.development:
            return "development"
        raise BadInput(f"{name}: stands in no half of {halves_file()}; its configuration says which list it belongs to")


def configuration(scenario: Mapping[str, Any]) -> dict[str, Any]:
    """
    Return the configuration of a resolved scenario: the kernel, and the problem without its extents.

    A configuration has no extents, leading dimensions, alignments, strides and padding, alpha and beta, bias and
    activation, number of split-K slices, and order of CTAs. Scenarios that differ only in these are in one half.

    Args:
        scenario: Plain data, from ``Scenario.resolved`` or a record.
    """
    problem, kernel = scenario["problem"], scenario["kernel"]
    split_k = problem.get("split_k") if problem.get("split_k_slices", 1) > 1 else None
    return {
        "machine": scenario["machine"],
        "problem": {key: problem[key] for key in PROBLEM_KEYS if key in problem}
        | ({"split_k": split_k} if split_k else {}),
        "kernel": {key: kernel[key] for key in KERNEL_KEYS if key in kernel},
    }


def configuration_digest(scenario: Mapping[str, Any]) -> str:
    """Return the SHA-256 of a resolved scenario's configuration, as JSON with sorted keys and no spaces."""
    text = json.dumps(configuration(scenario), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def half_by_rule(scenario: Mapping[str, Any], seen: Iterable[str]) -> Half:
    """
    Return the half of a new record.

    A configuration that was seen is development, whatever its digest.

    Args:
        scenario: The resolved scenario.
        seen: Digests of the configurations of ``Halves.seen``.
    """
    digest = configuration_digest(scenario)
    return "held-out" if digest not in set(seen) and int(digest[:2], 16) < HELD_OUT_BELOW else "development"


def held_out_names() -> frozenset[str]:
    """Return the names of the held-out records; empty if there is no list, as with an installed wheel."""
    return load_halves().held_out if halves_file().is_file() else frozenset()


def shown_records(folder: Path) -> tuple[Path, ...]:
    """Return a folder's records that tables, pictures and reports may show: all but the held-out ones."""
    held_out = held_out_names()
    return tuple(path for path in sorted(folder.glob("*.json")) if path.stem not in held_out)


def halves_file() -> Path:
    """Return the path of the frozen list, beside the records."""
    return reports_folder() / "validation" / HALVES


def load_halves(path: Path | None = None) -> Halves:
    """
    Read the frozen list.

    Args:
        path: The file; None takes ``halves_file()``.

    Raises:
        BadInput: The file is missing or is not such a list, or a record occurs twice in it.
    """
    return _read(path or halves_file())


@cache
def _read(path: Path) -> Halves:
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
        lists = [list(data[key]) for key in ("seen", "development", "held_out")]
    except (OSError, ValueError, KeyError) as error:
        raise BadInput(f"{path}: not a readable list of halves ({error})") from error
    names = [name for one in lists for name in one]
    if len(set(names)) < len(names):
        twice = sorted({name for name in names if names.count(name) > 1})
        raise BadInput(f"{path}: stand in it twice: {', '.join(twice)}")
    return Halves(*(frozenset(one) for one in lists))
