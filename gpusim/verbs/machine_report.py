"""Reports a machine: every figure with its unit, kind and source, and the number of its recorded kernels."""

from dataclasses import dataclass
from typing import Any

from gpusim.machine.figure import FigureRecord
from gpusim.machine.load import load_machine, machine_names
from gpusim.records.record import measured_folder
from gpusim.results.plain import plain


@dataclass(frozen=True, slots=True)
class MachineReport:
    """
    A machine, and what is known about it.

    Attributes:
        name: Name of the shipped machine, or stem of the file.
        title: The GPU.
        digest: Digest of the machine, as in results.
        sms: Number of SMs.
        clock_mhz: Clock of the SMs, MHz.
        counts: Number of figures of each kind.
        figures: Every figure, in the order of the file's keys.
        sources: Title of each source, by its key.
        records: Number of available records of kernels that were measured on it.
    """

    name: str
    title: str
    digest: str
    sms: int
    clock_mhz: int
    counts: dict[str, int]
    figures: tuple[FigureRecord, ...]
    sources: dict[str, str]
    records: int

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain data, as ``gpusim machine NAME --json`` prints it."""
        data: dict[str, Any] = plain(self)
        return data


def machine_report(name_or_path: str) -> MachineReport:
    """
    Report a machine.

    Args:
        name_or_path: Name of a shipped machine, or path of a machine file.

    Raises:
        BadInput: There is no such machine or file, or the file breaks a rule.
    """
    machine = load_machine(name_or_path)
    return MachineReport(
        name=machine.name,
        title=machine.title,
        digest=machine.digest(),
        sms=machine.sms,
        clock_mhz=machine.clock_mhz,
        counts=machine.figure_counts(),
        figures=machine.figures,
        sources=dict(machine.sources),
        records=_records(machine.name) if name_or_path in machine_names() else 0,
    )


def _records(name: str) -> int:
    return len(tuple((measured_folder() / name).glob("*.json")))
