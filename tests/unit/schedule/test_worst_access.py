"""The access to look at: of each kind the one that conflicts most, the worst kind first."""

import tomllib

import numpy as np
import pytest

from gpusim.families.bank_pictures import bank_pictures
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


def kernel_of(name):
    scenario = parse_scenario(tomllib.loads(find_scenario(name).read_text(encoding="utf-8")), name)
    return family_of(scenario).schedules.kernels(scenario)[0]


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
    accesses, pictures = worst_accesses(kernel), bank_pictures(kernel)

    assert len(pictures) == 3
    for access, picture in zip(accesses, pictures, strict=False):
        assert len(wavefronts(picture)) == access.wavefronts
        assert np.array_equal(picture.addresses, access.addresses)


def test_pictures_name_accesses_as_ptx_does():
    titles = [picture.title for picture in bank_pictures(kernel_of("attention_d64_v160"), "v")]

    assert titles == ["atom.shared of statistics", "ldmatrix of Q", "ldmatrix of K"]
