"""A chip whose SMs have a warp each that loads boxes with TMA in a ring, as the microbenchmarks on a GPU do."""

from functools import cache

import numpy as np

from gpusim.families.hopper.simulation.boxes import BoxedTensor, BoxRequests
from gpusim.machine import load_machine
from gpusim.sim.code import THROTTLES, Decoded, pipe_names
from gpusim.sim.columns import Code, Traces, column, traced_data, zeros
from gpusim.sim.core.chip import Chip
from gpusim.sim.core.constants import (
    ARRIVES,
    EXIT,
    MBARRIER,
    PHASE_AT,
    TMA_LOAD,
    WAITS,
)
from gpusim.sim.core.engine import engine
from gpusim.sim.cta_scheduler import groups_of
from gpusim.sim.figures import figures_of
from gpusim.sim.run import run_chip
from gpusim.sim.tables import columns_of_code
from gpusim.units import LINE_BYTES

H200 = load_machine("h200")
COLUMNS, AREA_ROWS, FULL = 4, 256, 2
"""Boxes side by side in an area; rows of an area; the microbenchmark's tensor has rows of four lines."""


def instruction(kind, **fields):
    """An instruction of no pipe, which waits for the mbarrier that its warp waits for."""
    port = len(pipe_names(H200)) + (kind not in THROTTLES)
    return Decoded(kind, port, joins=True, **fields)


@cache
def numbers_of_sms():
    """The number of each simulated SM on a GPU: TPCs are counted over all GPCs in turn."""
    units = H200.launch.units
    gpcs = [units.gpcs[group] for group in groups_of(H200.sms, H200.sms, units)]
    tpcs = {}
    for sm in range(0, H200.sms, 2):
        tpcs.setdefault(gpcs[sm], []).append(sm)
    rounds = range(max(map(len, tpcs.values())))
    order = [tpcs[gpc][at] + own for at in rounds for gpc in sorted(tpcs) if at < len(tpcs[gpc]) for own in (0, 1)]
    return {sm: number for number, sm in enumerate(order)}


def ring(rows, flight, *, loads, sms=1, area=lambda number: number):
    """
    Run a ring of boxes.

    Args:
        rows: Rows of 128 bytes of a box.
        flight: Boxes in flight.
        loads: Boxes that each SM loads.
        sms: SMs.
        area: The area whose boxes an SM loads, by its number on a GPU.

    Returns:
        The median cycles of an SM, and the chip.
    """
    size = rows * LINE_BYTES
    arrive = instruction(MBARRIER, meets=ARRIVES, arrivals=1, expects=size, stall=12)
    load = instruction(TMA_LOAD, expects=size, stall=H200.tma.issue)
    wait = instruction(MBARRIER, meets=WAITS, stall=16)
    of, wavefronts = columns_of_code([arrive, load, wait, arrive, load, wait, instruction(EXIT, gated=True)], 1)
    code = Code(
        of=of,
        wavefronts=wavefronts,
        first=column([0, 2, 5, 6]),
        end=column([2, 5, 6, 7]),
        trips=column([flight, loads - flight, flight, 1]),
        tiles=zeros(4),
        begins=column([0]),
        warps_of=column([1]),
        warps=1,
        lines=20,
        barriers=1,
        stretches=((0, 2), (2, 5), (5, 6), (6, 7)),
        mbarriers=flight,
    )
    requests, tensor = BoxRequests(), BoxedTensor(0, COLUMNS * LINE_BYTES // 2, 1 << 22, 2)
    access, lines, first, entries = [], [], [], 0
    numbers = numbers_of_sms() if sms > 1 else {0: 0}
    for sm in range(sms):
        own, boxes, at = [], [], []
        below = -(-flight // COLUMNS)
        for box in range(loads + flight):
            trip, slot = divmod(box, flight)
            if box >= flight:
                own.append(slot | trip << PHASE_AT)
            if box < loads:
                own.append(slot)
                at.append(len(own))
                own.append(slot)
                row = (trip * below + slot // COLUMNS) * rows % AREA_ROWS
                boxes.append((slot % COLUMNS * LINE_BYTES // 2, area(numbers[sm]) * AREA_ROWS + row, 0))
        of_warp = np.array(own, dtype=np.int64)
        line = np.zeros_like(of_warp)
        request, line[at] = requests.of(tensor, np.array(boxes), (LINE_BYTES // 2, rows))
        of_warp[at] |= request << PHASE_AT
        first.append(entries)
        entries += len(of_warp)
        access.append(of_warp)
        lines.append(line)
    traces = Traces(
        first=column(first),
        arrays=1,
        array_line=zeros(sms),
        access=column(np.concatenate(access).tolist()),
        line=column(np.concatenate(lines).tolist()),
    )
    data = traced_data(zeros(sms), requests.lines(), traces, cached=False, cluster=column(range(sms)))
    figures = figures_of(H200, 200_000, busy=False)
    chip: Chip = engine().module.Chip(figures, code, data, sms, 1, 1, groups_of(sms, sms, H200.launch.units))
    lives = run_chip(chip, H200.launch, range(sms), None)
    return float(np.median([life.finished - life.launched for life in lives])), chip
