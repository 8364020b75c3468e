"""Makes the stream of a parallel split-K's second kernel from its SASS: one warp's path, aligned with the schedule."""

from collections import defaultdict

import numpy as np

from gpusim.arrays import IntArray
from gpusim.cuda.compiled_kernel import CompiledKernel, compile_kernel
from gpusim.cuda.specialise import specialise_reduction
from gpusim.element_types import element_bits
from gpusim.lower.align import Expected, Named, match_region
from gpusim.lower.compiled import POINTERS, Executed, parameter_bank, segment_of
from gpusim.lower.sass.cubin import read_cubin
from gpusim.lower.sass.decode import decode
from gpusim.lower.sass.emulate import Warp, run_warp
from gpusim.lower.stream import Stream
from gpusim.lower.stream_file import CompiledStream, shipped_stream
from gpusim.machine.spec import Machine
from gpusim.scenario.gemm import GemmScenario
from gpusim.schedule.ops import LoadBias, LoadPartial, LoadSource, Op
from gpusim.schedule.reduction import reduction_ops
from gpusim.tile.reduction import ReductionAccess, ReductionTile
from gpusim.units import WARP_SIZE


def compiled_reduction(scenario: GemmScenario, machine: Machine) -> CompiledStream:
    """
    The shipped stream of this very kernel if there is one, else compiled now.

    Raises:
        CannotRun: Neither a shipped stream nor a compiler is at hand.
        CheckFailed: The kernel does not execute the schedule; the message shows both sides.
    """
    specialisation = specialise_reduction(scenario)
    shipped = shipped_stream(specialisation.digest, machine.compute_capability, 0)
    return shipped or lower_reduction(scenario, compile_kernel(specialisation, machine.compute_capability))


def lower_reduction(scenario: GemmScenario, kernel: CompiledKernel) -> CompiledStream:
    """Lower a reduction that is already compiled; warp 0 of CTA 0 stands for all."""
    specialisation = kernel.specialisation
    cubin = read_cubin(kernel.cubin, specialisation.entry, "the compiled reduction")
    code = decode(cubin.code, cubin.architecture)
    steps = run_warp(
        code,
        Warp(
            ctaid=(0, 0, 0),
            grid=specialisation.grid,
            threads=specialisation.block_threads,
            index=0,
            constants=parameter_bank(cubin, specialisation, scenario),
            local_bytes=cubin.local_bytes,
            load=np.zeros_like,
        ),
    )
    wanted: dict[str, list[Expected]] = defaultdict(list)
    for one in _expected(scenario):
        wanted[one.name].append(one)
    found = {name: [at for at, step in enumerate(steps) if code[step.at].name == name] for name in wanted}
    named: list[Named | None] = [None] * len(steps)
    for name, ones in wanted.items():
        for position, op in match_region(code, steps, (0, name), ones, found[name]):
            named[position] = Named(op)
    executed = [Executed(code[step.at], step, name, step is steps[-1]) for step, name in zip(steps, named, strict=True)]
    segment, lines = segment_of("epilogue", executed, scenario)
    return CompiledStream(
        stream=Stream("compiled", cubin.registers, (segment,)),
        listing=(lines,),
        compiler=kernel.compiler,
        architecture=cubin.architecture,
        local_bytes=cubin.local_bytes,
        code_bytes=cubin.code_bytes,
    )


def _expected(scenario: GemmScenario) -> list[Expected]:
    """What the schedule says warp 0 of CTA 0 does."""
    tile = scenario.reduction
    access = tile.access(0)
    valid = access.valid[:WARP_SIZE]
    expected = []
    for op in reduction_ops(scenario):
        name = "LDG" if isinstance(op, LoadPartial | LoadSource | LoadBias) else "STG"
        address = _address(tile, access, op)[:WARP_SIZE]
        expected.append(Expected(op, name, 0, address, valid=valid, optional=not bool(valid.any())))
    return expected


def _address(tile: ReductionTile, access: ReductionAccess, op: Op) -> IntArray:
    """Global byte address of every thread."""
    match op:
        case LoadPartial(slice_, index):
            pointer, offset, element = POINTERS.partial, access.partial[slice_, index], tile.accumulator_type
        case LoadSource():
            pointer, offset, element = POINTERS.source, access.output, tile.output_type
        case LoadBias():
            pointer, offset, element = POINTERS.bias, access.bias, tile.output_type
        case _:
            pointer, offset, element = POINTERS.output, access.output, tile.output_type
    address: IntArray = pointer + offset * element_bits(element) // 8
    return address
