"""Describes an attention kernel for simulation in time: CTAs by their key blocks, streams, accesses to the L2."""

from collections.abc import Hashable, Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from gpusim.arrays import IntArray
from gpusim.element_types import Mma, element_bits
from gpusim.families.attention.lower.compiled import CompiledFusedKernel
from gpusim.families.attention.lower.stream import attention_stream
from gpusim.families.attention.problem import AttentionScenario
from gpusim.families.attention.program import softmax
from gpusim.families.attention.program.step import Step
from gpusim.families.attention.tile.blocks import BlockAdvance, block_advance, launched_ctas
from gpusim.families.attention.tile.operands import COPIED
from gpusim.lower.stream import Stream
from gpusim.machine.spec import Machine
from gpusim.results.result import StreamOrigin
from gpusim.schedule.lanes import Lanes
from gpusim.schedule.ops import Barrier, CommitGroup, CopyAsync, SassOpcode, WaitGroup
from gpusim.sim.code import OUTPUT, Access, Noted
from gpusim.sim.decode import wavefronts_of
from gpusim.sim.footprint import IN_L2, L2Status
from gpusim.sim.timed_kernel import TimedKernel, Touched, Watch
from gpusim.tile.extents import ceil_div
from gpusim.units import WARP_SIZE, WORD_BYTES

WATCHED_ACTIVITIES = ("copy_q", "copy_k", "copy_v", "qk", "softmax", "pv", "output")
"""The activities that a watched instruction may belong to."""


class TimedFusedKernel(CompiledFusedKernel, TimedKernel[Step]):
    """The kernel of an attention scenario. The turn of a key block is its position in the walk of a CTA."""

    watch = Watch(
        activities=WATCHED_ACTIVITIES,
        copy="copy_k",
        first="qk",
        last="pv",
        uncut=frozenset(WATCHED_ACTIVITIES[:3]),
        numbers_waits=False,
    )
    stages = 1
    alternates = True
    counters: ClassVar[Mapping[str, SassOpcode]] = {
        "smsp__inst_executed_op_shared_ld.sum": "LDS",
        "smsp__inst_executed_op_shared_atom.sum": "ATOMS",
        "smsp__inst_executed_pipe_xu.sum": "MUFU",
    }

    def __init__(self, scenario: AttentionScenario, machine: Machine) -> None:
        super().__init__(scenario, machine)

    # --- its CTAs ---

    def work(self, cta: int) -> int:
        """Return the number of a CTA's key blocks."""
        return len(self.walked_blocks(cta))

    # --- its code ---

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
        """Return the turn of a step's key block; outside the key loop, the number of key blocks."""
        blocks = len(behaviour)
        if step.key_block < 0:
            return blocks
        return blocks - 1 - step.key_block if self.scenario.flash else step.key_block

    def access(self, step: Step, lanes: Lanes[Step]) -> Access:
        """Return the access of a row statistic, of P or of a shuffle, which takes one wavefront of the data stage."""
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
        """Return the activity of a step: a copy by tensor, a GEMM, the softmax, or the output."""
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
        """Return that all loads hit the L2: the buffer is written a key block before it is read."""
        return (IN_L2,) * self.lanes().output_rows

    def walked(self, cta: int) -> tuple[Hashable, ...]:
        """Return the CTA as the key of each tensor: each CTA has its own queries, and its own last key block."""
        return () if self.behaviour(cta) is None else (cta,) * len(COPIED)

    def granules(self, tensor: int) -> int:
        """Return the number of query blocks, or of key blocks, of all heads. Each block is a granule."""
        problem = self.scenario.problem
        return problem.batch * problem.heads * self._blocks_of_head(tensor)

    def _blocks_of_head(self, tensor: int) -> int:
        """Return the number of query blocks, or of key blocks, of a head."""
        problem, scenario = self.scenario.problem, self.scenario
        if COPIED[tensor] == "q":
            return ceil_div(problem.queries, scenario.queries_per_block)
        return ceil_div(problem.keys, scenario.keys_per_block)

    def turns(self, tensor: int, walked: Any) -> int:  # noqa: ARG002 - all tensors are fetched by key block
        """Return the number of a CTA's key blocks."""
        return len(self.walked_blocks(walked))

    @cached_property
    def _turns(self) -> IntArray:
        """The number of every CTA's key blocks."""
        return np.array([len(walked or ()) for walked in self.blocks], dtype=np.int64)

    def touched(self, tensor: int, keys: Sequence[Any], begin: int, end: int) -> Touched:
        """
        Return by key block what fetches of a tensor touch in the L2.

        Queries are those of one query block; keys or values are a key block's, which the head's query blocks share.
        """
        problem, scenario, name = self.scenario.problem, self.scenario, COPIED[tensor]
        block, head, batch = self._places[list(keys)].T
        of_head = (batch * problem.heads + head) * self._blocks_of_head(tensor)
        width = problem.head_dim_v if name == "v" else problem.head_dim
        row_bytes = width * element_bits(problem.dtype.ab) // 8
        turns = self._turns[list(keys)]
        turn, key = np.nonzero(np.arange(begin, end)[:, None] < turns)
        turn = begin + turn
        if name == "q":
            queries = scenario.queries_per_block
            rows = np.minimum(queries, problem.queries_of(batch) - block * queries)[key]
            granule = (of_head + block)[key]
        else:
            number = turns[key] - 1 - turn if scenario.flash else turn
            per_block = scenario.keys_per_block
            rows = np.minimum(per_block, self._advance.num_keys[list(keys)][key] - number * per_block)
            granule = of_head[key] + number
        return Touched(len(keys), turn, key, granule, np.ones_like(key), rows * row_bytes)

    @cached_property
    def _places(self) -> IntArray:
        """blockIdx of every CTA in launch order."""
        return launched_ctas(self.scenario)

    @cached_property
    def _advance(self) -> BlockAdvance:
        """The part of the problem that belongs to each CTA, in launch order."""
        return block_advance(self.scenario, self._places)

    # --- its work ---

    @property
    def mma(self) -> Mma:
        """The mma.sync of both GEMMs."""
        return self.scenario.mma

    @property
    def flops(self) -> int:
        """Multiplications and additions of both GEMMs, as FlashAttention counts them."""
        return self.scenario.problem.flops

    @cached_property
    def walked_flops(self) -> int:
        """
        Multiplications and additions of queries in use with the keys that their CTA walks.

        A causal mask saves the keys beyond a query block's last, not the scores that it masks before.
        """
        problem, advance = self.scenario.problem, self._advance
        rows = np.clip(advance.num_queries, 0, self.scenario.queries_per_block)
        return 2 * int((rows * advance.num_keys).sum()) * (problem.head_dim + problem.head_dim_v)

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
