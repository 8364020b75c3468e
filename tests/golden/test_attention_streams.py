"""What the compiled streams of attention execute, opcode by opcode, against what an H200 counted."""

from collections import Counter

import pytest
from slow import one_in

from gpusim.families.attention.timed import TimedFusedKernel
from gpusim.families.registry import parse_scenario
from gpusim.machine.load import load_machine
from gpusim.records.halves import held_out_names
from gpusim.records.record import load_record, measured_folder

EDGES = frozenset({"attention_777x1301", "flash_777x1301", "flash_d48_b2_h16_1500x1500_causal_top_left"})
"""Records of whose last query blocks some warps have no query: they end before the store of their log-sum-exps."""

RAGGED = frozenset({"attention_ragged_bottom_right", "flash_ragged_bottom_right"})
"""Records with queries that see no key, whose lanes branch around what their sums do not need."""

RECORDS = sorted(
    path
    for path in (measured_folder() / "h200").glob("*.json")
    if path.stem.startswith(("attention_", "flash_")) and path.stem not in held_out_names()
)


def executed(kernel):
    """Warp instructions of the grid by opcode."""
    ctas = Counter(kernel.behaviour(cta) for cta in range(kernel.ctas))
    found = Counter()
    for behaviour, number in ctas.items():
        for segment in kernel.listed(behaviour).stream.segments:
            opcodes = Counter(one.opcode.partition(".")[0] for one in segment.instructions)
            times = number * segment.trips * kernel.lanes().warps
            found.update({opcode: count * times for opcode, count in opcodes.items()})
    return found


@pytest.mark.parametrize("path", one_in(5, RECORDS), ids=lambda path: path.stem)
def test_a_grid_executes_each_opcode_as_often_as_an_h200_counted(path):
    record = load_record(path)
    scenario = parse_scenario(record.scenario, path.name)
    kernel = TimedFusedKernel(scenario, load_machine(scenario.machine))

    found = executed(kernel)
    measured = {opcode: int(figures["executed"]) for opcode, figures in record.opcodes.items()}
    other = {opcode for opcode in {*found, *measured} if found[opcode] != measured.get(opcode, 0)}

    assert kernel.compiled().stream.registers_per_thread == record.kernel["registers"]
    if path.stem in EDGES:
        assert other == {"STG", "EXIT"}
    if path.stem not in EDGES | RAGGED:
        assert other == set()
    assert sum(found.values()) == pytest.approx(sum(measured.values()), rel=4e-3)
