"""The address streams of families whose kernels are schedules of warps that all run one program."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gpusim.schedule.addresses import AddressStream, CtaId, Selection, block_of
from gpusim.schedule.addresses import stream as stream_of
from gpusim.schedule.events import EVENT_FIELDS, Events
from gpusim.schedule.events import events as events_of

if TYPE_CHECKING:
    from gpusim.families.family import Schedules


@dataclass(frozen=True, slots=True)
class OneProgramStreams:
    """
    The streams of a scenario's first kernel.

    Attributes:
        schedules: The stage that makes its schedule.
    """

    schedules: "Schedules"

    def event_fields(self) -> Mapping[str, tuple[str, ...]]:
        """Return the entries of each event after its first word."""
        return EVENT_FIELDS

    def stream(self, scenario: Any, name: str, ctaid: CtaId, selection: Selection) -> AddressStream:
        """Return a stream of a CTA (``schedule.addresses.stream``)."""
        return stream_of(self.schedules.kernels(scenario)[0], name, ctaid, selection)

    def events(self, scenario: Any, ctaid: CtaId, thread: int) -> Events:
        """Return the events of a thread (``schedule.events.events``)."""
        kernel = self.schedules.kernels(scenario)[0]
        return events_of(kernel, block_of(kernel, ctaid), thread)
