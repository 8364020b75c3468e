"""
The own kernels' sources, run on the CPU thread by thread, beside their oracles: logic and oracle agree without a GPU.

Only CUDA's own functions and the PTX instructions are replaced (own_on_host/). Arrays have guards on both sides, which
show a kernel that writes beyond them.
"""

import ctypes
import re
import subprocess
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest

from gpusim.lab.own.compare import OwnAgreement, compare
from gpusim.lab.own.contents import make_arguments
from gpusim.lab.own.sources import own_folder
from gpusim.lab.own.table import OWN_KERNELS

HOST = Path(__file__).parent / "own_on_host"
DYNAMIC_SHARED = re.compile(r"extern __shared__ (?:__align__\(\d+\) )?([\w ]+) (\w+)\[\];")
GUARD_BYTES = 4096
GUARD = 0x5A

pytestmark = pytest.mark.compiler("g++")


def on_host(source):
    """The text of a source in a namespace of its own, with its dynamic shared memory and functions that launch it."""
    text = (own_folder() / f"{source}.cu").read_text(encoding="utf-8")
    text = DYNAMIC_SHARED.sub(r"\1* const \2 = reinterpret_cast<\1*>(host::dynamic_shared);", text)
    entries = dict.fromkeys(kernel.entry for kernel in OWN_KERNELS if kernel.source == source)
    launchers = (
        f'extern "C" void launch_{entry}(const unsigned* geometry, void** arguments) '
        f"{{ host::run({entry}, geometry, arguments); }}"
        for entry in entries
    )
    return "\n".join([f"namespace own_{source} {{", f'#line 1 "{source}.cu"', text, *launchers, "}"])


@cache
def library():
    """All sources, compiled together."""
    sources = dict.fromkeys(kernel.source for kernel in OWN_KERNELS)
    with TemporaryDirectory() as folder:
        program, built = Path(folder) / "own.cpp", Path(folder) / "own.so"
        parts = ['#include "cuda_on_host.hpp"', '#include "ptx.cuh"', *map(on_host, sources)]
        program.write_text("\n".join(parts), encoding="utf-8")
        command = ["g++", "-std=c++17", "-O1", "-w", "-fPIC", "-shared", "-ffp-contract=off", "-fno-strict-aliasing"]
        subprocess.run([*command, f"-I{HOST}", "-o", str(built), str(program)], check=True)
        return ctypes.CDLL(str(built))


def launched(kernel, before):
    """The arrays after the small launch of a kernel, by name, and whether all guards are as they were."""
    launch = kernel.small
    guarded, values = {}, []
    for name, value in before.items():
        if isinstance(value, np.ndarray):
            memory = np.full(value.nbytes + 2 * GUARD_BYTES, GUARD, np.uint8)
            memory[GUARD_BYTES:-GUARD_BYTES] = value.reshape(-1).view(np.uint8)
            guarded[name] = memory
            values.append(ctypes.c_void_p(memory.ctypes.data + GUARD_BYTES))
        else:
            values.append(np.ctypeslib.as_ctypes_type(value.dtype)(value.item()))
    geometry = (ctypes.c_uint * 6)(*launch.grid, *launch.block)
    pointers = (ctypes.c_void_p * len(values))(*(ctypes.addressof(value) for value in values))
    getattr(library(), f"launch_{kernel.entry}")(geometry, pointers)
    inside = slice(GUARD_BYTES, -GUARD_BYTES)
    written = {
        name: memory[inside].view(before[name].dtype).reshape(before[name].shape) for name, memory in guarded.items()
    }
    whole = all((np.delete(memory, np.arange(memory.size)[inside]) == GUARD).all() for memory in guarded.values())
    return written, whole


@pytest.mark.parametrize("kernel", OWN_KERNELS, ids=lambda kernel: kernel.name)
def test_an_own_kernel_writes_what_its_oracle_computes(kernel):
    before = make_arguments(kernel.small)

    written, whole = launched(kernel, before)

    agreement = compare(kernel, before, written)
    assert agreement.elements > 0
    assert agreement == OwnAgreement(agreement.elements, 0, agreement.error), agreement
    assert whole
