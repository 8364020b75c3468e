"""A test that needs a compiler never disappears in silence: the run's summary names it, and what is missing."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from slow import one_in

HERE = Path(__file__).parent
NEEDING = {
    "g++": (HERE / "test_attention_on_host.py", "test_a_trace_finds_a_schedule_of_another_order"),
    "nvcc": (HERE.parent / "unit" / "families" / "gemm" / "test_specialise.py", "test_nvcc_compiles_every_build"),
}


@pytest.mark.parametrize("parallel", one_in(2, [(), ("-n", "1")]), ids=["one process", "xdist"])
@pytest.mark.parametrize("compiler", NEEDING)
def test_the_summary_names_what_did_not_run_and_what_it_needs(compiler, parallel):
    file, name = NEEDING[compiler]

    ended = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *parallel, "-k", name, str(file)],
        cwd=HERE.parents[1],
        env={**os.environ, "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )

    named = [line for line in ended.stdout.splitlines() if line.startswith(f"needs {compiler}: ")]
    assert f"{len(named)} TESTS DID NOT RUN: NO COMPILER" in ended.stdout
    assert named
    assert all(name in line for line in named)
    assert ended.returncode == 0
