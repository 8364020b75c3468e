"""CuTe's atoms: their lanes and values hold what mma.sync's fragments hold, and unknown names are refused."""

import numpy as np
import pytest

from gpusim.errors import BadInput
from gpusim.layout.atoms import copy_atom, mma_atom, mma_atoms
from gpusim.tile.mma import SHAPES, fragment_map

SIMULATED = [name for name in mma_atoms() if mma_atom(name).shape in SHAPES[mma_atom(name).bits]]


@pytest.mark.parametrize("name", SIMULATED)
@pytest.mark.parametrize("side", ["a", "b", "c"])
def test_an_mma_atom_holds_the_fragment_of_ptx(name, side):
    """A fragment of B is (k, n) in PTX, (n, k) in CuTe."""
    atom = mma_atom(name)
    rows, _ = atom.extents(side)
    layout = atom.layouts[side]
    index = layout.offset((np.arange(32)[:, np.newaxis], np.arange(layout.modes[1].size)))

    fragment = fragment_map(atom.shape, side, atom.bits)

    assert np.array_equal(np.stack([index % rows, index // rows], axis=-1), fragment[..., :: -1 if side == "b" else 1])


def test_shapes_of_kernels_that_are_not_simulated_are_known_to_layouts():
    assert {mma_atom(name).shape for name in set(mma_atoms()) - set(SIMULATED)} == {(16, 8, 4), (16, 8, 16)}


def test_ptx_names_are_those_of_cute():
    assert mma_atom("m16n8k8.tf32").layouts == mma_atom("SM80_16x8x8_F32TF32TF32F32_TN").layouts


@pytest.mark.parametrize("name", ["SM75_U32x4_LDSM_N", "SM75_U32x1_LDSM_N", "SM75_U16x8_LDSM_T", "SM90_U32x4_STSM_N"])
def test_both_sides_of_a_matrix_instruction_have_the_same_elements(name):
    atom = copy_atom(name, 16)

    memory, reference = (np.unique(layout.offset(np.arange(layout.size))) for layout in (atom.memory, atom.reference))

    assert np.array_equal(memory, reference)


@pytest.mark.parametrize(
    ("name", "values"),
    [("UniversalCopy<uint128_t>", 8), ("UniversalCopy<cute::uint64_t>", 4), ("SM80_CP_ASYNC_CACHEGLOBAL<float4>", 8)],
)
def test_a_plain_copy_takes_the_values_of_its_type(name, values):
    assert (copy_atom(name, 16).lanes, copy_atom(name, 16).values) == (1, values)


@pytest.mark.parametrize("name", ["SM90_TMA_LOAD", "SM75_U32x8_LDSM_N", "SM90_U32x4_LDSM_N", "UniversalCopy<wide>"])
def test_copy_atoms_that_are_not_known_are_refused(name):
    with pytest.raises(BadInput):
        copy_atom(name, 16)


@pytest.mark.parametrize("name", ["m16n8k7.f16", "m16n8k8.f8", "SM90_64x64x16_F32F16F16_SS"])
def test_mma_atoms_that_are_not_known_are_refused(name):
    with pytest.raises(BadInput, match=r"^MMA atom must be one of m16n8k8\.f16, "):
        mma_atom(name)
