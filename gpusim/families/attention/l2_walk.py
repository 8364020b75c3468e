"""Walks an attention grid's copies through the L2 in CTA order, without time: keys and values of a head are shared."""

from collections.abc import Sequence

from gpusim.element_types import element_bits
from gpusim.families.attention.code import fetches_of_qk
from gpusim.families.attention.footprint import CtaWalk
from gpusim.families.attention.lanes import COPIED
from gpusim.families.attention.problem import AttentionScenario
from gpusim.families.attention.shape import attention_shape
from gpusim.machine.spec import Machine
from gpusim.sim.footprint import L2Status
from gpusim.sim.l2_walk import PER_MILLE, LruGranules, Touch


class AttentionWalk:
    """
    The walk's outcome, CTA by CTA.

    CTAs of a wave go key block by key block side by side; the L2 replaces the least recently used granule. A granule is
    what a CTA copies of one operand for one key block: queries of one query block, keys or values of one key block of a
    head, which all query blocks of that head share.

    Args:
        ctas: Of the grid in launch order; None for one that finds no query.
        resident: CTAs that run at the same time on the whole chip.

    Attributes:
        bytes_missed: That the whole grid brings from DRAM.
    """

    def __init__(
        self, scenario: AttentionScenario, machine: Machine, ctas: Sequence[CtaWalk | None], resident: int
    ) -> None:
        self._scenario = scenario
        # Data that SMs of both partitions read is kept in both (D11).
        self._held = LruGranules(machine.l2.bytes // machine.l2.partitions)
        self._found: list[list[tuple[L2Status, L2Status, L2Status]]] = [[] for _ in ctas]
        self.bytes_missed = 0
        problem = scenario.problem
        row = element_bits(problem.dtype.ab) // 8
        self._row_bytes = {"q": problem.head_dim * row, "k": problem.head_dim * row, "v": problem.head_dim_v * row}
        for first in range(0, len(ctas), resident):
            self._walk_wave(first, ctas[first : first + resident])

    def status(self, cta: int) -> tuple[tuple[L2Status, ...], ...]:
        """[row of copies][key block] -> L2Status of the CTA."""
        shape = attention_shape(self._scenario)
        by_operand = {
            operand: tuple(found[index] for found in self._found[cta]) for index, operand in enumerate(COPIED)
        }
        fetches = fetches_of_qk(self._scenario)
        values = shape.column_blocks * shape.pv_slots
        return (by_operand["q"],) * fetches + (by_operand["k"],) * fetches + (by_operand["v"],) * values

    def _walk_wave(self, first: int, wave: Sequence[CtaWalk | None]) -> None:
        longest = max((len(walk.blocks) for walk in wave if walk), default=0)
        for trip in range(longest):
            going = [(first + place, walk) for place, walk in enumerate(wave) if walk and trip < len(walk.blocks)]
            found = [self._walk_operand(index, trip, [walk for _, walk in going]) for index in range(len(COPIED))]
            for place, (cta, _) in enumerate(going):
                self._found[cta].append((found[0][place], found[1][place], found[2][place]))

    def _walk_operand(self, index: int, trip: int, going: Sequence[CtaWalk]) -> list[L2Status]:
        """One operand's copies for one key block of all CTAs of a wave."""
        touches = [self._touch(index, walk, trip) for walk in going]
        coming = {touch.granule: touch.size for touch in touches if self._held.touch(touch)}
        missed, asked = sum(coming.values()), sum(touch.size for touch in touches)
        self.bytes_missed += missed
        chip = missed * PER_MILLE // asked if asked else 0
        return [L2Status(slow=PER_MILLE if touch.granule in coming else 0, missed=chip) for touch in touches]

    def _touch(self, index: int, walk: CtaWalk, trip: int) -> Touch:
        block, head, batch = walk.place[0].tolist()
        operand, keys = COPIED[index], walk.blocks[trip]
        of_head = batch * self._scenario.problem.heads + head
        if operand == "q":
            first = block * self._scenario.queries_per_block
            rows = min(self._scenario.queries_per_block, self._scenario.problem.lengths_q[batch] - first)
            return Touch((index, of_head, 0, block), 1, rows * self._row_bytes["q"])
        return Touch((index, of_head, 0, keys.number), 1, keys.keys * self._row_bytes[operand])
