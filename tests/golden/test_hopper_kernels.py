"""
The roles of sm_90 GEMMs against CUTLASS's real kernels, run on the host thread by thread: events, barriers, addresses.

Stages, shared memory and pipeline states are compared with what CUTLASS's builders and classes say.
"""

import json
import zipfile
from pathlib import Path

import pytest

from gpusim.families.hopper.collective import collective_of
from gpusim.families.hopper.program.pipelines import PipelineState, producer_start, release_targets
from gpusim.families.hopper.streams import events, stream
from gpusim.families.hopper.tensor_maps import MAP_COLUMNS
from gpusim.families.hopper.work import work_of
from gpusim.families.registry import scenario_of
from gpusim.machine import load_machine
from gpusim.schedule.addresses import Selection

DATA = Path(__file__).parent / "data" / "hopper"
TRACES = DATA / "kernel_traces.zip"
NAMES = zipfile.ZipFile(TRACES).namelist()
STAGE_COUNTS = json.loads((DATA / "stage_counts.json").read_text())["rows"]
STATES = json.loads((DATA / "pipeline_states.json").read_text())

SCHEDULES = {
    "tma": "non_specialized",
    "warpspecialized": "warp_specialized",
    "cooperative": "cooperative",
    "pingpong": "pingpong",
}
A_LAYOUTS, B_LAYOUTS = {"t": "row", "n": "column"}, {"n": "column", "t": "row"}
RASTERS = ("heuristic", "along_m", "along_n")


def golden(name):
    with zipfile.ZipFile(TRACES) as archive:
        return json.loads(archive.read(name))


def traced(header):
    """The scenario of a trace."""
    ab, layouts, _, schedule, *_ = header["name"].split("_")
    m, n, k, batches = header["problem_MNKL"]
    output = {16: "f16", 32: "f32"}[header["element_bits_d"]]
    return scenario_of({
        "machine": f"h200 with sms = {header['sm_count']}",
        "problem": {
            "kind": "hopper_gemm",
            "m": m, "n": n, "k": k, "l": batches, "beta": float(header["beta"]),
            "layout_a": A_LAYOUTS[layouts[0]],
            "layout_b": B_LAYOUTS[layouts[1]],
            "dtype": {"ab": ab, "accumulator": "f32", "output": output},
        },
        "kernel": {
            "schedule": SCHEDULES[schedule],
            "tile": header["tile_MNK"],
            "cluster": header["cluster_MNL"][:2],
            "stages": header["stages"],
            "raster": RASTERS[header["raster"]],
            "max_swizzle": header["max_swizzle"],
            "fast_accumulation": "fastaccum" in header["name"],
        },
    })  # fmt: skip


def test_every_trace_is_read():
    assert len(NAMES) == 34
    assert sum(len(golden(name)["traces"]) for name in NAMES) == 642


@pytest.mark.parametrize("name", NAMES)
def test_each_thread_executes_what_it_does_in_cutlass(name):
    """Of a cluster's further consumer threads, CUTLASS's arrivals at empty barriers were traced and nothing else."""
    trace = golden(name)
    scenario = traced(trace["header"])
    for one in trace["traces"]:
        found = json.loads(json.dumps(events(scenario, (*one["cta"], 0), one["thread"])))
        if one["thread"] > 128 and one["thread"] % 128:
            found = [event for event in found if event[0] == "mbar_arrive_remote" and "mainloop" in event[1]]
        assert found == one["events"], (one["cta"], one["thread"])


@pytest.mark.parametrize("name", NAMES)
def test_shared_memory_and_the_grid_are_laid_out_as_in_cutlass(name):
    trace = golden(name)
    header, layout, scenario = trace["header"], trace["shared_layout"], traced(trace["header"])
    kernel = collective_of(scenario)

    assert {str(barrier): address for barrier, address in kernel.barriers.items()} == layout["barriers"]
    assert (kernel.a.base, kernel.b.base) == (layout["smem_A"], layout["smem_B"])
    assert (kernel.epilogue.base if kernel.epilogue else None) == layout.get("epilogue")
    assert (kernel.shared_bytes, kernel.threads) == (header["shared_bytes"], header["threads"])
    assert kernel.mainloop_bytes == header["shared_bytes_mainloop"]
    assert (kernel.epilogue.shared_bytes if kernel.epilogue else 1) == header["shared_bytes_epilogue"]
    assert list(work_of(scenario, header["sm_count"]).grid) == header["grid"]


@pytest.mark.parametrize("name", NAMES)
def test_stmatrix_addresses_are_those_of_cutlass(name):
    trace = golden(name)
    scenario = traced(trace["header"])
    for one in trace["stmatrix"]:
        found = [event[1] for event in events(scenario, (0, 0, 0), one["thread"]) if event[0] == one["op"]]
        assert found[: len(one["addresses"])] == one["addresses"], one["thread"]


@pytest.mark.parametrize("name", NAMES)
def test_tensor_maps_are_those_that_cutlass_encodes(name):
    trace = golden(name)
    rows = stream(traced(trace["header"]), "tensor_maps", (0, 0, 0), Selection()).rows
    found = {"ABCD"[row[0]]: dict(zip(MAP_COLUMNS, row.tolist(), strict=True)) for row in rows}
    assert found.keys() == trace["descriptor_of"].keys()
    for tensor, number in trace["descriptor_of"].items():
        own, theirs = found[tensor], trace["tma_descriptors"][number]
        assert [own[f"dim_{axis}"] for axis in "xyz"] == theirs["global_dim"]
        assert [own[f"stride_{axis}"] for axis in "yz"] == theirs["global_stride"]
        assert [own[f"box_{axis}"] for axis in "xyz"] == theirs["box"]
        assert [own[key] for key in ("data_type", "swizzle", "l2_promotion")] == [
            theirs[key] for key in ("data_type", "swizzle", "l2_promotion")
        ]
        assert (theirs["rank"], theirs["element_stride"], theirs["interleave"], theirs["oob_fill"]) == (
            3,
            [1] * 3,
            0,
            0,
        )


def built(row):
    """A scenario of a row of stage counts."""
    names = {"WarpSpecialized": "warp_specialized", "Pingpong": "pingpong", "Cooperative": "cooperative"}
    accumulator = "s32" if row["type"] == "s8" else "f32"
    return scenario_of({
        "machine": "h200",
        "problem": {
            "kind": "hopper_gemm",
            "m": 512, "n": 512, "k": 512,
            "layout_a": A_LAYOUTS[row["layout"][0]],
            "layout_b": B_LAYOUTS[row["layout"][1]],
            "dtype": {"ab": row["type"], "accumulator": accumulator, "output": row["dtype_d"]},
        },
        "kernel": {
            "schedule": names[row["schedule"]],
            "tile": row["tile_MNK"],
            "cluster": row["cluster"],
            "void_c": row["dtype_c"] == "void",
        },
    })  # fmt: skip


@pytest.mark.parametrize("row", STAGE_COUNTS, ids=lambda row: f"{row['type']}-{row['schedule']}-{row['tile_MNK']}")
def test_stages_and_the_epilogue_are_what_cutlass_chooses(row):
    kernel = collective_of(built(row))
    epilogue = kernel.epilogue

    assert kernel.stages == row["stages"]
    assert list(epilogue.tile) == row["epilogue_tile"]
    assert [epilogue.stages_c, epilogue.stages_d, int(epilogue.reuses_c)] == [
        row[key] for key in ("epilogue_stages_c", "epilogue_stages_d", "reuse_c_for_d")
    ]
    assert [kernel.mainloop_bytes, epilogue.shared_bytes, kernel.shared_bytes] == [
        row[f"{key}_shared_bytes"] for key in ("mainloop", "epilogue", "kernel")
    ]
    assert [kernel.threads, 128 * kernel.consumers, kernel.stage_bytes] == [
        row[key] for key in ("threads", "mma_threads", "transaction_bytes")
    ]
    widths = {3: 128, 2: 64, 1: 32, 0: 16}
    assert [kernel.a.swizzle, kernel.b.swizzle] == [widths[row[f"swizzle_bits_{side}"]] for side in "ab"]
    assert kernel.instruction.startswith("MMA_{}x{}x{}_".format(*row["mma_atom_MNK"]))


@pytest.mark.parametrize("row", STATES["states"], ids=lambda row: f"{row['stages']} stages")
def test_pipeline_states_advance_as_cutlass_s(row):
    for key, start in (("consumer", PipelineState(row["stages"])), ("producer", producer_start(row["stages"]))):
        state = start
        for index, phase, _ in row[key]:
            assert (state.index, state.phase) == (index, phase)
            state = state.advance()
    for index, phase, count, after, phase_after in row["advance"]:
        state = PipelineState(row["stages"], index, phase).advance(count)
        assert (state.index, state.phase) == (after, phase_after)


@pytest.mark.parametrize("row", STATES["consumer_arrivals"], ids=lambda row: "cluster {}x{}".format(*row["cluster"]))
def test_consumer_threads_release_the_stages_of_those_that_share_a_tile(row):
    for one in row["ctas"]:
        x, y = one["cta"]
        targets = release_targets((x, y), tuple(row["cluster"]), x + y * row["cluster"][0])

        assert sorted([thread, rank] for rank, thread in targets) == sorted(one["arrivals"])
        assert len(targets) == row["empty_barrier_count_a_consumer_warpgroup"]


def test_the_machine_of_a_trace_has_its_sms():
    assert load_machine(traced(golden(NAMES[2])["header"]).machine).sms == 2
