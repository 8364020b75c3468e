"""What tests of commands about own kernels stand on: kept machine code, and a scenario beside it."""

import pytest
from own.build import cubin_of

SCENARIO = """\
kind = "kernel"
machine = "a100"
file = "transpose_tile.cubin"
grid = [2, 2]
block = [32, 8]

[arguments]
in = "random:f32[64,64]"
out = "f32[64,64]"
rows = 64
columns = 64
"""


@pytest.fixture
def folder_of_kernels(tmp_path, monkeypatch):
    """Works in a folder with the machine code of two transposes, and a scenario of each."""
    monkeypatch.chdir(tmp_path)
    for name in ("transpose_tile", "transpose_padded"):
        (tmp_path / f"{name}.cubin").write_bytes(cubin_of(name, 80))
        (tmp_path / f"{name}.toml").write_text(SCENARIO.replace("transpose_tile", name))
    return tmp_path
