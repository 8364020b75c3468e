"""Whether what is read or overwritten in shared memory is what belongs there, and what to say if it is not."""

from collections.abc import Sequence

from gpusim.families.hopper.collective import SharedOperand
from gpusim.families.hopper.execute.cta import CtaState, operand_content
from gpusim.families.hopper.execute.memory import (
    BY_STORE,
    BY_WGMMA,
    D_CONTENT,
    KIND_BITS,
    UNFILLED,
    WRITE,
    Conflict,
)
from gpusim.families.hopper.execute.places import block_granules, granules_of
from gpusim.families.hopper.execute.registers import descriptors_of
from gpusim.families.hopper.execute.role_state import RoleState
from gpusim.families.hopper.problem import MMA_ROWS
from gpusim.families.hopper.program.ops import TmaLoad, Wgmma


def content_words(cta: CtaState, content: int) -> str:
    """Return what is in shared memory, in words."""
    kind, number = divmod(content, 1 << KIND_BITS)
    if content == UNFILLED:
        return "nothing"
    if kind:
        subtiles = max(1, cta.subtile(1, 0))
        return f"subtile {number % subtiles} of {'C' if content < D_CONTENT else 'D'} of tile {number // subtiles}"
    for unit, work in enumerate(cta.program.units):
        first = cta.fill(unit, work.first_k_tile)
        if first <= number // 2 < first + work.k_tiles:
            k_tile = number // 2 - first + work.first_k_tile
            return f"k tile {k_tile} of {'AB'[number % 2]} of tile {unit}"
    return f"fill {number // 2} of {'AB'[number % 2]}"


def check_group(role: RoleState, ops: Sequence[Wgmma]) -> None:
    """Check that what a group of wgmma reads is there, and record that it is read."""
    if not ops:
        return
    collective, first = role.kernel.collective, ops[0]
    number = role.registers.committed + 1
    fill = role.cta.fill(role.unit, first.k_tile)
    for operand, rows, descriptors in zip(
        (collective.a, collective.b), (MMA_ROWS, collective.b.rows), descriptors_of(ops), strict=True
    ):
        where = block_granules(descriptors, rows, operand.bits, k_contiguous=operand.k_contiguous)
        wanted = operand_content(fill, operand.side.upper())
        found = role.cta.memory.other_content(where, wanted)
        if found is not None:
            _other_content(role, first, operand, found, wanted)
        elif role.cta.memory.unordered_write(where, role.clock, by_async=True) is not None:
            role.kernel.found(
                "unfilled",
                f"{role}: wgmma reads {_slot(operand, first)}, which TMA may not have filled yet: no wait for"
                f" mainloop.full[{first.stage}] stands between",
                *(first.k_tile, operand.side, first.stage),
            )
        role.cta.memory.note_read(where, (role.local, BY_WGMMA), number, wanted)


def _slot(operand: SharedOperand, op: Wgmma) -> str:
    return f"k tile {op.k_tile} of {operand.side.upper()} in stage {op.stage}"


def _other_content(role: RoleState, op: Wgmma, operand: SharedOperand, found: int, wanted: int) -> None:
    holds = content_words(role.cta, found)
    after = f" {role.last_wait}" if role.last_wait else ""
    if found > wanted:
        name, said = "overwrite", f"it already holds {holds}"
    else:
        name, said = "unfilled", f"it holds {holds}"
    role.kernel.found(
        "overwrite" if name == "overwrite" else "unfilled",
        f"{role}: wgmma reads {_slot(operand, op)}{after}; {said}",
        *(op.k_tile, operand.side, op.stage),
    )


def check_load(role: RoleState, cta: CtaState, op: TmaLoad, content: int) -> None:
    """Check that a TMA load of a role overwrites nothing that is still needed in a CTA."""
    where = granules_of(op.address, op.bytes)
    conflict = cta.memory.unordered_read(where, role.clock, content, by_async=True)
    if conflict is None:
        conflict = cta.memory.unordered_write(where, role.clock, by_async=True)
        if conflict is None:
            return
    what = f"k tile {op.k_tile} of {op.tensor}" if op.tensor != "C" else "a subtile of C"
    after = role.last_wait or "without a wait"
    message = (
        f"{role}: the load of {what} into stage {op.stage} of {cta.program}, {after}, may land before"
        f" {conflict_words(cta, conflict)}"
    )
    if conflict.fence:
        role.kernel.found("proxy", f"{message}: fence.proxy.async is missing", op.k_tile, op.tensor.lower(), op.stage)
    else:
        role.kernel.found(
            "overwrite", f"{message}: the stage is released too early", op.k_tile, op.tensor.lower(), op.stage
        )


def conflict_words(cta: CtaState, conflict: Conflict) -> str:
    """Return what an unordered access does, in words."""
    who = "TMA" if conflict.role < 0 else cta.program.roles[conflict.role].name
    what = content_words(cta, conflict.content)
    if conflict.kind == BY_WGMMA:
        return f"wgmma of {who} have read {what}"
    if conflict.kind == BY_STORE:
        return f"the TMA store of {who} has read {what}"
    return f"{who} has {'written' if conflict.kind == WRITE else 'read'} {what}"
