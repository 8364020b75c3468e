"""The cases of fences: every fence alone and behind accesses, and within the memory of a warp."""

from gpusim.lab.calibrate.own.fences import _WARP_BYTES, FENCES, PENDING, UNFENCED, _cases

SMS = 132
CASES = list(_cases(SMS, quick=False))


def test_every_fence_is_measured_alone_by_one_warp_and_by_all_of_an_sm():
    for fence in FENCES:
        alone = [case for case in CASES if (case.fence, case.pending, case.sms) == (fence, "nothing", 1)]

        assert [case.warps for case in alone if case.delay < 0] == [1, 4, 8, 16, 32]
        assert [case.delay for case in alone if case.delay >= 0] == [0]


def test_fences_are_measured_behind_all_accesses_and_other_instructions_not_behind_loads():
    for fence in FENCES:
        behind = {case.pending for case in CASES if case.fence == fence} - {"nothing"}

        assert behind == set(PENDING) - ({"ldg"} if fence in UNFENCED else set())


def test_the_words_of_all_lanes_lie_before_the_flags_of_their_warp():
    for case in CASES:
        assert max(0, case.accesses - 1) * 4096 + 31 * case.step + 4 <= _WARP_BYTES - 4096
