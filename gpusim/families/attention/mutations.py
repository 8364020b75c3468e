"""Attention programs broken on purpose, one mistake each, so that the checks can be seen to catch them."""

from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

from gpusim.families.attention import softmax
from gpusim.families.attention.step import AttentionProgram, Step
from gpusim.schedule.ops import Barrier, CopyAsync, WaitGroup

AttentionMutation: TypeAlias = Callable[[AttentionProgram], AttentionProgram]


def missing_v_wait(program: AttentionProgram) -> AttentionProgram:
    """Nothing waits for V: where it is preloaded, its prologue's copies may still be on their way when P * V begins."""
    return _kept(program, lambda step: not (step.phase == "pv" and isinstance(step.op, WaitGroup)))


def lax_wait(program: AttentionProgram) -> AttentionProgram:
    """Every wait_group allows one group more to be in flight."""

    def lax(step: Step) -> Step:
        return (
            replace(step, op=replace(step.op, pending=step.op.pending + 1)) if isinstance(step.op, WaitGroup) else step
        )

    return AttentionProgram(tuple(map(lax, program.steps)))


def missing_barrier(program: AttentionProgram) -> AttentionProgram:
    """The barriers of both GEMMs are left out."""
    return _kept(program, lambda step: not (step.phase in ("qk", "pv") and isinstance(step.op, Barrier)))


def missing_softmax_barrier(program: AttentionProgram) -> AttentionProgram:
    """The barriers between the warps' maxima, the rescale factors and their readers are left out."""
    return _kept(program, lambda step: not (step.phase == "softmax" and isinstance(step.op, Barrier)))


def missing_maximum(program: AttentionProgram) -> AttentionProgram:
    """A row of each lane takes no part in the running maximum."""
    return _kept(program, lambda step: step.op != softmax.AtomicMax(1))


def missing_mask(program: AttentionProgram) -> AttentionProgram:
    """No score is masked."""

    def unmasked(step: Step) -> Step:
        return replace(step, op=softmax.ScaleScores(masked=False)) if isinstance(step.op, softmax.ScaleScores) else step

    return AttentionProgram(tuple(map(unmasked, program.steps)))


def skipped_zero_fill(program: AttentionProgram) -> AttentionProgram:
    """Invalid accesses leave their place in shared memory as it was."""

    def left(step: Step) -> Step:
        return replace(step, op=replace(step.op, zfill=False)) if isinstance(step.op, CopyAsync) else step

    return AttentionProgram(tuple(map(left, program.steps)))


def _kept(program: AttentionProgram, keep: Callable[[Step], bool]) -> AttentionProgram:
    return AttentionProgram(tuple(filter(keep, program.steps)))


ATTENTION_MUTATIONS: dict[str, AttentionMutation] = {
    mutation.__name__: mutation
    for mutation in (
        missing_v_wait,
        lax_wait,
        missing_barrier,
        missing_softmax_barrier,
        missing_maximum,
        missing_mask,
        skipped_zero_fill,
    )
}
"""Name, as ``gpusim verify --mutate`` takes it, -> mutation. It leaves a program in which it finds nothing to break."""
