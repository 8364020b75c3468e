"""Specialises the kernel of an sm_90 GEMM in kernels_cuda/hopper: macros, grid, shared memory. It runs nothing."""

from typing import Final

from gpusim.cuda.specialise import Build, Specialisation, specialised
from gpusim.errors import BadInput
from gpusim.families.hopper.collective import Collective, SharedOperand, collective_of
from gpusim.families.hopper.execute.kernel import compute_type_of
from gpusim.families.hopper.on_gpu.trace_rows import event_macros
from gpusim.families.hopper.problem import MMA_ROWS, HopperScenario
from gpusim.families.hopper.program.consumer import tiles_promoted
from gpusim.families.hopper.program.descriptors import descriptors
from gpusim.families.hopper.program.ops import Mbarrier
from gpusim.families.hopper.program.tiles import boxes
from gpusim.families.hopper.work import work_of
from gpusim.machine import load_machine

_ENTRY: Final = "gpusim_hopper"
"""Name of the ``__global__`` function."""

HOPPER_TARGET: Final = "sm_90a"
"""The target with wgmma and setmaxnreg."""

_SOURCE: Final = "hopper/kernel.cu"

_BUILDS: Final[dict[Build, str]] = {"trace": "TRACE", "timeline": "TIMED"}
"""Macros of the instrumented builds (kernels_cuda/hopper/record.cuh)."""

_UNITS: Final = 16
"""Bytes of a unit of a descriptor's fields."""


def specialise(scenario: HopperScenario, build: Build = "plain") -> Specialisation:
    """
    Return the specialised kernel of a scenario.

    Extents, alpha, beta and the raster are run-time values. Only whether beta is 0 is compiled in.

    Args:
        scenario: Problem and kernel.
        build: "plain"; "trace", which records what threads execute; or "timeline", which stamps each warpgroup's begin
            and end.

    Raises:
        BadInput: The scheduler is stream-K, or sums of 8-bit floats span k tiles; kernels_cuda lacks both.
        CannotRun: The CUDA sources are missing.
    """
    if scenario.kernel.walk == "stream_k":
        raise BadInput("kernel.scheduler must be persistent or none for kernels_cuda, got 'stream_k'")
    collective = collective_of(scenario)
    if tiles_promoted(collective) > 1:
        depth = scenario.kernel.tile[2] * tiles_promoted(collective)
        raise BadInput(f"kernel.tile K must be at least {depth} for kernels_cuda without kernel.fast_accumulation")
    macros = kernel_macros(collective)
    if build != "plain":
        macros |= {_BUILDS[build]: 1}
    if build == "trace":
        macros |= event_macros()
    return specialised(
        _SOURCE,
        _ENTRY,
        build,
        macros,
        work_of(scenario, load_machine(scenario.machine).sms).grid,
        block_threads=collective.threads,
        shared_bytes=collective.shared_bytes,
        k_iterations=scenario.k_tiles,
    )


def kernel_macros(collective: Collective) -> dict[str, int | str]:
    """Return the macros that kernels_cuda/hopper requires, by name without the prefix ``GPUSIM_``."""
    kernel = collective.scenario.kernel
    m, n, k = kernel.tile
    down, up = collective.registers or (0, 0)
    macros: dict[str, int | str] = {
        "SCHEDULE": kernel.schedule,
        "PERSISTENT": int(kernel.walk == "persistent"),
        "THREADS": collective.threads,
        "CONSUMERS": collective.consumers,
        "TILE_M": m,
        "TILE_N": n,
        "TILE_K": k,
        "CLUSTER_M": kernel.cluster[0],
        "CLUSTER_N": kernel.cluster[1],
        "STAGES": collective.stages,
        "STAGE_BYTES": collective.stage_bytes,
        "M_BLOCKS": collective.m_blocks,
        "K_BLOCKS": collective.k_blocks,
        "PROMOTES": tiles_promoted(collective),
        "PRODUCER_REGISTERS": down,
        "CONSUMER_REGISTERS": up,
        "BARRIERS": collective.barriers[Mbarrier("mainloop.full", 0)],
    }
    macros |= _instruction_macros(collective)
    for operand, slices in ((collective.a, kernel.cluster[1]), (collective.b, kernel.cluster[0])):
        macros |= _operand_macros(operand, slices, collective.stages)
    return macros | _epilogue_macros(collective)


def _instruction_macros(collective: Collective) -> dict[str, int | str]:
    """Return the macros of the wgmma: its name in PTX, its registers, and the numbers of its operands."""
    scenario = collective.scenario
    dtype, n = scenario.problem.dtype, scenario.kernel.tile[1]
    halves = dtype.accumulator == "f16"
    registers = MMA_ROWS * n // (128 * (2 if halves else 1))
    transposes = dtype.ab in ("f16", "bf16")
    name = f"m{MMA_ROWS}n{n}k{scenario.instruction_k}.{dtype.accumulator}.{dtype.ab}.{dtype.ab}"
    along_k = scenario.problem.k_contiguous
    return {
        "WGMMA": name,
        "WGMMA_TRANSPOSES": int(transposes),
        "WGMMA_NEGATES": int(dtype.ab != "s8"),
        "TRANSPOSE_A": int(not along_k[0]),
        "TRANSPOSE_B": int(not along_k[1]),
        "ACCUMULATOR": dtype.accumulator,
        "ACCUMULATORS": registers,
        "ACCUMULATORS_ARE_FLOAT": int(dtype.accumulator == "f32"),
        "OPERAND_A": registers,
        "OPERAND_B": registers + 1,
        "OPERAND_P": registers + 2,
    }


def _operand_macros(operand: SharedOperand, slices: int, stages: int) -> dict[str, int | str]:
    """Return the macros of an operand: its ring, the boxes of a slice, and the descriptors of its blocks."""
    found = list(boxes(operand, slices, 0))
    second = next(iter(boxes(operand, slices, slices - 1)))
    depth, rows = operand.box(slices)
    along = found[1] if len(found) > 1 else found[0]
    step = along.column - found[0].column if operand.k_contiguous else along.row - found[0].row
    macros: dict[str, int | str] = {
        "BASE": operand.base,
        "STAGE_BYTES": operand.stage_bytes,
        "K_CONTIGUOUS": int(operand.k_contiguous),
        "SLICE_ROWS": rows,
        "SLICE_BYTES": second.offset // (slices - 1) if slices > 1 else 0,
        "BOXES": len(found),
        "BOX_STEP": step,
        "BOX_STEP_BYTES": along.offset - found[0].offset,
    }
    macros |= _descriptor_macros(operand, stages, depth)
    return {f"{name}_{operand.side.upper()}": value for name, value in macros.items()}


def _descriptor_macros(operand: SharedOperand, stages: int, width: int) -> dict[str, int | str]:
    """
    Return the macros by which kernels_cuda/hopper/wgmma.cuh adds up the descriptor of any block.

    Raises:
        AssertionError: The sum is not a block's descriptor.
    """
    table = descriptors(operand, stages)
    first, blocks = table[0][0][0], table[0][0]
    depth = operand.depth // len(blocks)
    of_atom = max(1, width // depth) if operand.k_contiguous else len(blocks)
    k_step = blocks[1] - first if of_atom > 1 and len(blocks) > 1 else 0
    atom_step = blocks[of_atom] - first if len(blocks) > of_atom else 0
    m_step = table[0][1][0] - first if len(table[0]) > 1 else 0
    for stage, of_stage in enumerate(table):
        for block, of_block in enumerate(of_stage):
            for number, found in enumerate(of_block):
                along_k = number // of_atom * atom_step + number % of_atom * k_step
                added = first + stage * (operand.stage_bytes // _UNITS) + block * m_step + along_k
                if added != found:
                    raise AssertionError(f"block {block}, {number} of stage {stage} is at {found:#x}, not {added:#x}")
    return {
        "DESCRIPTOR_LOW": f"{first & 0xFFFFFFFF}u",
        "DESCRIPTOR_HIGH": f"{first >> 32}u",
        "DESCRIPTOR_M_STEP": m_step,
        "DESCRIPTOR_K_OF_ATOM": of_atom,
        "DESCRIPTOR_K_STEP": k_step,
        "DESCRIPTOR_ATOM_STEP": atom_step,
    }


def _epilogue_macros(collective: Collective) -> dict[str, int | str]:
    """Return the macros of the epilogue; without shared memory for it, its subtile is the tile."""
    epilogue, scenario = collective.epilogue, collective.scenario
    m, n, _ = scenario.kernel.tile
    if epilogue is None:
        tile, stages, reuses, has_c, swizzle, bases = (m, n), (1, 1), False, False, 16, (0, 0)
    else:
        tile, stages, reuses = epilogue.tile, (epilogue.stages_c, epilogue.stages_d), epilogue.reuses_c
        has_c, swizzle = epilogue.has_c, epilogue.swizzle
        bases = epilogue.stage_address(0, of_d=False), epilogue.stage_address(0, of_d=True)
    return {
        "OUTPUT": scenario.problem.dtype.output,
        "COMPUTES_INTEGERS": int(compute_type_of(scenario.problem) == "s32"),
        "HAS_C": int(has_c),
        "LOADS_C": int(scenario.loads_c),
        "REUSES_C": int(reuses),
        "SUBTILE_M": tile[0],
        "SUBTILE_N": tile[1],
        "STAGES_C": stages[0],
        "STAGES_D": stages[1],
        "OUTPUT_SWIZZLE": swizzle,
        "BASE_C": bases[0],
        "BASE_D": bases[1],
    }
