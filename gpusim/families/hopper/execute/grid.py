"""Executes all clusters of a grid, each in one interleaving, and checks that every output tile is stored once."""

from collections.abc import Sequence
from itertools import product

import numpy as np

from gpusim.families.hopper.collective import collective_of
from gpusim.families.hopper.execute.cluster import INTERLEAVINGS, ClusterRun, Interleaving
from gpusim.families.hopper.execute.kernel import HopperRun, output_op_of
from gpusim.families.hopper.execute.program import ClusterProgram
from gpusim.families.hopper.execute.tensors import HopperTensors, OutputGrid
from gpusim.families.hopper.problem import HopperScenario
from gpusim.families.verification import Executed, SayDone
from gpusim.functional.data_hazards import HazardLog


def run_grid(
    scenario: HopperScenario,
    tensors: HopperTensors,
    programs: Sequence[ClusterProgram],
    progress: SayDone | None = None,
    interleavings: Sequence[Interleaving] = INTERLEAVINGS,
) -> Executed:
    """
    Execute a kernel.

    Clusters take turns in the interleavings. A grid of fewer clusters executes each of them in all, and stores the
    output of the first.

    Args:
        scenario: Problem and kernel.
        tensors: Inputs, which are not changed.
        programs: Program of each cluster.
        progress: Called after each cluster with the CTAs done and the CTAs of the grid.
        interleavings: Orders of execution.

    Returns:
        The output, NaN where nothing was stored, of shape (l, m, n), and the hazards. The same arguments give the same
        bits.

    Not modelled: the order in which a tensor core adds its products; the order of a warpgroup's warps; the visibility
    of stores in global memory.
    """
    kernel = _kernel(scenario, tensors, HazardLog())
    few = len(programs) < len(interleavings)
    total, done = sum(len(program.ctas) for program in programs), 0
    with np.errstate(invalid="ignore", over="ignore"):
        for number, program in enumerate(programs):
            ClusterRun(kernel, program, interleavings[0 if few else number % len(interleavings)]).run()
            for other in interleavings[1:] if few else ():
                ClusterRun(_kernel(scenario, tensors, kernel.log), program, other).run()
            done += len(program.ctas)
            if progress is not None:
                progress(done, total)
    if not any(hazard.name == "deadlock" for hazard in kernel.log.hazards()):
        _check_tiles(kernel)
    return Executed(kernel.output.values, kernel.log.hazards())


def _kernel(scenario: HopperScenario, tensors: HopperTensors, log: HazardLog) -> HopperRun:
    problem = scenario.problem
    return HopperRun(collective_of(scenario), tensors, OutputGrid(problem), output_op_of(problem), log)


def _check_tiles(kernel: HopperRun) -> None:
    """Report output tiles that are not stored, or stored more than once."""
    rows, columns, _ = kernel.collective.scenario.kernel.tile
    stores = kernel.output.stores
    if (stores == 1).all():
        return
    batches, height, width = stores.shape
    twice, missing = [], []
    for batch, row, column in product(range(batches), range(0, height, rows), range(0, width, columns)):
        tile = stores[batch, row : row + rows, column : column + columns]
        where = f"output tile (m {row // rows}, n {column // columns}, l {batch})"
        if tile.max() > 1:
            twice.append(f"{where} is stored {int(tile.max())} times")
        if tile.min() < 1:
            lacking = int((tile == 0).sum())
            missing.append(f"{where} {'is not stored' if lacking == tile.size else f'lacks {lacking} elements'}")
    if twice:
        kernel.found("tile_twice", f"{twice[0]}; {len(twice)} of the tiles are stored more than once", operand="d")
    if missing:
        kernel.found("tile_missing", f"{missing[0]}; {len(missing)} of the tiles are not stored whole", operand="d")
