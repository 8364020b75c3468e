"""Executes a GEMM's or convolution's schedule on real data, in batches of CTAs. This defines what each op means."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from gpusim.arrays import IntArray
from gpusim.families.gemm.program import program
from gpusim.families.gemm.reduction.execute import Reduction
from gpusim.families.gemm.reduction.schedule import reduction_ops
from gpusim.families.gemm.reduction.tile import reduction_tile
from gpusim.functional.data_hazards import DataHazard, HazardLog
from gpusim.functional.epilogue import Epilogue, EpilogueInputs, OutputTensor
from gpusim.functional.mainloop import OperandData, OperandTables, WarpTiles, multiplied, operand_tables
from gpusim.functional.shared_memory import BATCH_BYTES, CopyQueue, SharedMemory
from gpusim.numerics.elements import Values, decode
from gpusim.numerics.output_op import reduction_output_op, slice_output_op
from gpusim.numerics.tensors import Tensors, workspace_view
from gpusim.scenario.gemm import GemmScenario
from gpusim.schedule.ops import Op, Program
from gpusim.tile.operand import Side
from gpusim.units import WARP_SIZE


@dataclass(frozen=True, slots=True)
class FunctionalRun:
    """
    The outcome of an execution on data.

    Attributes:
        output: The output without the padding of its rows, in the working type of its elements (``elements.WORKING``).
            Shape (rows, columns); NaN for elements that were not stored.
        hazards: Hazards that the data showed, in the order in which they occurred.
    """

    output: Values
    hazards: tuple[DataHazard, ...]


def slice_programs(scenario: GemmScenario) -> tuple[Program, ...]:
    """
    Return the program of each split-K slice's CTAs, in slice order.

    Their k tiles are plain tuples, so that a mutation without effect gives an equal program.
    """
    slices = range(scenario.problem.split_k_slices)
    made = (program(scenario, scenario.k_iterations(number), number) for number in slices)
    return tuple(replace(one, iterations=tuple(one.iterations)) for one in made)


def run(
    scenario: GemmScenario,
    tensors: Tensors,
    programs: Sequence[Program] | None = None,
    progress: Callable[[int, int], None] | None = None,
    reduction: Sequence[Op] | None = None,
) -> FunctionalRun:
    """
    Execute a scenario's kernel, and the reduction of a parallel split-K.

    Slices run one after the other, as the semaphore of serial split-K orders them. Within a slice, CTAs run in launch
    order. The reduction of a parallel split-K runs after all CTAs have stored. All threads of a CTA execute an op
    together, but they see only the data that the memory model guarantees (``shared_memory``). A hazard therefore shows
    whatever order of warps and copies the hardware would choose.

    Args:
        scenario: Problem and kernel.
        tensors: Inputs, which are not changed.
        programs: One program for each slice; None takes those of the schedule.
        progress: Called after each batch with the CTAs done and the CTAs of the grid.
        reduction: Ops of a parallel split-K's second kernel; None takes those of the schedule.

    Returns:
        The output and the hazards. The same arguments give the same bits.

    Source: PTX ISA (cp.async, ldmatrix, mma.sync, bar.sync); the tile iterators for every address and predicate.

    Not modelled: the order in which a tensor core adds its products (here float32 sums of 16 at a time).
    """
    tile = scenario.epilogue
    tables: dict[Side, OperandTables] = {side: operand_tables(operand) for side, operand in scenario.operands.items()}
    values = operands_of(scenario, tensors)
    hazards = HazardLog()
    problem = scenario.problem
    output = OutputTensor(scenario.problem.output_view.elements, problem.dtype.output)
    stored = output
    if problem.reduces:
        stored = OutputTensor(workspace_view(scenario).elements, problem.dtype.accumulator)
    inputs = EpilogueInputs(
        *(None if one is None else decode(one, output.element) for one in (tensors.source, tensors.bias))
    )
    tiles = scenario.grid.cta_tiles()
    tiles = tiles[tiles[:, 2] >= 0]
    done = 0
    with np.errstate(invalid="ignore", over="ignore"):
        for number, ops in enumerate(programs if programs is not None else slice_programs(scenario)):
            if number and not problem.reduces:
                inputs = EpilogueInputs(output.values, inputs.bias)
            memory = SharedMemory()
            for batch in _batches(tiles[tiles[:, 2] == number], _ctas_at_once(scenario, tables)):
                mainloop = mainloop_of(scenario, tables, values, batch, memory=memory, hazards=hazards)
                for op in ops.mainloop_ops():
                    mainloop.execute(op)
                epilogue = Epilogue(
                    tile,
                    slice_output_op(scenario, number),
                    mainloop.accumulators,
                    batch,
                    memory=memory,
                    output=stored,
                    inputs=inputs,
                    hazards=hazards,
                )
                for op in ops.epilogue:
                    epilogue.execute(op)
                done += len(batch)
                if progress is not None:
                    progress(done, len(tiles))
            if not problem.reduces:
                _check_stores(scenario, output, f"slice {number}", number, hazards)
        if problem.reduces:
            second = Reduction(
                reduction_tile(scenario),
                reduction_output_op(scenario),
                stored.values,
                output=output,
                inputs=inputs,
                hazards=hazards,
            )
            _reduce(scenario, stored, output, second, reduction if reduction is not None else reduction_ops(scenario))
    return FunctionalRun(scenario.problem.output_view.of(output.values), hazards.hazards())


def operands_of(scenario: GemmScenario, tensors: Tensors) -> dict[Side, Values]:
    """Return both operands, flat, as the tensor core multiplies them."""
    element = scenario.problem.dtype.ab
    return {"a": multiplied(tensors.a, element), "b": multiplied(tensors.b, element)}


def mainloop_of(
    scenario: GemmScenario,
    tables: dict[Side, OperandTables],
    values: dict[Side, Values],
    tiles: IntArray,
    *,
    memory: SharedMemory,
    hazards: HazardLog,
) -> WarpTiles:
    """
    Return the state of a batch of CTAs of one split-K slice before their first op.

    Args:
        scenario: Problem and kernel.
        tables: Address tables of both operands.
        values: Operands in global memory (``operands_of``).
        tiles: (tile m, tile n, slice) of each CTA. Shape (ctas, 3).
        memory: Shared memory of all CTAs of the slice.
        hazards: Log of the hazards that the data shows.
    """
    sources: dict[Side, OperandData] = {}
    for side, operand in scenario.operands.items():
        tile, warps = tiles[:, operand.axis], operand.tiling.threads // WARP_SIZE
        sources[side] = OperandData(
            name=side,
            values=values[side],
            fetch=operand.iterator(tile, tiles[:, 2]).fetch,
            first_row=tile * operand.tiling.threadblock[operand.axis],
            end=scenario.problem.extents[operand.axis],
            shared=memory.allocate(side, len(tiles), tables[side].shared_elements, warps),
        )
    return WarpTiles(scenario.tiling, scenario.mma, tables, sources, tiles, queue=CopyQueue(), hazards=hazards)


def _reduce(
    scenario: GemmScenario, workspace: OutputTensor, output: OutputTensor, reduction: Reduction, ops: Sequence[Op]
) -> None:
    """Execute the second kernel, and check that every partial sum and every output element is stored once."""
    hazards = reduction.hazards
    if (workspace.stores != 1).any():
        element = int(np.flatnonzero(workspace.stores != 1)[0])
        message = f"partial sum {element} of the workspace was stored {int(workspace.stores[element])} times"
        hazards.add(DataHazard("output_not_written_once", message, -1, -1, "workspace", -1, -1))
    for op in ops:
        reduction.execute(op)
    _check_stores(scenario, output, "the reduction", 0, hazards)


def _ctas_at_once(scenario: GemmScenario, tables: dict[Side, OperandTables]) -> int:
    """Return the number of CTAs whose shared memory, copies, accumulators and addresses fit into ``BATCH_BYTES``."""
    tile_m, tile_n, tile_k = scenario.kernel.threadblock
    shared: int = sum(table.shared_elements for table in tables.values()) * 2
    fetched = (tile_m + tile_n) * tile_k * (2 * scenario.kernel.stages)
    addresses: int = sum(4 * 8 * table.store[0].size // table.width for table in tables.values())
    accumulators = 3 * 4 * tile_m * tile_n
    return max(1, BATCH_BYTES // (shared + fetched + addresses + accumulators))


def _batches(tiles: IntArray, size: int) -> Iterator[IntArray]:
    for begin in range(0, len(tiles), size):
        yield tiles[begin : begin + size]


def _check_stores(scenario: GemmScenario, output: OutputTensor, who: str, number: int, hazards: HazardLog) -> None:
    """
    Check that a slice or the reduction stores every output element once, and nothing in the padding of rows.

    The counts are reset for the next slice.
    """
    view = scenario.problem.output_view
    counts = output.stores.reshape(view.rows, view.leading)
    expected = (np.arange(view.leading) < view.columns).astype(np.uint8)
    wrong = counts != expected
    if wrong.any():
        row, column = (int(axis[0]) for axis in wrong.nonzero())
        message = (
            f"{who} stores element ({row}, {column}) of the output {int(counts[row, column])} times,"
            f" and {int(wrong.sum())} elements in all not as often as they should be"
        )
        hazards.add(DataHazard("output_not_written_once", message, -1, number, "output", -1, row))
    output.stores[:] = 0
