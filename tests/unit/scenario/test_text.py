"""Plain data printed as TOML."""

import tomllib

from hypothesis import given
from hypothesis import strategies as st

from gpusim.scenario.text import write_toml

plain = st.recursive(
    st.booleans() | st.integers(-(2**60), 2**60) | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(), plain, max_size=4))
def test_written_toml_reads_back_equal(data):
    assert tomllib.loads(write_toml(data)) == data
