"""The device's name as a folder, and what is said where CuPy or nvidia-smi is missing."""

import pytest

from gpusim.errors import CannotRun
from gpusim.gpu import device


@pytest.mark.parametrize(
    ("name", "slug"),
    [("NVIDIA H200", "h200"), ("NVIDIA H100 80GB HBM3", "h100-80gb-hbm3"), ("NVIDIA A100-SXM4-40GB", "a100-sxm4-40gb")],
)
def test_a_gpu_s_records_have_a_folder_of_its_name(name, slug):
    assert device.gpu_slug(name) == slug


def test_nothing_is_asked_of_an_absent_nvidia_smi(monkeypatch):
    monkeypatch.setenv("PATH", "")
    assert device.nvidia_smi("0000:01:00.0") == {}


@pytest.mark.usefixtures("no_cupy")
def test_a_missing_cupy_is_not_a_traceback():
    with pytest.raises(CannotRun, match="pip install"):
        device.import_cupy()
