"""The exact work of a grid, counted without executing it: instructions, shared-memory wavefronts, requested sectors."""

from abc import abstractmethod
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import prod
from typing import Any, Generic, Literal, NamedTuple

from gpusim.results.result import BankConflicts
from gpusim.schedule.kernel import KernelSchedule
from gpusim.schedule.lanes import Lanes, StepT
from gpusim.schedule.ops import (
    CopyAsync,
    Ldmatrix,
    LoadFragment,
    LoadShared,
    SassOpcode,
    StoreShared,
    StoreTile,
    WarpMma,
    WarpOp,
)
from gpusim.tile.shared_tables import SharedTable

METRIC_OF_TENSOR_OPCODE: dict[SassOpcode, str] = {
    "HMMA": "sm__inst_executed_pipe_tensor_op_hmma.sum",
    "IMMA": "sm__inst_executed_pipe_tensor_op_imma.sum",
}
"""ncu's metric for each tensor-core instruction."""


@dataclass(frozen=True, slots=True)
class Counts:
    """
    Totals over the grid. Instructions are per warp, and predicated-off ones count, as the hardware counts them.

    Attributes:
        ctas: CTAs that have a tile.
        warps: Warps of one CTA.
        instructions: Warp instructions by SASS mnemonic. The operands' type decides between HMMA and IMMA; neither is
            present if the assembler emulates the mma.sync (D27).
        load_sectors: 32-byte sectors that LDGSTS (or LDG) and source loads request, by "a", "b", "source", "bias". A
            reduction has "partial", "source", "bias".
        line_returns: LDGSTS wavefronts beyond those of the address pattern, because each 128-byte line of global memory
            returns separately.
        store_sectors: Sectors the output stores request.
        bank_conflicts: Shared-memory wavefronts by address pattern alone, without arbitration (D9).
    """

    ctas: int
    warps: int
    instructions: Mapping[SassOpcode, int]
    load_sectors: Mapping[str, int]
    line_returns: int
    store_sectors: int
    bank_conflicts: tuple[BankConflicts, ...]

    def counters(self) -> dict[str, int]:
        """Return the totals under ncu's full metric names."""
        ldmatrix = [row for row in self.bank_conflicts if row.op == "ldmatrix"]
        return {
            **{
                metric: self.instructions[opcode]
                for opcode, metric in METRIC_OF_TENSOR_OPCODE.items()
                if opcode in self.instructions
            },
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


class ConflictRow(NamedTuple):
    """
    A row of the table of bank conflicts.

    Attributes:
        rank: Sort key in the table: fragment loads, then writes to the ring, then the epilogue's staging.
        op: Kind of access.
        operand: Name of the accessed data.
    """

    rank: tuple[int, int]
    op: Literal["ldmatrix", "lds", "sts", "ldgsts", "atoms"]
    operand: str


class GridProgram(NamedTuple, Generic[StepT]):
    """
    A program, or a part of one, and how often the grid executes it.

    Attributes:
        steps: Steps of the program or part.
        times: Number of executions: the number of CTAs, times the executions in each.
    """

    steps: Sequence[StepT]
    times: int


@dataclass(frozen=True, slots=True)
class GlobalCounts:
    """
    The requests of a grid to global memory, and the shared-memory wavefronts that depend on predicates.

    Attributes:
        load_sectors, line_returns, store_sectors: Same as in ``Counts``.
        predicated: (wavefronts, ideal wavefronts) of each operand's copies that do not zero-fill. Their invalid lanes
            write nothing.
    """

    load_sectors: Mapping[str, int]
    line_returns: int
    store_sectors: int
    predicated: Mapping[str, tuple[int, int]]


class CountedKernel(KernelSchedule[StepT]):
    """A kernel whose grid can be counted."""

    @property
    def ctas(self) -> int:
        """Number of CTAs of the grid that have a tile. By default all have one."""
        return prod(self.grid)

    @abstractmethod
    def programs(self) -> Iterable[GridProgram[StepT]]:
        """Return the programs of the grid, whole or in parts, in any order. CTAs without work have none."""

    def executions(self) -> Sequence[int]:
        """Return how often the grid executes each of ``programs``."""
        return [program.times for program in self.programs()]

    @property
    def lender(self) -> "CountedKernel[StepT]":
        """
        A kernel with the same ``programs``, apart from how often they are executed; by default itself.

        Kernels with equal programs share one lender, so that the programs are made and decoded only once.
        """
        return self

    @abstractmethod
    def global_counts(self) -> GlobalCounts:
        """Return the grid's requests to global memory."""

    def tensor_opcode(self) -> SassOpcode | None:
        """Return the SASS instruction of the kernel's mma.sync; None if the assembler emulates it (D27)."""
        return "HMMA"

    def opcode(self, kind: type[WarpOp]) -> SassOpcode | None:
        """Return the SASS instruction of a kind of op; None if it has none that is counted."""
        return self.tensor_opcode() if issubclass(kind, WarpMma) else kind.opcode

    def beside(self, step: StepT) -> Mapping[SassOpcode, int]:  # noqa: ARG002 - an op of a tile GEMM is one instruction
        """Return further SASS instructions of a step, per warp."""
        return {}

    def row(self, step: StepT, lanes: Lanes[StepT]) -> ConflictRow | None:
        """Return the row of the bank-conflict table for a step's shared access; None if there is none."""
        op = lanes.op(step)
        match op:
            case StoreShared():
                return ConflictRow((2, 0), "sts", "accumulator")
            case LoadShared():
                return ConflictRow((2, 1), "lds", "accumulator")
            case Ldmatrix() | LoadFragment() | CopyAsync() | StoreTile():
                name = lanes.operand_name(step)
                kind, rank = _ROWS[type(op)]
                return ConflictRow((rank, self.operand_names.index(name)), kind, name)
            case _:
                return None


_ROWS: dict[type, tuple[Literal["ldmatrix", "lds", "sts", "ldgsts"], int]] = {
    Ldmatrix: ("ldmatrix", 0),
    LoadFragment: ("lds", 0),
    CopyAsync: ("ldgsts", 1),
    StoreTile: ("sts", 1),
}


class _Tally(NamedTuple):
    """
    Counts of the instructions that a CTA's warps execute in one program, or a part of one.

    Attributes:
        instructions: SASS instructions of all warps.
        requests: Shared accesses of all warps by bank-conflict row.
        issued: Number of shared accesses by place in their table and by the warps that make them, without copies that
            depend on predicates.
    """

    instructions: Counter[SassOpcode]
    requests: Counter[ConflictRow]
    issued: Counter[tuple[ConflictRow, SharedTable, tuple[int, ...], range]]


def _tallies(kernel: CountedKernel[StepT]) -> list[_Tally]:
    """Return the tally of each of a kernel's programs."""
    lanes = kernel.lanes()
    tallies = []
    for steps, _ in kernel.programs():
        tally = _Tally(Counter(), Counter(), Counter())
        for step, number in Counter(steps).items():
            op, warps = lanes.op(step), lanes.warps_of(step)
            opcode, of_all = kernel.opcode(type(op)), number * len(warps)
            if opcode is not None:
                tally.instructions[opcode] += of_all * (lanes.mmas(step) if isinstance(op, WarpMma) else 1)
            for other, each in kernel.beside(step).items():
                tally.instructions[other] += of_all * each
            row, shared = kernel.row(step, lanes), lanes.shared(step)
            if row is not None and shared is not None:
                tally.requests[row] += of_all
                if not isinstance(op, CopyAsync) or op.zfill:
                    tally.issued[row, *shared, warps] += number
        tallies.append(tally)
    return tallies


@lru_cache(maxsize=32)
def _lent_tallies(lender: CountedKernel[Any]) -> list[_Tally]:
    """Return the tallies of a kernel that shares its programs with others."""
    return _tallies(lender)


def count(kernel: CountedKernel[StepT]) -> Counts:
    """
    Count what every CTA of a kernel's grid executes, from its programs and the lane addresses.

    Not modelled: instructions around the named ops, spills, and the semaphore of serial split-K.
    """
    lanes, asked = kernel.lanes(), kernel.global_counts()
    instructions: Counter[SassOpcode] = Counter(dict.fromkeys(filter(None, map(kernel.opcode, kernel.op_kinds)), 0))
    requests: Counter[ConflictRow] = Counter()
    issued: Counter[tuple[ConflictRow, SharedTable, tuple[int, ...], range]] = Counter()
    tallies = _tallies(kernel) if kernel.lender is kernel else _lent_tallies(kernel.lender)
    for tally, executed in zip(tallies, kernel.executions(), strict=True):
        for opcode, number in tally.instructions.items():
            instructions[opcode] += number * executed
        for row, number in tally.requests.items():
            requests[row] += number * executed
        for access, number in tally.issued.items():
            issued[access] += number * executed
    wavefronts: Counter[ConflictRow] = Counter()
    ideal: Counter[ConflictRow] = Counter()
    for (row, table, place, warps), number in issued.items():
        wavefronts[row] += number * int(table.wavefronts[place][warps].sum())
        ideal[row] += number * int(table.ideal[place][warps].sum())
    for row in requests:
        if row.op == "ldgsts":
            found = asked.predicated.get(row.operand, (0, 0))
            wavefronts[row], ideal[row] = wavefronts[row] + found[0], ideal[row] + found[1]
    return Counts(
        ctas=kernel.ctas,
        warps=lanes.warps,
        instructions=dict(instructions),
        load_sectors=asked.load_sectors,
        line_returns=asked.line_returns,
        store_sectors=asked.store_sectors,
        bank_conflicts=tuple(
            BankConflicts(row.op, row.operand, requests[row], wavefronts[row], ideal[row], wavefronts[row] - ideal[row])
            for row in sorted(requests)
        ),
    )


def count_all(kernels: Sequence[CountedKernel[Any]]) -> Counts:
    """Count what all kernels of a scenario execute together. CTAs and bank conflicts are those of the first kernel."""
    first, *others = map(count, kernels)
    for second in others:
        sectors = Counter(first.load_sectors) + Counter(second.load_sectors)
        first = replace(
            first,
            instructions={name: own + second.instructions.get(name, 0) for name, own in first.instructions.items()},
            load_sectors=dict(sectors),
            store_sectors=first.store_sectors + second.store_sectors,
        )
    return first
