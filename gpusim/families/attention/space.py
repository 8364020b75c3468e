"""The kernels of attention that are tried for a problem, and the fewest cycles that each could take."""

from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any

from gpusim.families.attention.checks import BLOCKS, FLASH_QUERIES
from gpusim.families.attention.problem import AttentionScenario
from gpusim.families.attention.timed import TimedFusedKernel
from gpusim.lower.estimated import tensor_core
from gpusim.machine.spec import Machine

_STAGES = (2, 3, 4, 6, 8)
"""Numbers of stages that are tried of the chained kernel."""


def notes(scenario: AttentionScenario) -> tuple[str, ...]:  # noqa: ARG001 - every kernel of attention is in its space
    """Return no remarks: the space contains every kernel of a scenario."""
    return ()


def configurations(scenario: AttentionScenario, machine: Machine) -> Iterator[Mapping[str, Any]]:  # noqa: ARG001 - one space for all
    """
    Yield the settings of every kernel that is tried, by dotted key. Some are not legal for the problem.

    They are CUTLASS's chained kernel with each of its blocks, stages and ways with V and the output, and
    FlashAttention-2's kernel with each of its blocks.
    """
    for queries, stages, preload, in_registers in product(BLOCKS, _STAGES, (True, False), (True, False)):
        yield {
            "kernel.mainloop": "attention",
            "kernel.queries_per_block": queries,
            "kernel.keys_per_block": BLOCKS[queries],
            "kernel.stages": stages,
            "kernel.preload_v": preload,
            "kernel.keep_output_in_registers": in_registers,
        }
    for queries in FLASH_QUERIES:
        yield {"kernel.mainloop": "flash", "kernel.queries_per_block": queries}


def least_cycles(scenario: AttentionScenario, machine: Machine) -> dict[str, int]:
    """
    Return, by resource, the fewest cycles that the launch could take if no other resource limited it.

    The products of both GEMMs with the keys that CTAs walk are divided among the tensor cores of all SMs.

    Args:
        scenario: A legal configuration.
        machine: The machine.
    """
    kernel = TimedFusedKernel(scenario, machine)
    m, n, k = scenario.mma.instruction
    pipe = tensor_core(scenario.mma, machine)
    return {"tensor core": kernel.walked_flops // (2 * m * n * k) * pipe.interval // (machine.smsps * machine.sms)}
