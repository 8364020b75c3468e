"""Finds races in the order of an attention program's ops: the check of a GEMM, for both GEMMs of all key blocks."""

from dataclasses import replace
from typing import cast

from gpusim.families.attention.problem import AttentionScenario
from gpusim.families.attention.program.chained import pv_shape, qk_shape
from gpusim.families.attention.program.step import AttentionProgram, Step
from gpusim.families.attention.tile.operands import TENSOR_AT
from gpusim.schedule.hazards import Hazard, find_hazards
from gpusim.schedule.ops import Barrier, CommitGroup, CopyAsync, Ldmatrix, Op, WaitGroup, WarpMma
from gpusim.tile.operand import Side


def find_attention_hazards(program: AttentionProgram, scenario: AttentionScenario) -> tuple[Hazard, ...]:
    """
    Find every hazard of the copies of Q, K and V and of the fragments loaded from them, in op order.

    As ``hazards.find_hazards``. ``k_tile`` counts on from GEMM to GEMM, in the order in which the program first comes
    to each.

    Args:
        program: Program of one CTA, shipped or mutated.
        scenario: Says how many copies fill a slot, and whether Q is copied once.

    Raises:
        TypeError: A GEMM has an op that this check does not know. The message names it.

    Not looked for: hazards of P, of the row statistics and of the epilogue, and those of P and V with Q and K, whose
    memory they share (``races``).
    """
    qk, pv = qk_shape(scenario), pv_shape(scenario)
    fills = {"q": qk.a.accesses * qk.a.vecs, "k": qk.b.accesses * qk.b.vecs, "v": pv.b.accesses * pv.b.vecs}
    return find_hazards(_numbered(program, scenario), {cast("Side", name): count for name, count in fills.items()})


def _numbered(program: AttentionProgram, scenario: AttentionScenario) -> list[Op]:
    """Return both GEMMs' ops, waits and barriers; operands and k tiles are named by their place in the program."""
    of_gemms = [step for step in program if step.phase in ("qk", "pv")]
    # More than any fetch or k tile of one GEMM.
    stride = 1 + max((getattr(step.op, "fetch", getattr(step.op, "k_tile", 0)) for step in of_gemms), default=0)
    first = {place: number * stride for number, place in enumerate(dict.fromkeys(map(_place, of_gemms)))}
    ops: list[Op] = []
    for step in program:
        op = step.op
        if isinstance(op, Barrier | CommitGroup | WaitGroup):
            ops.append(op)
        if step.phase not in ("qk", "pv"):
            continue
        begin = first[_place(step)]
        match op:
            case CopyAsync(operand, fetch):
                name = cast("Side", TENSOR_AT[step.phase, operand])
                ops.append(replace(op, operand=name, fetch=begin + fetch))
            case Ldmatrix(operand, k_tile) if not (step.phase == "pv" and operand == "a"):
                # Flash copies Q for the key block it walks first.
                kept = scenario.flash and (step.phase, operand) == ("qk", "a")
                name = cast("Side", TENSOR_AT[step.phase, operand])
                ops.append(replace(op, operand=name, k_tile=k_tile + (0 if kept else begin)))
            case WarpMma(k_tile):
                ops.append(replace(op, k_tile=begin + k_tile))
            case Barrier() | CommitGroup() | WaitGroup() | Ldmatrix():
                pass  # They are appended above, or load P, which is not copied.
            case _:
                raise TypeError(f"{step} is no op of a GEMM whose ring slots are checked")
    return ops


def _place(step: Step) -> tuple[str, int, int]:
    return step.phase, step.key_block, step.column_block
