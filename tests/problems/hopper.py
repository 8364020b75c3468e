"""Random sm_90 GEMMs that are small: every schedule, type, layout and small cluster, ragged extents, few stages."""

import numpy as np

from gpusim.errors import BadInput, Unsupported
from gpusim.families.hopper.execute.program import cluster_programs
from gpusim.families.registry import parse_scenario

SCHEDULES = ("cooperative", "pingpong", "warp_specialized", "non_specialized")
CLUSTERS = ((1, 1), (2, 1), (1, 2), (2, 2))
LAYOUTS = (("row", "column"), ("column", "column"), ("row", "row"), ("column", "row"))

# Operand, accumulator and output types, each with the elements of 16 bytes of the operands.
TYPES = (
    ("f16", "f32", "f16", 8),
    ("f16", "f32", "f32", 8),
    ("f16", "f16", "f16", 8),
    ("bf16", "f32", "bf16", 8),
    ("bf16", "f32", "f32", 8),
    ("tf32", "f32", "f32", 4),
    ("s8", "s32", "s32", 16),
    ("s8", "s32", "s8", 16),
    ("e4m3", "f32", "f16", 16),
    ("e4m3", "f32", "bf16", 16),
    ("e5m2", "f32", "f32", 16),
)


def hopper(problem, kernel=None, machine="h200"):
    """A scenario of plain data."""
    data = {"machine": machine, "problem": {"kind": "hopper_gemm"} | problem, "kernel": kernel or {}}
    return parse_scenario(data, "unit")


def random_hopper(seed):
    """A legal problem that can be executed, drawn until one is."""
    rng = np.random.default_rng(seed)
    while True:
        try:
            scenario = _drawn(rng, SCHEDULES[seed % 4], CLUSTERS[seed // 4 % 4])
            cluster_programs(scenario)
        except (BadInput, Unsupported):
            continue
        return scenario


def _drawn(rng, schedule, cluster):
    ab, accumulator, output, vector = TYPES[rng.integers(len(TYPES))]
    layout_a, layout_b = LAYOUTS[rng.integers(4)] if ab in ("f16", "bf16") else LAYOUTS[0]
    line = 128 // (16 // vector)
    tile = [
        int(rng.choice([64, 128])) if schedule != "cooperative" else 128,
        int(rng.choice([64, 96, 128])),
        int(rng.choice([line // 4, line // 2, line])),
    ]
    m, n = (int(rng.integers(1, 3 * extent // 16)) * 16 for extent in tile[:2])
    k = int(rng.integers(1, 8 * tile[2] // 16 + 1)) * 16
    beta = float(rng.choice([0.0, 1.0, -0.5])) if schedule != "non_specialized" else 0.0
    problem = {"m": m, "n": n, "k": k, "l": int(rng.choice([1, 1, 2])), "layout_a": layout_a, "layout_b": layout_b}
    problem |= {"alpha": float(rng.choice([1.0, 1.5])), "beta": beta}
    problem["dtype"] = {"ab": ab, "accumulator": accumulator, "output": output}
    kernel = {"schedule": schedule, "tile": tile, "cluster": list(cluster), "stages": int(rng.integers(2, 7))}
    kernel["max_swizzle"] = int(rng.choice([1, 2]))
    kernel["raster"] = str(rng.choice(["heuristic", "along_m", "along_n"]))
    if ab in ("e4m3", "e5m2"):
        kernel["fast_accumulation"] = bool(rng.integers(2))
    if beta == 0 and rng.integers(2):
        kernel["void_c"] = True
    return hopper(problem, kernel, f"h200 with sms = {int(rng.choice([4, 8, 132]))}")
