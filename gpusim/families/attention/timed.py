"""An attention kernel in time: CTAs told by their key blocks, keys and values that the query blocks of a head share."""

from collections.abc import Hashable, Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from gpusim.element_types import Mma, element_bits
from gpusim.families.attention.lower.compiled import CompiledFusedKernel
from gpusim.families.attention.lower.stream import attention_stream
from gpusim.families.attention.problem import AttentionScenario
from gpusim.families.attention.program import softmax
from gpusim.families.attention.program.step import Step
from gpusim.families.attention.tile.blocks import block_advance, launched_ctas
from gpusim.families.attention.tile.operands import COPIED
from gpusim.lower.stream import Stream
from gpusim.machine.spec import Machine
from gpusim.results.result import StreamOrigin
from gpusim.schedule.counts import SassOpcode
from gpusim.schedule.lanes import Lanes
from gpusim.schedule.ops import Barrier, CommitGroup, CopyAsync, WaitGroup
from gpusim.sim.code import OUTPUT, Access, Noted
from gpusim.sim.decode import wavefronts_of
from gpusim.sim.footprint import IN_L2, L2Status
from gpusim.sim.timed_kernel import TimedKernel, Touch, Watch
from gpusim.units import WARP_SIZE, WORD_BYTES

WATCHED_ACTIVITIES = ("copy_q", "copy_k", "copy_v", "qk", "softmax", "pv", "output")
"""The activities that a watched instruction may belong to."""


class TimedFusedKernel(CompiledFusedKernel, TimedKernel[Step]):
    """The kernel of an attention scenario; key blocks are numbered by turn, in the order in which a CTA walks them."""

    watch = Watch(
        activities=WATCHED_ACTIVITIES,
        copy="copy_k",
        first="qk",
        last="pv",
        uncut=frozenset(WATCHED_ACTIVITIES[:3]),
        numbers_waits=False,
    )
    stages = 1
    counters: ClassVar[Mapping[str, SassOpcode]] = {
        "smsp__inst_executed_op_shared_ld.sum": "LDS",
        "smsp__inst_executed_op_shared_atom.sum": "ATOMS",
        "smsp__inst_executed_pipe_xu.sum": "MUFU",
    }

    def __init__(self, scenario: AttentionScenario, machine: Machine) -> None:
        super().__init__(scenario)
        self.machine = machine

    # --- its CTAs ---

    def work(self, cta: int) -> int:
        """Return the number of a CTA's key blocks."""
        return len(self.walked_blocks(cta))

    # --- its code ---

    @property
    def mma(self) -> Mma:
        """The mma.sync of both GEMMs."""
        return self.scenario.mma

    @cached_property
    def flops(self) -> int:
        """
        Multiplications and additions of both GEMMs, queries in use by the keys that their CTA walks.

        A causal mask saves the keys beyond a query block's last, not the scores that it masks before.
        """
        problem, advance = self.scenario.problem, block_advance(self.scenario, launched_ctas(self.scenario))
        rows = np.clip(advance.num_queries, 0, self.scenario.queries_per_block)
        return 2 * int((rows * advance.num_keys).sum()) * (problem.head_dim + problem.head_dim_v)

    @property
    def shared_bytes(self) -> int:
        """Bytes of a CTA's shared memory."""
        return self.shape.shared_bytes

    def stream(self, behaviour: Hashable, origin: StreamOrigin) -> Stream:
        """Return the instructions of the CTAs of one behaviour, estimated or from the machine code."""
        if origin == "compiled":
            return self.listed(behaviour).stream
        ctas = self.alike.get(behaviour)  # type: ignore[call-overload]
        return attention_stream(self.scenario, None if ctas is None else self.steps(ctas[0]), self.machine)

    def turn(self, step: Step, behaviour: Any) -> int:
        """Return the place of a step's key block in the walk; the number of key blocks outside the key loop."""
        blocks = len(behaviour)
        if step.key_block < 0:
            return blocks
        return blocks - 1 - step.key_block if self.scenario.flash else step.key_block

    def access(self, step: Step, lanes: Lanes[Step]) -> Access:
        """Return what a step adds: row statistics and P pass the data stage, and so do shuffles, in one wavefront."""
        shared, wavefronts = self.machine.shared, wavefronts_of(lanes.shared(step))
        size = WORD_BYTES * WARP_SIZE
        match step.op:
            case softmax.StoreP() | softmax.StoreStatistic():
                return Access(wavefronts=wavefronts, fills=True)
            case softmax.LoadStatistic():
                return Access(wavefronts=wavefronts, bytes=size, latency=shared.load_latency, is_load=True)
            case softmax.AtomicMax():
                times = shared.atomic_wavefronts
                slower = tuple(tuple(count * times for count in warps) for warps in wavefronts)
                return Access(wavefronts=slower, fills=True)
            case softmax.Shuffle():
                one = ((1,) * lanes.warps,)
                return Access(wavefronts=one, bytes=size, latency=shared.shuffle_latency, is_load=True)
            case softmax.StoreLse():
                row, access = lanes.target(step)
                return Access(target=(OUTPUT, row, access, 0))
            case _:
                return Access()

    def noted(self, step: Step, behaviour: Hashable) -> Noted:
        """Return the activity of a step: a copy by tensor, a GEMM, the softmax, the output; a wait is of what waits."""
        op, phase = step.op, step.phase
        if phase == "start" or isinstance(op, CommitGroup):
            return Noted()
        if isinstance(op, CopyAsync):
            name = f"copy_{self.lanes().operand_name(step)}"
        else:
            name = phase if phase in WATCHED_ACTIVITIES else "output"
        waits = isinstance(op, Barrier | WaitGroup)
        return Noted(WATCHED_ACTIVITIES.index(name), self.turn(step, behaviour), opens_wait=waits)

    # --- its data ---

    def tensor_of(self, row: int) -> int:
        """Return the number of q, k or v."""
        return COPIED.index(self.lanes().rows[row][0])

    def found(self, cta: int, *, first_wave: bool) -> tuple[L2Status, ...]:  # noqa: ARG002 - all are alike
        """Say that all loads find their data in the L2: the buffer is written a key block before it is read."""
        return (IN_L2,) * self.lanes().output_rows

    def walked(self, cta: int) -> tuple[Hashable, ...]:
        """Return the CTA for each tensor, because each CTA has its own queries, and its own last key block."""
        return () if self.behaviour(cta) is None else (cta,) * len(COPIED)

    def touches(self, tensor: int, walked: Any) -> Sequence[Sequence[Touch]]:
        """
        Return by key block what a CTA's fetches of a tensor touch in the L2.

        Queries are those of one query block; keys or values are a key block's, which the head's query blocks share.
        """
        problem, queries = self.scenario.problem, self.scenario.queries_per_block
        block, head, batch = launched_ctas(self.scenario)[walked].tolist()
        of_head, name = batch * problem.heads + head, COPIED[tensor]
        width = problem.head_dim_v if name == "v" else problem.head_dim
        row_bytes = width * element_bits(problem.dtype.ab) // 8
        blocks = self.walked_blocks(walked)
        if name == "q":
            rows = min(queries, problem.lengths_q[batch] - block * queries)
            return [[Touch((tensor, of_head, block), 1, rows * row_bytes)]] * len(blocks)
        onward = blocks[::-1] if self.scenario.flash else blocks
        return [[Touch((tensor, of_head, keys.number), 1, keys.keys * row_bytes)] for keys in onward]

    # --- its work ---

    def k_tiles(self, cta: int) -> int:
        """Return the k tiles that a CTA multiplies in both GEMMs."""
        shape = self.shape
        return sum(
            shape.qk_tiles + shape.column_blocks * block.k_tiles(shape.pv.threadblock[2])
            for block in self.walked_blocks(cta)
        )

    def pipeline_rows(self, cta: int) -> int:
        """Return the number of a CTA's key blocks."""
        return len(self.walked_blocks(cta))


def timed_kernels(scenario: AttentionScenario, machine: Machine) -> tuple[TimedKernel[Step], ...]:
    """Return the one kernel of a scenario."""
    return (TimedFusedKernel(scenario, machine),)
