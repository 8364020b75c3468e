"""A report on speed that nobody measured."""

from dataclasses import replace

from gpusim.lab.bench.rows import BenchReport, LoopRow, OtherRow, RunRow
from gpusim.lab.host import Host

HOST = Host(
    cpu="A CPU",
    cores=2,
    system="Linux x86_64",
    python="3.11.7",
    numpy="2.4.6",
    cython="",
    compiler="",
    commit="0123456789abcdef-dirty",
    date="2026-01-31",
)

RUN = RunRow(
    table="Scenarios",
    name="gemm_4096",
    mode="exact",
    engine="compiled",
    runs=5,
    user_s=4.5,
    peak_mb=150.0,
    instructions=1000,
    seconds=3.0,
    rate=1000 / 3,
    gpu_us=1.5,
    slowdown=2e6,
    stream="compiled",
)

REPORT = BenchReport(
    host=HOST,
    runs=(RUN, replace(RUN, engine="interpreted", rate=RUN.rate / 25, seconds=75.0)),
    others=(OtherRow("gpusim --help", 5, 0.05, 0.06, 23.0), OtherRow("gpusim verify gemm_4096", 5, 15.0, 20.0, 600.5)),
    loops=(LoopRow(1024, 5, 12, 0.4, 40.0),),
)
