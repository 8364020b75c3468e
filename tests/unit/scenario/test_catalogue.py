"""The scenarios that are measured on hardware: what they cover, and that each asks a question of its own."""

import json
from collections import Counter
from pathlib import Path

from problems.recordable import recordable

from gpusim.element_types import MMA_SHAPES
from gpusim.families.gemm.gemm import GemmProblem
from gpusim.families.gemm.specialise import specialise
from gpusim.lab.tables.speed_table import scenario_of
from gpusim.machine import load_machine
from gpusim.scenario.catalogue import recordable_scenarios

GOLDEN = Path(__file__).parents[2] / "golden" / "data" / "cutlass_h200.json"
FILES = recordable()
SCENARIOS = {name: scenario for name, scenario in FILES.items() if scenario.kind != "attention"}


def having(holds):
    return [name for name, scenario in SCENARIOS.items() if holds(scenario)]


def test_no_two_files_share_a_name_or_a_question():
    assert len(FILES) == len(recordable_scenarios())
    digests = Counter(scenario.digest() for scenario in FILES.values())
    assert [digest for digest, count in digests.items() if count > 1] == []


def test_every_file_opens_with_its_question():
    for path in recordable_scenarios():
        comment = [line for line in path.read_text().splitlines() if line.startswith("#")]
        assert comment, path
        assert comment[-1].endswith("?"), path


def test_every_configuration_of_cutlass_s_rows_is_there():
    known = {scenario.digest() for scenario in SCENARIOS.values()}
    rows = json.loads(GOLDEN.read_text())["rows"]

    assert len(rows) == 49
    assert [row["name"] for row in rows if scenario_of(row).digest() not in known] == []


def test_they_cover_what_kernels_can_differ_in():
    gemm = having(lambda scenario: isinstance(scenario.problem, GemmProblem))
    assert len(SCENARIOS) >= 60
    assert len(gemm) >= 30
    assert len(SCENARIOS) - len(gemm) >= 20
    assert len({scenario.kernel.threadblock for scenario in SCENARIOS.values()}) >= 10
    assert {scenario.kernel.stages for scenario in SCENARIOS.values()} == {2, 3, 4, 5, 6, 8}
    layouts = {scenario.shared_layout(operand) for scenario in SCENARIOS.values() for operand in ("a", "b")}
    assert {"crosswise", "row_major", "padded<8>", "Swizzle<3,3,3>", "Swizzle<2,3,3>"} <= layouts
    widths = {scenario.problem.access("a") for scenario in SCENARIOS.values()}
    assert {2, 4, 8} <= widths
    types = Counter((scenario.problem.dtype.ab, scenario.problem.dtype.accumulator) for scenario in SCENARIOS.values())
    assert set(types) == set(MMA_SHAPES)
    assert min(types.values()) >= 2
    shapes = {(scenario.problem.dtype.ab, scenario.kernel.instruction) for scenario in SCENARIOS.values()}
    assert {("f16", (16, 8, 8)), ("s8", (8, 8, 16))} <= shapes
    swizzles = {scenario.kernel.threadblock_swizzle for scenario in SCENARIOS.values()}
    assert swizzles == {"identity<1>", "identity<2>", "identity<4>", "identity<8>", "horizontal"}


def test_they_cover_what_problems_can_differ_in():
    conv = {name: scenario.problem for name, scenario in SCENARIOS.items() if scenario.problem.kind != "gemm"}
    ragged = [
        [extent % tile != 0 for extent, tile in zip(scenario.problem.extents, scenario.kernel.threadblock, strict=True)]
        for scenario in SCENARIOS.values()
    ]
    assert [sum(column) >= 5 for column in zip(*ragged, strict=True)] == [True, True, True]
    assert len(having(lambda scenario: scenario.problem.split_k_slices > 1)) >= 3
    assert len(having(lambda scenario: scenario.problem.beta != 0)) >= 3
    assert sum(problem.stride != (1, 1) for problem in conv.values()) >= 3
    assert sum(problem.dilation != (1, 1) for problem in conv.values()) >= 1
    assert sum(problem.mode == "convolution" for problem in conv.values()) >= 1
    assert sum(problem.padding[0] != problem.padding[1] for problem in conv.values()) >= 1


def test_every_one_of_them_has_a_kernel_that_fits():
    most = load_machine("h200").limits.shared_bytes_per_cta
    for name, scenario in SCENARIOS.items():
        assert specialise(scenario).shared_bytes <= most, name
