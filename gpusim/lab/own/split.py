"""Divides own kernels into a development and a held-out half by the names of their sources; knows no measurement."""

import hashlib

from gpusim.lab.own.kernel import OwnKernel
from gpusim.records.halves import HELD_OUT_BELOW, Half


def half_of(kernel: OwnKernel) -> Half:
    """
    Return the half of an own kernel.

    A kernel is held out if the first byte of the SHA-256 of its source's name, as in ``OwnKernel.source``, is less than
    ``HELD_OUT_BELOW``, as with records of scenarios. So all kernels of one source are in one half, and the half is
    known before anything is measured.
    """
    return "held-out" if hashlib.sha256(kernel.source.encode()).digest()[0] < HELD_OUT_BELOW else "development"
