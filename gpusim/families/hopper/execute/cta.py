"""The state of one CTA that its roles share: shared memory, mbarriers, and where roles meet."""

from collections.abc import Sequence
from itertools import accumulate

from gpusim.families.hopper.execute.barriers import MbarrierState, Meeting
from gpusim.families.hopper.execute.clocks import components
from gpusim.families.hopper.execute.kernel import HopperRun
from gpusim.families.hopper.execute.memory import C_CONTENT, D_CONTENT, SharedBytes
from gpusim.families.hopper.execute.program import CtaProgram
from gpusim.families.hopper.program.ops import TmaLoad, TmaStore

ALL_THREADS = 0
"""Number of the barrier of all threads of a CTA (__syncthreads)."""


class CtaState:
    """
    One CTA.

    Attributes:
        program: What it executes.
        memory: Its shared memory.
        barriers: Its mbarriers.
        components: Components of a clock.
    """

    def __init__(self, kernel: HopperRun, program: CtaProgram, roles: Sequence[int], total: int) -> None:
        """
        Begin a CTA.

        Args:
            kernel: The kernel.
            program: What the CTA executes.
            roles: Numbers of its roles in the cluster.
            total: Roles of the cluster.
        """
        self._kernel, self.program = kernel, program
        collective = kernel.collective
        first = components(total, program.place.rank * len(collective.barriers))
        self.components = components(total, collective.cluster_size * len(collective.barriers)) + 1
        self.memory = SharedBytes(collective.shared_bytes, roles, self.components)
        self.barriers = {
            barrier: MbarrierState(barrier, first + number, self.components)
            for number, barrier in enumerate(collective.barriers)
        }
        self._meetings: dict[int, Meeting] = {}
        self._first_fills = [0, *accumulate(unit.k_tiles for unit in program.units)]

    def meeting(self, number: int) -> Meeting:
        """Return a named barrier, or ``ALL_THREADS``."""
        if number not in self._meetings:
            words = f"named barrier {number}" if number != ALL_THREADS else "__syncthreads"
            self._meetings[number] = Meeting(words, self.components)
        return self._meetings[number]

    def fill(self, unit: int, k_tile: int) -> int:
        """Return which fill of the ring a k tile of one of the CTA's tiles is."""
        return self._first_fills[unit] + k_tile - self.program.units[unit].first_k_tile

    def loaded(self, unit: int, op: TmaLoad, subtiles: int) -> tuple[int, int]:
        """
        Return the content that a load brings, and the phase of its barrier that it belongs to.

        Args:
            unit: Number of the tile.
            op: The load.
            subtiles: Loads of C of this tile so far.
        """
        if op.tensor == "C":
            number = self.subtile(unit, subtiles)
            return C_CONTENT + number, number // self._kernel.epilogue.stages_c
        fill = self.fill(unit, op.k_tile)
        return operand_content(fill, op.tensor), fill // self._kernel.collective.stages

    def subtile(self, unit: int, number: int) -> int:
        """Return the number of a subtile among those of all tiles of the CTA."""
        along_m, along_n = self._kernel.epilogue.subtiles
        return unit * along_m * along_n + number

    def stored(self, unit: int, op: TmaStore) -> int:
        """Return the content that a TMA store needs."""
        (rows, columns), kernel = self._kernel.epilogue.tile, self._kernel.collective.scenario.kernel
        tile = self.program.units[unit]
        m, n = (
            (op.coordinates[1] - tile.m * kernel.tile[0]) // rows,
            (op.coordinates[0] - tile.n * kernel.tile[1]) // columns,
        )
        return self.output_content(unit, m, n)

    def output_content(self, unit: int, m: int, n: int) -> int:
        """Return the content of a subtile of D."""
        return D_CONTENT + self.subtile(unit, n * self._kernel.epilogue.subtiles[0] + m)


def operand_content(fill: int, tensor: str) -> int:
    """Return the content of a fill of A or of B."""
    return 2 * fill + (tensor == "B")
