"""The machine code of an attention kernel: its launch, the inputs that decide its branches, and its streams."""

from collections.abc import Hashable, Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar, Final

import numpy as np

from gpusim.arrays import IntArray
from gpusim.cuda.compiled_kernel import CompiledKernel
from gpusim.cuda.specialise import PARAMS, Specialisation
from gpusim.families.attention.cuda import ATTENTION_PARAMS, specialise_attention
from gpusim.families.attention.lower.cutter import Cutter
from gpusim.families.attention.lower.parts import lacks, moved, put_together, walk_kinds
from gpusim.families.attention.lower.unaddressed import name_unaddressed
from gpusim.families.attention.program.step import OP_KINDS, Step
from gpusim.families.attention.schedule import FusedKernel
from gpusim.families.attention.tile.blocks import KeyBlock, block_advance, launched_ctas
from gpusim.families.attention.tile.shape import ROW_STATISTICS
from gpusim.lower.aligned import TENSOR_BITS, ExecutedWarp, OpPart
from gpusim.lower.compiled import CompilableKernel
from gpusim.lower.runner import KernelRunner
from gpusim.lower.sass.decode import Sass
from gpusim.lower.sass.emulate import Load
from gpusim.lower.sass.emulate_bits import ONE_F32
from gpusim.lower.stream_file import CompiledStream, Kinds
from gpusim.units import WORD_BYTES

ATTENTION_POINTERS: Final[Mapping[str, int]] = {
    name: place << TENSOR_BITS
    for place, name in enumerate(("q", "k", "v", "output", "buffer", "lse", "query_lengths", "key_lengths"), 1)
}
"""Assumed global byte address of each tensor when the code is emulated. Their address ranges do not overlap."""

TWO_F32 = 0x40000000
"""Bits of the f32 2.0, a key block's maximum that exceeds the previous maximum of 1.0."""


class CompiledFusedKernel(FusedKernel, CompilableKernel[Step]):
    """
    The kernel of an attention scenario with the streams of its machine code.

    The machine code is kept as a set of parts. ``listed`` joins parts to the stream of a CTA.
    """

    parameters = ATTENTION_PARAMS
    arguments = ("query_lengths", "key_lengths")
    step_kinds: ClassVar[Kinds] = {kind.__name__: kind for kind in (Step, *OP_KINDS)}
    slice_blocks = (0,)

    @cached_property
    def specialisation(self) -> Specialisation:
        """The kernel's plain build."""
        return specialise_attention(self.scenario)

    @property
    def pointers(self) -> Mapping[str, int]:
        """Assumed global byte address of each tensor."""
        return ATTENTION_POINTERS

    def values(self, k_iterations: int) -> Mapping[str, Any]:
        """Return the parameters of a launch."""
        common: Any = np.zeros((), dtype=PARAMS)
        own = {"a": "q", "b": "k", "output": "output", "partial": "buffer"}
        for name, value in {
            **{name: ATTENTION_POINTERS[of] for name, of in own.items()},
            "k_iterations": k_iterations,
        }.items():
            common[name] = value
        return {
            "common": common,
            "v": ATTENTION_POINTERS["v"],
            "log_sum_exp": ATTENTION_POINTERS["lse"],
            "query_lengths": ATTENTION_POINTERS["query_lengths"],
            "key_lengths": ATTENTION_POINTERS["key_lengths"],
            "scale_log2": 1.0,
        }

    def memory(self, block: int) -> Load:  # noqa: ARG002 - all CTAs read the same lengths
        """Return a function that reads the lengths of the batches; everything else is zero."""
        problem = self.scenario.problem
        lengths = {
            ATTENTION_POINTERS["query_lengths"]: np.array(problem.lengths_q, dtype=np.int64),
            ATTENTION_POINTERS["key_lengths"]: np.array(problem.lengths_k, dtype=np.int64),
        }

        def load(address: IntArray) -> IntArray:
            found = np.zeros_like(address)
            for pointer, own in lengths.items():
                within = address >> TENSOR_BITS == pointer >> TENSOR_BITS
                batch = np.where(within, (address - pointer) // WORD_BYTES, 0) % len(own)
                found = np.where(within, own[batch], found)
            return found

        return load

    def shared_words(self, byte: IntArray) -> IntArray:
        """Return row statistics as after a key block that raises the maximum to 2; all other statistics are 1."""
        statistic = byte // WORD_BYTES // self.shape.qk.threadblock[0]
        return np.where(statistic == ROW_STATISTICS.index("maximum"), TWO_F32, ONE_F32)

    def advanced(self, step: Step, k_tiles: int) -> Step:
        """Return the step that corresponds to a step of the key loop, ``k_tiles`` key blocks later in the walk."""
        return moved(step, self._onward * k_tiles)

    def name_unaddressed(self, code: Sequence[Sass], executed: ExecutedWarp, named: list[OpPart | None]) -> None:
        """Complete ``named`` for shuffles and MUFUs, whose op cannot be found by an address."""
        name_unaddressed(code, executed, named, self.shape)

    # --- its streams ---

    @property
    def _onward(self) -> int:
        return -1 if self.scenario.flash else 1

    def _walk(self, behaviour: Hashable) -> tuple[int, Sequence[KeyBlock] | None]:
        """Return a CTA of a behaviour, one with most queries, and its key blocks in the order of its walk."""
        if behaviour is None:
            return next(cta for cta in range(self.ctas) if self.behaviour(cta) is None), None
        ctas = self.alike[behaviour]  # type: ignore[index]
        queries = block_advance(self.scenario, launched_ctas(self.scenario)[ctas]).num_queries
        cta = ctas[int(np.argmax(np.minimum(queries, self.scenario.queries_per_block)))]
        blocks = self.walked_blocks(cta)
        return cta, blocks[::-1] if self.scenario.flash else blocks

    @cached_property
    def _walks(self) -> Sequence[tuple[int, Sequence[KeyBlock] | None]]:
        """Results of ``_walk`` for each behaviour, the shortest walks first."""
        behaviours: list[Hashable] = [*sorted(self.alike, key=len)]
        if any(self.behaviour(cta) is None for cta in range(self.ctas)):
            behaviours.append(None)
        return tuple(map(self._walk, behaviours))

    @cached_property
    def _depth(self) -> int:
        return self.shape.pv.threadblock[2]

    @cached_property
    def _parts(self) -> CompiledStream:
        return self.compiled()

    def listed(self, behaviour: Hashable) -> CompiledStream:
        """
        Return the stream of the CTAs of one behaviour with its listing, from the parts of the machine code.

        Raises:
            BadInput: There is no such kernel, or an instruction is not known.
            CannotRun: There are no shipped parts, and no compiler is installed.
            CheckFailed: The kernel does not execute its schedule.
        """
        return put_together(self._parts, self._walk(behaviour)[1], self._depth)

    def can_be_compiled(self) -> bool:
        """Return whether parts are shipped, or a compiler may make them. CUTLASS's code must come from the user."""
        return self.user is not None or (self.scenario.kernel.code == "gpusim" and super().can_be_compiled())

    def suffices(self, shipped: CompiledStream) -> bool:
        """Return whether the shipped parts suffice for all CTAs; other batch lengths may need other parts."""
        return not any(lacks(shipped, walk_kinds(walked, self._depth)) for _, walked in self._walks)

    def steering(self, slice_: int) -> Sequence[int]:  # noqa: ARG002 - there is one
        """Return the lengths of the batches, which a kernel may read from memory."""
        return *self.scenario.problem.lengths_q, *self.scenario.problem.lengths_k

    def of_user(self, binary: CompiledKernel, slice_: int) -> CompiledStream:
        """Return the parts of a user's kernel."""
        return self.kept(binary, slice_)

    def lowered(self, binary: CompiledKernel, slice_: int) -> CompiledStream:  # noqa: ARG002 - there is one
        """Return the parts of all paths of the grid's CTAs. A path with an unknown part is executed."""
        cutter = Cutter(KernelRunner(self, binary), self._depth)
        for cta, walked in self._walks:
            if any(kind not in cutter.parts for kind in walk_kinds(walked, self._depth)):
                cutter.learn(cta, walked)
        return cutter.compiled(binary.compiler)
