"""
The rules that a well-formed scenario must obey: supported values, and the shapes that CUTLASS and the machine allow.
"""

import re
from collections.abc import Iterable
from math import prod

from pydantic import BaseModel

from gpusim.element_types import MMA_SHAPES, OUTPUTS, element_bits, least_capability
from gpusim.machine import Machine
from gpusim.scenario.cutlass_shapes import not_taken
from gpusim.scenario.gemm import GemmScenario
from gpusim.scenario.kernel import PIPELINED_STAGES, Kernel
from gpusim.scenario.text import Origin, shown
from gpusim.tile.operand import SIDES, Side
from gpusim.units import LINE_BITS, VECTOR_BITS

STAGES = {"multistage": (2, 10), "pipelined": (PIPELINED_STAGES, PIPELINED_STAGES)}
"""Fewest and most stages of each mainloop; CUTLASS's library uses up to 10."""

COPY_BYTES = (16, 8, 4)
"""Sizes in bytes that a cp.async may have (PTX ISA, cp.async). The loads of pipelined kernels use the same sizes."""

OUTPUT_ROW_BITS = 2048
"""Bits of one output row that a warp's access covers, if the tile allows it."""


CROSSWISE_ROW_BITS = (LINE_BITS // 2, LINE_BITS)
"""Bits of a row of a crosswise tile: half a line or a whole line (CUTLASS layout/tensor_op_multiplicand_sm75.h)."""

CONGRUOUS_ROWS = 4
"""Rows along K that one access of a warp covers, one line each, where the operand is contiguous along M or N."""

GREATEST_FLOAT = {"f16": 65504.0, "f32": (2 - 2.0**-23) * 2.0**127}
"""Largest finite value of each type that epilogues scale in."""

MOST_GRID_Y = MOST_GRID_Z = 65535
"""Largest gridDim.y and gridDim.z of a launch (CUDA C++ Programming Guide, technical specifications)."""

MOST_CTAS = 1 << 24
"""Most CTAs of a grid, because a simulation takes 200 bytes or so for each. gridDim.x is then far below 2**31 - 1."""

MOST_K_TILES = 1 << 21
"""Most k tiles of a CTA, because its program takes about 5 KB for each."""

MOST_ELEMENTS = 1 << 40
"""Most elements of a tensor: more than a GPU's memory holds, while byte offsets stay far inside 64 bits."""

MOST_MEMORY = 8 << 30
"""Most bytes that a command may take for a scenario. They are estimated before anything is allocated."""

MEMORY_OF_CTA, MEMORY_OF_K_TILE = 600, 48_000
"""Bytes that a simulation takes for each CTA, and for each k tile (or key block) of a warp, measured on long runs."""

MOST_PADDING = 1 << 10
"""Most elements after a row of a padded tile; a few vectors are enough to move a row to other banks."""

MOST_OFFSET_BITS = 31
"""Most bits of an offset that a swizzle may reach."""

LANES_OF_A_ROW = (1, 2, 4, 8, 16, 32)
"""Numbers of 16-byte vectors that a row of an operand tile may have: the divisors of a warp's 32 lanes."""

_IDENTITY = re.compile(r"identity<(\d{1,9})>")
_PADDED = re.compile(r"padded<(\d{1,9})>")
_SWIZZLE = re.compile(r"Swizzle<\s*(-?\d{1,4})\s*,\s*(-?\d{1,4})\s*,\s*(-?\d{1,4})\s*>")
_OTHER_LAYOUTS = "row_major, padded<N> or Swizzle<B,M,S>"


def check(scenario: GemmScenario, machine: Machine, origin: Origin) -> None:
    """
    Refuse a scenario that breaks a rule.

    Raises:
        BadInput: The first broken rule, in one line: what is allowed, what was found, where it was written.
    """
    _check_supported(scenario, "", origin)
    scenario.problem.check_extents(origin)
    _check_alignments(scenario, origin)
    _check_mainloop(scenario, machine, origin)
    _check_types(scenario, machine, origin)
    _check_scales(scenario, origin)
    _check_tiles(scenario, machine, origin)
    _check_accumulators(scenario, machine, origin)
    scenario.problem.check_contiguity(origin)
    _check_shared_layouts(scenario, origin)
    _check_cutlass(scenario, origin)
    _check_thread_map(scenario, origin)
    _check_epilogue(scenario, origin)
    _check_shared_memory(scenario, machine, origin)
    scenario.problem.check_split_k(scenario.kernel.threadblock[2], origin)
    scenario.problem.check_iterator(scenario.kernel.iterator, origin)
    _check_threadblock_swizzle(scenario.kernel, origin)
    _check_size(scenario, origin)


def shared_operand_bytes(scenario: GemmScenario, side: Side) -> int:
    """Return the bytes of shared memory that all stages of operand "a" or "b" take, padding included."""
    padded = _PADDED.fullmatch(scenario.shared_layout(side))
    contiguous, strided = _stage(scenario, side)
    row = contiguous + (int(padded[1]) if padded else 0)
    return scenario.kernel.stages * strided * row * element_bits(scenario.problem.dtype.ab) // 8


def _stage(scenario: GemmScenario, side: Side) -> tuple[int, int]:
    """Return the extents of one operand's tile, as (contiguous, strided)."""
    m, n, k = scenario.kernel.threadblock
    rows = m if side == "a" else n
    return (k, rows) if scenario.problem.k_contiguous(side) else (rows, k)


def _axis(side: Side) -> str:
    """Return the operand's dimension other than K."""
    return "M" if side == "a" else "N"


def _check_supported(table: BaseModel, prefix: str, origin: Origin) -> None:
    """Refuse documented values that do not work yet; the models state which ones do."""
    for name, field in type(table).model_fields.items():
        value = getattr(table, name)
        if isinstance(value, BaseModel):
            _check_supported(value, f"{prefix}{name}.", origin)
            continue
        extra = field.json_schema_extra
        values = extra.get("supported") if isinstance(extra, dict) else None
        found = list(value) if isinstance(value, tuple) else value
        if isinstance(values, list) and found not in values:
            allowed = " or ".join(shown(item) for item in values)
            raise origin.refusal(f"{prefix}{name}", f"{allowed} (other values are not supported yet)", found)


def _check_types(scenario: GemmScenario, machine: Machine, origin: Origin) -> None:
    """Refuse types or a shape without an mma.sync on this machine, and an output type without an epilogue."""
    dtype, instruction = scenario.problem.dtype, scenario.kernel.instruction
    accumulators = [accumulator for ab, accumulator in MMA_SHAPES if ab == dtype.ab]
    if dtype.accumulator not in accumulators:
        rule = f"{_or(accumulators)} for {dtype.ab} operands"
        raise origin.refusal("problem.dtype.accumulator", rule, dtype.accumulator)
    types = dtype.ab, dtype.accumulator
    if dtype.output not in OUTPUTS[types]:
        rule = f"{_or(OUTPUTS[types])} for {dtype.ab} operands with {dtype.accumulator} accumulators"
        raise origin.refusal("problem.dtype.output", rule, dtype.output)
    shapes = [shape for shape in MMA_SHAPES[types] if least_capability(dtype.ab, shape) <= machine.compute_capability]
    if instruction not in shapes:
        if not shapes:
            raise origin.refusal("problem.dtype.ab", f"a type whose mma.sync {machine.name} has", dtype.ab)
        rule = f"{' or '.join(shown(list(shape)) for shape in shapes)} for {dtype.ab} operands on {machine.name}"
        raise origin.refusal("kernel.instruction", rule, list(instruction))


def _check_scales(scenario: GemmScenario, origin: Origin) -> None:
    """
    Refuse alpha or beta beyond the largest value of the type they are passed in: f16 for f16 accumulators, else f32.
    """
    problem = scenario.problem
    computed = "f16" if problem.dtype.accumulator == "f16" else "f32"
    for name in ("alpha", "beta"):
        scale = float(getattr(problem, name))
        if abs(scale) > GREATEST_FLOAT[computed]:
            rule = f"at most {GREATEST_FLOAT[computed]:g} in magnitude, the greatest {computed}"
            raise origin.refusal(f"problem.{name}", f"{rule}, which the epilogue computes in", scale)


def _or(values: Iterable[str]) -> str:
    return " or ".join(map(shown, values))


def _check_alignments(scenario: GemmScenario, origin: Origin) -> None:
    """Refuse vectors that do not divide the extent they walk along, or whose size no cp.async or global load has."""
    problem = scenario.problem
    for operand, walked in problem.walked.items():
        key = f"problem.alignment_{operand}"
        given = getattr(problem, f"alignment_{operand}")
        access = problem.access(operand)
        bits = element_bits(problem.dtype.output if operand == "c" else problem.dtype.ab)
        sizes = tuple(8 * size // bits for size in COPY_BYTES if 8 * size >= bits)
        if operand == "c":
            widest = VECTOR_BITS // bits
            sizes = tuple(widest >> shift for shift in range(widest.bit_length()) if (widest >> shift) * bits >= 8)
        allowed = ", ".join(map(str, sizes))
        if given is not None and given not in sizes:
            raise origin.refusal(key, f"one of {allowed} elements", given)
        for extent_name, extent in walked.extents.items():
            if given is not None and extent % given:
                raise origin.refusal(key, f"one of {allowed} and divide {extent_name} = {extent}", given)
        if access not in sizes:
            extent_name, extent = next(item for item in walked.extents.items() if item[1] % sizes[-1])
            mover = "a global load" if scenario.kernel.mainloop == "pipelined" else "cp.async"
            least = f"{mover} moves at least {COPY_BYTES[-1]} bytes"
            if operand == "c":
                least = "no access stores less than a byte"
            rule = f"a multiple of {sizes[-1]}: {least} of {walked.tensor}"
            raise origin.refusal(f"problem.{extent_name}", rule, extent)


def _check_mainloop(scenario: GemmScenario, machine: Machine, origin: Origin) -> None:
    kernel = scenario.kernel
    if kernel.mainloop == "multistage" and not machine.features.cp_async:
        capability = f"{machine.compute_capability // 10}.{machine.compute_capability % 10}"
        rule = f'"pipelined" on {machine.name}, whose compute capability {capability} has no cp.async'
        raise origin.refusal("kernel.mainloop", rule, kernel.mainloop)
    fewest, most = STAGES[kernel.mainloop]
    if not fewest <= kernel.stages <= most:
        allowed = f"{fewest}..{most}" if fewest < most else f"{fewest}: a {kernel.mainloop} mainloop has two slots"
        raise origin.refusal("kernel.stages", allowed, kernel.stages)


def _check_tiles(scenario: GemmScenario, machine: Machine, origin: Origin) -> None:
    kernel = scenario.kernel
    matrices_k = kernel.instruction[2] * element_bits(scenario.problem.dtype.ab) // VECTOR_BITS
    ldmatrix_rows = 32 // matrices_k
    for axis, tile, warp, instruction in zip("MNK", kernel.threadblock, kernel.warp, kernel.instruction, strict=True):
        if tile % warp:
            raise origin.refusal("kernel.warp", f"a divisor of the threadblock's {axis} = {tile}", list(kernel.warp))
        # Along M and N a warp tile consists of whole ldmatrix.x4: two n8 fragments, for example, if K is two matrices
        # deep.
        step = instruction if axis == "K" else max(instruction, ldmatrix_rows)
        if warp % step:
            raise origin.refusal("kernel.warp", f"a multiple of {step} along {axis}", list(kernel.warp))
    if kernel.warp[2] != kernel.threadblock[2]:
        rule = f"as deep as the threadblock's K = {kernel.threadblock[2]} (sliced K is not supported yet)"
        raise origin.refusal("kernel.warp", rule, list(kernel.warp))
    if kernel.k_groups < 2:
        least = 2 * kernel.instruction[2]
        rule = f"at least {least} deep: the {kernel.mainloop} mainloop needs two k groups of {kernel.instruction[2]}"
        raise origin.refusal("kernel.warp", rule, list(kernel.warp))
    if kernel.threads > machine.limits.threads_per_cta:
        most = machine.limits.threads_per_cta // 32
        rule = f"large enough that the threadblock has at most {most} warps"
        raise origin.refusal("kernel.warp", rule, list(kernel.warp))


def _check_accumulators(scenario: GemmScenario, machine: Machine, origin: Origin) -> None:
    """Refuse accumulators that fill all registers of a thread or of an SM, because spills are not modelled."""
    kernel, limits = scenario.kernel, machine.limits
    words = kernel.warp[0] * kernel.warp[1] // 32 * element_bits(scenario.problem.dtype.accumulator) // 32
    if words >= limits.registers_per_thread:
        rule = f"small enough for its accumulators to leave some of a thread's {limits.registers_per_thread} registers"
        raise origin.refusal("kernel.warp", rule, list(kernel.warp))
    if words * kernel.threads >= limits.registers:
        rule = f"small enough for its accumulators to leave some of the SM's {limits.registers} registers"
        raise origin.refusal("kernel.threadblock", rule, list(kernel.threadblock))


def _check_shared_layouts(scenario: GemmScenario, origin: Origin) -> None:
    kernel = scenario.kernel
    dtype = scenario.problem.dtype.ab
    bits = element_bits(dtype)
    vector = VECTOR_BITS // bits
    for side in SIDES:
        key = f"kernel.shared.{side}"
        name, k_contiguous = scenario.shared_layout(side), scenario.problem.k_contiguous(side)
        contiguous, strided = _stage(scenario, side)
        own, other = ("crosswise", "congruous") if k_contiguous else ("congruous", "crosswise")
        axis = "K" if k_contiguous else _axis(side)
        names = f"{own}, {_OTHER_LAYOUTS}"
        padded, swizzle = _PADDED.fullmatch(name), _SWIZZLE.fullmatch(name)
        if name == other:
            raise origin.refusal(key, f"{names} for an operand that is contiguous along {axis}", name)
        if name == "crosswise":
            allowed = [width // bits for width in CROSSWISE_ROW_BITS]
            if contiguous not in allowed:
                rule = f"{' or '.join(map(str, allowed))} along K for a crosswise {dtype} tile"
                raise origin.refusal("kernel.threadblock", rule, list(kernel.threadblock))
        elif padded:
            rule = _padding_rule(int(padded[1]), vector)
            if rule:
                raise origin.refusal(key, rule, name)
        elif swizzle:
            sizes = [int(part) for part in swizzle.groups()]
            rule = _swizzle_rule(*sizes, elements=contiguous * strided, vector=vector)
            if rule:
                raise origin.refusal(key, rule, name)
        elif name not in ("congruous", "row_major"):
            raise origin.refusal(key, names, name)


def _check_cutlass(scenario: GemmScenario, origin: Origin) -> None:
    """Refuse CUTLASS's machine code if CUTLASS has no kernel with this shared layout or warp tile."""
    if scenario.kernel.code != "cutlass":
        return
    for side in SIDES:
        own = "crosswise" if scenario.problem.k_contiguous(side) else "congruous"
        if scenario.shared_layout(side) != own:
            rule = f'{own} where kernel.code is "cutlass", which has no other kernel'
            raise origin.refusal(f"kernel.shared.{side}", rule, scenario.shared_layout(side))
    refused = not_taken(scenario.problem, scenario.kernel)
    if refused is not None:
        rule = f'{refused.rule}, where kernel.code is "cutlass", which has no other kernel'
        raise origin.refusal(refused.key, rule, refused.found)


def _padding_rule(padding: int, vector: int) -> str:
    """Return the rule that the padding of rows breaks: it must be whole vectors, and not too many."""
    if padding > MOST_PADDING:
        return f"padded by at most {MOST_PADDING} elements"
    return f"padded by a multiple of {vector} elements, the 16 bytes of a vector" if padding % vector else ""


def _swizzle_rule(bits: int, base: int, shift: int, /, *, elements: int, vector: int) -> str:
    """Return the rule that a Swizzle<B,M,S> breaks: CuTe's conditions, whole vectors, a bijection of the tile."""
    if bits < 0 or base < 0 or abs(shift) < bits:
        return "Swizzle<B,M,S> with B >= 0, M >= 0 and abs(S) >= B"
    if base + bits + abs(shift) > MOST_OFFSET_BITS:
        return f"Swizzle<B,M,S> with B + M + abs(S) at most {MOST_OFFSET_BITS}, the bits of an offset"
    least = vector.bit_length() - 1
    if bits and base < least:
        return f"Swizzle<B,M,S> with M at least {least}, so that 16-byte vectors stay whole"
    if bits and elements % (1 << (base + bits + max(-shift, 0))):
        return f"Swizzle<B,M,S> whose bits divide the tile's {elements} elements"
    return ""


def _check_thread_map(scenario: GemmScenario, origin: Origin) -> None:
    """
    Refuse an operand tile that the warp-raked map of 16-byte vectors does not cover exactly.

    Source: CUTLASS transform/pitch_linear_thread_map.h, PitchLinearWarpRakedThreadMap.
    """
    kernel = scenario.kernel
    for side in SIDES:
        check_map = _check_crosswise_map if scenario.problem.k_contiguous(side) else _check_congruous_map
        rule = check_map(scenario, side)
        if rule:
            raise origin.refusal("kernel.threadblock", rule, list(kernel.threadblock))


def _check_crosswise_map(scenario: GemmScenario, side: Side) -> str:
    """Return the rule a K-contiguous operand breaks: a warp copies whole rows, and all warps' rows divide the tile."""
    bits = element_bits(scenario.problem.dtype.ab)
    contiguous, strided = _stage(scenario, side)
    vectors = contiguous * bits // VECTOR_BITS
    if not vectors or 32 % vectors:
        depths = ", ".join(str(lanes * VECTOR_BITS // bits) for lanes in LANES_OF_A_ROW)
        return f"{depths} along K, so that a warp's 32 lanes cover whole rows"
    rows = 32 // vectors * (scenario.kernel.threads // 32)
    if strided % rows:
        return f"a multiple of {rows} along {_axis(side)}, the rows its {scenario.kernel.threads} threads copy at once"
    return ""


def _check_congruous_map(scenario: GemmScenario, side: Side) -> str:
    """
    Return the rule an M- or N-contiguous operand breaks: a warp copies 4 rows of one line, shared evenly by the warps.
    """
    axis, warps = _axis(side), scenario.kernel.threads // 32
    contiguous, depth = _stage(scenario, side)
    line = LINE_BITS // element_bits(scenario.problem.dtype.ab)
    if contiguous % line:
        return f"a multiple of {line} along {axis}, the elements of a 128-byte line, for an operand contiguous along it"
    if depth % CONGRUOUS_ROWS:
        return (
            f"a multiple of {CONGRUOUS_ROWS} along K, the rows a warp copies at once of what is contiguous along {axis}"
        )
    lines, groups = contiguous // line, depth // CONGRUOUS_ROWS
    along_k = min(warps, groups)
    if groups % along_k or warps % along_k or lines % (warps // along_k):
        return (
            f"one whose {lines} x {groups} warp accesses, of {line} elements along {axis} by {CONGRUOUS_ROWS} along K,"
            f" its {warps} warps share evenly, along K first"
        )
    return ""


def _check_epilogue(scenario: GemmScenario, origin: Origin) -> None:
    """
    Refuse a tile whose 8-row slabs of output (or of partial sums) the sharing warps cannot store exactly.

    Source: CUTLASS epilogue/threadblock/output_tile_thread_map.h, OutputTileOptimalThreadMap.
    """
    kernel, problem = scenario.kernel, scenario.problem
    columns, sharing = kernel.threadblock[1], kernel.warps[1] * kernel.warps[2]
    what, element, vector = "output", problem.dtype.output, problem.access_c
    if problem.reduces:
        what, element, vector = "partial-sum", problem.dtype.accumulator, problem.access_partial
    row_lanes, rows, lanes = columns // vector, max(1, 8 // sharing), 32
    if sharing < 8:
        wanted = OUTPUT_ROW_BITS // (vector * element_bits(element))
        lanes = 32 // rows if 32 // wanted > rows else min(row_lanes, 32, wanted)
    lane_rows = min(8, 32 // lanes)
    if lanes * lane_rows != 32 or row_lanes % lanes or columns % vector or sharing * rows != 8 or rows % lane_rows:
        rule = f"one whose 8 x {columns} {what} slabs {sharing} warps store in whole {vector}-element accesses"
        if not problem.reduces:
            rule += f" (problem.alignment_c = {vector})"
        raise origin.refusal("kernel.threadblock", rule, list(kernel.threadblock))


def _check_shared_memory(scenario: GemmScenario, machine: Machine, origin: Origin) -> None:
    need = sum(shared_operand_bytes(scenario, side) for side in SIDES)
    most = machine.limits.shared_bytes_per_cta
    if need > most:
        stages = scenario.kernel.stages
        each = need // stages
        rule = f"at most {most // each} for this tile ({each} of {machine.name}'s {most} shared-memory bytes a stage)"
        raise origin.refusal("kernel.stages", rule, stages)


def _check_threadblock_swizzle(kernel: Kernel, origin: Origin) -> None:
    if kernel.threadblock_swizzle == "horizontal":
        return
    identity = _IDENTITY.fullmatch(kernel.threadblock_swizzle)
    if not identity or int(identity[1]) not in (1, 2, 4, 8):
        rule = "identity<1>, identity<2>, identity<4>, identity<8> or horizontal"
        raise origin.refusal("kernel.threadblock_swizzle", rule, kernel.threadblock_swizzle)


def _check_size(scenario: GemmScenario, origin: Origin) -> None:
    """Refuse a grid that CUDA cannot launch or a size too large to simulate; the message names the largest extent."""
    problem, kernel = scenario.problem, scenario.kernel
    slices, (tile_m, tile_n, tile_k) = problem.split_k_slices, kernel.threadblock
    size = problem.size(tile_k)
    columns = {size.column: int(getattr(problem, size.column))}
    for name, extents in size.tensors.items():
        rule = f"small enough that {name} has at most {MOST_ELEMENTS} elements"
        _refuse_beyond(prod(extents.values()), MOST_ELEMENTS, rule, extents, origin)
    tiles_m, tiles_n = -(-prod(size.rows.values()) // tile_m), -(-columns[size.column] // tile_n)
    identity = _IDENTITY.fullmatch(kernel.threadblock_swizzle)
    # identity<N> puts N tiles side by side in x; a grid large enough to reach the limit always has N tiles.
    grid_y, across = (-(-tiles_n // int(identity[1])), columns) if identity else (tiles_m, size.rows)
    _refuse_beyond(grid_y, MOST_GRID_Y, f"small enough that gridDim.y is at most {MOST_GRID_Y}", across, origin)
    _refuse_beyond(
        slices, MOST_GRID_Z, f"such that gridDim.z is at most {MOST_GRID_Z}", {"split_k_slices": slices}, origin
    )
    ctas = tiles_m * tiles_n * slices
    rule = f"small enough that the grid has at most {MOST_CTAS} CTAs"
    _refuse_beyond(ctas, MOST_CTAS, rule, size.rows | columns, origin)
    rule = f"small enough that a CTA has at most {MOST_K_TILES} k tiles"
    _refuse_beyond(size.k_tiles, MOST_K_TILES, rule, size.summed, origin)
    rule = small_enough(ctas, size.k_tiles, kernel.threads // 32)
    if rule:
        extents = size.summed if size.k_tiles > ctas else size.rows | columns
        name, extent = max(extents.items(), key=lambda item: item[1])
        raise origin.refusal(f"problem.{name}", rule, extent)


def small_enough(ctas: int, k_tiles: int, warps: int) -> str:
    """
    Return the rule that a simulation breaks if it takes more than ``MOST_MEMORY``; otherwise "".

    Args:
        ctas: CTAs of the grid.
        k_tiles: k tiles (or key blocks) of the longest one.
        warps: Warps of a CTA.
    """
    need = ctas * MEMORY_OF_CTA + k_tiles * warps * MEMORY_OF_K_TILE
    return f"small enough that a simulation takes at most {in_gib(MOST_MEMORY)} of memory, not {in_gib(need)}" * (
        need > MOST_MEMORY
    )


def in_gib(size: int) -> str:
    """Return bytes as text."""
    return f"{size / (1 << 30):.3g} GiB"


def _refuse_beyond(count: int, most: int, rule: str, extents: dict[str, int], origin: Origin) -> None:
    if count > most:
        name, extent = max(extents.items(), key=lambda item: item[1])
        raise origin.refusal(f"problem.{name}", f"{rule}, not {count}", extent)
