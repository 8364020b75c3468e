"""The core counts wavefronts as the rules of banked shared memory do, and sectors as a set of them does."""

import numpy as np
import pytest

from gpusim.compiled.choice import asked_for, engine_of
from gpusim.execute.core import access_counts
from gpusim.execute.core import constants as core
from gpusim.execute.core.source import CTA
from gpusim.layout.banks import access_ideal, access_wavefronts, ldmatrix_ideal, ldmatrix_wavefronts

EXECUTIONS = ("interpreted", pytest.param("compiled", marks=pytest.mark.compiled))
MASKS = (0xFFFFFFFF, 0x1, 0xFFFF0000, 0x5A5A1234, 0)


def counted(execution, kind, space, size, accesses):
    """Return the counts of one instruction after accesses, each of a mask and 32 addresses; a copy has two of each."""
    row, counts = np.zeros(core.ROW, dtype=np.int64), np.zeros(core.COUNTS, dtype=np.int64)
    row[[core.KIND, core.SPACE, core.SIZE]] = kind, space, size
    rows = 2 if kind == core.COPY else 1
    steps = len(accesses) // rows
    with asked_for(execution):
        adder = engine_of(CTA, access_counts).module.AccessCounts(
            row, counts, np.zeros(core.ACCESS_SCRATCH, dtype=np.int64)
        )
    adder.add(
        np.zeros(steps, dtype=np.int64),
        np.array([mask for mask, _ in accesses[::rows]], dtype=np.int64),
        np.repeat(np.arange(steps), rows),
        np.array([addresses for _, addresses in accesses], dtype=np.int64),
    )
    return counts


def drawn(size, seed, *, base=0):
    """Return accesses whose lanes share words, banks and sectors in many ways, from broadcasts to scattered ones."""
    random = np.random.default_rng(seed)
    lanes = np.arange(32)
    patterns = [lanes, lanes // 2, lanes ^ 1, lanes // 4 * 4 + lanes % 2, lanes % 8, lanes * 0 + 5, lanes * 33]
    patterns += [lanes * int(random.integers(1, 40)) for _ in range(6)]
    patterns += [random.integers(0, most, 32) for most in (2, 8, 40, 500, 500)]
    return [(mask, base + pattern * size) for pattern in patterns for mask in MASKS]


@pytest.mark.parametrize("execution", EXECUTIONS)
@pytest.mark.parametrize("kind", [core.LOAD, core.STORE_WORDS], ids=["loads", "stores"])
@pytest.mark.parametrize("size", [1, 2, 4, 8, 16])
def test_accesses_to_shared_memory_take_the_wavefronts_of_the_banks(execution, kind, size):
    accesses, width = drawn(size, seed=size), max(size, 4)
    words = np.array([addresses // width * width for _, addresses in accesses])
    active = np.array([mask >> np.arange(32) & 1 for mask, _ in accesses]).astype(np.bool_)
    loads = kind == core.LOAD

    counts = counted(execution, kind, core.SHARED_SPACE, size, accesses)

    assert counts[core.WAVEFRONTS] == access_wavefronts(words, width, active, loads=loads).sum()
    assert counts[core.IDEAL_WAVEFRONTS] == access_ideal(width, active, loaded=words if loads else None).sum()
    assert counts[core.SECTORS] == 0


@pytest.mark.parametrize("execution", EXECUTIONS)
@pytest.mark.parametrize("matrices", [1, 2, 4])
def test_a_load_of_matrices_has_a_phase_for_each(execution, matrices):
    accesses = drawn(16, seed=matrices)

    counts = counted(execution, core.LOAD_MATRIX, core.SHARED_SPACE, matrices, accesses)

    rows = np.array([addresses for _, addresses in accesses])
    assert counts[core.WAVEFRONTS] == ldmatrix_wavefronts(rows, matrices).sum()
    assert counts[core.IDEAL_WAVEFRONTS] == len(accesses) * ldmatrix_ideal(matrices)


@pytest.mark.parametrize("execution", EXECUTIONS)
@pytest.mark.parametrize("size", [1, 2, 4, 8, 16])
def test_accesses_to_global_memory_take_each_sector_once(execution, size):
    accesses = drawn(size, seed=size, base=0x7F40_0000_0010)

    counts = counted(execution, core.LOAD, core.GLOBAL_SPACE, size, accesses)

    taken = [{int(addresses[lane]) for lane in range(32) if mask >> lane & 1} for mask, addresses in accesses]
    assert counts[core.SECTORS] == sum(len({address // 32 for address in one}) for one in taken)
    assert counts[core.IDEAL_SECTORS] == sum(-(-len(one) * size // 32) for one in taken)
    assert counts[core.WAVEFRONTS] == 0


@pytest.mark.parametrize("execution", EXECUTIONS)
def test_the_lanes_of_a_generic_access_count_where_they_go(execution):
    """Eight lanes each: one sector of global memory, a column of shared memory, the stack; eight are inactive."""
    lanes = np.arange(32)
    windows = np.array([0x7F40, core.SHARED_WINDOW, core.LOCAL_WINDOW, 0x7F50])[lanes // 8]
    addresses = (windows << 32) + np.where(lanes // 8 == 1, lanes * 128, lanes * 4)

    counts = counted(execution, core.LOAD, core.GENERIC_SPACE, 4, [(0x00FFFFFF, addresses)])

    assert counts.tolist() == [1, 24, 8, 1, 1, 1]


@pytest.mark.parametrize("execution", EXECUTIONS)
def test_a_copy_reads_sectors_and_writes_wavefronts(execution):
    """16 bytes a lane: 16 sectors; with a stride of 32 bytes two lanes of each phase of eight meet in a bank."""
    lanes = np.arange(32)
    accesses = [(0xFFFFFFFF, 0x7F40_0000_0000 + lanes * 16), (0xFFFFFFFF, lanes * 32)]

    counts = counted(execution, core.COPY, core.GLOBAL_SPACE, 16, accesses * 2)

    assert counts.tolist() == [2, 64, 16, 8, 32, 32]


@pytest.mark.parametrize("execution", EXECUTIONS)
def test_an_atomic_counts_sectors_but_no_wavefronts(execution):
    accesses = [(0xFFFFFFFF, np.arange(32) * 4)]

    assert counted(execution, core.ATOMIC, core.SHARED_SPACE, 4, accesses)[core.WAVEFRONTS] == 0
    assert counted(execution, core.ATOMIC, core.GLOBAL_SPACE, 4, accesses)[core.SECTORS] == 4
