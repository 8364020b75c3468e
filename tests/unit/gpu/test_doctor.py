"""What the driver says of who may read counters."""

import os

import pytest

from gpusim.gpu import doctor


@pytest.mark.parametrize(
    ("text", "user", "found"),
    [
        ("RmProfilingAdminOnly: 1\n", 0, "root, which you are"),
        ("RmProfilingAdminOnly: 1\n", 1000, None),
        ("RmProfilingAdminOnly: 0\n", 1000, "every user"),
    ],
)
def test_the_driver_says_who_may_count(tmp_path, monkeypatch, text, user, found):
    parameters = tmp_path / "params"
    parameters.write_text("EnableMSI: 1\n" + text)
    monkeypatch.setattr(os, "geteuid", lambda: user)

    assert doctor.counter_permission(parameters) == found
    assert doctor.counter_permission(tmp_path / "absent") is None
