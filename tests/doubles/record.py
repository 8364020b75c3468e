"""A record that no GPU made, of a row that CUTLASS was measured on."""

import json
from pathlib import Path

from gpusim.lab.tables.speed_table import scenario_of
from gpusim.records.record import LoopTime, MeasuredPipeline, Record
from gpusim.results.result import PipelineRow

GOLDEN = Path(__file__).parents[1] / "golden" / "data" / "cutlass_h200.json"
ROWS = json.loads(GOLDEN.read_text())["rows"]
SMALLEST = min(ROWS, key=lambda row: row["counters"]["sm__cycles_elapsed.max"])


def record_of(row, cycles):
    """What the scenario of a row would have been recorded as, had it taken this many cycles."""
    scenario = scenario_of(row)
    return Record(
        name="recorded",
        scenario=scenario.resolved(),
        scenario_sha256=scenario.digest(),
        environment={"gpu": "NVIDIA H200", "sms": 132},
        kernel={"registers": 200},
        numerics=None,
        trace=None,
        time_us=LoopTime(20, 5, 10.0, 9.0, 11.0),
        pipeline=MeasuredPipeline(
            tuple(PipelineRow(k_tile, 0, 0, None, 0, 0, 1000 * k_tile, 1) for k_tile in range(9)), None, None, 1
        ),
        counters={"sm__cycles_elapsed.max": cycles, "sm__cycles_active.avg": 66.0, "smsp__inst_executed.sum": 1e6},
        opcodes={},
        missing={},
        commit=None,
        date="",
        command=(),
    )
