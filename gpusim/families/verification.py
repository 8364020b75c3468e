"""What a family's kernels are verified by: their programs, mistakes to break them with, tensors, and a reference."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar, Generic, NamedTuple, TypeAlias, TypeVar

from gpusim.errors import BadInput
from gpusim.functional.data_hazards import DataHazard
from gpusim.numerics.reference import Agreement
from gpusim.schedule.hazards import Hazard

ProgramT = TypeVar("ProgramT")
TensorsT = TypeVar("TensorsT")

SayDone: TypeAlias = Callable[[int, int], None]
"""Called after each batch with the CTAs done and the CTAs of the grid."""


@dataclass(frozen=True, slots=True)
class SecondOutput:
    """
    How what a kernel stores besides its output agrees with the reference.

    Attributes:
        key: In the names of JSON's figures, ``wrong_<key>`` and ``max_<key>_error``.
        words: What its elements are, for a reader.
        wrong: Elements beyond their bound, or not a number.
        max_error: Largest difference of a finite one; None where one is not a number, or none was compared.
    """

    key: str
    words: str
    wrong: int
    max_error: float | None


@dataclass(frozen=True, slots=True)
class VerifyReport:
    """
    What ``gpusim verify`` answers.

    Attributes:
        ok: Every element is within its bound, and there is no hazard.
        seed: Of the random tensors.
        elements: Of the output.
        wrong_elements: Those beyond their bound, or not a number.
        max_error: Largest absolute difference from the float64 reference; None where an element is not a number.
        max_error_over_bound: Largest quotient of difference and bound, at most 1 if all is well; None likewise.
        worst_element: (row, column) of that quotient, or of the first element that is not a number; None where the
            output was not compared, and then no element counts as wrong.
        hazards: Each as a table with at least ``origin`` ("schedule": the order of the ops, "data": what the data
            showed), ``name``, ``message``, ``slice`` (split-K slice; -1 for the data's), ``k_tile``, ``k_group``,
            ``operand``, ``stage``.
        second: Of a kernel with a second output.
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

    def hazard_names(self) -> frozenset[str]:
        """The names of all hazards."""
        return frozenset(str(hazard["name"]) for hazard in self.hazards)

    def as_json(self) -> dict[str, Any]:
        """As ``--json`` prints it."""
        data = asdict(self)
        second = data.pop("second")
        if second is not None:
            data |= {f"wrong_{second['key']}": second["wrong"], f"max_{second['key']}_error": second["max_error"]}
        return data


class Executed(NamedTuple):
    """
    What an execution left.

    Attributes:
        stored: As the family keeps it.
        hazards: What the data gave away, in the order it was met.
    """

    stored: Any
    hazards: tuple[DataHazard, ...]


class Compared(NamedTuple):
    """
    What an execution's output is beside the reference.

    Attributes:
        agreement: Of the output.
        second: Of what else is stored.
        reference: The reference itself.
    """

    agreement: Agreement
    second: SecondOutput | None
    reference: Any


class Verification(ABC, Generic[ProgramT, TensorsT]):
    """
    One scenario's.

    Attributes:
        mutations: Name -> a way to break a program on purpose; it leaves a program in which it finds nothing to break.
        mainloop: What messages call the schedule.
    """

    mutations: ClassVar[Mapping[str, Callable[[Any], Any]]]
    mainloop: str

    @property
    @abstractmethod
    def programs(self) -> Sequence[ProgramT]:
        """What the grid's CTAs execute, each program once."""

    @abstractmethod
    def order_hazards(self, programs: Sequence[ProgramT]) -> list[tuple[int, Hazard]]:
        """What races by the order of ops alone, with the split-K slice that it is of, or -1."""

    @abstractmethod
    def draw(self, seed: int) -> TensorsT:
        """Random inputs."""

    @abstractmethod
    def execute(self, tensors: TensorsT, programs: Sequence[ProgramT], progress: SayDone | None) -> Executed:
        """Run the programs, or broken ones in their places, on real data."""

    @abstractmethod
    def elements(self, done: Executed) -> int:
        """Elements of the output that are to be compared."""

    @abstractmethod
    def compare(self, tensors: TensorsT, done: Executed) -> Compared:
        """What was stored against the float64 reference."""

    def uncompared(self) -> SecondOutput | None:
        """Of a kernel with a second output, what stands where nothing was compared."""
        return None

    def refuse_folder(self, folder: Path, *, reference: bool) -> None:  # noqa: ARG002 - any, where none is written
        """
        Refuse a folder for the tensors.

        Args:
            folder: Where they are to go.
            reference: Whether the reference's are among them.

        Raises:
            BadInput: It holds tensors already, or the family's are not written.
        """
        raise BadInput(
            f"--save-tensors must be left out for {self.mainloop}: tensors of GEMMs and convolutions are written"
        )

    def save(self, folder: Path, tensors: TensorsT, done: Executed, reference: Any) -> tuple[Path, ...]:  # noqa: ARG002
        """
        Write inputs, output and, where it is given, the reference.

        Raises:
            CannotRun: A file cannot be written.
        """
        self.refuse_folder(folder, reference=reference is not None)
        return ()
