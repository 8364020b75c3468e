"""What a kernel of tiles says of its CTAs for simulation in time: who waits for whom, and what DRAM brings."""

from copy import copy
from dataclasses import replace

import pytest
from doubles.published import H200
from problems.small import small_gemm

from gpusim.families.gemm.reduction.timed import TimedReduction
from gpusim.families.gemm.timed import TimedTileKernel
from gpusim.schedule.counts import count
from gpusim.sim.decode import assemble
from gpusim.sim.footprint import FROM_DRAM, JUST_WRITTEN
from gpusim.sim.tables import code_of
from gpusim.verbs.simulate import launch_of


def split(how, slices=3, **more):
    """2 x 1 tiles of 64 x 64 in slices of K."""
    return small_gemm(128, 64, 320, split_k=how, split_k_slices=slices, **more)


def test_a_slice_of_a_serial_split_k_follows_the_one_before_on_its_tile():
    """CTAs 0 and 1 are the tiles' first slices, 2 and 3 their second, 4 and 5 their third."""
    kernel = TimedTileKernel(split("serial"), H200)

    assert kernel.orders_slices
    assert [kernel.follows(cta) for cta in range(6)] == [-1, -1, 0, 1, 2, 3]


@pytest.mark.parametrize("scenario", [split("parallel"), small_gemm(128, 64, 320)], ids=["parallel", "whole"])
def test_other_kernels_have_no_order(scenario):
    kernel = TimedTileKernel(scenario, H200)

    assert not kernel.orders_slices
    assert {kernel.follows(cta) for cta in range(len(kernel.launched))} == {-1}


@pytest.mark.parametrize(("how", "waits"), [("serial", 1), ("parallel", 0)])
def test_a_slice_waits_once_before_the_first_instruction_of_its_epilogue(how, waits):
    kernel = TimedTileKernel(split(how), H200)
    segments = assemble(kernel.stream(1, "estimated"), kernel, 1).segments
    awaiting = [(segment.name, place) for segment in segments for place, one in enumerate(segment.code) if one.awaits]

    assert awaiting == [("epilogue", 0)] * waits
    assert all(one.gated for segment in segments for one in segment.code if one.awaits)


@pytest.mark.parametrize(("beta", "size"), [(0.0, 3 * 128 * 64 * 4), (0.5, 4 * 128 * 64 * 4)])
def test_a_reduction_reads_partial_sums_and_source_from_dram(beta, size):
    """Three slices of 128 x 64 sums, and a source, of 4 bytes. A bias comes once for 128 rows: 7 per mille."""
    kernel = TimedReduction(split("parallel", beta=beta), H200)
    *sums_and_source, bias = kernel.found(0, first_wave=True)

    assert sums_and_source == [FROM_DRAM] * 4
    assert bias == replace(FROM_DRAM, missed=7)
    assert kernel.other_dram_bytes == size


def test_a_later_slice_reads_what_the_one_before_has_just_written():
    """Slices of serial split-K that count their tiles alike: 0 reads no partial sums, or the source from DRAM."""
    kernel = TimedTileKernel(split("serial"), H200)
    pieces = kernel.tiles[kernel.launched][:, 2].tolist()
    read = [set(kernel.found(cta, first_wave=False)[:-1]) for cta in range(len(pieces))]

    assert set(pieces) == {0, 1, 2}
    assert read == [{JUST_WRITTEN} if piece else {FROM_DRAM} for piece in pieces]


class OnItsOwn(TimedTileKernel):
    """A kernel that lowers, decodes and counts its own programs, whatever its extents."""

    @property
    def lender(self):
        return self


def makes(kernel):
    """The streams, code and counts of a kernel."""
    launch = launch_of(kernel, "estimated")
    code = code_of(launch.assemblies, kernel.machine.instruction_cache.stream_lines)
    return launch.streams, launch.assemblies, launch.decoded.code, code, count(kernel)


LENT = {
    "multistage": {},
    "two tiles": {"problem": {"m": 200, "n": 136}},
    "four stages": {"kernel": {"stages": 4}},
    "pipelined": {"kernel": {"mainloop": "pipelined", "stages": 2}},
    "columns": {"problem": {"layout_a": "column", "layout_b": "row"}},
    "source": {"problem": {"beta": 0.5}},
    "bias": {"problem": {"bias": True, "activation": "relu"}},
    "padded leading dimensions": {"problem": {"lda": 4096, "ldc": 512}},
    "narrow vectors": {"problem": {"alignment_a": 2, "alignment_b": 4}},
    "CUTLASS": {"kernel": {"code": "cutlass"}},
}


@pytest.mark.parametrize("k", [32, 200, 384, 1000, 1032])
@pytest.mark.parametrize("keys", LENT.values(), ids=LENT)
def test_what_a_kernel_is_lent_is_what_it_would_make(keys, k):
    scenario = small_gemm(keys.get("problem", {}).get("m", 128), keys.get("problem", {}).get("n", 128), k)
    problem = scenario.problem.model_copy(update=keys.get("problem", {}))
    kernel = scenario.kernel.model_copy(update=keys.get("kernel", {}))
    scenario = scenario.model_copy(update={"problem": problem, "kernel": kernel})

    assert makes(TimedTileKernel(scenario, H200)) == makes(OnItsOwn(scenario, H200))


def test_gemms_of_one_kernel_with_the_same_tiles_left_over_have_one_lender():
    """Tiles are 64 x 64 x 64, and 8 are left over of M, N and K each; few k tiles are one's own."""
    first, second = (TimedTileKernel(small_gemm(m, n, k), H200) for m, n, k in ((200, 136, 1032), (72, 648, 1096)))

    assert first.lender is second.lender
    assert first.lender.lender is first.lender
    assert TimedTileKernel(small_gemm(201, 136, 1032), H200).lender is not first.lender


def test_a_kernel_is_lent_to_the_same_machine_only():
    scenario = small_gemm(128, 128, 1024)
    slower = replace(H200, barrier=replace(H200.barrier, base=H200.barrier.base + 1))

    assert TimedTileKernel(scenario, slower).lender is not TimedTileKernel(scenario, H200).lender
    assert TimedTileKernel(scenario, slower).lender.machine == slower


@pytest.mark.parametrize("scenario", [split("serial"), small_gemm(64, 64, 64)], ids=["split-K", "one k tile"])
def test_a_kernel_without_a_lender_is_its_own(scenario):
    kernel = TimedTileKernel(scenario, H200)

    assert kernel.lender.scenario == scenario


def test_a_copy_of_a_kernel_on_another_machine_is_lent_what_is_made_for_that():
    """As ``explain`` does to find what a machine without an obstacle would take."""
    kernel = TimedTileKernel(small_gemm(128, 128, 1024), H200)
    slower = replace(H200, pipes=H200.pipes | {"alu": replace(H200.pipes["alu"], interval=99)})
    assert kernel.lender.machine is H200
    changed = copy(kernel)
    changed.machine = slower

    assert changed.lender.machine is slower
    assert 99 in launch_of(changed, "estimated").decoded.code.of["interval"]
    assert 99 not in launch_of(kernel, "estimated").decoded.code.of["interval"]
