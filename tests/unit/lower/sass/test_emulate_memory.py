"""The emulator against arithmetic: what a thread learns of its launch, narrow memory, and integers as floats."""

import gzip
import struct
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from gpusim.lower.sass.cubin import read_cubin
from gpusim.lower.sass.decode import decode
from gpusim.lower.sass.emulate import EmulatedWarp, run_warp

FOLDER = Path(__file__).parent / "data"
OUT = 1 << 40
BYTES, HALVES = [7 * i - 100 for i in range(32)], [2003 * i for i in range(32)]
FEW, LARGE = 5, 3_000_000_011


def shown(architecture, warp, block):
    """
    The value in each lane of every store of launch.cu, in order.
    """
    name = f"launch_sm{architecture}"
    cubin = read_cubin(gzip.decompress((FOLDER / f"{name}.cubin.gz").read_bytes()), "gpusim_kernel", name)
    code = decode(cubin.code, cubin.architecture)
    packed = struct.pack("<QiI32b32H", OUT, FEW, LARGE, *BYTES, *HALVES)
    bank = bytearray(cubin.constants)
    bank[cubin.parameters_at : cubin.parameters_at + len(packed)] = packed
    launched = EmulatedWarp(
        *((0, 0, 0), (1, 1, 1), block, warp, bytes(bank), cubin.local_bytes),
        compiler_constants=cubin.compiler_constants,
        parameters_at=cubin.parameters_at,
    )
    return [(step.address - OUT).tolist() for step in run_warp(code, launched).steps if code[step.at].name == "STG"]


def rounded(value, direction):
    """The bits of the f32 next to an integer in a direction: n nearest, z to zero, d down, u up."""
    near = np.float32(value)
    beyond = Fraction(float(near)) - value
    if direction == "z":
        direction = "d" if value > 0 else "u"
    if (direction == "d" and beyond > 0) or (direction == "u" and beyond < 0):
        near = np.nextafter(near, np.float32(-np.inf if direction == "d" else np.inf))
    return int(near.view(np.uint32))


def expected(warp, block):
    """What each store shows, by lane, from the source's expressions."""
    lanes = []
    for thread in range(32 * warp, 32 * warp + 32):
        x, y, z = thread % block[0], thread // block[0] % block[1], thread // block[0] // block[1]
        s = ((thread * 7919 - 300000) * 30011 + 2**31) % 2**32 - 2**31
        u = (thread * 2654435761 + LARGE) % 2**32
        nth = (thread + FEW) & 7
        values = [x, y, z, block[0] * 10000 + block[1] * 100 + block[2], thread]
        values += [*(rounded(s, to) for to in "nzdu"), *(rounded(u, to) for to in "nz")]
        values += [BYTES[(thread + FEW) & 31], HALVES[(thread + FEW) & 31]]
        values += [u >> 3 * nth & 0xFF, ((u >> 2 * nth & 0xFFFF) ^ 0x8000) - 0x8000]
        lanes.append([value % 2**32 for value in values])
    return [list(values) for values in zip(*lanes, strict=True)]


@pytest.mark.parametrize("architecture", [75, 80, 86, 89, 90])
@pytest.mark.parametrize(("warp", "block"), [(0, (128, 1, 1)), (3, (8, 4, 4)), (2, (16, 8, 1)), (1, (3, 11, 2))])
def test_a_thread_knows_its_place_in_the_block_and_its_narrow_memory(architecture, warp, block):
    found = [[value % 2**32 for value in lanes] for lanes in shown(architecture, warp, block)]

    assert found == expected(warp, block)
