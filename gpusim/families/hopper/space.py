"""The kernels that CUTLASS 3.x could compile for an sm_90 GEMM, and the fewest cycles that each could take."""

from collections.abc import Iterator, Mapping
from itertools import pairwise, product
from typing import Any, Final

from gpusim.families.hopper.problem import HopperScenario
from gpusim.families.hopper.work import work_of
from gpusim.machine.spec import Machine

_TILES: Final = {
    "cooperative": ((128, 64), (128, 128), (128, 256), (256, 64), (256, 128)),
    "pingpong": ((64, 64), (64, 128), (64, 256), (128, 64), (128, 128)),
    "warp_specialized": ((64, 128), (128, 128)),
}
"""Tiles of the output that are tried, by schedule."""

_CLUSTERS: Final = ((1, 1), (2, 1), (1, 2))
_ROW_BYTES: Final = 128
"""Bytes of K in a row of a tile: an atom of the widest swizzle."""


def notes(scenario: HopperScenario) -> tuple[str, ...]:  # noqa: ARG001 - the space is the same for all
    """Return what a reader of the answer must know."""
    return ("Stages fill shared memory; stream-K, swizzles of tiles and non-specialised kernels are not tried.",)


def configurations(scenario: HopperScenario, machine: Machine) -> Iterator[Mapping[str, Any]]:  # noqa: ARG001
    """Yield the settings of every kernel that is tried, by dotted key. Some are not legal for the problem."""
    depth = _ROW_BYTES * 8 // scenario.operand_bits
    for schedule, tiles in _TILES.items():
        for (m, n), cluster in product(tiles, _CLUSTERS):
            yield {
                "kernel.schedule": schedule,
                "kernel.tile": [m, n, depth],
                "kernel.cluster": list(cluster),
                "kernel.stages": "auto",
                "kernel.scheduler": "none" if schedule == "warp_specialized" else "persistent",
            }


def least_cycles(scenario: HopperScenario, machine: Machine) -> dict[str, int]:
    """
    Return, by resource, the fewest cycles that the launch could take if nothing else held it up.

    The tensor cores of the SM with most k tiles multiply whole tiles; DRAM reads both operands once.

    Args:
        scenario: A legal configuration.
        machine: The machine.
    """
    problem, (m, n, _) = scenario.problem, scenario.kernel.tile
    work = work_of(scenario, machine.sms)
    k_tiles = work.rows[:, 4].cumsum()
    ends = [0 if end == 0 else int(k_tiles[end - 1]) for end in work.first.tolist()]
    own = [after - before for before, after in pairwise(ends)]
    # Persistent CTAs have an SM each; others follow one another on the SMs.
    most = max(max(own, default=0), -(-sum(own) // machine.sms))
    of_k_tile = m // 64 * (scenario.kernel.tile[2] // scenario.instruction_k) * n // 2
    read = (problem.m + problem.n) * problem.k * problem.l * scenario.operand_bits // 8
    return {
        "tensor core": most * of_k_tile,
        "DRAM bandwidth": read * 1000 // machine.dram_bytes_per_kilocycle(busy=True),
    }
