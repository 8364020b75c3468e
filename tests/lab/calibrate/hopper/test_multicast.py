"""The cases of multicast: stages fit in shared memory, slices are whole atoms of the swizzle, clusters run at once."""

import pytest

from gpusim.lab.calibrate.hopper.multicast import CLUSTERS, MULTICAST_STAGES, MULTICASTS, _cases, at_once

CASES = list(_cases(132, quick=False))


@pytest.mark.parametrize(
    ("sms", "cluster", "ctas"), [(132, 2, 132), (132, 4, 116), (132, 8, 112), (4, 4, 4), (4, 2, 4)]
)
def test_clusters_that_run_at_once_are_those_that_cutlass_counts(sms, cluster, ctas):
    assert at_once(sms, cluster) == ctas


def test_every_kind_is_measured_by_one_cluster_and_by_all():
    for kind, own in MULTICASTS:
        for cluster in CLUSTERS:
            of = [case for case in CASES if (case.kind, case.own, case.cluster) == (kind, own, cluster)]

            assert {case.ctas for case in of} == {cluster, at_once(132, cluster)}
            assert {case.stages for case in of} == set(MULTICAST_STAGES)


def test_stages_fit_and_slices_are_whole_atoms():
    for case in CASES:
        assert case.stages * case.stage_bytes + 2048 <= 227 * 1024
        assert case.rows // case.cluster % 8 == 0
