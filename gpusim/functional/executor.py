"""Runs a schedule on real data, CTA by CTA in batches: the living definition of what each op means."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from gpusim.arrays import IntArray
from gpusim.elements import Values, decode
from gpusim.functional.data_hazards import DataHazard, HazardLog
from gpusim.functional.epilogue import Epilogue, OutputTensor
from gpusim.functional.mainloop import Mainloop, OperandTables, operand_tables
from gpusim.scenario import Scenario
from gpusim.schedule.mainloop import OPERANDS
from gpusim.schedule.ops import Operand, Program
from gpusim.schedule.program import program
from gpusim.tensors import Tensors, output_view
from gpusim.tile.epilogue import epilogue_tile
from gpusim.tile.extents import gemm_k_iterations
from gpusim.tile.threadblock_swizzle import cta_tiles

BATCH_BYTES = 32 << 20
"""What one batch of CTAs may hold at a time; small enough to stay near the caches."""


@dataclass(frozen=True, slots=True)
class FunctionalRun:
    """
    Attributes:
        output: The result, without the padding of its rows, as the working type of its elements (``elements.WORKING``).
            Shape (rows, columns); NaN where nothing was stored.
        hazards: What the data gave away, in the order it was met.
    """

    output: Values
    hazards: tuple[DataHazard, ...]


def slice_programs(scenario: Scenario) -> tuple[Program, ...]:
    """The program of the CTAs of each split-K slice, in slice order."""
    slices = range(scenario.problem.split_k_slices)
    return tuple(program(scenario, gemm_k_iterations(scenario, number), number) for number in slices)


def run(
    scenario: Scenario,
    tensors: Tensors,
    programs: Sequence[Program] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> FunctionalRun:
    """
    Execute a scenario's kernel.

    Slices run one after the other, as the semaphore of serial split-K makes them; inside a slice, CTAs run in
    launch order. All threads of a CTA do an op together, but see only what the memory model promises them
    (``shared_memory``), so that no order of warps or copies that hardware may choose can do worse unseen.

    Args:
        scenario: Problem and kernel.
        tensors: Its inputs, left as they are.
        programs: One for each slice; None means the schedule's own.
        progress: Called after each batch with the CTAs done and the CTAs of the grid.

    Returns:
        The output and the hazards. The same arguments give the same bits.

    Source: PTX ISA (cp.async, ldmatrix, mma.sync, bar.sync); the tile iterators for every address and predicate.

    Not modelled: the order in which a tensor core adds its products (here float32 sums of 16 at a time).
    """
    tile = epilogue_tile(scenario)
    tables: dict[Operand, OperandTables] = {operand: operand_tables(scenario, operand) for operand in OPERANDS}
    hazards = HazardLog()
    problem = scenario.problem
    output = OutputTensor(output_view(scenario).elements, problem.dtype.output)
    first_source = None if tensors.source is None else decode(tensors.source, problem.dtype.output)
    tiles = cta_tiles(scenario)
    tiles = tiles[tiles[:, 2] >= 0]
    done = 0
    with np.errstate(invalid="ignore", over="ignore"):
        for number, ops in enumerate(programs if programs is not None else slice_programs(scenario)):
            source, beta = (first_source, problem.beta) if number == 0 else (output.values, 1.0)
            for batch in _batches(tiles[tiles[:, 2] == number], _ctas_at_once(scenario, tables)):
                mainloop = Mainloop(scenario, tables, tensors, batch, hazards)
                for op in ops.mainloop_ops():
                    mainloop.execute(op)
                epilogue = Epilogue(
                    tile,
                    mainloop.accumulators,
                    batch,
                    output=output,
                    source=source,
                    scales=(problem.alpha, beta),
                    hazards=hazards,
                )
                for op in ops.epilogue:
                    epilogue.execute(op)
                done += len(batch)
                if progress is not None:
                    progress(done, len(tiles))
            _check_stores(scenario, output, number, hazards)
    return FunctionalRun(output_view(scenario).of(output.values), hazards.hazards())


def _ctas_at_once(scenario: Scenario, tables: dict[Operand, OperandTables]) -> int:
    """CTAs in a batch: their shared memory, copies in flight, accumulators and address arrays in ``BATCH_BYTES``."""
    tile_m, tile_n, tile_k = scenario.kernel.threadblock
    shared: int = sum(table.shared_elements for table in tables.values()) * 2
    fetched = (tile_m + tile_n) * tile_k * (2 * scenario.kernel.stages)
    addresses: int = sum(4 * 8 * table.store[0].size // table.width for table in tables.values())
    accumulators = 3 * 4 * tile_m * tile_n
    return max(1, BATCH_BYTES // (shared + fetched + addresses + accumulators))


def _batches(tiles: IntArray, size: int) -> Iterator[IntArray]:
    for begin in range(0, len(tiles), size):
        yield tiles[begin : begin + size]


def _check_stores(scenario: Scenario, output: OutputTensor, number: int, hazards: HazardLog) -> None:
    """Every element of the output once in each slice, nothing between its rows; then count the next slice afresh."""
    view = output_view(scenario)
    counts = output.stores.reshape(view.rows, view.leading)
    expected = (np.arange(view.leading) < view.columns).astype(np.uint8)
    wrong = counts != expected
    if wrong.any():
        row, column = (int(axis[0]) for axis in wrong.nonzero())
        message = (
            f"slice {number} stores element ({row}, {column}) of the output {int(counts[row, column])} times,"
            f" and {int(wrong.sum())} elements in all not as often as they should be"
        )
        hazards.add(DataHazard("output_not_written_once", message, -1, number, "output", -1, row))
    output.stores[:] = 0
