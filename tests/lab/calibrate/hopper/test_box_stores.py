"""The cases of stores: boxes of an epilogue, whose rows fill a swizzle's span and whose stores stay in their area."""

from gpusim.lab.calibrate.hopper.box_stores import STORE_BURSTS, STORE_RINGS, STORE_SHAPES, _cases

CASES = list(_cases(132, quick=False))


def test_every_shape_is_stored_by_one_sm_and_by_all_in_bursts_and_rings():
    for columns, rows, element in STORE_SHAPES:
        for sms in (1, 132):
            of = [case for case in CASES if case[2:5] == (columns, rows, element) and case.sms == sms]

            assert {case.stores for case in of if case.kind == "burst"} >= set(STORE_BURSTS[:3])
            assert {case.stores for case in of if case.kind == "ring"} == set(STORE_RINGS)
            assert {case.target for case in of if case.kind == "ring"} == {"L2", "DRAM"}


def test_a_row_fills_a_span_of_a_swizzle_and_all_boxes_fit_in_shared_memory():
    for case in CASES:
        assert case.inner in {64, 128}
        assert case.stores * case.box_bytes + 1024 <= 227 * 1024
