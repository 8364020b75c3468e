"""Answers about kernels of the user's own that are written out by hand, for tests of what shows them."""

from gpusim.results.kernel_result import ConflictNote, ExecutedData, KernelResult, KernelRow
from gpusim.results.kernel_warps import LoggedWarp, WarpLog
from gpusim.results.result import Cycles

LOAD = KernelRow(
    address=0x10,
    text="LDG.E R2, [R2.64]",
    source="k.cu:3",
    issues=4,
    lanes=128,
    wavefronts=0,
    ideal_wavefronts=0,
    sectors=64,
    ideal_sectors=16,
    stalls={"selected": 4, "wait": 16},
    lane_stride=16,
)
MATH = KernelRow(
    address=0x20,
    text="FADD R2, R2, R2",
    source="k.cu:4",
    issues=4,
    lanes=None,
    wavefronts=0,
    ideal_wavefronts=0,
    sectors=0,
    ideal_sectors=0,
    stalls={"long_scoreboard": 150, "math_pipe_throttle": 10, "selected": 4},
)
STORE = KernelRow(
    address=0x30,
    text="STS [R0], R2",
    source="k.cu:4",
    issues=4,
    lanes=128,
    wavefronts=32,
    ideal_wavefronts=4,
    sectors=0,
    ideal_sectors=0,
    stalls={"mio_throttle": 12, "selected": 4},
    lane_stride=32,
)


def own_answer(**changes):
    """Return an answer of three instructions: 4 warps, 200 warp cycles, 150 of them waiting for global memory."""
    fields = {
        "scenario": {"kind": "kernel", "machine": "a100", "file": "/x/k.cu", "grid": [4], "block": [32]},
        "kernel": "k",
        "machine": {"name": "a100", "digest": "0" * 64, "figures": {"measured": 3}},
        "grid": (4, 1, 1),
        "block": (32, 1, 1),
        "ctas": 4,
        "ctas_per_sm": 8,
        "limiter": "shared_memory",
        "sms": 4,
        "waves": 0.005,
        "registers_per_thread": 16,
        "shared_bytes": 4096,
        "cycles": Cycles(elapsed=2000, active=100),
        "time_us": 2.0,
        "clock_mhz": 1000,
        "validation": "unvalidated",
        "warp_instructions": 12,
        "stalls": {
            "long_scoreboard": 150,
            "wait": 16,
            "mio_throttle": 12,
            "selected": 12,
            "math_pipe_throttle": 10,
        },
        "dram_read_bytes": 4000,
        "dram_written_bytes": 0,
        "l2_sectors": 64,
        "of_peak": {"DRAM": 0.001, "issue slots": 0.01, "shared memory": 0.02},
        "rows": (LOAD, MATH, STORE),
        "conflicts": (ConflictNote(0x30, 28, "0x0030 STS [R0], R2: lanes 0 to 7 access 8 words of bank 0"),),
        "findings": ("race in shared memory: 0x0030 and 0x0040",),
        "data": ExecutedData(
            executed="slice", data_steers=False, order_steers=False, programs=1, streams=2, seconds=0.5
        ),
        "provenance": {"version": "0", "commit": None},
    }
    return KernelResult(**fields | changes)


def own_log(**changes):
    """Return the log of one warp that issues, waits for memory, and issues again."""
    warp = LoggedWarp(warp=0, smsp=2, begin=(0, 1, 5), end=(1, 5, 6), reason=(0, 1, 0), row=(0, 1, 1))
    fields = {
        "cta": 2,
        "reasons": ("selected", "long_scoreboard"),
        "instructions": ("0x0010 LDG.E R2, [R2.64]", "0x0020 FADD R2, R2, R2"),
        "warps": (warp,),
    }
    return WarpLog(**fields | changes)
