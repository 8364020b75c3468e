"""
Machines and code without one obstacle. A change alters figures or code, never a time.

A simulation takes the changed machine or code in place of the real one, so the effect of a change is simulated.
"""

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final, TypeAlias

from gpusim.lower.stream import Instruction
from gpusim.machine.spec import DramSpec, Machine
from gpusim.schedule.lanes import Lanes
from gpusim.schedule.ops import Barrier, LoadShared, StoreShared
from gpusim.sim.code import THROTTLES, Assembly, Decoded, port_count
from gpusim.sim.core.constants import GLOBAL, PIPE
from gpusim.sim.launch import DecodedCode, Launch
from gpusim.sim.tables import code_of

PLENTY: Final = 1 << 20
"""A bandwidth that no kernel exhausts: bytes a cycle."""

INTEGER_PIPES: Final = frozenset({"alu", "fmaheavy", "uniform"})
"""Pipes of integer arithmetic: addresses, predicates and loop counters."""

MachineChange: TypeAlias = Callable[[Machine], Machine]
CodeChange: TypeAlias = Callable[[Launch, Assembly], Assembly]


@dataclass(frozen=True, slots=True)
class Change:
    """
    The removal of one obstacle.

    Attributes:
        name: Name of the obstacle in tables.
        machine: Returns the machine without the obstacle; None for an unchanged machine.
        code: Returns the code of CTAs of one behaviour without the obstacle; None for unchanged code.
    """

    name: str
    machine: MachineChange | None = None
    code: CodeChange | None = None


@dataclass(frozen=True)
class ChangedLaunch(Launch):
    """A launch with changed code; ``changes`` are applied in order."""

    changes: tuple[CodeChange, ...] = ()

    @cached_property
    def decoded(self) -> DecodedCode:
        """The decoded code, changed."""
        found = Launch(self.kernel, self.streams, self.ctas_per_sm).assemblies
        for change in self.changes:
            found = {behaviour: change(self, assembly) for behaviour, assembly in found.items()}
        return DecodedCode(found, code_of(found, self.machine.instruction_cache.stream_lines))


def changed(launch: Launch, changes: Sequence[Change]) -> Launch:
    """
    Return a launch with changes, of the same CTAs and streams.

    Args:
        launch: The unchanged launch.
        changes: Changes, applied in this order.
    """
    kernel = copy(launch.kernel)
    for change in changes:
        if change.machine is not None:
            kernel.machine = change.machine(kernel.machine)
    codes = tuple(change.code for change in changes if change.code is not None)
    return ChangedLaunch(kernel, launch.streams, launch.ctas_per_sm, codes)


# --- machines ---


def _l2_has_all(machine: Machine) -> Machine:
    """Return the machine on which every sector hits the L2, on both sides of the chip."""
    plenty = replace(machine.dram, bandwidth_gb_s=PLENTY, banks=None, turns=None)
    clock = machine.l2.clock and replace(machine.l2.clock, of_miss=machine.l2.clock.of_hit)
    mixed = machine.l2.mixed and replace(machine.l2.mixed, fill_percent=0)
    here = replace(machine.l2, crossing=None, clock=clock, mixed=mixed)
    return replace(machine, dram=_with_latency(plenty, machine.l2.hit_latency), l2=here)


def _with_latency(dram: DramSpec, cycles: int) -> DramSpec:
    """Return the memory on which every miss takes ``cycles``."""
    return replace(
        dram,
        latency=cycles,
        latency_least=cycles,
        latency_late=cycles,
        latency_later=cycles,
        latency_most=cycles,
        late=None,
    )


def _data_at_once(machine: Machine) -> Machine:
    """Return the machine on which copies, loads and stores of global memory end when they issue."""
    once = _l2_has_all(machine)
    l2 = replace(
        once.l2,
        hit_latency=1,
        far_latency=1,
        write_latency=1,
        bytes_per_cycle=PLENTY,
        bytes_per_cycle_per_sm=PLENTY,
        write_bytes_per_cycle=PLENTY,
        write_bytes_per_cycle_per_sm=PLENTY,
    )
    copies = once.async_copy
    return replace(
        once,
        l1=replace(once.l1, hit_latency=1, lines=None),
        l2=l2,
        dram=_with_latency(once.dram, 1),
        async_copy=None if copies is None else replace(copies, l1_latency=1),
    )


def _starts_at_once(machine: Machine) -> Machine:
    """Return the machine on which CTAs start at once, and instructions and parameters are in their caches."""
    clocks = machine.launch.gpc_clocks
    clocks = clocks and replace(clocks, besides=(0,) * len(clocks.sms))
    return replace(
        machine,
        launch=replace(machine.launch, overhead=0, cta_setup=0, cta_interval=0, gpc_clocks=clocks),
        constant_cache=replace(machine.constant_cache, miss_latency=0, lines=None),
        instruction_cache=replace(machine.instruction_cache, l1_miss_latency=0, line_interval=0),
    )


# --- code ---


def _without_conflicts(launch: Launch, assembly: Assembly) -> Assembly:
    """Return the code in which shared-memory accesses take only the wavefronts that their bytes need."""
    lanes: Lanes[object] = launch.kernel.lanes()

    def ideal(instruction: Instruction, decoded: Decoded) -> Decoded:
        step = instruction.op
        shared = None if step is None or not decoded.wavefronts else lanes.shared(step)
        if shared is None:
            return decoded
        return decoded._replace(wavefronts=(tuple(shared.table.ideal[shared.place].tolist()),))

    segments = []
    for segment in assembly.segments:
        pairs = zip(segment.instructions, segment.code, strict=True)
        segments.append(segment._replace(code=tuple(ideal(instruction, decoded) for instruction, decoded in pairs)))
    return assembly.with_segments(segments)


def _without_integers(_: Launch, assembly: Assembly) -> Assembly:
    """
    Return the code without integer arithmetic between the ops. Branches and instructions with a scoreboard stay.

    The remaining code is assumed to read one line of the launch's parameters. If the first instruction of an
    instruction-cache line is removed, the line begins with the next instruction that stays.
    """
    segments = []
    for segment in assembly.segments:
        kept: list[tuple[Instruction, Decoded]] = []
        line = -1
        for instruction, decoded in zip(segment.instructions, segment.code, strict=True):
            line = decoded.line if decoded.line >= 0 else line
            if _is_integer(instruction, decoded) and (kept or decoded is not segment.code[-1]):
                continue
            kept.append((instruction, decoded._replace(line=line, gated=decoded.gated or line >= 0)))
            line = -1
        instructions, code = zip(*kept, strict=True) if kept else ((), ())
        segments.append(segment._replace(instructions=instructions, code=code))
    return replace(assembly.with_segments(segments), parameter_lines=1)


def _without_stores(launch: Launch, assembly: Assembly) -> Assembly:
    """Return the code in which stores to global memory issue, but do not go to the L2 and write nothing."""
    segments = []
    for segment in assembly.segments:
        code = (
            _issued(launch.machine, decoded) if decoded.kind == GLOBAL and not decoded.is_load else decoded
            for decoded in segment.code
        )
        segments.append(segment._replace(code=tuple(code)))
    return assembly.with_segments(segments)


def _from_registers(launch: Launch, assembly: Assembly) -> Assembly:
    """
    Return the code in which the epilogue stores its accumulators from registers, without shared memory.

    Its stores to shared memory, its loads from there and its barriers only issue. Barriers stay if slices of a split-K
    wait for one another: all warps of a CTA wait with the warp that polls.
    """
    lanes: Lanes[object] = launch.kernel.lanes()
    staging = (StoreShared, LoadShared) if launch.kernel.orders_slices else (StoreShared, LoadShared, Barrier)

    def is_staging(instruction: Instruction) -> bool:
        return instruction.op is not None and isinstance(lanes.op(instruction.op), staging)

    segments = []
    for segment in assembly.segments:
        if segment.name == "epilogue":
            pairs = zip(segment.instructions, segment.code, strict=True)
            own = (_issued(launch.machine, two) if is_staging(one) else two for one, two in pairs)
            segments.append(segment._replace(code=tuple(own)))
        else:
            segments.append(segment)
    return assembly.with_segments(segments)


def _issued(machine: Machine, decoded: Decoded) -> Decoded:
    """Return an instruction that issues in place of another one, and has no other effect."""
    return Decoded(
        PIPE,
        port_count(machine) - 1,
        THROTTLES[PIPE],
        stall=decoded.stall,
        gated=decoded.gated,
        waits=decoded.waits,
        line=decoded.line,
        awaits=decoded.awaits,
    )


def _is_integer(instruction: Instruction, decoded: Decoded) -> bool:
    return (
        instruction.unit == "pipe"
        and instruction.pipe in INTEGER_PIPES
        and instruction.op is None
        and decoded.write < 0
        and decoded.read < 0
        and not decoded.is_branch
        and not decoded.awaits
    )


NO_CONFLICTS: Final = Change("no bank conflicts", code=_without_conflicts)
INFINITE_L2: Final = Change("infinite L2: every sector is found there", machine=_l2_has_all)
STORES_AT_ONCE: Final = Change("stores at once: the output takes no way to memory", code=_without_stores)
FROM_REGISTERS: Final = Change("output from registers: no way through shared memory", code=_from_registers)
PERFECT_OVERLAP: Final = Change("perfect overlap: no copy, load or store is waited for", machine=_data_at_once)
NO_LAUNCH: Final = Change("no launch overhead: CTAs and their code are there at once", machine=_starts_at_once)
NO_ADDRESSES: Final = Change("no address arithmetic: no integer instruction between the ops", code=_without_integers)
