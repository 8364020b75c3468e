"""Measures TMA loads of the same boxes by several SMs at once, which the L2 may merge."""

from collections.abc import Iterator
from itertools import product
from typing import Final, Literal, NamedTuple

from gpusim.lab.calibrate.hopper.boxes import BOX_PITCH, FAR_ROWS, BoxCase, Loads
from gpusim.lab.calibrate.runner import Device, MeasuredRow


class Sharing(NamedTuple):
    """
    SMs that load the same boxes.

    Attributes:
        shared_by: So many SMs; 0 is all.
        neighbours: Whether their numbers are next to each other: two are a TPC. Otherwise they are as far apart as
            the chip's SMs allow.
    """

    shared_by: int
    neighbours: bool


SHARINGS: Final = (
    *(Sharing(1, neighbours=True), Sharing(2, neighbours=True), Sharing(2, neighbours=False)),
    *(Sharing(4, neighbours=True), Sharing(4, neighbours=False), Sharing(11, neighbours=False)),
    *(Sharing(33, neighbours=False), Sharing(0, neighbours=False)),
)


def _cases(sms: int, *, quick: bool) -> Iterator[tuple[Sharing, BoxCase]]:
    sources: tuple[Literal["L2", "DRAM"], ...] = ("L2", "DRAM")
    for sharing, source, rows in product(SHARINGS[:: 2 if quick else 1], sources, (64, 128)):
        shared_by = min(sharing.shared_by or sms, sms)
        areas = sms // shared_by
        divide = shared_by if sharing.neighbours else 1
        for kind, flights in (("burst", (1, 4)), ("ring", (2, 4, 8))):
            for in_flight in flights:
                yield (
                    sharing._replace(shared_by=shared_by),
                    BoxCase(
                        "burst" if kind == "burst" else "ring",
                        source,
                        *(rows, 128, 128, BOX_PITCH, 0, in_flight, sms),
                        divide=divide,
                        modulo=areas,
                    ),
                )


def measure_tma_merge(device: Device, *, quick: bool) -> list[MeasuredRow]:
    """
    Measure boxes that ``shared_by`` SMs load at the same time, SMs of numbers side by side (``neighbours`` 1) or not.

    The other columns are those of ``measure_tma_boxes``. SMs of a "ring" begin at once and may drift apart.
    """
    loads = Loads(device, device.sms * FAR_ROWS * BOX_PITCH)
    rows: list[MeasuredRow] = []
    for sharing, case in _cases(device.sms, quick=quick):
        place: MeasuredRow = {"shared_by": sharing.shared_by, "neighbours": int(sharing.neighbours)}
        rows.append(place | loads.row(case))
    return rows
