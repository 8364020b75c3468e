"""The launches of CUTLASS 3.x kernels that were measured on an H200."""

from pathlib import Path

from gpusim.lab.hopper_time import cutlass_rows

ARCHIVE = Path(__file__).parents[1] / "golden" / "data" / "hopper" / "cutlass3_h200.zip"


def measured():
    """All launches."""
    return cutlass_rows(ARCHIVE)
