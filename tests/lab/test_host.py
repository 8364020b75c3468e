"""The machine that figures were measured on: what is found out about it, and how a report says it."""

import re
from dataclasses import replace
from datetime import date

import pytest
from doubles.bench import HOST

from gpusim.lab import host
from gpusim.lab.host import host_of_today


def test_the_machine_at_hand_is_described():
    found = host_of_today()

    assert found.cpu
    assert found.cores >= 1
    assert date.fromisoformat(found.date) >= date(2026, 1, 1)
    assert re.match(r"3\.1\d\.", found.python)
    assert re.match(r"2\.", found.numpy)


def test_what_is_missing_is_named_as_missing(monkeypatch):
    monkeypatch.setenv("CC", "no-such-compiler -O2")
    monkeypatch.setattr(host, "_CPU_LINE", "no such line")
    found = host_of_today()

    assert found.compiler == ""
    assert found.cpu


@pytest.mark.parametrize(
    ("commit", "words"),
    [
        ("0123456789abcdef", "at commit `0123456789ab`:"),
        ("0123456789abcdef-dirty", "at commit `0123456789ab` with changes:"),
        (None, "at commit `unknown`:"),
    ],
)
def test_a_report_says_of_which_commit_it_is(commit, words):
    first, *_ = replace(HOST, commit=commit).lines()

    assert first == f"Measured on 2026-01-31 {words}"


def test_a_report_names_versions_or_says_that_there_are_none():
    assert replace(HOST, cython="3.3.1", compiler="gcc 12.2.0").lines()[1:] == [
        "A CPU, 2 cores, Linux x86_64, Python 3.11.7, NumPy 2.4.6,",
        "Cython 3.3.1, compiler: gcc 12.2.0.",
    ]
    assert HOST.lines()[2] == "Cython -, compiler: none."
