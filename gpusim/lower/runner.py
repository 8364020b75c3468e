"""Emulates warps of a compiled kernel, skips repeating trips of the mainloop, and aligns the rest with the schedule."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from functools import cached_property
from math import lcm
from typing import Any, ClassVar, Generic, NamedTuple

import numpy as np
import numpy.typing as npt

from gpusim.arrays import IntArray
from gpusim.cuda.compiled_kernel import CompiledKernel
from gpusim.cuda.specialise import SHARED_ALIGNMENT, Specialisation
from gpusim.element_types import Mma, is_emulated, walks_vertically
from gpusim.errors import BadInput
from gpusim.lower.align import Placement, align
from gpusim.lower.aligned import MMA_OPCODES, AlignedKernel, ExecutedWarp, OpPart
from gpusim.lower.sass.cubin import Cubin, read_cubin
from gpusim.lower.sass.decode import Sass, decode
from gpusim.lower.sass.emulate import EmulatedWarp, Load, run_warp
from gpusim.lower.sass.operands import CodeAddress
from gpusim.lower.sass.repeat import Loop, Path
from gpusim.schedule.lanes import StepT
from gpusim.units import WARP_SIZE

LONGEST_NAME = 80
"""Characters of a kernel's name in a message. CUTLASS's mangled names have thousands."""


class Repetition(NamedTuple, Generic[StepT]):
    """
    A CTA's program, divided at its repeating mainloop.

    Attributes:
        prologue: Steps before the mainloop.
        k_tiles: Steps of each k tile.
        rest: Steps after the mainloop.
        turn: Period in k tiles: after it shared addresses are equal, and global addresses have advanced by a constant.
    """

    prologue: Sequence[StepT]
    k_tiles: Sequence[Sequence[StepT]]
    rest: Sequence[StepT]
    turn: int

    def without(self, skipped: Sequence[range]) -> list[StepT]:
        """Return all steps except those of the skipped k tiles; the ranges ascend."""
        kept, begin = list(self.prologue), 0
        for tiles in (*skipped, range(len(self.k_tiles), 0)):
            for k_tile in range(begin, tiles.start):
                kept += self.k_tiles[k_tile]
            begin = tiles.stop
        return [*kept, *self.rest]


class EmulatedKernel(AlignedKernel[StepT]):
    """
    A kernel whose machine code can be emulated and aligned with its schedule.

    Attributes:
        parameters: dtype of the parameter structure that the kernel is launched with.
    """

    parameters: ClassVar[np.dtype[np.void]]

    @property
    @abstractmethod
    def specialisation(self) -> Specialisation:
        """The kernel's plain build."""

    @property
    @abstractmethod
    def mma(self) -> Mma | None:
        """The mma.sync that the kernel uses; None for a kernel without MMAs."""

    @property
    @abstractmethod
    def pointers(self) -> Mapping[str, int]:
        """Assumed global byte address of each tensor, by ``Reached.tensor``. Their address ranges do not overlap."""

    @abstractmethod
    def values(self, k_iterations: int) -> Mapping[str, Any]:
        """Return the parameters of a launch, pointers included. ``k_iterations`` is ``Specialisation.k_iterations``."""

    def packed(self, kernel: str, size: int, k_iterations: int) -> bytes:
        """
        Return the parameter structure that a kernel is launched with.

        Args:
            kernel: Name of the kernel in the cubin.
            size: Bytes of parameters that it takes.
            k_iterations: ``Specialisation.k_iterations``.

        Raises:
            BadInput: It takes a structure of another size.
        """
        if size != self.parameters.itemsize:
            raise BadInput(
                f"{short(kernel)} takes {size} bytes of parameters, its launch has {self.parameters.itemsize}"
            )
        values: npt.NDArray[np.void] = np.zeros((), dtype=self.parameters)
        for name, value in self.values(k_iterations).items():
            values[name] = value
        return values.tobytes()

    def repetition(self, block: int) -> Repetition[StepT] | None:  # noqa: ARG002 - a kernel may have no mainloop
        """Return the program of a CTA, divided at its repeating mainloop; None without a mainloop."""
        return None

    def memory(self, block: int) -> Load:  # noqa: ARG002 - data affects the path of few kernels
        """Return the function that reads global memory for a CTA; its data matters only if it decides branches."""
        return np.zeros_like

    def shared_words(self, byte: IntArray) -> IntArray:
        """Return 32-bit words of the CTA's shared memory by byte address; they matter only if they decide branches."""
        return np.zeros_like(byte)


class KernelRunner:
    """
    Emulates any warp of a compiled kernel's grid.

    Attributes:
        kernel: Schedule of the kernel.
        cubin: Machine code and resources of the kernel.
        constants: Constant bank 0 of a launch, parameters included.
    """

    def __init__(self, kernel: EmulatedKernel[Any], compiled: CompiledKernel) -> None:
        """
        Read the kernel.

        Raises:
            BadInput: The assembler replaces the mma.sync by other instructions (4-bit integers from sm_90 on, D27). Or
                the kernel takes a parameter structure of another size.
        """
        self.kernel, self.specialisation = kernel, compiled.specialisation
        self.cubin: Cubin = read_cubin(compiled.cubin, self.specialisation.entry, "the compiled kernel")
        mma = kernel.mma
        if mma is not None and is_emulated(mma.ab, self.cubin.architecture):
            raise BadInput(
                f"problem.dtype.ab must be a type that sm_{self.cubin.architecture} multiplies, got {mma.ab!r}: its"
                " mma.sync is emulated, and the kernel holds no instruction that stands for it (D27)"
            )
        self.constants = self._parameter_bank()

    @cached_property
    def code(self) -> Sequence[Sass]:
        """Decoded instructions of the kernel."""
        return decode(self.cubin.code, self.cubin.architecture)

    @property
    def name(self) -> str:
        """Name of the kernel, for messages."""
        return short(self.specialisation.entry)

    @property
    def warps(self) -> int:
        """Warps of a CTA."""
        return self.specialisation.block_threads // WARP_SIZE

    def _parameter_bank(self) -> bytes:
        """Return constant bank 0 of a launch, parameters included: the kernel's structure, then run-time extents."""
        cubin, extents = self.cubin, np.array(self.specialisation.extents, dtype=np.int32).tobytes()
        size = cubin.parameter_bytes - len(extents)
        packed = self.kernel.packed(cubin.kernel, size, self.specialisation.k_iterations) + extents
        bank = bytearray(cubin.constants)
        bank[cubin.parameters_at : cubin.parameters_at + cubin.parameter_bytes] = packed
        return bytes(bank)

    def loop(self, block: int) -> Loop | None:
        """Return the mainloop that a CTA repeats; None if there is none, or if its trips are not whole k tiles."""
        repetition, span = self.kernel.repetition(block), mainloop_span(self.code)
        if repetition is None or span is None:
            return None
        mmas = sum(sass.name in MMA_OPCODES for sass in self.code[span[0] : span[1] + 1])
        tiles, rest = divmod(mmas, self.mmas_per_tile)
        if rest or len(repetition.k_tiles) % tiles:
            return None
        return Loop(span[0], len(repetition.k_tiles) // tiles, lcm(repetition.turn, tiles) // tiles)

    @property
    def shared_base(self) -> int:
        """Byte address of the dynamic shared memory."""
        return -(-self.cubin.shared_bytes // SHARED_ALIGNMENT) * SHARED_ALIGNMENT

    @cached_property
    def mmas_per_tile(self) -> int:
        """Number of mma.sync of one k tile."""
        tiling = self.kernel.lanes().operands["a"].tiling
        return tiling.k_groups * tiling.mmas

    def run(self, block: int, warp: int, loop: Loop | None = None) -> Path:
        """
        Execute one warp of a CTA, and return its instructions.

        Args:
            block: Linear block index.
            warp: Warp index in the CTA.
            loop: The loop whose repeating trips are skipped; None to execute all trips.
        """
        x, y, _ = self.specialisation.grid
        return run_warp(
            self.code,
            EmulatedWarp(
                ctaid=(block % x, block // x % y, block // (x * y)),
                grid=self.specialisation.grid,
                block=(self.specialisation.block_threads, 1, 1),
                index=warp,
                constants=self.constants,
                compiler_constants=self.cubin.compiler_constants,
                parameters_at=self.cubin.parameters_at,
                local_bytes=self.cubin.local_bytes,
                load=self.kernel.memory(block),
                load_shared=lambda address: self.kernel.shared_words(address - self.shared_base),
            ),
            loop,
        )

    def executed(self, block: int, path: Path, loop: Loop | None = None) -> ExecutedWarp:
        """Return the instructions that a warp of a CTA executed, with the steps of its schedule."""
        repetition = self.kernel.repetition(block)
        if repetition is None or loop is None or not path.skips:
            return ExecutedWarp(path.steps, self.kernel.steps(block), {})
        tiles = len(repetition.k_tiles) // loop.trips
        skipped = [range(skip.trips.start * tiles, skip.trips.stop * tiles) for skip in path.skips]
        numbers = {skip.at: len(skip.trips) * tiles for skip in path.skips}
        return ExecutedWarp(path.steps, repetition.without(skipped), numbers)

    def align(self, block: int, warp: int, executed: ExecutedWarp) -> list[OpPart | None]:
        """
        Return the op that each instruction of one warp executes, or None for the arithmetic between ops.

        Raises:
            CheckFailed: The warp did not execute the schedule. The message shows both sides.
        """
        placement = Placement(block, warp, self.shared_base, self.kernel.pointers)
        vertical = walks_vertically(self.cubin.architecture)
        return align(self.code, executed, self.kernel, placement, vertical=vertical)


def short(name: str) -> str:
    """Return the name of a kernel, shortened for messages."""
    return name if len(name) <= LONGEST_NAME else f"{name[:LONGEST_NAME]}..."


def mainloop_span(code: Sequence[Sass]) -> tuple[int, int] | None:
    """Return the first and last index of the mainloop: the smallest loop (backward branch) that contains MMAs."""
    mmas = [at for at, sass in enumerate(code) if sass.name in MMA_OPCODES]
    spans = []
    for at, sass in enumerate(code):
        target = sass.operands.get("t")
        if sass.name == "BRA" and isinstance(target, CodeAddress) and target.address < sass.address:
            head = next(index for index, one in enumerate(code) if one.address == target.address)
            if any(head <= mma <= at for mma in mmas):
                spans.append((at - head, head, at))
    return min(spans)[1:] if spans else None
