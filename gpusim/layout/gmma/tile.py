"""Tiles of shared memory made of GMMA atoms, as CuTe's ``tile_to_shape`` lays them out, with all their stages."""

from dataclasses import dataclass
from typing import Final, TypeAlias

from gpusim.arguments import whole_number
from gpusim.arrays import IntArray
from gpusim.errors import BadInput
from gpusim.layout.cute import Layout, SwizzledLayout
from gpusim.layout.gmma.atom import GmmaAtom, Major

GmmaStep: TypeAlias = tuple[int, int, int]
"""CuTe's ``Step``: the rank of M or N, of K and of the stages; atoms follow one another along rank 1 first."""

ALONG_MN: Final[GmmaStep] = (1, 2, 3)
ALONG_K: Final[GmmaStep] = (2, 1, 3)
GMMA_STEPS: Final = (ALONG_MN, ALONG_K)

MOST_EXTENT: Final = 1 << 20
"""Greatest extent of a tile, far more than shared memory holds."""


@dataclass(frozen=True, slots=True)
class GmmaTile:
    """
    A tile of one operand with its stages: GMMA atoms one after another, each stage after the one before.

    Attributes:
        atom: The atom.
        mn: Rows of the tile, along M or N.
        k: Columns of the tile, along K.
        stages: Stages of the shared-memory ring.
        step: Order of the atoms of one stage, ``ALONG_MN`` or ``ALONG_K``.

    Raises:
        BadInput: The atom does not divide the tile, or the step is none of ``GMMA_STEPS``.

    Source: CUTLASS include/cute/layout.hpp and layout_composed.hpp, ``tile_to_shape``.
    """

    atom: GmmaAtom
    mn: int
    k: int
    stages: int
    step: GmmaStep

    def __post_init__(self) -> None:
        """Refuse extents that are not whole atoms, and other orders."""
        for name in ("mn", "k", "stages"):
            whole_number(name, getattr(self, name), 1, MOST_EXTENT)
        atom = self.atom
        if self.mn % atom.mn or self.k % atom.k:
            raise BadInput(
                f"{atom}: M or N must be a multiple of {atom.mn} and K a multiple of {atom.k}, "
                f"got {self.mn} and {self.k}"
            )
        if self.step not in GMMA_STEPS:
            raise BadInput(f"step must be (1, 2, 3), along M or N first, or (2, 1, 3), along K first, got {self.step}")

    @property
    def layout(self) -> Layout:
        """The layout (mn, k, stage) before its swizzle, in elements. Its first two modes are (in atom, of atoms)."""
        atom, along_mn, along_k = self.atom, self.mn // self.atom.mn, self.k // self.atom.k
        first = self.step == ALONG_MN
        step_mn, step_k = (1, along_mn) if first else (along_k, 1)
        row, column = atom.layout.modes
        return Layout(
            ((atom.mn, along_mn), (atom.k, along_k), self.stages),
            ((row.stride, step_mn * atom.size), (column.stride, step_k * atom.size), self.stage_elements),
        )

    @property
    def stage_elements(self) -> int:
        """Elements from one stage to the next."""
        return self.mn * self.k

    @property
    def elements(self) -> int:
        """Elements of all stages."""
        return self.stage_elements * self.stages

    @property
    def size_bytes(self) -> int:
        """Bytes of all stages."""
        return self.elements * self.atom.element_bits // 8

    def offset(self, row: int | IntArray, column: int | IntArray, stage: int | IntArray = 0) -> IntArray:
        """
        Return the element offset from the base of the operand's whole allocation.

        Args:
            row: Coordinate along M or N, in [0, ``mn``). Broadcasts with the others.
            column: Coordinate along K, in [0, ``k``).
            stage: Stage in [0, ``stages``).
        """
        return self.atom.pattern.apply(self.layout.offset((row, column, stage)))

    def unset_offset(self, row: int | IntArray, column: int | IntArray, stage: int | IntArray = 0) -> IntArray:
        """
        Return what CuTe's layout object returns for a coordinate while it has no pointer. The place is ``offset``.

        The layout reads ``Sw<3,4,3> o smem_ptr[16b](unset) o ...``. Its swizzle is one of byte addresses, and a tensor
        in shared memory applies it to the address. Without a pointer, CuTe applies it to the number of the element. The
        two agree for 8-bit elements and without a swizzle only.

        The arguments are those of ``offset``.

        Source: CUTLASS include/cute/pointer_flagged.hpp, ``smem_ptr_flag_bits`` and
            ``as_position_independent_swizzle_layout``.
        """
        return self.atom.byte_pattern.apply(self.layout.offset((row, column, stage)))

    @property
    def shared(self) -> SwizzledLayout:
        """The same tile with the coordinates (contiguous, strided, stage) of every shared layout."""
        row, column, _ = self.layout.modes
        contiguous, strided = (column, row) if self.atom.major == "K" else (row, column)
        return SwizzledLayout(
            self.atom.element_bits,
            contiguous.size,
            strided.size,
            self.stages,
            swizzle=self.atom.pattern,
            layout=Layout((strided.shape, contiguous.shape), (strided.stride, contiguous.stride)),
            first_is_contiguous=self.atom.major == "MN",
        )


def cutlass_step(major: Major) -> GmmaStep:
    """
    Return the order of atoms in CUTLASS's mainloops: along M or N first if contiguous along K, else along K first.

    Source: CUTLASS include/cutlass/gemm/collective/sm90_mma_tma_gmma_ss_warpspecialized.hpp, ``SmemLayoutA``.
    """
    return ALONG_MN if major == "K" else ALONG_K


def tile_to_shape(atom: GmmaAtom, shape: tuple[int, int, int], step: GmmaStep | None = None) -> GmmaTile:
    """
    Lay atoms out over a tile and its stages.

    Args:
        atom: The atom.
        shape: Extents along M or N and along K, in elements, and the number of stages.
        step: Order of the atoms; None for that of CUTLASS's mainloops.

    Raises:
        BadInput: The atom does not divide the tile, or the step is none of ``GMMA_STEPS``.
    """
    return GmmaTile(atom, *shape, step=cutlass_step(atom.major) if step is None else step)
