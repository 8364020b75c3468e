"""``python -m gpusim.lab.bench.loop SIZE POINTS``: simulates GEMMs of one kernel in a loop, and times it."""

import json
import sys
import time
from typing import Any

from gpusim.families.registry import parse_scenario
from gpusim.verbs.simulate import simulate

K_TILE = 32

KERNEL = {
    "mainloop": "multistage",
    "threadblock": [128, 128, K_TILE],
    "warp": [64, 64, K_TILE],
    "instruction": [16, 8, 16],
    "stages": 3,
}
"""The kernel of all points."""


def problem_of(size: int, point: int) -> dict[str, Any]:
    """Return the GEMM of a point: K is SIZE, then one k tile more, one less, two more, and so on: SIZE in the mean."""
    tiles = (point + 1) // 2
    return {"kind": "gemm", "m": size, "n": size, "k": size + K_TILE * (tiles if point % 2 else -tiles)}


def loop(size: int, points: int) -> tuple[float, float]:
    """
    Sample GEMMs of SIZE x SIZE x K, no two of them equal, so that no answer can be reused.

    Streams are estimated, no pictures are drawn, nothing is written.

    Returns:
        CPU seconds of the first point, and of ``points`` others together.
    """
    marks = [time.process_time()]
    for point in range(points + 1):
        given = {"machine": "h200", "problem": problem_of(size, point), "kernel": KERNEL}
        simulate(parse_scenario(given, "loop"), exact=False)
        marks.append(time.process_time())
    return marks[1] - marks[0], marks[-1] - marks[1]


def main() -> int:
    """Print the seconds as JSON."""
    first, others = loop(int(sys.argv[1]), int(sys.argv[2]))
    sys.stdout.write(json.dumps({"first_s": first, "others_s": others}) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
