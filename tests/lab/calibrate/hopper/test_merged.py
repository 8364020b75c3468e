"""Which SMs load the same boxes."""

from gpusim.lab.calibrate.hopper.merged import SHARINGS, _cases

SMS = 132
CASES = list(_cases(SMS, quick=False))


def areas(case):
    return [sm // case.divide % case.modulo for sm in range(SMS)]


def test_each_area_is_shared_by_as_many_sms_as_the_row_says():
    for sharing, case in CASES:
        assert [areas(case).count(area) for area in range(case.modulo)] == [sharing.shared_by] * case.modulo


def test_neighbours_have_numbers_side_by_side():
    for sharing, case in CASES:
        of_first = [sm for sm, area in enumerate(areas(case)) if area == 0]
        step = 1 if sharing.neighbours else SMS // sharing.shared_by

        assert of_first == list(range(0, step * sharing.shared_by, step))


def test_every_sharing_is_measured_in_the_l2_and_in_dram():
    for sharing in SHARINGS:
        found = {case.source for of, case in CASES if of == sharing._replace(shared_by=sharing.shared_by or SMS)}

        assert found == {"L2", "DRAM"}
