"""Schedules broken on purpose, one mistake each, so that the checks can be seen to catch them."""

from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

from gpusim.schedule.ops import Barrier, CopyAsync, Ldmatrix, Op, Program, WaitGroup

Mutation: TypeAlias = Callable[[Program], Program]


def lax_wait(program: Program) -> Program:
    """Every wait_group of prologue and mainloop allows one group more to be in flight. The final wait stays."""

    def lax(op: Op) -> Op:
        return replace(op, pending=op.pending + 1) if isinstance(op, WaitGroup) else op

    return replace(
        program,
        prologue=tuple(map(lax, program.prologue)),
        iterations=tuple(tuple(map(lax, body)) for body in program.iterations),
    )


def missing_barrier(program: Program) -> Program:
    """The mainloop's barrier is left out of every iteration. Harmless when there is only one k tile of a GEMM."""
    return replace(
        program,
        iterations=tuple(tuple(op for op in body if not isinstance(op, Barrier)) for body in program.iterations),
    )


def one_stage_too_few(program: Program) -> Program:
    """The same schedule on a ring with one slot less: fetch and k tile t use slot t mod (stages - 1)."""
    stages = 1 + max(op.stage for op in program.mainloop_ops() if isinstance(op, CopyAsync))

    def wrapped(op: Op) -> Op:
        match op:
            case CopyAsync():
                return replace(op, stage=op.fetch % (stages - 1))
            case Ldmatrix():
                return replace(op, stage=op.k_tile % (stages - 1))
            case _:
                return op

    return _each_mainloop_op(program, wrapped)


def skipped_zero_fill(program: Program) -> Program:
    """Invalid accesses leave their place in shared memory as it was. Only data can show it: no op moves."""
    return _each_mainloop_op(program, lambda op: replace(op, zfill=False) if isinstance(op, CopyAsync) else op)


def _each_mainloop_op(program: Program, change: Callable[[Op], Op]) -> Program:
    return replace(
        program,
        prologue=tuple(map(change, program.prologue)),
        iterations=tuple(tuple(map(change, body)) for body in program.iterations),
        tail=tuple(map(change, program.tail)),
    )


MUTATIONS: dict[str, Mutation] = {
    mutation.__name__: mutation for mutation in (lax_wait, missing_barrier, one_stage_too_few, skipped_zero_fill)
}
"""Name, as ``gpusim verify --mutate`` takes it, -> mutation."""
