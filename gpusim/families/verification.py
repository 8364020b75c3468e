"""Defines how a family's kernels are verified: programs, mutations that break them, tensors, and a reference."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Generic, NamedTuple, TypeAlias, TypeVar

from gpusim.errors import BadInput
from gpusim.functional.data_hazards import DataHazard
from gpusim.numerics.reference import Agreement
from gpusim.results.plain import plain
from gpusim.schedule.hazards import Hazard
from gpusim.schedule.mutations import ProgramT

TensorsT = TypeVar("TensorsT")

SayDone: TypeAlias = Callable[[int, int], None]
"""Called after each batch of CTAs with the number of CTAs done and of the grid."""


@dataclass(frozen=True, slots=True)
class SecondOutput:
    """
    The agreement of a kernel's second output with the reference.

    Attributes:
        key: Part of the names of its figures in JSON, ``wrong_<key>`` and ``max_<key>_error``.
        words: Name of its elements in text.
        wrong: Number of elements beyond their bound, or not a number.
        max_error: Largest difference of a finite element; None if an element is not a number, or none was compared.
    """

    key: str
    words: str
    wrong: int
    max_error: float | None


@dataclass(frozen=True, slots=True)
class VerifyReport:
    """
    The report of ``gpusim verify``.

    Attributes:
        ok: Whether every element is within its bound, and there is no hazard.
        seed: Seed of the random tensors.
        elements: Number of elements of the output.
        wrong_elements: Number of elements beyond their bound, or not a number; 0 if nothing was compared.
        max_error: Largest absolute difference from the float64 reference; None if an element is not a number.
        max_error_over_bound: Largest quotient of difference and bound, at most 1 without wrong elements; None if an
            element is not a number.
        worst_element: (row, column) of that quotient, or of the first element that is not a number; None if the output
            was not compared.
        hazards: Hazards as tables with at least ``origin`` ("schedule" if the order of ops shows it, "data" if the data
            does), ``name``, ``message``, ``slice`` (split-K slice; -1 for origin "data"), ``k_tile``, ``k_group``,
            ``operand``, ``stage``.
        second: Agreement of the second output; None for a kernel without one.
        scenario: The resolved scenario, as plain data.
        mutation: Name of the mutation that broke the schedule on purpose; None for none.
    """

    ok: bool
    seed: int
    elements: int
    wrong_elements: int
    max_error: float | None
    max_error_over_bound: float | None
    worst_element: tuple[int, int] | None
    hazards: tuple[dict[str, Any], ...]
    second: SecondOutput | None = None
    scenario: dict[str, Any] = field(default_factory=dict)
    mutation: str | None = None

    def __hash__(self) -> int:
        """Return the same number for equal ones."""
        return hash((self.ok, self.seed, self.elements, self.wrong_elements, self.mutation))

    def hazard_names(self) -> frozenset[str]:
        """Return the names of all hazards."""
        return frozenset(str(hazard["name"]) for hazard in self.hazards)

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain data, which is what ``gpusim verify --json`` prints."""
        data = plain(self)
        data = {"scenario": data.pop("scenario"), "mutation": data.pop("mutation"), **data}
        second = data.pop("second")
        if second is not None:
            data |= {f"wrong_{second['key']}": second["wrong"], f"max_{second['key']}_error": second["max_error"]}
        return data


MEMORY_OF_ELEMENT = 40
"""Bytes that an execution and its comparison take for each element of a tensor, as measured on large ones."""


class Executed(NamedTuple):
    """
    The outcome of an execution on data.

    Attributes:
        stored: Stored outputs, in a form of the family's own.
        hazards: Hazards that the data showed, in the order in which they occurred.
    """

    stored: Any
    hazards: tuple[DataHazard, ...]


class Compared(NamedTuple):
    """
    The comparison of an execution's outputs with the reference.

    Attributes:
        agreement: Agreement of the output.
        second: Agreement of the second output; None for a kernel without one.
        reference: The reference, in a form of the family's own.
    """

    agreement: Agreement
    second: SecondOutput | None
    reference: Any


class Verification(ABC, Generic[ProgramT, TensorsT]):
    """
    The verification of one scenario.

    Attributes:
        scenario: Problem and kernel.
        mutations: Functions by name that break a program on purpose. One that finds nothing to break returns the
            program unchanged.
        mainloop: Name of the schedule in messages.
    """

    mutations: ClassVar[Mapping[str, Callable[[Any], Any]]]
    mainloop: str

    def __init__(self, scenario: Any) -> None:
        """Prepare the verification of a scenario."""
        self.scenario, self.mainloop = scenario, scenario.kernel.mainloop

    @property
    @abstractmethod
    def memory(self) -> int:
        """Bytes that an execution takes, about."""

    @property
    @abstractmethod
    def programs(self) -> Sequence[ProgramT]:
        """The distinct programs that the grid's CTAs execute."""

    @abstractmethod
    def order_hazards(self, programs: Sequence[ProgramT]) -> list[tuple[int, Hazard]]:
        """Return the hazards that the order of ops alone shows, each with its split-K slice, or -1."""

    @abstractmethod
    def draw(self, seed: int) -> TensorsT:
        """Draw random inputs."""

    @abstractmethod
    def execute(self, tensors: TensorsT, programs: Sequence[ProgramT], progress: SayDone | None) -> Executed:
        """Execute on real data, with ``programs`` (which may be mutated) in place of the property's, in its order."""

    @abstractmethod
    def elements(self, done: Executed) -> int:
        """Return the number of output elements to compare."""

    @abstractmethod
    def compare(self, tensors: TensorsT, done: Executed) -> Compared:
        """Compare the stored outputs with the float64 reference."""

    def uncompared(self) -> SecondOutput | None:
        """Return the entry of the second output in a report without comparison; None for a kernel without one."""
        return None

    def refuse_folder(
        self,
        folder: Path,  # noqa: ARG002 - no folder is accepted
        *,
        reference: bool,  # noqa: ARG002
        replace: bool = False,  # noqa: ARG002
    ) -> None:
        """
        Check that tensors can be written to a folder.

        Args:
            folder: Folder for the tensors.
            reference: Whether the reference is to be written, too.
            replace: Whether tensors that are there may be replaced.

        Raises:
            BadInput: The folder already holds tensors, or tensors of this family cannot be written.
        """
        raise BadInput(
            f"--save-tensors must be left out for {self.mainloop}: tensors of gemm and convolutions alone are written"
        )

    def save(
        self,
        folder: Path,
        tensors: TensorsT,  # noqa: ARG002
        done: Executed,  # noqa: ARG002
        reference: Any,
        *,
        replace: bool = False,
    ) -> tuple[Path, ...]:
        """
        Write inputs, output and, if it is given, the reference, and return the files.

        Raises:
            BadInput: Tensors of this family cannot be written.
            CannotRun: A file cannot be written.
        """
        self.refuse_folder(folder, reference=reference is not None, replace=replace)
        return ()
