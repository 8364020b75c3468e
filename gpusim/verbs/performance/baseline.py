"""The baseline of ``gpusim check-perf``: a TOML file of kernels with their launches, metrics and thresholds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from gpusim.errors import BadInput
from gpusim.machine.text_file import parse_toml, read_text_file
from gpusim.scenario.text import bare_or_quoted, shown, toml_value
from gpusim.verbs.performance.metrics import PERF_METRICS, threshold_of

PERF_SCHEMA: Final = "gpusim.perf/1"

PERF_HEADER: Final = "# gpusim: the baseline of `gpusim check-perf`; --write-baseline writes it anew\n"
"""First line of a baseline, by which gpusim knows that it has made the file."""

LAUNCH_KEYS: Final = ("entry", "grid", "block", "shared_bytes", "arguments", "defines")
"""Keys of a launch, as in a scenario; the machine stands beside it."""


@dataclass(frozen=True, slots=True)
class PerfEntry:
    """
    A kernel of a baseline.

    Attributes:
        name: Its name, unique in the baseline.
        file: The scenario, or the kernel's file; relative to the baseline's folder, with slashes.
        machine: Its machine as a scenario states it.
        figures: SHA-256 of the machine's figures in hex.
        version: Version of gpusim that simulated it.
        launch: Its launch, by ``LAUNCH_KEYS``.
        metrics: Value of each metric.
        thresholds: Thresholds of this kernel alone, in percent.
        compiler: Name and version of the compiler of a source (.cu); empty for other files.
    """

    name: str
    file: str
    machine: str
    figures: str
    version: str
    launch: Mapping[str, Any] = field(hash=False)
    metrics: Mapping[str, int] = field(hash=False)
    thresholds: Mapping[str, float] = field(default_factory=dict, hash=False)
    compiler: str = ""


@dataclass(frozen=True, slots=True)
class PerfBaseline:
    """
    A baseline.

    Attributes:
        entries: Its kernels by name.
        thresholds: Thresholds of all of them, in percent.
    """

    entries: Mapping[str, PerfEntry] = field(default_factory=dict, hash=False)
    thresholds: Mapping[str, float] = field(default_factory=dict, hash=False)

    def updated(self, entries: Sequence[PerfEntry], thresholds: Mapping[str, float]) -> "PerfBaseline":
        """Return the baseline with new entries and thresholds, which replace those of the same names."""
        return PerfBaseline({**self.entries, **{one.name: one for one in entries}}, {**self.thresholds, **thresholds})

    def threshold(self, entry: PerfEntry, metric: str, given: Mapping[str, float]) -> float:
        """Return a threshold in percent: the given one, else the kernel's, the baseline's, or the metric's own."""
        stated = {**self.thresholds, **entry.thresholds, **given}
        return stated.get(metric, PERF_METRICS[metric].threshold)


def baseline_text(baseline: PerfBaseline) -> str:
    """Return the text of a baseline's file. Each metric has a line of its own, so that a change of one shows as one."""
    tables: list[tuple[str, Mapping[str, Any]]] = [("thresholds", baseline.thresholds)]
    for entry in baseline.entries.values():
        name = f"kernels.{bare_or_quoted(entry.name)}"
        about = {"file": entry.file, "machine": entry.machine, "figures": entry.figures, "gpusim": entry.version}
        tables += [
            (name, about | ({"compiler": entry.compiler} if entry.compiler else {}) | {"launch": dict(entry.launch)}),
            (f"{name}.metrics", entry.metrics),
            (f"{name}.thresholds", entry.thresholds),
        ]
    lines = [f"schema = {toml_value(PERF_SCHEMA)}"]
    for name, table in tables:
        if table:
            lines += ["", f"[{name}]", *(f"{bare_or_quoted(key)} = {toml_value(one)}" for key, one in table.items())]
    return PERF_HEADER + "\n".join(lines) + "\n"


def read_baseline(path: Path) -> PerfBaseline:
    """
    Read a baseline's file.

    Raises:
        BadInput: It cannot be read, is no baseline, or a value is wrong; the message names file and key.
    """
    try:
        data = parse_toml(read_text_file(path, what="baseline"))
    except OSError as error:
        reason = error.strerror or str(error)
        raise BadInput(f"{path}: the baseline cannot be read ({reason}); --write-baseline makes one") from error
    except ValueError as error:
        raise BadInput(f"{path}: not a baseline ({error})") from error
    if data.get("schema") != PERF_SCHEMA:
        raise BadInput(f"{path}: schema must be {PERF_SCHEMA!r}, got {shown(data.get('schema'))}")
    kernels = _table(data, "kernels", str(path), "")
    entries = {name: _entry(name, one, str(path)) for name, one in kernels.items()}
    return PerfBaseline(entries, _thresholds(data, str(path), ""))


def _entry(name: str, data: object, where: str) -> PerfEntry:
    prefix = f"kernels.{bare_or_quoted(name)}."
    if not isinstance(data, dict):
        raise BadInput(f"{prefix[:-1]} must be a table, got {shown(data)} ({where})")
    texts = {}
    for key in ("file", "machine", "figures", "gpusim"):
        if not isinstance(data.get(key), str):
            raise BadInput(f"{prefix}{key} must be text, got {shown(data.get(key))} ({where})")
        texts[key] = data[key]
    metrics = _table(data, "metrics", where, prefix)
    for metric in PERF_METRICS:
        value = metrics.get(metric)
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            raise BadInput(
                f"{prefix}metrics.{metric} must be an integer of at least 0, got {shown(value)} ({where});"
                " --write-baseline writes it"
            )
    return PerfEntry(
        name=name,
        file=texts["file"],
        machine=texts["machine"],
        figures=texts["figures"],
        version=texts["gpusim"],
        launch=_table(data, "launch", where, prefix),
        metrics={metric: metrics[metric] for metric in PERF_METRICS},
        thresholds=_thresholds(data, where, prefix),
        compiler=str(data.get("compiler", "")),
    )


def _table(data: Mapping[str, Any], key: str, where: str, prefix: str) -> dict[str, Any]:
    table = data.get(key, {})
    if not isinstance(table, dict):
        raise BadInput(f"{prefix}{key} must be a table, got {shown(table)} ({where})")
    return table


def _thresholds(data: Mapping[str, Any], where: str, prefix: str) -> dict[str, float]:
    table = _table(data, "thresholds", where, prefix)
    return {name: threshold_of(name, one, f"{where}: {prefix}thresholds.{name}") for name, one in table.items()}
