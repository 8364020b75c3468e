"""Microbenchmarks as code of one CTA, and the cycles of one trip of their loop on a simulated SM."""

from collections.abc import Sequence
from dataclasses import fields
from typing import Any, Final

from gpusim.machine.spec import Machine
from gpusim.sim.code import THROTTLES, Decoded, DecodedSegment, of_one_role, pipe_names
from gpusim.sim.columns import Data, Traces, column
from gpusim.sim.core.constants import BAR, EXIT, PIPE, SHARED
from gpusim.sim.core.engine import engine
from gpusim.sim.cta_scheduler import never_ends
from gpusim.sim.figures import figures_of
from gpusim.sim.tables import code_of
from gpusim.units import SCOREBOARDS

TRIPS: Final = 24
"""Number of trips before the timed ones, and of timed trips."""

MOST_CHAINS: Final = SCOREBOARDS
"""Most chains of dependent instructions in one warp: each has a scoreboard of its own."""

LANES_BYTES: Final = 32
"""Lanes of a warp, each of which loads some bytes."""

MATRIX_BYTES: Final = 128
"""Bytes of a warp for one 8x8 matrix of an ldmatrix."""


def mma(machine: Machine, name: str, chains: int, cycles: Sequence[int] = ()) -> tuple[Decoded, ...]:
    """
    Return mma.sync in chains.

    Args:
        machine: The machine.
        name: Shape and types.
        chains: Independent mma.sync of a trip.
        cycles: Cycles from each to the next by ptxas's stalls, over some trips; an mma.sync then waits for nothing
            else. Without them, it is one trip in which each waits for its predecessor in its own chain.
    """
    spec = machine.tensor[name]
    beyond = 0 if spec.beyond is None else spec.beyond.percent
    port = len(pipe_names(machine)) - 1
    one = Decoded(PIPE, port, THROTTLES[PIPE], spec.interval, spec.latency, gated=True, mma_hundredths=beyond)
    return tuple(one._replace(stall=stall) for stall in cycles) or _chains(one, chains)


def ldmatrix(
    machine: Machine, matrices: int, chains: int, wavefronts: int | None = None, cycles: Sequence[int] = ()
) -> tuple[Decoded, ...]:
    """
    Return ldmatrix of 1, 2 or 4 matrices in chains; without conflicts a matrix is a wavefront.

    Args:
        machine: The machine.
        matrices: Matrices of each.
        chains: Independent ldmatrix of a trip. Each waits for its predecessor in its own chain.
        wavefronts: Wavefronts of each.
        cycles: Cycles from each to the next by ptxas's stalls, over some trips. Without them, it is one trip.
    """
    latency = machine.shared.ldmatrix_latency_x1
    trip = _loads(machine, latency, matrices * MATRIX_BYTES, wavefronts or matrices, chains)
    return tuple(trip[at % chains]._replace(stall=stall) for at, stall in enumerate(cycles)) or trip


def lds(machine: Machine, width: int, wavefronts: int, chains: int) -> tuple[Decoded, ...]:
    """Return ``chains`` loads from shared memory of ``width`` bytes a lane, one chain each."""
    return _loads(machine, machine.shared.lds_latency(width), LANES_BYTES * width, wavefronts, chains)


def arithmetic(machine: Machine, pipe: str, chains: int) -> tuple[Decoded, ...]:
    """Return ``chains`` instructions of a pipe, one chain each."""
    spec = machine.pipes[pipe]
    port = pipe_names(machine).index(pipe)
    return _chains(Decoded(PIPE, port, THROTTLES[PIPE], spec.interval, spec.latency or 0, gated=True), chains)


def barrier(machine: Machine) -> tuple[Decoded, ...]:
    """Return one bar.sync."""
    return (Decoded(BAR, len(pipe_names(machine)) + 1, joins=True),)


def cycles_of_a_trip(machine: Machine, body: tuple[Decoded, ...], warps: int, ctas: int = 1) -> float:
    """
    Return the cycles of one trip of a loop in the steady state on one SM, over all of its warps.

    They are the difference of two runs, one of twice as many trips as the other, divided by the additional trips.

    Args:
        machine: The machine.
        body: Code of one trip.
        warps: Warps of a CTA, which go to the SMSPs in turn.
        ctas: CTAs on the SM.
    """
    once, twice = (_end(machine, body, trips, warps, ctas) for trips in (TRIPS, 2 * TRIPS))
    return (twice - once) / TRIPS


def _loads(machine: Machine, latency: int, size: int, wavefronts: int, chains: int) -> tuple[Decoded, ...]:
    port = len(pipe_names(machine))
    slots = ((wavefronts,) * machine.limits.max_warps,)
    load = Decoded(
        SHARED, port, THROTTLES[SHARED], latency=latency, gated=True, joins=True, registers=1, bytes=size, is_load=True
    )
    return _chains(load._replace(wavefronts=slots), chains)


def _chains(instruction: Decoded, chains: int) -> tuple[Decoded, ...]:
    return tuple(instruction._replace(waits=(board,), write=board) for board in range(chains))


def _end(machine: Machine, body: tuple[Decoded, ...], trips: int, warps: int, ctas: int) -> int:
    """Return the cycle at which the last CTA ends."""
    leave = Decoded(EXIT, len(pipe_names(machine)) + 1, gated=True, joins=True)
    slots = tuple(one._replace(wavefronts=tuple(row[:warps] for row in one.wavefronts)) for one in body)
    segments = DecodedSegment("loop", slots, trips, 1), DecodedSegment("end", (leave,), 1, 0)
    code = code_of({0: of_one_role(segments, warps)}, machine.instruction_cache.stream_lines)
    chip = engine().module.Chip(figures_of(machine, 0, busy=False), code, _nothing(ctas), 1, ctas, 1)
    for cta in range(ctas):
        chip.hand(0, cta, 0, 0)
    end = 0
    for _ in range(ctas):
        if chip.run() < 0:
            raise never_ends(chip, range(ctas))
        end = chip.ended_at
    return end


def _nothing(ctas: int) -> Data:
    """Return the data of CTAs that access no global memory."""
    empty: dict[str, Any] = {field.name: column([0] * ctas) for field in fields(Data)}
    alone = {"follows": column([-1] * ctas), "followed": column([-1] * ctas)}
    numbers = {"rows": 1, "outputs": 1, "cached": False, "simulates_l2": True}
    return Data(**empty | alone | numbers | {"traces": Traces()})
