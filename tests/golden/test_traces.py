"""The mainloops of CUTLASS, event for event: our schedule with our iterators against the golden event traces."""

import json
from itertools import zip_longest
from pathlib import Path

import pytest

from gpusim.families.conv.fprop.problem import Conv2dFpropProblem
from gpusim.families.gemm.gemm import GemmProblem
from gpusim.families.gemm.schedule import TileKernel
from gpusim.scenario.gemm import GemmScenario
from gpusim.scenario.kernel import Kernel
from gpusim.schedule.events import events

DATA = Path(__file__).parent / "data"


def golden(name):
    return json.loads((DATA / f"{name}.json").read_text())


def kernel(shapes):
    return Kernel(
        threadblock=shapes["ThreadblockShape_MNK"],
        warp=shapes["WarpShape_MNK"],
        instruction=shapes["InstructionShape_MNK"],
        stages=shapes["kStages"],
        mainloop="pipelined" if shapes["kStages"] == 2 else "multistage",
    )


def gemm_scenario(header):
    problem = header["problem"]
    return GemmScenario(
        machine="h200",
        problem=GemmProblem(m=problem["M"], n=problem["N"], k=problem["K"]),
        kernel=kernel(header["template"]),
    )


def conv_scenario(header):
    problem = header["problem"]
    extents = {name.lower(): problem[name] for name in "NHWCKRSPQ"}
    pairs = {
        name: (problem[f"{short}_h"], problem[f"{short}_w"])
        for name, short in (("padding", "pad"), ("stride", "stride"), ("dilation", "dilation"))
    }
    return GemmScenario(machine="h200", problem=Conv2dFpropProblem(**extents, **pairs), kernel=kernel(header))


TRACES = {
    "trace_gemm_f16_tn_128x128x64_s3_k320": gemm_scenario,
    "trace_gemm_f16_tn_128x128x32_s4_k64_fewer_iterations_than_stages": gemm_scenario,
    "trace_conv_f16_128x128x64_s3_3x3": conv_scenario,
    "trace_conv_turing_f16_128x128x32_s2_3x3": conv_scenario,
}


@pytest.mark.parametrize("name", TRACES)
def test_every_traced_thread_issues_the_golden_events(name):
    """
    Order, operands, shared and global offsets, widths and predicates; those of invalid accesses too.
    """
    trace = golden(name)
    kernel = TileKernel(TRACES[name](trace["header"]))
    assert trace["events"]

    for thread, expected in trace["events"].items():
        actual = events(kernel, 0, int(thread.removeprefix("thread_")))
        for index, (want, got) in enumerate(zip_longest(expected, actual)):
            assert got == want, f"{thread}, event {index}"


@pytest.mark.parametrize("name", TRACES)
def test_the_k_iterations_are_the_golden_ones(name):
    header = golden(name)["header"]
    assert TRACES[name](header).k_iterations(0) == header["gemm_k_iterations"]
