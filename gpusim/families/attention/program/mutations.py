"""Mutations: attention programs with one mistake each, to test that the checks notice."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from gpusim.families.attention.program import softmax
from gpusim.families.attention.program.step import AttentionProgram, Phase
from gpusim.schedule.mutations import by_name
from gpusim.schedule.ops import Barrier, CopyAsync, WaitGroup


def missing_v_wait(program: AttentionProgram) -> AttentionProgram:
    """Remove the waits for V: if V is preloaded, its prologue's copies may still be in flight when P * V begins."""
    return _without(program, WaitGroup, "pv")


def lax_wait(program: AttentionProgram) -> AttentionProgram:
    """Every wait_group allows one group more to be in flight."""
    return _changed(program, WaitGroup, lambda op: replace(op, pending=op.pending + 1))


def missing_barrier(program: AttentionProgram) -> AttentionProgram:
    """The barriers of both GEMMs are left out."""
    return _without(program, Barrier, "qk", "pv")


def missing_softmax_barrier(program: AttentionProgram) -> AttentionProgram:
    """The barriers between the warps' maxima, the rescale factors and their readers are left out."""
    return _without(program, Barrier, "softmax")


def missing_maximum(program: AttentionProgram) -> AttentionProgram:
    """A row of each lane takes no part in the running maximum."""
    return tuple(step for step in program if step.op != softmax.AtomicMax(1))


def missing_mask(program: AttentionProgram) -> AttentionProgram:
    """No score is masked."""
    return _changed(program, softmax.ScaleScores, lambda op: replace(op, masked=False))


def skipped_zero_fill(program: AttentionProgram) -> AttentionProgram:
    """Invalid accesses leave their place in shared memory as it was."""
    return _changed(program, CopyAsync, lambda op: replace(op, zfill=False))


def _without(program: AttentionProgram, kind: type, *phases: Phase) -> AttentionProgram:
    """Return the program without the ops of a kind in some phases."""
    return tuple(step for step in program if step.phase not in phases or not isinstance(step.op, kind))


def _changed(program: AttentionProgram, kind: type, change: Callable[[Any], Any]) -> AttentionProgram:
    """Return the program with every op of a kind changed."""
    return tuple(replace(step, op=change(step.op)) if isinstance(step.op, kind) else step for step in program)


ATTENTION_MUTATIONS = by_name(
    missing_v_wait, lax_wait, missing_barrier, missing_softmax_barrier, missing_maximum, missing_mask, skipped_zero_fill
)
"""Name, as ``gpusim verify --mutate`` takes it, -> mutation. It leaves a program in which it finds nothing to break."""
