"""One thread's attention program as an ordered list of events, with the addresses the thread computes."""

from typing import Any

from gpusim.arrays import IntArray
from gpusim.element_types import element_bits
from gpusim.errors import BadInput
from gpusim.families.attention.addresses import COPIED, AttentionCta
from gpusim.families.attention.blocks import gemm_view, p_store_offsets
from gpusim.families.attention.ops import (
    AtomicMax,
    LoadStatistic,
    Shuffle,
    Step,
    StoreP,
    StoreStatistic,
    operand_name,
)
from gpusim.families.attention.problem import AttentionScenario
from gpusim.families.attention.shape import ROW_STATISTICS
from gpusim.families.attention.statistics import statistic_lanes, statistic_words
from gpusim.schedule.addresses import CtaId, Events
from gpusim.schedule.ops import Barrier, CommitGroup, CopyAsync, Ldmatrix, WaitGroup, WarpMma
from gpusim.tile.ldmatrix import fragment_loads
from gpusim.units import WARP_SIZE


def attention_events(scenario: AttentionScenario, ctaid: CtaId, thread: int) -> Events:
    """
    One thread's program up to the epilogue as an ordered list, in the words of the golden event traces.

    Of both GEMMs as a GEMM's, with operands Q, K, P and V. Of the softmax ``[sts, P, shared offset, bytes]``,
    ``[lds | sts, statistic, float, takes part]`` with floats from the base of shared memory, ``[atoms_max, maximum,
    float]`` and ``[shfl, what, mask]``; arithmetic between registers is left out.

    Raises:
        BadInput: The CTA or the thread does not exist, or the CTA has no query.
    """
    cta = AttentionCta(scenario, ctaid)
    if not 0 <= thread < cta.shape.threads:
        raise BadInput(f"thread must be 0..{cta.shape.threads - 1}, got {thread}")
    words = _EventWords(cta, thread)
    phases = ("start", "qk", "softmax", "pv", "normalise")
    found = (words.event(step) for step in cta.steps if step.phase in phases)
    return [event for event in found if event]


class _EventWords:
    """One thread's addresses, ready to be looked up step by step."""

    def __init__(self, cta: AttentionCta, thread: int) -> None:
        self._cta, self._thread = cta, thread
        self._warp, self._lane = divmod(thread, WARP_SIZE)
        self._store = {operand: cta.store_table(operand)[:, thread] for operand in COPIED}
        operands = COPIED if cta.scenario.flash else (*COPIED, "p")
        self._load = {operand: cta.load_table(operand)[:, self._warp, ..., self._lane] for operand in operands}
        self._bytes = element_bits(cta.scenario.problem.dtype.ab) // 8
        self._fetch: tuple[object, tuple[IntArray, ...]] | None = None

    def event(self, step: Step) -> list[Any]:
        """The event of one step; empty for arithmetic between registers."""
        match step.op:
            case CommitGroup():
                return ["commit"]
            case WaitGroup(pending):
                return ["wait_group", pending]
            case Barrier():
                return ["sync"]
            case _:
                return self._gemm(step) if step.phase in ("qk", "pv") else self._softmax(step)

    def _gemm(self, step: Step) -> list[Any]:
        view = gemm_view(self._cta.scenario, "qk" if step.phase == "qk" else "pv")
        match step.op:
            case CopyAsync():
                return self._copy(step, step.op)
            case Ldmatrix(operand, k_tile, k_group, instruction, stage):
                name = operand_name(step.phase, operand)
                slot = k_tile if name == "p" else stage
                offset = int(self._load[name][slot, k_group, instruction])
                return [fragment_loads(view.operand(operand)).kind, name.upper(), offset]
            case WarpMma():
                tiles = [view.kernel.warp[axis] // view.kernel.instruction[axis] for axis in (0, 1)]
                return ["mma", tiles[0] * tiles[1]]
            case _:
                raise TypeError(f"{type(step.op).__name__} is no op of a mainloop")

    def _softmax(self, step: Step) -> list[Any]:
        match step.op:
            case StoreP(access):
                return ["sts", "P", int(p_store_offsets(self._cta.scenario)[self._thread, access]), 2 * self._bytes]
            case LoadStatistic() | StoreStatistic():
                return self._statistic(step.op)
            case AtomicMax(row):
                words = statistic_words(self._cta.scenario, "fragment", row, partial=False)
                return ["atoms_max", "maximum", int(words[self._warp, self._lane])]
            case Shuffle(what, _, mask):
                return ["shfl", what, mask]
            case _:
                return []

    def _copy(self, step: Step, op: CopyAsync) -> list[Any]:
        operand = next(one for one in COPIED if one == operand_name(step.phase, op.operand))
        place = operand, step.key_block, step.column_block, op.fetch
        if self._fetch is None or self._fetch[0] != place:
            self._fetch = place, self._cta.fetched(operand, (step.key_block, step.column_block, op.fetch, op.stage))
        _, _, offset, valid = (array[self._thread, op.access, op.vec] for array in self._fetch[1])
        return [
            "cp_async_zfill" if op.zfill else "cp_async",
            operand.upper(),
            int(self._store[operand][op.stage, op.access]),
            int(offset),
            8 * self._bytes,
            int(valid),
        ]

    def _statistic(self, op: LoadStatistic | StoreStatistic) -> list[Any]:
        scenario, stores = self._cta.scenario, isinstance(op, StoreStatistic)
        partial = op.statistic == "partial_sum"
        words = statistic_words(scenario, op.at, op.index, partial=partial)
        array = len(ROW_STATISTICS) if partial else ROW_STATISTICS.index(op.statistic)
        place = array * self._cta.shape.qk[0] + int(words[self._warp, self._lane])
        lanes = statistic_lanes(scenario, op.at, stores=stores)
        return ["sts" if stores else "lds", op.statistic, place, int(lanes[self._warp, self._lane])]
