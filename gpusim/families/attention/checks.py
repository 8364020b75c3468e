"""Checks an attention scenario: legal query and key blocks, and the limits of the machine."""

from math import e, log2, prod

from gpusim.element_types import element_bits
from gpusim.families.attention.problem import (
    FLASH_KEYS,
    FLASH_STAGES,
    TILE_DEPTH,
    WIDEST_IN_REGISTERS,
    AttentionScenario,
)
from gpusim.families.attention.tile.shape import attention_shape
from gpusim.machine import Machine
from gpusim.scenario.checks import GREATEST_FLOAT, MOST_CTAS, MOST_ELEMENTS, MOST_GRID_Y, MOST_GRID_Z, small_enough
from gpusim.scenario.text import Origin, shown
from gpusim.units import VECTOR_BITS, WARP_SIZE

BLOCKS = {64: 64, 32: 128}
"""Queries -> keys of attention's key blocks: four warps of 32 x 32 (golden fmha_facts)."""

FLASH_QUERIES = (64, 128)
"""Queries of flash's CTAs: four warps of 16 or 32."""

MOST_HEAD = 256
"""Largest head_dim and head_dim_v."""

FARTHEST_OPERAND = 8
"""Assumed largest element of Q and K, which are drawn from a standard normal distribution."""

FEWEST_STAGES, MOST_STAGES = 3, 10
"""Allowed numbers of ring slots if head_dim has more k tiles than the ring has slots."""

MAINLOOP_INSTRUCTIONS = {"attention": ((16, 8, 8), (16, 8, 16)), "flash": ((16, 8, 16),)}
"""mma.sync shapes of each kernel. Flash's P is the A fragment of the deeper one."""


def check_attention(scenario: AttentionScenario, machine: Machine, origin: Origin) -> None:
    """
    Refuse an attention scenario that breaks a rule.

    Raises:
        BadInput: The first broken rule, in one line: what is allowed, what was found, where it was written.
    """
    _check_machine(scenario, machine, origin)
    _check_problem(scenario, origin)
    _check_types(scenario, origin)
    _check_blocks(scenario, origin)
    _check_output(scenario, origin)
    _check_order(scenario, origin)
    _check_stages(scenario, origin)
    _check_shared_memory(scenario, machine, origin)
    _check_size(scenario, origin)


def _check_machine(scenario: AttentionScenario, machine: Machine, origin: Origin) -> None:
    rule = f"one with cp.async: {machine.name} has none, and attention's copies are asynchronous"
    origin.require(machine.features.cp_async, "machine", rule, scenario.machine)


def _check_problem(scenario: AttentionScenario, origin: Origin) -> None:
    problem = scenario.problem
    vector = VECTOR_BITS // element_bits(problem.dtype.ab)
    for name in ("head_dim", "head_dim_v"):
        extent = int(getattr(problem, name))
        fits = extent % vector == 0 and extent <= MOST_HEAD
        origin.require(fits, f"problem.{name}", f"a multiple of {vector}, at most {MOST_HEAD}", extent)
    for name, most, of in (("query_lengths", problem.queries, "queries"), ("key_lengths", problem.keys, "keys")):
        lengths = getattr(problem, name)
        if lengths is not None:
            key, found, each = f"problem.{name}", list(lengths), f"one for each of the {problem.batch} batches"
            origin.require(len(lengths) == problem.batch, key, each, found)
            origin.require(max(lengths) <= most, key, f"at most {of} = {most}", found)
    _check_scale(scenario, origin)


def _check_scale(scenario: AttentionScenario, origin: Origin) -> None:
    """Check that no score can overflow: an infinite score has no difference from its row's maximum."""
    problem = scenario.problem
    greatest = GREATEST_FLOAT["f32"] / (log2(e) * problem.head_dim * FARTHEST_OPERAND**2)
    rule = f"at most {greatest:g} in magnitude with head_dim = {problem.head_dim}, so that no score overflows f32"
    origin.require(abs(problem.score_scale) <= greatest, "problem.scale", rule, problem.score_scale)


def _check_types(scenario: AttentionScenario, origin: Origin) -> None:
    dtype, kernel = scenario.problem.dtype, scenario.kernel
    rule = f'"f32" or "{dtype.ab}" for {dtype.ab} operands'
    origin.require(dtype.output in ("f32", dtype.ab), "problem.dtype.output", rule, dtype.output)
    theirs = kernel.code == "gpusim" or kernel.mainloop == "attention"
    origin.require(theirs, "kernel.code", '"gpusim" of the flash kernel, which CUTLASS 2.x has not', kernel.code)
    shapes = MAINLOOP_INSTRUCTIONS[kernel.mainloop]
    rule = f"{' or '.join(shown(list(shape)) for shape in shapes)} of the {kernel.mainloop} kernel"
    origin.require(scenario.instruction in shapes, "kernel.instruction", rule, list(scenario.instruction))


def _check_blocks(scenario: AttentionScenario, origin: Origin) -> None:
    queries, keys, width = scenario.queries_per_block, scenario.keys_per_block, scenario.problem.head_dim_v
    if scenario.flash:
        allowed = FLASH_QUERIES if width <= WIDEST_IN_REGISTERS else FLASH_QUERIES[:1]
        rule = f"{' or '.join(map(str, allowed))} of the flash kernel with head_dim_v = {width}"
        origin.require(queries in allowed, "kernel.queries_per_block", rule, queries)
        origin.require(keys == FLASH_KEYS, "kernel.keys_per_block", f"{FLASH_KEYS} of the flash kernel", keys)
        return
    rule = f"{' or '.join(map(str, BLOCKS))} of the attention kernel"
    origin.require(queries in BLOCKS, "kernel.queries_per_block", rule, queries)
    rule = f"{BLOCKS[queries]} with {queries} queries per block of the attention kernel"
    origin.require(keys == BLOCKS[queries], "kernel.keys_per_block", rule, keys)


def _check_output(scenario: AttentionScenario, origin: Origin) -> None:
    kernel, width = scenario.kernel, scenario.problem.head_dim_v
    if scenario.flash:
        for name in ("keep_output_in_registers", "preload_v"):
            found = getattr(kernel, name)
            origin.require(found is not False, f"kernel.{name}", "true of the flash kernel", found)
        return
    rule = f"false where head_dim_v = {width} is more than the {scenario.keys_per_block} keys per block"
    fits = not scenario.in_registers or width <= scenario.keys_per_block
    origin.require(fits, "kernel.keep_output_in_registers", rule, scenario.in_registers)


def _check_order(scenario: AttentionScenario, origin: Origin) -> None:
    """Refuse an order of CTAs that needs a causal mask, or that CUTLASS's kernel lacks."""
    kernel = scenario.kernel
    usual = kernel.cta_order in (None, scenario.default_order)
    rule = f'"{scenario.default_order}" without a causal mask, where all query blocks are equal'
    origin.require(usual or scenario.problem.mask != "none", "kernel.cta_order", rule, kernel.cta_order)
    rule = f'"{scenario.default_order}" in CUTLASS\'s kernel (kernel.code)'
    origin.require(usual or kernel.code == "gpusim", "kernel.cta_order", rule, kernel.cta_order)


def _check_stages(scenario: AttentionScenario, origin: Origin) -> None:
    stages, keys, depth = scenario.stages, scenario.keys_per_block, scenario.problem.head_dim
    if scenario.flash:
        rule = f"{FLASH_STAGES}: flash keeps one block of keys and one of values"
        origin.require(stages == FLASH_STAGES, "kernel.stages", rule, stages)
        return
    fewest = keys // TILE_DEPTH
    if -(-depth // TILE_DEPTH) > max(stages, fewest):
        fewest = max(fewest, FEWEST_STAGES)
    rule = f"{fewest}..{MOST_STAGES} for {keys} keys per block and head_dim = {depth}"
    origin.require(fewest <= stages <= MOST_STAGES, "kernel.stages", rule, stages)


def _check_shared_memory(scenario: AttentionScenario, machine: Machine, origin: Origin) -> None:
    need, most = attention_shape(scenario).shared_bytes, machine.limits.shared_bytes_per_cta
    rule = f"such that a CTA needs at most the {most} shared-memory bytes of {machine.name}, not {need}"
    origin.require(need <= most, "problem.head_dim", rule, scenario.problem.head_dim)


def _check_size(scenario: AttentionScenario, origin: Origin) -> None:
    problem = scenario.problem
    for name, most, what in (("heads", MOST_GRID_Y, "gridDim.y"), ("batch", MOST_GRID_Z, "gridDim.z")):
        found = getattr(problem, name)
        origin.require(found <= most, f"problem.{name}", f"at most {most}, the largest {what}", found)
    ctas = -(-problem.queries // scenario.queries_per_block) * problem.heads * problem.batch
    rule = f"small enough that the grid has at most {MOST_CTAS} CTAs, not {ctas}"
    origin.require(ctas <= MOST_CTAS, "problem.queries", rule, problem.queries)
    blocks = -(-problem.keys // scenario.keys_per_block)
    rule = small_enough(ctas, blocks, attention_shape(scenario).threads // WARP_SIZE)
    name = "keys" if blocks > ctas else "queries"
    origin.require(not rule, f"problem.{name}", rule, getattr(problem, name))
    for name, width in (("queries", max(problem.head_dim, problem.head_dim_v)), ("keys", problem.head_dim)):
        elements = prod((problem.batch, problem.heads, getattr(problem, name), width))
        rule = f"small enough that no tensor has more than {MOST_ELEMENTS} elements, not {elements}"
        origin.require(elements <= MOST_ELEMENTS, f"problem.{name}", rule, getattr(problem, name))
