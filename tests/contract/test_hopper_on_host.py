"""
The CUDA kernel of sm_90 GEMMs on the CPU, thread after thread: what its trace build writes down equals the roles.

Only the PTX instructions are replaced (host_kernel/hopper_host_ptx.hpp); they wait for nothing and move nothing.
"""

import subprocess
from pathlib import Path

import numpy as np
import pytest
from doubles.host_compiler import compile_for_host
from slow import one_in

from gpusim.families.hopper.collective import collective_of
from gpusim.families.hopper.on_gpu.launch import HOPPER_PARAMS, divisor, launch_params
from gpusim.families.hopper.on_gpu.specialise import specialise
from gpusim.families.hopper.on_gpu.trace_rows import RECORDED_THREADS, TRACE_ROW_WORDS
from gpusim.lab.hopper_device.cases import HOPPER_CASES
from gpusim.lab.hopper_device.traced import difference, expected_rows, recorded_blocks

HOST_KERNEL = Path(__file__).parent / "host_kernel" / "hopper_on_host.cpp"

pytestmark = pytest.mark.compiler("g++")


def rows_on_host(scenario, blocks, capacity, folder):
    """The rows that every recorded thread writes, and how many they are: [block, thread / 8]."""
    kernel = specialise(scenario, "trace")
    params = launch_params(scenario, {}, 0)
    params["record_capacity"], params["recorded_blocks"] = capacity, len(blocks)
    params["recorded"][: len(blocks)] = blocks
    program, given, found = (folder / name for name in ("program", "given", "found"))
    given.write_bytes(np.array(kernel.grid, np.int32).tobytes() + params.tobytes())
    compile_for_host(HOST_KERNEL, (*kernel.options, f"-I{kernel.include}"), program)
    subprocess.run([program, given, found], check=True)
    shape = (len(blocks), collective_of(scenario).threads // RECORDED_THREADS)
    count = shape[0] * shape[1] * capacity * TRACE_ROW_WORDS
    rows = np.fromfile(found, np.int64, count).reshape(*shape, capacity, TRACE_ROW_WORDS)
    return rows, np.fromfile(found, np.int32, offset=8 * count).reshape(shape)


@pytest.mark.parametrize("case", one_in(4, HOPPER_CASES), ids=lambda case: case.name)
def test_every_recorded_thread_executes_its_role(case, tmp_path):
    scenario = case.small
    blocks = recorded_blocks(scenario)
    expected = expected_rows(scenario, blocks)
    capacity = max(len(rows) for _, rows in expected.values()) + 1

    rows, counts = rows_on_host(scenario, blocks, capacity, tmp_path)

    for (block, thread), (role, wanted) in expected.items():
        place = blocks.index(block), thread // RECORDED_THREADS
        length = int(counts[place])
        assert not difference(wanted, rows[place][:length], length), (block, role, thread)


def test_params_are_packed_as_the_kernel_reads_them(tmp_path):
    source = tmp_path / "offsets.cpp"
    names = [name for name in HOPPER_PARAMS.names if name != "reserved"]
    lines = "".join(f'  std::printf("%zu ", offsetof(gpusim::Params, {name}));\n' for name in names)
    body = f'#include <cstddef>\n#include "hopper/params.cuh"\nint main() {{\n{lines}}}\n'
    source.write_text(f"#include <cstdio>\n{body}")
    kernel = specialise(HOPPER_CASES[0].small)
    command = ["g++", "-w", *kernel.options, f"-I{kernel.include}", source, "-o", tmp_path / "offsets"]
    subprocess.run(command, check=True)
    said = subprocess.run([tmp_path / "offsets"], check=True, capture_output=True, text=True).stdout

    assert {name: HOPPER_PARAMS.fields[name][1] for name in names} == dict(
        zip(names, map(int, said.split()), strict=True)
    )


@pytest.mark.parametrize("value", [1, 2, 3, 7, 12, 64, 1000, 1 << 30, (1 << 31) - 1])
def test_a_divisor_divides(value):
    _, multiplier, shift = divisor(value)
    numbers = {0, 1, value - 1, value, value + 1, 5 * value - 1, 5 * value, (1 << 31) - 1}
    for number in (one for one in numbers if one < 1 << 31):
        assert (2 * number * multiplier >> 32) >> shift == number // value
