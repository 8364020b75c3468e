"""What every mainloop shares: how an operand's k tile reaches shared memory and the warps' fragments.

It knows counts and the order within one load; which op comes when is each mainloop's own.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, TypeAlias

from gpusim.schedule.ops import CacheOperator, Ldmatrix, LoadFragment, Op, WarpMma
from gpusim.tile.ldmatrix import fragment_loads
from gpusim.tile.operand import SIDES, Operand, Side

Mainloop: TypeAlias = tuple[tuple[Op, ...], tuple[tuple[Op, ...], ...], tuple[Op, ...]]
"""Prologue, one tuple of ops per k tile consumed, and tail."""


@dataclass(frozen=True, slots=True)
class OperandCopies:
    """
    How one operand's k tile reaches shared memory and the fragments.

    Attributes:
        accesses: Accesses of one thread per k tile.
        vecs: Copies (or global loads) per access; more than 1 when the alignment is narrower than 128 bits.
        cache: Cache operator of its copies or loads.
        fragment_loads: Loads of its fragment per k group of one warp.
        words: Whether these are plain loads of 32 bits, not ldmatrix.
    """

    accesses: int
    vecs: int
    cache: CacheOperator
    fragment_loads: int
    words: bool = False


@dataclass(frozen=True, slots=True)
class MainloopShape:
    """
    What the op order depends on besides the mainloop's own policy.

    Attributes:
        stages: Slots of the shared-memory ring: 2 of a pipelined mainloop, at least 3 of a multistage one that is not
            ``whole``.
        k_groups: Instruction-K slices of a k tile, at least 2 (CUTLASS asserts it).
        whole: Every k tile has a slot of its own, so that the prologue of a multistage mainloop brings them all.
    """

    stages: int
    k_groups: int
    a: OperandCopies
    b: OperandCopies
    whole: bool = False

    def of(self, operand: Side) -> OperandCopies:
        """The copies of one operand."""
        return self.a if operand == "a" else self.b

    def share(self, operand: Side, index: int) -> range:
        """
        Accesses of one fetch that share ``index`` (0 to k_groups - 1) issues: ceil(accesses / k_groups) each.

        The last shares are shorter, or empty, when the accesses do not divide.
        """
        accesses = self.of(operand).accesses
        size = -(-accesses // self.k_groups)
        return range(min(index * size, accesses), min((index + 1) * size, accesses))


class MainloopPolicy(ABC):
    """
    Which op comes when in a mainloop.

    Attributes:
        through_registers: An operand's k tile waits in the threadblock fragment between global and shared memory.
            Without, it comes by cp.async.
    """

    through_registers: ClassVar[bool]

    @abstractmethod
    def cache(self, operand: Side, access_bits: int) -> CacheOperator:
        """The cache operator of an operand's global accesses, given their width."""

    @abstractmethod
    def mainloop(self, shape: MainloopShape, k_iterations: int) -> Mainloop:
        """The ops that consume so many k tiles."""

    def writes_per_fill(self, shape: MainloopShape) -> dict[Side, int]:
        """Ops by which one thread fills its part of a slot of the ring: copies, or stores of whole accesses."""
        return {
            side: shape.of(side).accesses * (1 if self.through_registers else shape.of(side).vecs) for side in SIDES
        }


def shape_of(operands: Mapping[Side, Operand], policy: MainloopPolicy) -> MainloopShape:
    """
    The shape of a mainloop, from its operands' thread maps, alignments and fragments.

    Args:
        operands: Both, of one GEMM.
        policy: Says which caches their global accesses go through.
    """
    copies = {}
    for side, operand in operands.items():
        loads = fragment_loads(operand)
        copies[side] = OperandCopies(
            accesses=operand.thread_map.accesses,
            vecs=operand.vecs,
            cache=policy.cache(side, operand.access_bytes * 8),
            fragment_loads=loads.instructions,
            words=loads.words,
        )
    tiling = operands["a"].tiling
    return MainloopShape(stages=tiling.stages, k_groups=tiling.k_groups, a=copies["a"], b=copies["b"])


def warp_fragment_loads(shape: MainloopShape, k_tile: int, k_group: int, stage: int) -> list[Op]:
    """The loads of both operands' fragments of one k group, from one slot of the ring."""
    return [
        (LoadFragment if shape.of(operand).words else Ldmatrix)(operand, k_tile, k_group, instruction, stage)
        for operand in SIDES
        for instruction in range(shape.of(operand).fragment_loads)
    ]


def resident(shape: MainloopShape, k_tiles: int) -> list[Op]:
    """Fragments and MMAs of k tiles that all lie in the ring's slots, the fragments one k group ahead."""
    groups = [(k_tile, k_group) for k_tile in range(k_tiles) for k_group in range(shape.k_groups)]
    ops = warp_fragment_loads(shape, 0, 0, 0)
    for index, (k_tile, k_group) in enumerate(groups):
        if index + 1 < len(groups):
            next_tile, next_group = groups[index + 1]
            ops += warp_fragment_loads(shape, next_tile, next_group, next_tile)
        ops.append(WarpMma(k_tile, k_group))
    return ops
