"""A wheel without the compiled core: it installs on any system, and simulates to the same cycles."""

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import gpusim

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_a_pure_wheel_is_of_no_platform_and_simulates_to_the_same_cycles(tmp_path):
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(tmp_path), str(ROOT)]
    subprocess.run(build, check=True, capture_output=True, env=os.environ | {"GPUSIM_PURE": "1"})
    (wheel,) = tmp_path.glob("*.whl")
    installed = tmp_path / "installed"
    zipfile.ZipFile(wheel).extractall(installed)

    assert wheel.name == f"gpusim-{gpusim.__version__}-py3-none-any.whl"
    assert not list(installed.rglob("_chip*"))
    told = subprocess.run(
        [
            sys.executable,
            "-m",
            "gpusim",
            "run",
            "conv_9_k_tiles",
            "--json",
            "--no-figures",
            "--out",
            str(tmp_path / "run"),
        ],
        check=True,
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={"PYTHONPATH": str(installed), "PATH": "", "HOME": str(tmp_path)},
    )
    assert json.loads(told.stdout)["cycles"]["elapsed"] == gpusim.simulate("conv_9_k_tiles").cycles.elapsed
