"""Checks an sm_90 GEMM: what TMA and wgmma take, what CUTLASS builds, and what fits on an SM."""

from math import prod
from typing import Final

from gpusim.element_types import element_bits
from gpusim.families.hopper.collective import CTA_SHARED_BYTES, collective_of
from gpusim.families.hopper.problem import MMA_ROWS, PROMOTED_TOGETHER, HopperScenario
from gpusim.machine import Machine
from gpusim.scenario.checks import GREATEST_FLOAT, MOST_CTAS, MOST_ELEMENTS
from gpusim.scenario.text import Origin, shown
from gpusim.units import VECTOR_BITS

HOPPER_CAPABILITY: Final = 90
"""The only compute capability with wgmma; sm_100 has other tensor cores."""

TYPES: Final[dict[str, dict[str, tuple[str, ...]]]] = {
    "f16": {"f32": ("f16", "f32"), "f16": ("f16",)},
    "bf16": {"f32": ("bf16", "f32")},
    "tf32": {"f32": ("f32",)},
    "s8": {"s32": ("s32", "s8")},
    "e4m3": {"f32": ("f16", "bf16", "f32")},
    "e5m2": {"f32": ("f16", "bf16", "f32")},
}
"""Output types by operand type and accumulator type."""

_MOST_COLUMNS, _STEP = 256, 8
"""Largest N of a wgmma, and the step between its values."""

_CLUSTERS: Final = (1, 2, 4, 8, 16)
_MOST_CLUSTER: Final = 8
"""Largest cluster that needs no opt-in (CUDA C++ Programming Guide, thread block clusters)."""

_MOST_BOX: Final = 256
"""Largest extent of a TMA box (cuTensorMapEncodeTiled)."""

_MOST_K_TILES: Final = 1 << 16
"""Most k tiles of a tile, as the operations of a CTA are written down one by one."""

_MOST_BATCHES: Final = 65535
"""Most batches: gridDim.z of a kernel without a scheduler."""

_SUBTILE_COLUMNS: Final = 16
"""The epilogue's subtiles are at least so wide: the columns of a matrix instruction."""


def check_hopper(scenario: HopperScenario, machine: Machine, origin: Origin) -> None:
    """
    Refuse a scenario that breaks a rule.

    Raises:
        BadInput: The first broken rule, in one line: what is allowed, what was found, where it was written.
    """
    rule = f"of compute capability 9.0, whose SMs have wgmma; {machine.name} is not"
    origin.require(machine.compute_capability == HOPPER_CAPABILITY, "machine", rule, scenario.machine)
    _check_types(scenario, origin)
    _check_schedule(scenario, origin)
    _check_tile(scenario, origin)
    _check_cluster(scenario, machine, origin)
    _check_tensors(scenario, origin)
    _check_scales(scenario, origin)
    _check_stages(scenario, origin)
    _check_size(scenario, origin)


def _check_types(scenario: HopperScenario, origin: Origin) -> None:
    dtype, problem = scenario.problem.dtype, scenario.problem
    outputs = TYPES[dtype.ab]
    rule = f"{' or '.join(outputs)} for {dtype.ab}"
    origin.require(dtype.accumulator in outputs, "problem.dtype.accumulator", rule, dtype.accumulator)
    allowed = outputs[dtype.accumulator]
    rule = f"{' or '.join(allowed)} for {dtype.ab} and {dtype.accumulator}"
    origin.require(dtype.output in allowed, "problem.dtype.output", rule, dtype.output)
    if dtype.ab not in ("f16", "bf16"):
        reason = f"wgmma reads {dtype.ab} from shared memory only if K is contiguous"
        origin.require(problem.layout_a == "row", "problem.layout_a", f"row: {reason}", problem.layout_a)
        origin.require(problem.layout_b == "column", "problem.layout_b", f"column: {reason}", problem.layout_b)
    fast = scenario.kernel.fast_accumulation
    together = PROMOTED_TOGETHER * scenario.instruction_k
    if dtype.ab in ("e4m3", "e5m2") and not fast:
        rule = f"K a divisor of {together} for {dtype.ab} without fast_accumulation: sums are promoted after so many"
        origin.require(together % scenario.kernel.tile[2] == 0, "kernel.tile", rule, list(scenario.kernel.tile))
    if dtype.ab in ("e4m3", "e5m2") and scenario.kernel.schedule == "non_specialized":
        rule = f"true for {dtype.ab} and non_specialized, whose sums are never promoted"
        origin.require(fast, "kernel.fast_accumulation", rule, fast)
    if fast:
        rule = f"false for {dtype.ab}: only 8-bit floats have two ways to be accumulated"
        origin.require(dtype.ab in ("e4m3", "e5m2"), "kernel.fast_accumulation", rule, fast)


def _check_schedule(scenario: HopperScenario, origin: Origin) -> None:
    kernel = scenario.kernel
    allowed = {"cooperative": ("persistent", "stream_k"), "pingpong": ("persistent",)}.get(kernel.schedule, ("none",))
    rule = f"{' or '.join(allowed)} for {kernel.schedule}"
    origin.require(kernel.walk in allowed, "kernel.scheduler", rule, kernel.walk)
    if kernel.void_c:
        rule = "0 if kernel.void_c is true: the kernel has no C"
        origin.require(scenario.problem.beta == 0, "problem.beta", rule, scenario.problem.beta)
    if kernel.schedule == "non_specialized":
        rule = "0 for non_specialized, whose C is not loaded here"
        origin.require(scenario.problem.beta == 0, "problem.beta", rule, scenario.problem.beta)


def _check_tile(scenario: HopperScenario, origin: Origin) -> None:
    kernel, problem, bits = scenario.kernel, scenario.problem, scenario.operand_bits
    m, n, k = kernel.tile
    rows = MMA_ROWS * (2 if kernel.schedule == "cooperative" else 1)
    rule = f"M a multiple of {rows} for {kernel.schedule}, at most {_MOST_BOX}"
    origin.require(m % rows == 0 and m <= _MOST_BOX, "kernel.tile", rule, list(kernel.tile))
    rule = f"N a multiple of {_SUBTILE_COLUMNS}, at most {_MOST_COLUMNS}"
    origin.require(n % _SUBTILE_COLUMNS == 0 and n <= _MOST_COLUMNS, "kernel.tile", rule, list(kernel.tile))
    depth = scenario.instruction_k
    rule = f"K a multiple of {depth} for {problem.dtype.ab}"
    origin.require(k % depth == 0, "kernel.tile", rule, list(kernel.tile))
    for along_k, extent, name in zip(problem.k_contiguous, (m, n), "MN", strict=True):
        if not along_k:
            atom = VECTOR_BITS * 4 // bits
            rule = f"{name} a multiple of {atom} where it is contiguous"
            origin.require(extent % atom == 0, "kernel.tile", rule, list(kernel.tile))
            rule = f"K at most {_MOST_BOX} where {name} is contiguous: a box has all of it"
            origin.require(k <= _MOST_BOX, "kernel.tile", rule, list(kernel.tile))


def _check_cluster(scenario: HopperScenario, machine: Machine, origin: Origin) -> None:
    cluster, (m, n, k) = scenario.kernel.cluster, scenario.kernel.tile
    rule = f"two powers of two whose product is at most {_MOST_CLUSTER}"
    allowed = all(one in _CLUSTERS for one in cluster) and prod(cluster) <= _MOST_CLUSTER
    origin.require(allowed, "kernel.cluster", rule, list(cluster))
    rule = f"at most {machine.sms} CTAs, the SMs of {machine.name}"
    origin.require(prod(cluster) <= machine.sms, "kernel.cluster", rule, list(cluster))
    for along_k, extent, slices, name in zip(
        scenario.problem.k_contiguous, (m, n), reversed(cluster), "MN", strict=True
    ):
        cut, axis = (extent, name) if along_k else (k, "K")
        rule = f"one whose slices of the tile along {axis} are multiples of {_STEP}"
        origin.require(cut % (slices * _STEP) == 0, "kernel.cluster", rule, list(cluster))


def _check_tensors(scenario: HopperScenario, origin: Origin) -> None:
    problem = scenario.problem
    along_k_a, along_k_b = problem.k_contiguous
    contiguous = {
        "k" if along_k_a else "m": scenario.operand_bits,
        "k" if along_k_b else "n": scenario.operand_bits,
    }
    for name, bits in (*contiguous.items(), ("n", element_bits(problem.dtype.output))):
        vector, extent = VECTOR_BITS // bits, int(getattr(problem, name))
        rule = f"a multiple of {vector}: TMA takes rows of whole 16 bytes"
        origin.require(extent % vector == 0, f"problem.{name}", rule, extent)


def _check_scales(scenario: HopperScenario, origin: Origin) -> None:
    greatest = GREATEST_FLOAT["f32"]
    for name in ("alpha", "beta"):
        value = float(getattr(scenario.problem, name))
        origin.require(abs(value) <= greatest, f"problem.{name}", f"at most {greatest:g} in magnitude", value)


def _check_stages(scenario: HopperScenario, origin: Origin) -> None:
    kernel = collective_of(scenario)
    least = 3 if scenario.kernel.schedule == "non_specialized" else 2
    if scenario.kernel.stages == "auto":
        rule = f"so small that {least} stages fit beside the epilogue in {shown(CTA_SHARED_BYTES)} bytes"
        origin.require(kernel.stages >= least, "kernel.tile", rule, list(scenario.kernel.tile))
    rule = f"at least {least} for {scenario.kernel.schedule}"
    origin.require(kernel.stages >= least, "kernel.stages", rule, kernel.stages)
    rule = f"so few that the kernel takes at most {CTA_SHARED_BYTES} bytes of shared memory, not {kernel.shared_bytes}"
    origin.require(kernel.shared_bytes <= CTA_SHARED_BYTES, "kernel.stages", rule, kernel.stages)


def _check_size(scenario: HopperScenario, origin: Origin) -> None:
    problem, (m, n, _) = scenario.problem, scenario.kernel.tile
    batches = f"at most {_MOST_BATCHES} batches"
    origin.require(problem.l <= _MOST_BATCHES, "problem.l", batches, problem.l)
    for name, extents in (("m", (problem.m, problem.k)), ("n", (problem.n, problem.k)), ("m", (problem.m, problem.n))):
        rule = f"one whose tensors have at most {MOST_ELEMENTS} elements"
        origin.require(prod(extents) * problem.l <= MOST_ELEMENTS, f"problem.{name}", rule, getattr(problem, name))
    tiles = -(-problem.m // m) * -(-problem.n // n) * problem.l
    origin.require(tiles <= MOST_CTAS, "problem.m", f"one with at most {MOST_CTAS} tiles", problem.m)
    rule = f"one with at most {_MOST_K_TILES} k tiles"
    origin.require(scenario.k_tiles <= _MOST_K_TILES, "problem.k", rule, problem.k)
