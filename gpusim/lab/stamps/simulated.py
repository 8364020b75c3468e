"""The stamps of a simulated timeline build: the cycles in which it reads the clock."""

from typing import Final

import numpy as np

from gpusim.cuda import timeline_format
from gpusim.cuda.compiled_kernel import compile_kernel
from gpusim.cuda.timeline_format import HEADER_WORDS, WarpTimeline
from gpusim.errors import CheckFailed
from gpusim.lab.stamps.kernel import RECORDS, StampedTileKernel
from gpusim.lower.aligned import TENSOR_BITS
from gpusim.lower.runner import KernelRunner
from gpusim.lower.sass.emulate_registers import result
from gpusim.lower.sass.operands import Register
from gpusim.results.program import issue_cycles
from gpusim.verbs.simulate import SimulatedLaunch

_CLOCK: Final = "SR_CLOCKLO"
_PARAMETERS: Final = "imc_miss"


def stamp_places(kernel: StampedTileKernel) -> dict[int, int]:
    """
    Return the number of the executed instruction that reads the clock of each stamp of a warp, by the stamp's word.

    A stamp's word is where the warp stores it, in the warp's part of ``Params.records``. Instructions are numbered in
    the order of execution.
    """
    stamped = kernel.stamped
    runner = KernelRunner(kernel, compile_kernel(kernel.specialisation, kernel.machine.compute_capability))
    read: dict[Register, int] = {}
    places: dict[int, int] = {}
    for position, step in enumerate(runner.run(stamped.block, 0).steps):
        sass = runner.code[step.at]
        if sass.name == "CS2R":
            read.pop(result(sass), None)
            if str(sass.operands["n"]) == _CLOCK:
                read[result(sass)] = position
        elif sass.name == "STG" and step.address is not None:
            address, stored = int(step.address[0]), sass.operand("v", Register)
            if address >> TENSOR_BITS == RECORDS >> TENSOR_BITS and stored in read:
                places[(address - RECORDS) // 4] = read[stored]
    return places


def simulated_stamps(kernel: StampedTileKernel, launch: SimulatedLaunch) -> tuple[WarpTimeline, ...]:
    """
    Return the timelines of the recorded CTA's warps, decoded like those of a GPU.

    In a simulation, a warp waits for the launch's parameters at its begin. On a GPU, a warp reads its first clock
    before its first parameter. So the first stamp is moved to before that wait.

    Raises:
        CheckFailed: Another CTA was watched, its warps execute another number of instructions than the recorded one, or
            it multiplies no k tile.
    """
    stamped, places = kernel.stamped, stamp_places(kernel)
    spans = launch.outcome.timeline.warps
    if not spans or kernel.launched[spans[0].cta] != stamped.block:
        raise CheckFailed(f"block {stamped.block} is recorded, but is not the CTA that is watched")
    if max(places, default=0) < HEADER_WORDS:
        raise CheckFailed(f"block {stamped.block} stamps no k tile")
    words = timeline_format.row_words(stamped.k_groups)
    rows = 1 + (max(places) - HEADER_WORDS) // words
    records = np.full((stamped.warps, HEADER_WORDS + (rows + rows % 2) * words), 0xFFFFFFFF, dtype=np.uint32)
    for warp in range(stamped.warps):
        own = [span for span in spans if span.warp == warp]
        issued = issue_cycles(own)
        stream = kernel.stream(kernel.behaviour(spans[0].cta), "compiled")
        if len(issued) != stream.instructions_of(warp, kernel.lanes()):
            raise CheckFailed(f"warp {warp} of the recorded CTA does not execute its stream")
        header = np.zeros(HEADER_WORDS // 2, dtype=np.int64)
        for word, position in places.items():
            if word < HEADER_WORDS:
                header[word // 2] = issued[position]
            else:
                records[warp, word] = issued[position]
        header[0] -= sum(span.end - span.begin for span in own if span.reason == _PARAMETERS and span.end <= header[0])
        header[6], header[7] = kernel.k_tiles(spans[0].cta), stamped.block
        records[warp, :HEADER_WORDS] = header.view(np.uint32)
    return timeline_format.decode(records, 1, stamped.warps, stamped.k_groups)
