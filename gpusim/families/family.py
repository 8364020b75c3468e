"""
The questions that a family of kernels answers, stage by stage.

A stage is a module of the family's folder (or of one that it extends): what it must have stands here as a protocol.
Stages are imported when they are first asked, so that printing a scenario costs no simulator, and a machine
without a GPU needs no CuPy.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Protocol, cast

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


class Schedules(Protocol):
    """What every CTA executes, and at which addresses."""

    def kernels(self, scenario: Any) -> tuple[CountedKernel[Any], ...]:
        """The kernels of a scenario in the order of their launches."""


class Verifications(Protocol):
    """What the schedules are verified by."""

    def verification(self, scenario: Any) -> Verification[Any, Any]:
        """Of one scenario."""


class Timing(Protocol):
    """What is simulated in time."""

    def timed_kernels(self, scenario: Any, machine: Machine) -> tuple[TimedKernel[Any], ...]:
        """The kernels of a scenario in the order of their launches."""


class Kernels(Protocol):
    """What is compiled for a GPU."""

    def specialisations(self, scenario: Any, build: Build) -> tuple[Specialisation, ...]:
        """
        The kernels of a scenario in the order of their launches; none where there is no such build.

        Raises:
            BadInput: kernels_cuda has no such kernel.
        """


class Devices(Protocol):
    """What a GPU is given, and what it must return."""

    def upload(self, cupy: Any, scenario: Any, seed: int) -> DeviceProblem:
        """Random inputs of a seed and a poisoned output on the GPU."""


class Latitudes(Protocol):
    """Where a count may differ from the hardware's."""

    def latitude(self, scenario: Any, source: str, *, fewer: bool) -> str:
        """
        Why a count may differ from what was measured; empty where it must not.

        Args:
            scenario: What was measured.
            source: ncu metric, SASS opcode, or how else it was measured.
            fewer: Whether fewer were measured.
        """


class Describing(Protocol):
    """What is said of a scenario."""

    def words(self, scenario: Any) -> Words:
        """What tables and pictures say of it."""


class Pictures(Protocol):
    """What a run's pictures show."""

    def bank_pictures(self, scenario: Any) -> tuple[BankPicture, ...]:
        """Chosen accesses of shared memory, of warp 0."""

    def draw_overlap(
        self,
        scenario: Any,
        result: Result,
        timeline: Timeline,
        path: Path,
        measured: Sequence[PipelineRow] | None = None,
    ) -> Path:
        """Draw how stages overlap."""


@dataclass(frozen=True, slots=True)
class Family:
    """
    A family of kernels.

    Attributes:
        folder: Its package, in which a stage's module has the stage's name.
        kinds: How its scenarios are read.
        extends: The family whose stages it takes where it has none of its own.
    """

    folder: str
    kinds: tuple[Kind, ...]
    extends: Family | None = None

    def stage(self, name: str) -> Any:
        """A stage's module, its own or the extended family's."""
        if self.extends is not None and find_spec(f"{self.folder}.{name}") is None:
            return self.extends.stage(name)
        return import_module(f"{self.folder}.{name}")

    @property
    def schedules(self) -> Schedules:
        """What every CTA executes."""
        return cast("Schedules", self.stage("schedule"))

    @property
    def verifications(self) -> Verifications:
        """What the schedules are verified by."""
        return cast("Verifications", self.stage("verify"))

    @property
    def timing(self) -> Timing:
        """What is simulated in time."""
        return cast("Timing", self.stage("timed"))

    @property
    def cuda(self) -> Kernels:
        """What is compiled for a GPU."""
        return cast("Kernels", self.stage("cuda"))

    @property
    def devices(self) -> Devices:
        """What a GPU is given."""
        return cast("Devices", self.stage("device"))

    @property
    def latitudes(self) -> Latitudes:
        """Where a count may differ from the hardware's."""
        return cast("Latitudes", self.stage("latitude"))

    @property
    def pictures(self) -> Pictures:
        """What a run's pictures show."""
        return cast("Pictures", self.stage("pictures"))

    def words(self, scenario: Any) -> Words:
        """What tables and pictures say of a scenario."""
        return cast("Describing", self.stage("words")).words(scenario)
