"""What tests of commands stand on: a run that was made once, and a folder of records."""

import shutil

import pytest

from gpusim.cli import main
from gpusim.gpu import doctor
from gpusim.records import record as records


@pytest.fixture(scope="session")
def finished_run(tmp_path_factory):
    """One run with its pictures, not to be written to."""
    directory = tmp_path_factory.mktemp("finished") / "run"
    assert main(["run", "conv_9_k_tiles", "--out", str(directory)]) == 0
    return directory


@pytest.fixture
def own_run(finished_run, tmp_path):
    """A copy of that run, to be written to."""
    return shutil.copytree(finished_run, tmp_path / "own")


@pytest.fixture
def in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty folder in the place of the measured records."""
    monkeypatch.setattr(records, "measured_folder", lambda: tmp_path)
    monkeypatch.setattr(doctor, "measured_folder", lambda: tmp_path)
    return tmp_path
