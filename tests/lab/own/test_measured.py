"""The tables that were measured: their halves, and the commands that take them."""

import pytest

from gpusim.errors import BadInput
from gpusim.lab.own.measured import FRAMEWORKS_TABLE, OWN_TABLE


def test_each_kernel_is_in_one_half():
    for table in (OWN_TABLE, FRAMEWORKS_TABLE):
        halves = [{kernel.name for kernel in table.of_half(half)} for half in ("development", "held-out")]

        assert not halves[0] & halves[1]
        assert halves[0] | halves[1] == {kernel.name for kernel in table.kernels}


def test_names_choose_among_the_kernels_of_a_half():
    (kernel,) = FRAMEWORKS_TABLE.of_half("development", ["triton_matmul", "triton_add"])

    assert kernel.name == "triton_matmul"
    with pytest.raises(BadInput, match='no own kernel is called "saxpy"'):
        FRAMEWORKS_TABLE.of_half("development", ["saxpy"])


def test_a_command_names_its_options():
    assert OWN_TABLE.command("gpusim.lab.own.counts") == "python -m gpusim.lab.own.counts"
    command = FRAMEWORKS_TABLE.command("gpusim.lab.own.counts", "--held-out")
    assert command == "python -m gpusim.lab.own.counts --frameworks --held-out"
