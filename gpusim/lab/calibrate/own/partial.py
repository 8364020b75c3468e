"""Measures what DRAM reads and writes for stores and loads of parts of lines, under ncu."""

from gpusim.lab.calibrate.own.scattered import PARTIAL_METRICS
from gpusim.lab.calibrate.profiled import profile_plan
from gpusim.lab.calibrate.runner import Device, MeasuredRow


def measure_partial(device: Device, *, quick: bool) -> list[MeasuredRow]:
    """
    Measure the sectors of the L2 and of DRAM for accesses to parts of lines that the L2 has not.

    Each of ``all_lines`` lines is accessed once: ``bytes`` of each of ``sectors`` sectors, by accesses of 4 ``words``
    bytes. ``cycles`` has the longest span of a warp.

    Raises:
        CannotRun: ncu is missing or may not profile here.
    """
    rows: list[MeasuredRow] = []
    for row, clocks in profile_plan("partial", PARTIAL_METRICS, device.sms, quick=quick):
        spans = clocks.reshape(-1, 2)
        rows.append(row | {"cycles": int((spans[:, 1] - spans[:, 0]).max())})
    return rows
