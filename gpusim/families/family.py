"""
The questions that a family of kernels answers, stage by stage.

A stage is a module of the family's folder (or another's, where it is the same): what it must have stands here as a
protocol. Stages are imported when they are first asked, so that printing a scenario costs no simulator, and a machine
without a GPU needs no CuPy.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, TypeVar

from gpusim.scenario.models import Scenario

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from gpusim.cuda.specialise import Build, Specialisation
    from gpusim.families.verification import Verification
    from gpusim.gpu.run import DeviceProblem
    from gpusim.machine.spec import Machine
    from gpusim.report.bank_grid import BankPicture
    from gpusim.report.captions import Words
    from gpusim.results.result import PipelineRow, Result
    from gpusim.results.timeline import Timeline
    from gpusim.scenario.read import Kind
    from gpusim.schedule.counts import CountedKernel
    from gpusim.sim.timed_kernel import TimedKernel

ScenarioT = TypeVar("ScenarioT", bound=Scenario)
AskedT_contra = TypeVar("AskedT_contra", bound=Scenario, contravariant=True)


class Schedules(Protocol[AskedT_contra]):
    """What every CTA executes, and at which addresses."""

    def kernels(self, scenario: AskedT_contra) -> tuple[CountedKernel[Any], ...]:
        """The kernels of a scenario in the order of their launches."""


class Verifications(Protocol[AskedT_contra]):
    """What the schedules are verified by."""

    def verification(self, scenario: AskedT_contra) -> Verification[Any, Any]:
        """Of one scenario."""


class Timing(Protocol[AskedT_contra]):
    """What is simulated in time."""

    def timed_kernels(self, scenario: AskedT_contra, machine: Machine) -> tuple[TimedKernel[Any], ...]:
        """The kernels of a scenario in the order of their launches."""


class Kernels(Protocol[AskedT_contra]):
    """What is compiled for a GPU."""

    def specialisations(self, scenario: AskedT_contra, build: Build) -> tuple[Specialisation, ...]:
        """
        The kernels of a scenario in the order of their launches; none where there is no such build.

        Raises:
            BadInput: kernels_cuda has no such kernel.
        """


class Devices(Protocol[AskedT_contra]):
    """What a GPU is given, and what it must return."""

    def upload(self, cupy: Any, scenario: AskedT_contra, seed: int) -> DeviceProblem:
        """Random inputs of a seed and a poisoned output on the GPU."""


class Latitudes(Protocol[AskedT_contra]):
    """Where a count may differ from the hardware's."""

    def latitude(self, scenario: AskedT_contra, source: str, *, fewer: bool) -> str:
        """
        Why a count may differ from what was measured; empty where it must not.

        Args:
            scenario: What was measured.
            source: ncu metric, SASS opcode, or how else it was measured.
            fewer: Whether fewer were measured.
        """


class Pictures(Protocol[AskedT_contra]):
    """What a run's pictures show."""

    def bank_pictures(self, scenario: AskedT_contra) -> tuple[BankPicture, ...]:
        """Chosen accesses of shared memory, of warp 0."""

    def draw_overlap(
        self,
        scenario: AskedT_contra,
        result: Result,
        timeline: Timeline,
        path: Path,
        measured: Sequence[PipelineRow] | None = None,
    ) -> Path:
        """Draw how stages overlap."""


class Family(ABC, Generic[ScenarioT]):
    """
    A family of kernels.

    Attributes:
        kinds: How its scenarios are read.
    """

    kinds: ClassVar[tuple[Kind, ...]]

    @property
    @abstractmethod
    def schedules(self) -> Schedules[ScenarioT]:
        """What every CTA executes."""

    @property
    @abstractmethod
    def verifications(self) -> Verifications[ScenarioT]:
        """What the schedules are verified by."""

    @property
    @abstractmethod
    def timing(self) -> Timing[ScenarioT]:
        """What is simulated in time."""

    @property
    @abstractmethod
    def cuda(self) -> Kernels[ScenarioT]:
        """What is compiled for a GPU."""

    @property
    @abstractmethod
    def devices(self) -> Devices[ScenarioT]:
        """What a GPU is given."""

    @property
    @abstractmethod
    def latitudes(self) -> Latitudes[ScenarioT]:
        """Where a count may differ from the hardware's."""

    @property
    @abstractmethod
    def pictures(self) -> Pictures[ScenarioT]:
        """What a run's pictures show."""

    @abstractmethod
    def words(self, scenario: ScenarioT) -> Words:
        """What tables and pictures say of a scenario."""
