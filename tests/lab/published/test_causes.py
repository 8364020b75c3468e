"""Every miss of a microbenchmark has a cause."""

import pytest

from gpusim.lab.published import causes
from gpusim.lab.published.causes import cause_of
from gpusim.lab.published.tables import Entry, Microbenchmark


@pytest.mark.parametrize(
    ("program", "measured", "simulated", "cause"),
    [
        (Microbenchmark("a100", "mma", "m16n8k8.f16.f16", 1, 4, 4), 19.1, 21, causes.OTHER_BUILD),
        (Microbenchmark("a100", "mma", "m16n8k64.s4.s32", 1, 4, 3), 28.1, 30, causes.BEYOND_ITS_RATE),
        (Microbenchmark("h200", "mma", "m16n8k8.f16.f32", 1, 16, 2), 32, 41, causes.UNFAIR),
        (Microbenchmark("a100", "mma", "m16n8k4.tf32.f32", 1, 8, 3), 26, 24, causes.SHARED_PIPE),
        (Microbenchmark("h200", "ldmatrix", "x4", 32, 1, 4), 256, 128, causes.SLOW_WAVEFRONTS),
        (Microbenchmark("h200", "ldmatrix", "x1", 1, 6, 4), 26, 24, causes.FEW_LOADS),
        (Microbenchmark("h200", "lds", "16", 4, 1, 1), 32, 29, causes.WIDE_LOAD),
        (Microbenchmark("h200", "barrier", "bar.sync", 1, 32, 1, 2), 116, 128, causes.TWO_CTAS),
        (Microbenchmark("h200", "arithmetic", "fma", 1, 32, 1), 16, 8, causes.FFMA),
        (Microbenchmark("h200", "arithmetic", "fma", 1, 8, 1), 4.3, 4, causes.MARGIN),
        (Microbenchmark("h200", "arithmetic", "mufu", 1, 16, 1), 32, 41, causes.UNFAIR),
    ],
)
def test_the_cause_of_a_miss(program, measured, simulated, cause):
    assert cause_of(Entry("", "", program, measured, simulated)) == cause
