"""Which records are compared: development ones, and pairs that differ in one thing."""

from gpusim.lab.explain_check.chosen import BOUNDS, PAIR_KEYS, development_records, for_bounds, pairs
from gpusim.records.halves import held_out_names
from gpusim.verbs.compare import flattened


def test_no_held_out_record_is_compared():
    found = development_records("h200")
    names = {record.name for record in found}

    assert len(for_bounds(found)) == BOUNDS
    assert not names & held_out_names()


def test_pairs_differ_in_one_thing():
    found = list(pairs(development_records("h200")))

    assert {pair.what for pair in found} == set(PAIR_KEYS)
    for what, before, after in found:
        one, other = flattened(before.scenario), flattened(after.scenario)
        differing = {
            key for key in one | other if one.get(key) != other.get(key)
        }  # fmt: skip
        assert differing <= set(PAIR_KEYS[what])
