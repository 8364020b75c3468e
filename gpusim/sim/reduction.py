"""Simulates the second launch of a parallel split-K in time: one SM of each kind, which CTAs alone tell apart."""

from collections.abc import Sequence
from dataclasses import dataclass

from gpusim.lower.stream import Executed, Stream
from gpusim.machine.spec import Machine
from gpusim.scenario.gemm import GemmScenario
from gpusim.schedule.ops import LoadBias, LoadPartial, StoreGlobal
from gpusim.sim.assembly import SOURCE_OR_OUTPUT, Access, Assembly, Decoder, decode_segments
from gpusim.sim.footprint import FROM_DRAM, IN_L2, Footprint
from gpusim.sim.kernel import run_sms, source_bytes
from gpusim.sim.l2 import SampledL2
from gpusim.sim.sampling import SampledKind, sample, stall_cycles
from gpusim.sim.sm import Sm
from gpusim.tile.reduction import ReductionTile


@dataclass(frozen=True, slots=True)
class ReductionOutcome:
    """
    What the simulated SMs did.

    Attributes:
        active: Mean active span of the SMs that have work.
        longest: Longest active span.
        stalls: Reason -> warp cycles, each simulated SM counted as often as it stands for others.
        ctas: Simulated.
        instructions: Warp instructions simulated.
        dram_bytes: Read by the whole chip.
    """

    active: int
    longest: int
    stalls: dict[str, int]
    ctas: int
    instructions: int
    dram_bytes: int


class _Resolver(Decoder):
    """Of the reduction: rows of the footprint are the slices, then output and source, then the bias."""

    def __init__(self, tile: ReductionTile, machine: Machine) -> None:
        super().__init__(machine)
        self.tile = tile

    def access(self, op: Executed) -> Access:
        """What an op adds to its instruction."""
        match op:
            case LoadPartial(slice_, access):
                row, column = slice_, access
            case LoadBias():
                row, column = self.tile.slices + 1, 0
            case _:
                row, column = self.tile.slices, 0
        return Access(target=(SOURCE_OR_OUTPUT, row, column, 0), is_load=not isinstance(op, StoreGlobal))


def simulate_reduction(scenario: GemmScenario, stream: Stream, machine: Machine, ctas_per_sm: int) -> ReductionOutcome:
    """
    Run the launch.

    SM r of n runs CTAs r, r + n, r + 2n, ...; nothing but how many there are tells SMs apart, so one of those with most
    CTAs and one of the others are simulated, with the chip's bandwidth shared by all.

    Not modelled: partial sums that have left the L2 before they are read (D28).

    Args:
        stream: Of the reduction.
        ctas_per_sm: Resident at once.
    """
    tile = scenario.reduction
    assembly = Assembly(
        segments=decode_segments(stream, _Resolver(tile, machine)),
        warps=tile.warps,
        stages=1,
        k_tiles=0,
        fetches=0,
        instructions_per_warp=stream.instructions_per_warp,
    )
    working = min(machine.sms, tile.ctas)
    fullest = -(-tile.ctas // machine.sms)
    many = tile.ctas - (fullest - 1) * working
    kinds = [SampledKind(range(0, tile.ctas, machine.sms), many, working)]
    if many < working:
        kinds.append(SampledKind(range(many, tile.ctas, machine.sms), working - many, working))

    def run(l2: SampledL2, queue: Sequence[int]) -> Sm:
        """One SM, until its CTAs are done."""
        (sm,) = run_sms(
            machine,
            l2,
            1,
            queue,
            slots=ctas_per_sm,
            carve_out=ctas_per_sm * machine.limits.shared_reserved_per_cta,
            assembly=lambda _: assembly,
            footprint=lambda cta: _footprint(tile, cta),
        )
        return sm

    sampled = sample(machine, kinds, ctas_per_sm, run, lambda _: None)
    return ReductionOutcome(
        active=sampled.active,
        longest=sampled.longest,
        stalls=stall_cycles(sampled.stands_for),
        ctas=sum(len(sm.lives) for sm in sampled.stands_for),
        instructions=sum(sm.instructions for sm in sampled.stands_for),
        dram_bytes=source_bytes(scenario),
    )


def _footprint(tile: ReductionTile, cta: int) -> Footprint:
    access = tile.access(cta)
    partial = tile.sectors(access.partial, access.valid, tile.accumulator_type, tile.elements_per_load)
    rows = [
        tile.sectors(offset, access.valid, tile.output_type, tile.elements_per_access).tolist()
        for offset in (access.output, access.bias)
    ]
    found = (IN_L2,) * tile.slices + (FROM_DRAM, FROM_DRAM)
    return Footprint(copies=(), outputs=[*partial.tolist(), *([row] for row in rows)], found=found, status=())
