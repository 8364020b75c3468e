"""Reads of arrays that nobody has initialised: what is read before it is written, by whom, and in how many CTAs."""

import numpy as np
import pytest

from gpusim.errors import BadInput, CheckFailed


def zeros(count=4096):
    return np.zeros(count, np.int32)


def test_a_sum_into_what_nobody_wrote_is_named(checks):
    """CTA 0 writes 512 elements; CTAs 1 to 3 add to elements 128 to 511, CTAs 4 and 5 to elements behind them."""
    done = checks("summed")[6, 128](zeros(), zeros(), uninitialised=[1])

    (read,) = done.unwritten_reads
    assert (read.array, read.byte, read.cta, read.ctas) == ("argument 1", 4 * 512, (4, 0, 0), 2)
    assert read.access.thread == 0
    assert str(read).startswith(
        "summed: CTA (4, 0, 0): nobody wrote byte 2048 of argument 1: warp 0, thread 0 updates it in text 0x"
    )
    assert str(read) in str(done).splitlines()


def test_wide_reads_are_told_at_their_first_byte_and_what_was_written_since_is_not_told(checks):
    """CTA 0 reads and writes 128 elements of 16 bytes, so CTA 1 reads what CTA 0 wrote."""
    (read,) = checks("accumulated")[2, 128](zeros(), zeros(), uninitialised=[1]).unwritten_reads

    assert (read.byte, read.ctas, read.access.warp) == (0, 1, 0)
    assert read.access.text.startswith("LDG.E.128")


def test_an_input_that_is_read_and_an_output_that_is_written_are_told_apart(checks):
    assert checks("turned")[1, 128](zeros(), zeros(), uninitialised=[1]).unwritten_reads == ()
    assert len(checks("turned")[1, 128](zeros(), zeros(), uninitialised=[0, 1]).unwritten_reads) == 1
    assert checks("summed")[6, 128](zeros(), zeros()).unwritten_reads == ()


def test_an_access_out_of_bounds_is_still_named(checks):
    with pytest.raises(CheckFailed, match="out of bounds"):
        checks("summed")[6, 128](zeros(), zeros(510), uninitialised=[1])


@pytest.mark.parametrize("places", [[2], [-1], ["x"], "1", 5, None, [1.0]])
def test_places_that_are_no_arrays_are_refused(checks, places):
    with pytest.raises(BadInput, match=r"uninitialised must be places of array arguments \(0, 1\), got "):
        checks("summed")[1, 128](zeros(), zeros(), uninitialised=places)
