"""Published speeds and errors of other simulators of GPUs, each with its source; none was measured here."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Peer:
    """
    The published figures of a simulator.

    Attributes:
        name: The simulator.
        speed: Its speed, as published; KIPS are thousands of warp instructions a second.
        error: Its error against hardware, as published, and on what.
        source: The publication of both; ``quoted`` if another publication quotes it.
    """

    name: str
    speed: str
    error: str
    source: str


PEERS = (
    Peer(
        "Accel-Sim 2.0",
        "27.5 KIPS, 2.2 times version 1",
        "13.4 % mean absolute error in cycles, over 34,000 kernel instances, H100",
        "arXiv 2608.22602 (error, quoted); release.notes.md of accel-sim/accel-sim-framework v2.0.0. The notes print"
        " `~27.5K KIPS`; 2.2 times the 12.5 KIPS of ISCA'20 are 27.5",
    ),
    Peer(
        "Accel-Sim 1.0",
        "12.5 KIPS trace-driven, 6 KIPS execution-driven",
        "15 %",
        "Khairy et al., ISCA 2020, table I",
    ),
    Peer("GPGPU-Sim 3", "3 KIPS", "35 %", "Khairy et al., ISCA 2020, table I"),
    Peer("MGPUSim", "28 KIPS", "5.5 %, 7 workloads, AMD", "Khairy et al., ISCA 2020, table I"),
    Peer(
        "GPU-Tile-Sim (GTSim)",
        "3.48 to 4.60 times Accel-Sim",
        "H100: GEMM 1.22 %, FA3 6.50 %; public v0.1.0: GEMM 2.65 % (8), FA3 9.79 % (6)",
        "arXiv 2607.11262, MICRO 2026 (quoted); validation/v0.1.0.md of wang121201/GTrace",
    ),
    Peer(
        "FlashGPU-Sim",
        "7.86 times on 16 threads; one H200 GEMM of 512 x 16384 x 2048, three variants with warm-up and validation:"
        " 7,260 s",
        "5.24 % mean, 131 configurations, RTX 5090, H100 and B200; six GEMMs on H200: -24.8 to +41.4 %",
        "arXiv 2609.15311, MICRO 2026 (quoted); docs/cluster_noc/calibration.md of FlashGPU-Sim/FlashGPU-Sim",
    ),
    Peer(
        "Huerta et al.",
        "5.8 times on 16 threads",
        "13.45 % mean, 128 benchmarks, RTX A6000",
        "MICRO 2025; arXiv 2502.14691 (threads)",
    ),
    Peer("Sim-FA", "-", "5.7 % mean, 12.7 % at most, FA3 on H800", "arXiv 2605.00555"),
    Peer("ACALSim HPCSim", "over 14 times SST", "0.72 to 1.22 times the cycles of an A100", "arXiv 2605.22936"),
)
