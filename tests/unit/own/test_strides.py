"""How far apart neighbouring lanes are, by hand."""

from types import SimpleNamespace

import numpy as np

from gpusim.execute.core import constants as core
from gpusim.own.strides import FirstAccesses

LANES = np.arange(32)


def first_accesses(*accesses):
    """The first CTA of a kernel whose instructions are ``(kind, addresses)``, each issued once."""
    rows = np.zeros((len(accesses), core.ROW), dtype=np.int64)
    rows[:, core.KIND] = [kind for kind, _ in accesses]
    steps, lanes = np.arange(len(accesses)), np.full(len(accesses), core.ALL)
    addresses = np.array([addresses for _, addresses in accesses])
    found = FirstAccesses(rows.reshape(-1))
    for cta in (0, 1):  # the second CTA is not looked at
        piece = SimpleNamespace(cta=cta, steps=steps, lanes=lanes, accesses=steps, addresses=addresses * (1 - cta))
        assert list(found.watch([piece])) == [piece]
    return found


def test_lanes_are_as_far_apart_as_most_neighbours_are():
    """Of the second, 8 lanes are 128 bytes apart, and then they begin anew. The third has no usual distance."""
    scattered = np.array([0, 7, 3, 50] * 8) * 4
    found = first_accesses((core.STORE_WORDS, 4 * LANES), (core.LOAD, 128 * (LANES % 8)), (core.LOAD, scattered))

    assert found.strides() == {0: 4, 1: 128}


def test_the_rows_of_ldmatrix_are_no_lanes():
    assert first_accesses((core.LOAD_MATRIX, 16 * LANES)).strides() == {}


def test_a_kernel_without_accesses_has_none():
    assert FirstAccesses(np.zeros(core.ROW, dtype=np.int64)).strides() == {}
