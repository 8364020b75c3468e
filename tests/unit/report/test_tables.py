"""The summary of a run, as text."""

import io
import subprocess
import sys
from dataclasses import replace

from gpusim.machine import load_machine
from gpusim.report.captions import Words
from gpusim.report.tables import print_summary
from gpusim.results.result import RUN_TIME_EXTENTS, Cycles, ReductionLaunch

H200 = load_machine("h200")


def summary_lines(result, name="some_conv"):
    out = io.StringIO()
    print_summary(result, Words("a problem", "its kernel"), H200, name, out)
    return out.getvalue().splitlines()


def test_the_summary_leads_with_the_scenarios_name_and_the_verdict(run):
    lines = summary_lines(run.result)

    assert " ".join(lines[:2]) == (
        "some_conv: 100 of 132 SMs have no CTA; where there is work, no resource is busy; warps wait longest for data "
        "from global memory (long_scoreboard, 41 % of their cycles)."
    )
    assert summary_lines(run.result, name="")[0].startswith("100 of 132 SMs have no CTA; ")


def test_the_summary_names_what_ran_and_how_fast(run):
    lines = summary_lines(run.result)

    assert lines[2:4] == ["a problem", "its kernel"]
    assert "machine      h200 (figures: 21 documented, 9 measured, 0 fitted, 14 assumed)" in lines
    assert "grid         32 x 1 x 1 = 32 CTAs, 0.12 waves" in lines
    assert "cycles       14,210 elapsed, 9,876 active" in lines
    assert "SMs          32 of 132 have a CTA" in lines
    assert "time         7.18 us at 1,980 MHz, 42.08 TFLOP/s, 5.9 % of the tensor cores' 714" in lines


def test_the_summary_says_what_of_the_tile_is_padding_and_what_of_each_peak_is_used(run):
    """
    9,216 m16n8k16 of 4,096 operations are half of 75.5 million: the other half of each tile is padding.

    Resources that only mirror another's use have no peak of their own.
    """
    mmas = round(2 * run.result.tflops * run.result.time_us * 1e6 / 4096)
    result = replace(
        run.result,
        counters={**run.result.counters, "sm__inst_executed_pipe_tensor_op_hmma.sum": mmas},
        bound={
            **run.result.bound,
            "resources": [
                {"name": "L2 port of the SM", "percent": 30.0, "percent_active": 40.0, "bounds": False},
                {"name": "shared-memory data stage", "percent": 12.1, "percent_active": 50.0, "bounds": True},
                {"name": "DRAM bandwidth", "percent": 9.9, "percent_active": 14.0, "bounds": True},
            ],
        },
    )
    lines = summary_lines(result)

    assert "tile         50 % efficient: the other multiplications are padding" in lines
    assert "of peak      shared-memory data stage 12 %, DRAM bandwidth 10 % (all SMs, all cycles)" in lines
    bare = replace(run.result, counters={}, bound={**run.result.bound, "resources": []})
    assert not any(line.startswith(("tile ", "of peak ")) for line in summary_lines(bare))


def test_the_rate_of_integers_is_not_in_floating_point_operations(run):
    dtype = {"ab": "s4", "accumulator": "s32", "output": "s4"}
    scenario = run.result.scenario | {"problem": run.result.scenario["problem"] | {"dtype": dtype}}

    assert "time         7.18 us at 1,980 MHz, 42.08 TOP/s" in summary_lines(replace(run.result, scenario=scenario))


def test_every_table_has_a_header(run):
    lines = summary_lines(run.result)

    assert [line.split()[0] for line in lines if line.split()[-1:] in (["n-way"], ["largest"])] == ["op", "reason"]


def test_the_summary_names_a_build_that_serves_more_extents(run):
    built = {**run.result.provenance, "stream_build": RUN_TIME_EXTENTS}
    (line,) = [line for line in summary_lines(run.result) if line.startswith("scenario")]

    assert line.endswith(", estimated stream")
    assert f"{line} (run-time extents)" in summary_lines(replace(run.result, provenance=built))


def test_the_summary_counts_conflicts_by_operand(make_run):
    lines = summary_lines(make_run(a="row_major").result)

    assert "ldmatrix   a            18,432      589,824   73,728     516,096    8.00" in lines
    assert "ldmatrix   b            18,432       73,728   73,728           0    1.00" in lines


def test_stalls_come_largest_first_and_those_that_took_nothing_are_left_out(run):
    lines = summary_lines(run.result)
    (title,) = (place for place, line in enumerate(lines) if line.startswith("Stalls, share of warp cycles"))
    stalls = [line.split()[:2] for line in lines[title + 3 :]]

    assert stalls[0] == ["long_scoreboard", "41.2"]
    assert [float(share) for _, share in stalls] == sorted((float(share) for _, share in stalls), reverse=True)
    assert "drain" not in [reason for reason, _ in stalls]


def test_output_that_is_no_terminal_has_no_colour_and_no_trailing_blanks(make_run):
    lines = summary_lines(make_run(a="row_major").result)

    assert not any("\x1b" in line or line != line.rstrip() or len(line) > 100 for line in lines)


def test_hazards_are_said(run):
    assert summary_lines(replace(run.result, hazards=({"name": "overwritten"},)))[-1] == "1 hazard in the schedule"


def test_the_reduction_of_a_parallel_split_k_has_a_line(run):
    second = ReductionLaunch((66, 1, 1), 66, 12, 32, Cycles(elapsed=5165, active=2408))

    lines = summary_lines(replace(run.result, reduction=second))

    assert not any(line.startswith("reduction") for line in summary_lines(run.result))
    (at,) = (number for number, line in enumerate(lines) if line.startswith("reduction"))
    assert " ".join(" ".join(lines[at : at + 2]).split()) == (
        "reduction 66 CTAs of a second launch, 12 per SM, 5,165 of the cycles elapsed, 2,408 of those active"
    )


def test_tables_and_traces_import_neither_matplotlib_nor_protobuf():
    code = (
        "import sys, gpusim.report.tables, gpusim.report.perfetto; assert not {'matplotlib', 'google'} & {*sys.modules}"
    )

    subprocess.run([sys.executable, "-c", code], check=True)
