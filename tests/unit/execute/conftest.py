"""The kernels of data/checks.cu, whose machine code for an A100 has line tables."""

import gzip
import shutil
from pathlib import Path

import pytest

import gpusim

FOLDER = Path(__file__).parent / "data"


@pytest.fixture
def checks(tmp_path):
    """Returns a kernel of checks.cu, with the source beside it or not."""

    def load(entry, *, source=True):
        path = tmp_path / "checks.cubin"
        path.write_bytes(gzip.decompress((FOLDER / "checks.cubin.gz").read_bytes()))
        if source:
            shutil.copy(FOLDER / "checks.cu", tmp_path)
        return gpusim.kernel(path, entry, machine="a100")

    return load
