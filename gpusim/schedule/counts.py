"""What a grid executes, exactly and without running it: instructions, shared-memory wavefronts, requested sectors."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from math import prod
from typing import Literal, Self, TypeAlias, TypeVar

import numpy as np

from gpusim.arrays import BoolArray, IntArray
from gpusim.element_types import element_bits, is_emulated, tensor_opcode
from gpusim.layout.banks import access_ideal, access_wavefronts, ldmatrix_ideal, ldmatrix_wavefronts
from gpusim.machine import load_machine
from gpusim.results.result import BankConflicts
from gpusim.scenario.gemm import GemmScenario
from gpusim.schedule.ops import (
    Barrier,
    CommitGroup,
    CopyAsync,
    Ldmatrix,
    LoadBias,
    LoadFragment,
    LoadGlobal,
    LoadPartial,
    LoadShared,
    LoadSource,
    Op,
    Program,
    StoreGlobal,
    StoreShared,
    StoreTile,
    WaitGroup,
    WarpMma,
)
from gpusim.schedule.program import mainloop_shape, program
from gpusim.schedule.reduction import reduction_ops
from gpusim.tile.ldmatrix import fragment_loads, ldmatrix_offsets
from gpusim.tile.operand import SIDES, Side
from gpusim.tile.requests import access_sectors, grid_requests
from gpusim.tile.shared_store import store_offsets
from gpusim.units import WARP_SIZE, WORD_BYTES

Sass: TypeAlias = Literal[
    "HMMA", "IMMA", "LDSM", "LDGSTS", "LDGDEPBAR", "DEPBAR", "BAR", "STS", "LDS", "LDG", "STG", "SHFL", "ATOMS", "MUFU"
]


SASS_OF_OP: dict[type[Op], Sass] = {
    WarpMma: "HMMA",
    Ldmatrix: "LDSM",
    LoadFragment: "LDS",
    CopyAsync: "LDGSTS",
    CommitGroup: "LDGDEPBAR",
    WaitGroup: "DEPBAR",
    Barrier: "BAR",
    StoreShared: "STS",
    LoadShared: "LDS",
    LoadSource: "LDG",
    StoreGlobal: "STG",
    LoadBias: "LDG",
    LoadPartial: "LDG",
    LoadGlobal: "LDG",
    StoreTile: "STS",
}
"""The machine instruction of each op. A WarpMma is as many HMMA (of integers: IMMA) as the warp tile has instruction
tiles."""


TENSOR: dict[Sass, str] = {
    "HMMA": "sm__inst_executed_pipe_tensor_op_hmma.sum",
    "IMMA": "sm__inst_executed_pipe_tensor_op_imma.sum",
}
"""ncu's metric of each tensor-core instruction."""


@dataclass(frozen=True, slots=True)
class Counts:
    """
    Totals over the grid. Instructions are per warp (a predicated-off one counts, as the hardware counts it).

    Attributes:
        ctas: CTAs that have a tile.
        warps: Warps of one CTA.
        instructions: SASS mnemonic -> warp instructions. HMMA or IMMA, whichever the operands' type takes; neither
            where the assembler emulates the mma.sync (D27).
        load_sectors: 32-byte sectors that LDGSTS (or LDG) and source loads request, by "a", "b", "source", "bias"; of a
            reduction by "partial", "source", "bias".
        line_returns: LDGSTS wavefronts beyond those by pattern: each 128-byte line of global memory returns by itself.
        store_sectors: Sectors the output stores request.
        bank_conflicts: Shared-memory wavefronts by address pattern alone; arbitration is not in them (D9).
    """

    ctas: int
    warps: int
    instructions: Mapping[Sass, int]
    load_sectors: Mapping[str, int]
    line_returns: int
    store_sectors: int
    bank_conflicts: tuple[BankConflicts, ...]

    def counters(self) -> dict[str, int]:
        """The totals under ncu's full metric names."""
        ldmatrix = [row for row in self.bank_conflicts if row.op == "ldmatrix"]
        return {
            **{metric: self.instructions[opcode] for opcode, metric in TENSOR.items() if opcode in self.instructions},
            "smsp__inst_executed_op_ldsm.sum": self.instructions["LDSM"],
            "smsp__inst_executed_op_ldgsts.sum": self.instructions["LDGSTS"],
            "smsp__inst_executed_op_shared_st.sum": self.instructions["STS"],
            "smsp__inst_executed_op_global_ld.sum": self.instructions["LDG"],
            "smsp__inst_executed_op_global_st.sum": self.instructions["STG"],
            "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum": sum(self.load_sectors.values()),
            "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum": self.store_sectors,
            "sm__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ldsm.sum": sum(row.wavefronts for row in ldmatrix),
            "sm__sass_l1tex_data_bank_conflicts_pipe_lsu_mem_shared_op_ldsm.sum": sum(
                row.conflicts for row in ldmatrix
            ),
        }


@dataclass(frozen=True, slots=True)
class _Slice:
    """The CTAs of one split-K slice: they execute one program."""

    index: int
    program: Program
    ctas: int


def executed(scenario: GemmScenario) -> Counts:
    """
    Count what every CTA of the grid executes, from its program and the lane addresses.

    The reduction of a parallel split-K is a kernel of its own: ``executed_reduction`` counts it.

    Not modelled: instructions around the named ops, spills, and the semaphore of serial split-K.
    """
    tiled = scenario.grid.tiled
    slices = [
        _Slice(index, program(scenario, scenario.k_iterations(index), index), tiled.m * tiled.n)
        for index in range(tiled.slices)
    ]
    warps = prod(scenario.kernel.warps)
    shape = mainloop_shape(scenario)
    loads = {
        side: grid_requests(operand, tiled, scenario.k_iterations(), around_l1=shape.of(side).cache == "cg")
        for side, operand in scenario.operands.items()
    }
    return Counts(
        ctas=tiled.m * tiled.n * tiled.slices,
        warps=warps,
        instructions=_instructions(scenario, slices, warps),
        load_sectors={
            "a": loads["a"].sectors,
            "b": loads["b"].sectors,
            "source": _source_sectors(scenario, slices),
            "bias": _bias_sectors(scenario, slices),
        },
        line_returns=(loads["a"].returns + loads["b"].returns) if scenario.kernel.mainloop == "multistage" else 0,
        store_sectors=scenario.epilogue.all_sectors(scenario.problem.split_k_slices),
        bank_conflicts=(
            *(_fragment_row(scenario, operand, slices) for operand in SIDES),
            *(_write_row(scenario, operand, slices) for operand in SIDES),
            *_epilogue_rows(scenario, slices),
        ),
    )


def _instructions(scenario: GemmScenario, slices: Iterable[_Slice], warps: int) -> dict[Sass, int]:
    kernel = scenario.kernel
    mma_per_op = (kernel.warp[0] // kernel.instruction[0]) * (kernel.warp[1] // kernel.instruction[1])
    opcodes: dict[type[Op], Sass] = SASS_OF_OP | {WarpMma: tensor_opcode(scenario.problem.dtype.ab)}
    totals: dict[Sass, int] = dict.fromkeys(opcodes.values(), 0)
    for part in slices:
        for kind, count in Counter(map(type, part.program.ops())).items():
            each = mma_per_op if kind is WarpMma else 1
            totals[opcodes[kind]] += count * each * warps * part.ctas
    if is_emulated(scenario.problem.dtype.ab, load_machine(scenario.machine).compute_capability):
        del totals[opcodes[WarpMma]]
    return totals


def _source_sectors(scenario: GemmScenario, slices: Iterable[_Slice]) -> int:
    """Sectors of the source loads: those of the output stores, for every slice that reads its source."""
    readers = sum(any(isinstance(op, LoadSource) for op in part.program.epilogue) for part in slices)
    return scenario.epilogue.sectors() * readers if readers else 0


def _bias_sectors(scenario: GemmScenario, slices: Iterable[_Slice]) -> int:
    """Sectors of the loads of the bias: every CTA of the slices that read it brings its columns once for each warp."""
    readers = sum(any(isinstance(op, LoadBias) for op in part.program.epilogue) for part in slices)
    if not readers:
        return 0
    tiled = scenario.grid.tiled
    tile = scenario.epilogue
    access = tile.bias(np.arange(tiled.n, dtype=np.int64))
    lanes = (tiled.n, -1, WARP_SIZE, tile.bias_accesses)
    offset = np.moveaxis(access.offset.reshape(lanes), 2, -1)
    valid = np.moveaxis(access.valid.reshape(lanes), 2, -1)
    return access_sectors(offset, valid, tile.output_bits, tile.elements_per_access) * tiled.m * readers


def _row(
    op: Literal["ldmatrix", "lds", "sts", "ldgsts"], operand: str, requests: int, wavefronts: int, ideal: int
) -> BankConflicts:
    return BankConflicts(op, operand, requests, wavefronts, ideal, wavefronts - ideal)


def _fragment_row(scenario: GemmScenario, operand: Side, slices: Iterable[_Slice]) -> BankConflicts:
    """The loads of one operand's fragments: ldmatrix, or plain loads of words."""
    kernel = scenario.kernel
    loads = fragment_loads(scenario.operand(operand))
    bits = scenario.operand(operand).shared.element_bits
    offsets = np.stack([ldmatrix_offsets(scenario.operand(operand), stage) for stage in range(kernel.stages)])
    addresses = offsets * bits // 8  # [stages, warps, k_groups, instructions, 32]
    if loads.words:
        by_place, ideal = access_wavefronts(addresses, WORD_BYTES), int(access_ideal(WORD_BYTES))
    else:
        by_place, ideal = ldmatrix_wavefronts(addresses, loads.matrices), ldmatrix_ideal(loads.matrices)
    _, warps, k_groups, instructions = by_place.shape
    issued = np.zeros((kernel.stages, k_groups, instructions), dtype=np.int64)
    for part in slices:
        for op in part.program.mainloop_ops():
            if isinstance(op, Ldmatrix | LoadFragment) and op.operand == operand:
                issued[op.stage, op.k_group, op.instruction] += part.ctas
    requests = int(issued.sum()) * warps
    wavefronts = int((by_place * issued[:, None]).sum())
    return _row("lds" if loads.words else "ldmatrix", operand, requests, wavefronts, requests * ideal)


@dataclass(frozen=True, slots=True)
class _CopyPattern:
    """
    Where one operand's copies write.

    Attributes:
        addresses: Shared byte addresses, shape [stages, accesses, vecs, warps, 32].
        width: Bytes of one copy.
    """

    operand: Side
    addresses: IntArray
    width: int

    @classmethod
    def of(cls, scenario: GemmScenario, operand: Side) -> Self:
        problem = scenario.problem
        bits = element_bits(problem.dtype.ab)
        elements = problem.access(operand)
        slots = [by_warp(store_offsets(scenario.operand(operand), stage)) for stage in range(scenario.kernel.stages)]
        return cls(operand, np.stack(slots) * bits // 8, elements * bits // 8)


ArrayT = TypeVar("ArrayT", IntArray, BoolArray)


def by_warp(by_thread: ArrayT) -> ArrayT:
    """[threads, accesses, vecs] as [accesses, vecs, warps, 32]."""
    threads, accesses, vecs = by_thread.shape
    return by_thread.reshape(threads // WARP_SIZE, WARP_SIZE, accesses, vecs).transpose(2, 3, 0, 1)


def _write_row(scenario: GemmScenario, operand: Side, slices: Iterable[_Slice]) -> BankConflicts:
    """The row of whatever fills the operand's ring."""
    if scenario.kernel.mainloop == "pipelined":
        return _tile_store_row(scenario, operand, slices)
    return _ldgsts_row(scenario, operand, slices)


def _tile_store_row(scenario: GemmScenario, operand: Side, slices: Iterable[_Slice]) -> BankConflicts:
    """The stores of the threadblock fragment: every lane writes a whole access, zeros included."""
    pattern = _CopyPattern.of(scenario, operand)
    vecs = pattern.addresses.shape[2]
    each = access_wavefronts(pattern.addresses[:, :, 0], pattern.width * vecs)  # [stages, accesses, warps]
    issued = np.zeros(each.shape[:2], dtype=np.int64)
    for part in slices:
        for op in part.program.mainloop_ops():
            if isinstance(op, StoreTile) and op.operand == operand:
                issued[op.stage, op.access] += part.ctas
    requests = int(issued.sum()) * each.shape[-1]
    wavefronts = int((each * issued[..., None]).sum())
    return _row("sts", operand, requests, wavefronts, requests * int(access_ideal(pattern.width * vecs)))


def _ldgsts_row(scenario: GemmScenario, operand: Side, slices: Iterable[_Slice]) -> BankConflicts:
    """The shared side of the copies: all lanes write where invalid ones zero-fill, else the valid lanes only."""
    pattern = _CopyPattern.of(scenario, operand)
    every_lane = access_wavefronts(pattern.addresses, pattern.width)
    warps = every_lane.shape[-1]
    zero_filled = np.zeros(every_lane.shape[:-1], dtype=np.int64)
    requests = wavefronts = ideal = 0
    for part in slices:
        predicated: set[int] = set()
        for op in part.program.mainloop_ops():
            if isinstance(op, CopyAsync) and op.operand == operand:
                requests += warps * part.ctas
                if op.zfill:
                    zero_filled[op.stage, op.access, op.vec] += part.ctas
                else:
                    predicated.add(op.fetch)
        found = _predicated_wavefronts(scenario, pattern, part.index, sorted(predicated))
        wavefronts, ideal = wavefronts + found[0], ideal + found[1]
    wavefronts += int((every_lane * zero_filled[..., None]).sum())
    ideal += int(zero_filled.sum()) * warps * int(access_ideal(pattern.width))
    return _row("ldgsts", operand, requests, wavefronts, ideal)


def _predicated_wavefronts(
    scenario: GemmScenario, pattern: _CopyPattern, slice_: int, fetches: list[int]
) -> tuple[int, int]:
    """
    Wavefronts and ideal wavefronts of whole fetches whose invalid lanes write nothing, over all tiles of a slice.

    Fetches with equal predicates into the same slot are counted once and multiplied.
    """
    if not fetches:
        return 0, 0
    tiled, stages = scenario.grid.tiled, scenario.kernel.stages
    tiles, sharing_ctas = (tiled.m, tiled.n) if pattern.operand == "a" else (tiled.n, tiled.m)
    number = np.array(fetches, dtype=np.int64)
    operand = scenario.operand(pattern.operand)
    iterator = operand.iterator(np.arange(tiles, dtype=np.int64)[:, None], slice_)
    alike = np.broadcast_to(iterator.signature(number) * stages + number % stages, (tiles, len(number)))
    _, first, count = np.unique(alike, return_index=True, return_counts=True)
    wavefronts = ideal = 0
    for place, times in zip(first.tolist(), count.tolist(), strict=True):
        tile, index = divmod(place, len(number))
        valid = by_warp(operand.iterator(tile, slice_).fetch(fetches[index]).valid)
        addresses = pattern.addresses[fetches[index] % stages]
        wavefronts += times * int(access_wavefronts(addresses, pattern.width, valid).sum())
        ideal += times * int(access_ideal(pattern.width, valid).sum())
    return wavefronts * sharing_ctas, ideal * sharing_ctas


def _epilogue_rows(scenario: GemmScenario, slices: Iterable[_Slice]) -> tuple[BankConflicts, BankConflicts]:
    tile = scenario.epilogue
    steps = tile.steps * sum(part.ctas for part in slices)
    return (
        _staging_row("sts", tile.store_offsets() * tile.accumulator_bits // 8, tile.store_bytes, steps),
        _staging_row("lds", tile.load_offsets() * tile.accumulator_bits // 8, tile.load_bytes, steps),
    )


def _staging_row(op: Literal["sts", "lds"], places: IntArray, width: int, steps: int) -> BankConflicts:
    """One instruction kind of the epilogue; ``places`` [threads, accesses, elements] in bytes, alike in every step."""
    addresses = places[..., 0].reshape(-1, WARP_SIZE, places.shape[1]).swapaxes(-2, -1)
    each = access_wavefronts(addresses, width)
    requests = each.size * steps
    return _row(op, "accumulator", requests, int(each.sum()) * steps, requests * int(access_ideal(width)))


def executed_reduction(scenario: GemmScenario) -> Counts:
    """
    Count what the second kernel of a parallel split-K executes.

    Raises:
        BadInput: The scenario has no parallel split-K.
    """
    tile, ops = scenario.reduction, reduction_ops(scenario)
    instructions: dict[Sass, int] = dict.fromkeys(SASS_OF_OP.values(), 0)
    for op in ops:
        instructions[SASS_OF_OP[type(op)]] += tile.warps * tile.ctas
    access = tile.access(np.arange(tile.ctas, dtype=np.int64))
    kinds = {type(op) for op in ops}
    outputs = int(tile.sectors(access.output, access.valid, tile.output_type, tile.elements_per_access).sum())
    bias = int(tile.sectors(access.bias, access.valid, tile.output_type, tile.elements_per_access).sum())
    partial = tile.sectors(access.partial, access.valid[:, None, None], tile.accumulator_type, tile.elements_per_load)
    return Counts(
        ctas=tile.ctas,
        warps=tile.warps,
        instructions=instructions,
        load_sectors={
            "partial": int(partial.sum()),
            "source": outputs if LoadSource in kinds else 0,
            "bias": bias if LoadBias in kinds else 0,
        },
        line_returns=0,
        store_sectors=outputs,
        bank_conflicts=(),
    )


def executed_in_all(scenario: GemmScenario) -> Counts:
    """What all kernels of a scenario execute together, of a second one added to the first; CTAs are the first one's."""
    first = executed(scenario)
    if not scenario.problem.reduces:
        return first
    second = executed_reduction(scenario)
    sectors = Counter(first.load_sectors) + Counter(second.load_sectors)
    return replace(
        first,
        instructions={name: count + second.instructions.get(name, 0) for name, count in first.instructions.items()},
        load_sectors=dict(sectors),
        store_sectors=first.store_sectors + second.store_sectors,
    )
