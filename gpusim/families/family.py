"""
Defines the questions that a family of kernels answers, stage by stage.

A stage is a module in the folder of the family, or of the family that it extends. The protocols here say what each
stage must have. A stage is imported when it is first used, so that printing a scenario imports no simulator, and a
machine without a GPU needs no CuPy.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar, cast

from gpusim.errors import Unsupported

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from gpusim.cuda.specialise import Build, Specialisation
    from gpusim.families.verification import Verification
    from gpusim.gpu.run import DeviceProblem
    from gpusim.machine.spec import Machine
    from gpusim.report.bank_grid import BankPicture
    from gpusim.report.captions import Words
    from gpusim.report.style import Canvas
    from gpusim.results.bound import Bound
    from gpusim.results.resources import Resource
    from gpusim.results.result import PipelineRow, Result
    from gpusim.results.timeline import Timeline
    from gpusim.scenario.read import Kind
    from gpusim.schedule.addresses import AddressStream, CtaId, Selection
    from gpusim.schedule.counts import CountedKernel
    from gpusim.schedule.events import Events
    from gpusim.sim.timed_kernel import TimedKernel

StageT = TypeVar("StageT")

_LACKING = {
    "schedule": "its roles have no schedule of one program for all warps, which this command needs",
    "timed": "its roles have no stream of one program for all warps, which this command needs",
    "cuda": "kernels_cuda has no kernel of it",
    "device": "kernels_cuda has no kernel of it",
    "space": "its configurations are not searched",
    "pictures": "it has no pictures",
    "verify": "it is not executed on data",
}
"""What a family without a stage cannot do, in words."""


class Schedules(Protocol):
    """Stage ``schedule``: what every CTA executes, and at which addresses."""

    def kernels(self, scenario: Any) -> tuple[CountedKernel[Any], ...]:
        """Return the kernels of a scenario as schedules, in launch order."""


class Verifications(Protocol):
    """Stage ``verify``: how schedules are executed on data and checked."""

    def verification(self, scenario: Any) -> Verification[Any, Any]:
        """Return the verification of a scenario."""


class Timing(Protocol):
    """Stage ``timed``: how kernels are simulated in time."""

    def timed_kernels(self, scenario: Any, machine: Machine) -> tuple[TimedKernel[Any], ...]:
        """Return the kernels of a scenario for simulation in time, in launch order."""


class Simulations(Protocol):
    """Stage ``simulated``: how a family whose warps have roles is simulated in time, in place of ``timed``."""

    def simulate(self, scenario: Any, machine: Machine, progress: Callable[[str], None]) -> tuple[Result, Timeline]:
        """
        Simulate a scenario, and return its result and the timeline of the watched CTA.

        Raises:
            BadInput: The machine cannot run the kernel.
        """

    def warps(self, scenario: Any) -> int:
        """Return the warps of a CTA."""


class Explained(Protocol):
    """Stage ``explained``: what the roles of a simulated kernel say about it."""

    def sentences(self, result: Result, used: Sequence[Resource]) -> tuple[str, ...]:
        """Return which side of the pipeline binds, and what each role waits for, a sentence each."""

    def verdict(self, result: Result, bound: Bound) -> str:
        """Return the main limit in one sentence."""

    def changes(self, scenario: Any) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """Yield changes of a scenario that may help, each in words and as settings by dotted key."""


class Kernels(Protocol):
    """Stage ``cuda``: how kernels are compiled for a GPU."""

    def specialisations(self, scenario: Any, build: Build) -> tuple[Specialisation, ...]:
        """
        Return the specialised kernels of a scenario in launch order; none if there is no such build.

        Raises:
            BadInput: kernels_cuda has no such kernel.
        """


class Devices(Protocol):
    """Stage ``device``: the tensors of a scenario on a GPU."""

    def upload(self, cupy: Any, scenario: Any, seed: int) -> DeviceProblem:
        """Put random inputs and poisoned outputs on the GPU, and return them."""


class Streams(Protocol):
    """Stage ``streams``: the address streams of a CTA, and the events of a thread."""

    def event_fields(self) -> Mapping[str, tuple[str, ...]]:
        """Return the entries of each event after its first word."""

    def stream(self, scenario: Any, name: str, ctaid: CtaId, selection: Selection) -> AddressStream:
        """
        Return a stream of a CTA.

        Raises:
            BadInput: The stream or the CTA does not exist, or the stream lacks what is selected.
        """

    def events(self, scenario: Any, ctaid: CtaId, thread: int) -> Events:
        """
        Return what a thread of a CTA executes.

        Raises:
            BadInput: The CTA or the thread does not exist.
        """


class Latitudes(Protocol):
    """Stage ``latitude``: which counts may differ from the hardware's."""

    def latitude(self, scenario: Any, source: str, *, fewer: bool) -> str:
        """
        Return why a count may differ from the measured one; empty if it must not.

        Args:
            scenario: The measured scenario.
            source: Origin of the measured count: an ncu metric, a SASS opcode, or another name.
            fewer: Whether the measured count is lower than the simulated one.
        """


class Spaces(Protocol):
    """Stage ``space``: the kernels that CUTLASS could compile for a problem."""

    def configurations(self, scenario: Any, machine: Machine) -> Iterator[Mapping[str, Any]]:
        """Yield the settings of every kernel that is tried, by dotted key. Some are not legal for the problem."""

    def least_cycles(self, scenario: Any, machine: Machine) -> dict[str, int]:
        """Return, by resource, the fewest cycles that a legal configuration could take."""

    def notes(self, scenario: Any) -> tuple[str, ...]:
        """Return what a reader of the answer must know, such as that the scenario's own kernel is outside the space."""


class Describing(Protocol):
    """Stage ``words``: how a scenario is described."""

    def words(self, scenario: Any) -> Words:
        """Return the description of a scenario for tables and pictures."""


class Pictures(Protocol):
    """Stage ``pictures``: the pictures of a run."""

    def bank_pictures(self, scenario: Any) -> tuple[BankPicture, ...]:
        """Return typical shared-memory accesses of warp 0, to be drawn."""

    def draw_overlap(
        self,
        scenario: Any,
        words: Words,
        result: Result,
        timeline: Timeline,
        canvas: Canvas,
        *,
        measured: Sequence[PipelineRow] | None = None,
    ) -> Canvas:
        """Draw how the stages of the shared-memory ring overlap, and return ``canvas``; ``words`` describe the run."""


class _Stage(Generic[StageT]):
    """A stage of a family, as an attribute: its module, imported when it is first asked for."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, family: Family, _: type[Family]) -> StageT:
        return cast("StageT", family.stage(self.name))


@dataclass(frozen=True, slots=True)
class Family:
    """
    A family of kernels.

    Attributes:
        folder: Package of the family. A stage's module in it has the stage's name.
        kinds: The problem kinds of the family, and how their scenarios are read.
        extends: The family whose stages are used for those that this one lacks.
    """

    folder: str
    kinds: tuple[Kind, ...]
    extends: Family | None = None

    def stage(self, name: str) -> Any:
        """
        Return the module of a stage: the family's own or that of the extended family.

        Raises:
            Unsupported: Neither has it.
        """
        if find_spec(f"{self.folder}.{name}") is not None:
            return import_module(f"{self.folder}.{name}")
        if self.extends is not None:
            return self.extends.stage(name)
        kinds = ", ".join(kind.name for kind in self.kinds)
        raise Unsupported(f"{kinds}: {_LACKING.get(name, f'the stage {name!r} is missing')}")

    def has(self, stage: str) -> bool:
        """Return whether the family has a stage, of its own or of the family that it extends."""
        own = find_spec(f"{self.folder}.{stage}") is not None
        return own or (self.extends is not None and self.extends.has(stage))

    schedules = _Stage[Schedules]("schedule")
    """The stage that makes schedules."""

    verifications = _Stage[Verifications]("verify")
    """The stage that executes schedules on data and checks them."""

    timing = _Stage[Timing]("timed")
    """The stage that makes kernels for simulation in time."""

    simulations = _Stage[Simulations]("simulated")
    """The stage that simulates kernels whose warps have roles."""

    explained = _Stage[Explained]("explained")
    """The stage that explains kernels whose warps have roles."""

    cuda = _Stage[Kernels]("cuda")
    """The stage that specialises kernels for a GPU."""

    devices = _Stage[Devices]("device")
    """The stage that puts tensors on a GPU."""

    @property
    def streams(self) -> Streams:
        """The stage that prints addresses: the family's own, or that of schedules whose warps run one program."""
        if find_spec(f"{self.folder}.streams") is not None:
            return cast("Streams", self.stage("streams"))
        return cast("Streams", import_module("gpusim.families.streams").OneProgramStreams(self.schedules))

    latitudes = _Stage[Latitudes]("latitude")
    """The stage that knows which counts may differ from the hardware's."""

    spaces = _Stage[Spaces]("space")
    """The stage that knows which kernels could be compiled."""

    pictures = _Stage[Pictures]("pictures")
    """The stage that makes the pictures of a run."""

    def words(self, scenario: Any) -> Words:
        """Return the description of a scenario for tables and pictures."""
        return cast("Describing", self.stage("words")).words(scenario)
