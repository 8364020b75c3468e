"""Schedules broken on purpose, with one mistake each, to show that the checks catch them."""

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from gpusim.schedule import ops

ProgramT = TypeVar("ProgramT")


def lax_wait(program: ops.Program) -> ops.Program:
    """Let every wait_group of prologue and mainloop leave one more group in flight. The final wait is unchanged."""

    def lax(op: ops.Op) -> ops.Op:
        return replace(op, pending=op.pending + 1) if isinstance(op, ops.WaitGroup) else op

    return replace(
        program,
        prologue=tuple(map(lax, program.prologue)),
        iterations=tuple(tuple(map(lax, body)) for body in program.iterations),
    )


def missing_barrier(program: ops.Program) -> ops.Program:
    """Leave the mainloop's barrier out of every iteration. Harmless with one k tile of a multistage GEMM."""
    return replace(
        program,
        iterations=tuple(tuple(op for op in body if not isinstance(op, ops.Barrier)) for body in program.iterations),
    )


def one_stage_too_few(program: ops.Program) -> ops.Program:
    """Run the same schedule on a ring with one stage less: fetch and k tile t use stage t mod (stages - 1)."""
    stages = 1 + max(op.stage for op in program.mainloop_ops() if isinstance(op, ops.CopyAsync | ops.StoreTile))

    def wrapped(op: ops.Op) -> ops.Op:
        match op:
            case ops.CopyAsync() | ops.StoreTile():
                return replace(op, stage=op.fetch % (stages - 1))
            case ops.Ldmatrix() | ops.LoadFragment():
                return replace(op, stage=op.k_tile % (stages - 1))
            case _:
                return op

    return _each_mainloop_op(program, wrapped)


def skipped_zero_fill(program: ops.Program) -> ops.Program:
    """Let invalid accesses leave shared memory unchanged. No op moves, so only data can show it."""

    def kept(op: ops.Op) -> ops.Op:
        return replace(op, zfill=False) if isinstance(op, ops.CopyAsync | ops.LoadGlobal) else op

    return _each_mainloop_op(program, kept)


def load_too_early(program: ops.Program) -> ops.Program:
    """
    Issue a pipelined mainloop's global loads one k tile earlier, though registers hold only one threadblock fragment.
    """

    def ahead(op: ops.Op) -> ops.Op:
        return replace(op, fetch=op.fetch + 1) if isinstance(op, ops.LoadGlobal) else op

    second = tuple(ahead(op) for op in program.prologue if isinstance(op, ops.LoadGlobal))
    moved = (*(tuple(map(ahead, body)) for body in program.iterations[:-1]), *program.iterations[-1:])
    return replace(program, prologue=program.prologue + second, iterations=moved)


def store_after_barrier(program: ops.Program) -> ops.Program:
    """
    Store the threadblock fragment of a pipelined mainloop after the barrier that should make it visible, not before.
    """

    def late(body: tuple[ops.Op, ...]) -> tuple[ops.Op, ...]:
        if not any(isinstance(op, ops.StoreTile) for op in body):
            return body
        at = next(index for index, op in enumerate(body) if isinstance(op, ops.Barrier))
        stores = tuple(op for op in body[:at] if isinstance(op, ops.StoreTile))
        before = tuple(op for op in body[:at] if not isinstance(op, ops.StoreTile))
        return (*before, body[at], *stores, *body[at + 1 :])

    return replace(program, prologue=late(program.prologue), iterations=tuple(map(late, program.iterations)))


def _each_mainloop_op(program: ops.Program, change: Callable[[ops.Op], ops.Op]) -> ops.Program:
    return replace(
        program,
        prologue=tuple(map(change, program.prologue)),
        iterations=tuple(tuple(map(change, body)) for body in program.iterations),
        tail=tuple(map(change, program.tail)),
    )


def by_name(*mutations: Callable[[ProgramT], ProgramT]) -> dict[str, Callable[[ProgramT], ProgramT]]:
    """Return mutations of one kind of program by their names, as ``gpusim verify --mutate`` takes them."""
    return {mutation.__name__: mutation for mutation in mutations}


MUTATIONS = by_name(
    lax_wait, missing_barrier, one_stage_too_few, skipped_zero_fill, load_too_early, store_after_barrier
)
"""
Each mutation, by its name for ``gpusim verify --mutate``. It returns a program unchanged if it has nothing to break.
"""
