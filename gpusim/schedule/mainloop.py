"""
The common part of every mainloop: how an operand's k tile reaches shared memory and the warps' fragments.

This module knows counts and the order within one load; each mainloop decides which op comes when.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

from gpusim.schedule.ops import CacheOperator, Ldmatrix, LoadFragment, Op, WarpMma
from gpusim.tile.ldmatrix import fragment_loads
from gpusim.tile.operand import SIDES, Operand, Side

Mainloop: TypeAlias = tuple[tuple[Op, ...], Sequence[tuple[Op, ...]], tuple[Op, ...]]
"""The ops of a mainloop: prologue, one tuple per k tile consumed, and tail."""


class Iterations(Sequence[tuple[Op, ...]], ABC):
    """
    The ops of each k tile of a mainloop, made on access, so that memory does not grow with K.

    Subclasses are frozen dataclasses: iterations of equal shape and number are equal.

    Attributes:
        k_tiles: Number of k tiles.
    """

    __slots__ = ()
    k_tiles: int

    @abstractmethod
    def at(self, k_tile: int) -> tuple[Op, ...]:
        """Return the ops of one k tile."""

    def __len__(self) -> int:
        return self.k_tiles

    def __getitem__(self, index: Any) -> Any:
        chosen = range(self.k_tiles)[index]
        return self.at(chosen) if isinstance(chosen, int) else tuple(map(self.at, chosen))


@dataclass(frozen=True, slots=True)
class OperandCopies:
    """
    The instructions that bring one operand's k tile to shared memory and to the fragments.

    Attributes:
        accesses: Accesses of one thread per k tile.
        vecs: Copies (or global loads) per access, more than 1 if the alignment is narrower than 128 bits.
        cache: Cache operator of the copies or loads.
        fragment_loads: Loads of the fragment per k group of one warp.
        words: Whether the fragment loads are plain 32-bit loads instead of ldmatrix.
    """

    accesses: int
    vecs: int
    cache: CacheOperator
    fragment_loads: int
    words: bool = False


@dataclass(frozen=True, slots=True)
class MainloopShape:
    """
    The counts that the op order depends on, besides the mainloop's own policy.

    Attributes:
        stages: Stages of the shared-memory ring: 2 in a pipelined mainloop, at least 2 in a multistage one that is not
            ``whole``.
        k_groups: k groups of a k tile, at least 2 (CUTLASS asserts it).
        a, b: Copies of each operand.
        whole: Whether every k tile has a stage of its own, so that the prologue of a multistage mainloop brings them
            all.
    """

    stages: int
    k_groups: int
    a: OperandCopies
    b: OperandCopies
    whole: bool = False

    def of(self, operand: Side) -> OperandCopies:
        """Return the copies of one operand."""
        return self.a if operand == "a" else self.b

    def share(self, operand: Side, index: int) -> range:
        """
        Return the accesses of a fetch that its share ``index`` (0 to k_groups - 1) issues.

        A share has ceil(accesses / k_groups) accesses; the last shares may have fewer, or none.
        """
        accesses = self.of(operand).accesses
        size = -(-accesses // self.k_groups)
        return range(min(index * size, accesses), min((index + 1) * size, accesses))


class MainloopPolicy(ABC):
    """
    The order of ops in a mainloop.

    Attributes:
        through_registers: True: an operand's k tile passes through registers (the threadblock fragment) on its way to
            shared memory. False: cp.async copies it.
    """

    through_registers: ClassVar[bool]

    @abstractmethod
    def cache(self, operand: Side, access_bits: int) -> CacheOperator:
        """Return the cache operator of an operand's global accesses of the given width in bits."""

    @abstractmethod
    def mainloop(self, shape: MainloopShape, k_iterations: int) -> Mainloop:
        """Return the ops that consume ``k_iterations`` k tiles."""

    def writes_per_fill(self, shape: MainloopShape) -> dict[Side, int]:
        """
        Return the number of ops with which one thread fills its part of a stage, per operand: copies, or stores of
        accesses.
        """
        return {
            side: shape.of(side).accesses * (1 if self.through_registers else shape.of(side).vecs) for side in SIDES
        }


def shape_of(operands: Mapping[Side, Operand], policy: MainloopPolicy) -> MainloopShape:
    """
    Return the shape of a mainloop, from its operands' thread maps, alignments and fragments.

    Args:
        operands: Both operands of one GEMM.
        policy: Policy that chooses the caches of the global accesses.
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
    """Return the loads of both operands' fragments of one k group, from one stage of the ring."""
    return [
        (LoadFragment if shape.of(operand).words else Ldmatrix)(operand, k_tile, k_group, instruction, stage)
        for operand in SIDES
        for instruction in range(shape.of(operand).fragment_loads)
    ]


def resident(shape: MainloopShape, k_tiles: int) -> list[Op]:
    """
    Return the loads and MMAs of k tiles that all lie in the ring's stages, with fragments loaded one k group ahead.
    """
    groups = [(k_tile, k_group) for k_tile in range(k_tiles) for k_group in range(shape.k_groups)]
    ops = warp_fragment_loads(shape, 0, 0, 0)
    for index, (k_tile, k_group) in enumerate(groups):
        if index + 1 < len(groups):
            next_tile, next_group = groups[index + 1]
            ops += warp_fragment_loads(shape, next_tile, next_group, next_tile)
        ops.append(WarpMma(k_tile, k_group))
    return ops
