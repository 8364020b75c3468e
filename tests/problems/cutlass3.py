"""The launches of CUTLASS 3.x kernels that were measured on an H200, and the scenarios that ask about them."""

import json
import zipfile
from pathlib import Path

from gpusim.families.registry import scenario_of

SCHEDULES = {
    "KernelTma": "non_specialized",
    "KernelTmaWarpSpecialized": "warp_specialized",
    "KernelTmaWarpSpecializedCooperative": "cooperative",
    "KernelTmaWarpSpecializedPingpong": "pingpong",
}
SCHEDULERS = {"none": "none", "PersistentScheduler": "persistent", "StreamKScheduler": "stream_k"}


def measured():
    """All launches."""
    with zipfile.ZipFile(Path(__file__).parents[1] / "golden" / "data" / "hopper" / "cutlass3_h200.zip") as archive:
        return json.loads(archive.read("cutlass3_h200.json"))["rows"]


def asked(row):
    """The scenario of a launch."""
    schedule = row["kernel_schedule"].replace("FP8FastAccum", "")
    return scenario_of({
        "machine": "h200",
        "problem": {
            "kind": "hopper_gemm",
            "m": row["M"], "n": row["N"], "k": row["K"], "beta": float(row["beta"]),
            **{key: row[key] for key in ("layout_a", "layout_b")},
            "dtype": {"ab": row["dtype_ab"], "accumulator": row["accumulator"], "output": row["dtype_d"]},
        },
        "kernel": {
            "schedule": SCHEDULES[schedule],
            "tile": row["tile"],
            "cluster": row["cluster"][:2],
            "stages": row["stages_requested"] or "auto",
            "raster": row["raster"],
            "max_swizzle": row["max_swizzle"],
            "fast_accumulation": schedule != row["kernel_schedule"],
            "scheduler": SCHEDULERS[row["tile_scheduler"]],
        },
    })  # fmt: skip
