"""The halves of the own kernels: fixed by the names of sources, about even, one half for all kernels of a source."""

from collections import defaultdict

from gpusim.lab.own.split import half_of
from gpusim.lab.own.table import OWN_KERNELS


def halves():
    """The halves of each source's kernels."""
    found = defaultdict(set)
    for kernel in OWN_KERNELS:
        found[kernel.source].add(half_of(kernel))
    return found


def test_kernels_of_one_source_are_in_one_half():
    assert {len(of_source) for of_source in halves().values()} == {1}


def test_about_half_of_the_sources_are_held_out():
    held_out = [source for source, of_source in halves().items() if of_source == {"held-out"}]

    assert 0.4 <= len(held_out) / len(halves()) <= 0.6


def test_the_rule_is_as_it_was_before_the_first_measurement():
    """The first bytes of the SHA-256 of two names, worked by hand with sha256sum: saxpy c0, fft 79."""
    kernels = {kernel.name: kernel for kernel in OWN_KERNELS}

    assert half_of(kernels["saxpy"]) == "development"
    assert half_of(kernels["fft"]) == "held-out"
