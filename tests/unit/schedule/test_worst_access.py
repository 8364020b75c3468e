"""The access to look at: of each kind the one that conflicts most, the worst kind first."""

import tomllib

import numpy as np
import pytest

from gpusim.families.registry import family_of, parse_scenario
from gpusim.report.bank_grid import wavefronts
from gpusim.scenario.catalogue import find_scenario
from gpusim.schedule.counts import count
from gpusim.schedule.worst_access import worst_accesses

CONFLICTS = {
    "conv_s6_row_major": ["ldmatrix a", "ldmatrix b"],
    "turing_int4_conv": ["lds accumulator"],
    "attention_d64_v160": ["atoms statistics"],
    "conv_s6_crosswise": [],
}


def scenario_of(name):
    return parse_scenario(tomllib.loads(find_scenario(name).read_text(encoding="utf-8")), name)


def kernel_of(name):
    scenario = scenario_of(name)
    return family_of(scenario).schedules.kernels(scenario)[0]


def pictures_of(name):
    scenario = scenario_of(name)
    return family_of(scenario).pictures.bank_pictures(scenario)


@pytest.mark.parametrize(("name", "worst"), CONFLICTS.items())
def test_the_kinds_that_conflict_come_first(name, worst):
    kernel = kernel_of(name)
    accesses = worst_accesses(kernel)
    counted = [row for row in count(kernel).bank_conflicts if row.conflicts]

    assert [f"{access.row.op} {access.row.operand}" for access in accesses if access.conflicts] == worst
    assert sorted(f"{row.op} {row.operand}" for row in counted) == sorted(worst)
    assert [access.conflicts for access in accesses] == sorted((a.conflicts for a in accesses), reverse=True)


@pytest.mark.parametrize("name", CONFLICTS)
def test_a_picture_shows_the_wavefronts_that_are_counted(name):
    kernel = kernel_of(name)
    accesses = [access for access in worst_accesses(kernel) if access.conflicts]

    for access, picture in zip(accesses, pictures_of(name), strict=False):
        assert len(wavefronts(picture)) == access.wavefronts
        assert np.array_equal(picture.addresses, access.addresses)


@pytest.mark.parametrize(
    ("name", "titles"),
    [
        ("conv_s6_row_major", ["ldmatrix of A", "ldmatrix of B", "cp.async of A"]),
        ("conv_s6_crosswise", ["cp.async of A", "ldmatrix of A", "ldmatrix of B"]),
        ("turing_int4_conv", ["ld.shared of accumulator", "st.shared of A", "ldmatrix of A"]),
        ("attention_d64_v160", ["atom.shared of statistics", "st.shared of P", "ldmatrix of P"]),
    ],
)
def test_what_conflicts_comes_first_under_its_name_in_ptx(name, titles):
    assert [picture.title for picture in pictures_of(name)] == titles
