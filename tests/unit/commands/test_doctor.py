"""``gpusim doctor``: what is there, and what an absent part is needed for."""

import json
import sys

import pytest

from gpusim.compiled.choice import asked_for


@pytest.mark.usefixtures("no_cupy")
def test_doctor_names_everything_that_is_missing(gpusim, folder, monkeypatch):
    monkeypatch.setenv("PATH", "")

    answer = gpusim("doctor")

    assert (answer.code, answer.err) == (0, "")
    for name in ("GPU", "CUDA driver", "CuPy", "nvcc", "ncu", "compute-sanitizer", "records"):
        (line,) = [line for line in answer.out.splitlines() if line.startswith(f"{name}  ")]
        assert "absent; needed for " in line
    assert f"records in {folder}, from check --record" in answer.out


def test_doctor_finds_what_it_runs_on(gpusim):
    answer = gpusim("doctor", "--json")

    findings = {finding["name"]: finding["found"] for finding in json.loads(answer.out)}

    assert answer.code == 0
    assert findings["Python"] == sys.version.split()[0]
    assert findings["numpy"]
    assert {"CuPy", "CUDA driver", "nvcc", "ncu"} <= set(findings)


@pytest.mark.compiled
def test_doctor_names_both_cores(gpusim):
    """A core that is interpreted is absent, with the reason."""
    answer = gpusim("doctor")
    for name in ("compiled core", "compiled executor"):
        assert any(line.split("  ")[0] == name and line.endswith("  compiled") for line in answer.out.splitlines())

    with asked_for("interpreted"):
        answer = gpusim("doctor")
    assert "compiled executor  absent; needed for executing own kernels fast: it was asked for" in answer.out


def test_doctor_says_what_to_install(gpusim, monkeypatch):
    monkeypatch.setenv("PATH", "")

    assert "absent; needed for hardware counters (check): Nsight Compute" in gpusim("doctor").out
