"""The kernels that CUTLASS could compile for a GEMM or a convolution, and the fewest cycles that each could take."""

from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any, Final

from gpusim.element_types import MMA_SHAPES, element_bits, least_capability
from gpusim.lower.estimated import tensor_core
from gpusim.machine.spec import Machine
from gpusim.scenario.cutlass_library import LIBRARY_WARPS
from gpusim.scenario.gemm import GemmScenario
from gpusim.scenario.kernel import PIPELINED_STAGES
from gpusim.tile.extents import ceil_div

_TILES: Final = {**LIBRARY_WARPS, (32, 64): (1, 2)}
"""Warps along M and N for each tile that is tried: the library's tiles, and one for problems of few rows."""

_ROW_BYTES: Final = (64, 128)
"""Bytes of K in a row of a tile: half a line of shared memory, or a whole one, as CUTLASS's layouts have them."""

_STAGES: Final = (PIPELINED_STAGES, 3, 4, 5, 6, 8, 10)
"""Numbers of stages that are tried; two are a pipelined mainloop through registers."""

_GEMM_ORDERS: Final = ("identity<8>", "identity<1>", "horizontal")
_CONV_ORDERS: Final = ("identity<4>", "identity<1>")
"""Orders of CTAs that are tried: the library's first."""

_SLICES: Final = (1, 2, 4, 8, 16)
"""Split-K slices that are tried if the tiles alone leave SMs idle."""

_SPLIT_WAVES: Final = 2
"""CTAs for each SM from which no split of K is tried."""

_OWN_LAYOUT: Final = (
    "the scenario's own shared layouts are none of CUTLASS's: what is tried has crosswise and congruous ones"
)


def notes(scenario: GemmScenario) -> tuple[str, ...]:
    """Return what a reader of the answer must know: whether the scenario's own kernel is outside the space."""
    own = {scenario.kernel.shared.a, scenario.kernel.shared.b} - {None, "crosswise", "congruous"}
    return (_OWN_LAYOUT,) if own else ()


def configurations(scenario: GemmScenario, machine: Machine) -> Iterator[Mapping[str, Any]]:
    """
    Yield the settings of every kernel that is tried, by dotted key. Some are not legal for the problem.

    Tiles and warps are those of CUTLASS's library, and twice as many warps along the longer side; shared layouts are
    CUTLASS's. Other orders of CTAs are tried if the tiles fill the SMs more than once, splits of K if the tiles leave
    SMs idle.
    """
    dtype, problem = scenario.problem.dtype, scenario.problem
    shapes = MMA_SHAPES[dtype.ab, dtype.accumulator]
    instruction = next(shape for shape in shapes if least_capability(dtype.ab, shape) <= machine.compute_capability)
    iterators = ("optimized", "analytic") if problem.implicit else (None,)
    orders = _CONV_ORDERS if problem.implicit else _GEMM_ORDERS
    extents = problem.extents
    for (tile_m, tile_n), row in product(_TILES, _ROW_BYTES):
        depth = row * 8 // element_bits(dtype.ab)
        tiles = ceil_div(extents.m, tile_m) * ceil_div(extents.n, tile_n)
        for warp, stages, iterator in product(_warp_tiles(tile_m, tile_n), _STAGES, iterators):
            if stages > PIPELINED_STAGES and not machine.features.cp_async:
                continue
            common: dict[str, Any] = {
                "kernel.mainloop": "pipelined" if stages == PIPELINED_STAGES else "multistage",
                "kernel.threadblock": [tile_m, tile_n, depth],
                "kernel.warp": [*warp, depth],
                "kernel.instruction": list(instruction),
                "kernel.stages": stages,
            }
            if iterator is not None:
                common["kernel.iterator"] = iterator
            for order in orders if tiles > machine.sms else orders[:1]:
                yield common | {"kernel.threadblock_swizzle": order}
            for slices in _SLICES[1:] if tiles < _SPLIT_WAVES * machine.sms else ():
                for how in ("serial", "parallel"):
                    split = {"problem.split_k_slices": slices, "problem.split_k": how}
                    yield common | {"kernel.threadblock_swizzle": orders[0]} | split


def _warp_tiles(tile_m: int, tile_n: int) -> list[tuple[int, int]]:
    """Return M and N of the warp tiles that are tried: the library's, and half of it along its longer side."""
    across, down = _TILES[tile_m, tile_n]
    m, n = tile_m // across, tile_n // down
    return [(m, n), (m // 2, n) if m > n else (m, n // 2)]


def least_cycles(scenario: GemmScenario, machine: Machine) -> dict[str, int]:
    """
    Return, by resource, the fewest cycles that the first launch could take if nothing else held it up.

    The tensor cores multiply whole tiles, padding included; the SM with most CTAs fetches their tiles through its port
    of the L2; DRAM is read and written once.

    Args:
        scenario: A legal configuration.
        machine: The machine.
    """
    problem, kernel, tiled = scenario.problem, scenario.kernel, scenario.grid.tiled
    tile_m, tile_n, tile_k = kernel.threadblock
    m, n, k = kernel.instruction
    shortest = scenario.k_iterations(tiled.slices - 1)
    fullest = ceil_div(tiled.m * tiled.n * tiled.slices, machine.sms)
    multiplied = (tile_m // m) * (tile_n // n) * (tile_k // k)
    fetched = (min(tile_m, problem.extents.m) + min(tile_n, problem.extents.n)) * tile_k
    bits = element_bits(problem.dtype.ab)
    least = {
        "tensor core": fullest * shortest * multiplied * tensor_core(scenario.mma, machine).interval // machine.smsps,
        "DRAM bandwidth": sum(view.rows * view.columns for view in problem.operand_views)
        * bits
        // 8
        * 1000
        // machine.dram_bytes_per_kilocycle(busy=True),
    }
    if not problem.implicit:  # pixels outside an image are not fetched, nor is the rest of a ragged k tile
        least["L2 port of the SM"] = (
            fullest * max(0, shortest - 1) * fetched * bits // 8 // machine.l2.bytes_per_cycle_per_sm
        )
    return least
