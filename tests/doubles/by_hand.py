"""CTAs of instructions written by hand, on a chip without a kernel: when each warp issues, and what it waits for."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any, NamedTuple

from doubles.published import H200

from gpusim.machine import load_machine
from gpusim.machine.spec import Machine
from gpusim.sim.code import (
    OUTPUT,
    THROTTLES,
    Assembly,
    Decoded,
    DecodedRole,
    DecodedSegment,
    of_one_role,
    pipe_names,
)
from gpusim.sim.columns import Data, Traces, column, rows_of
from gpusim.sim.core import chip as interpreted
from gpusim.sim.core.chip import Chip
from gpusim.sim.core.constants import (
    COMMIT,
    DEPBAR,
    EXIT,
    GLOBAL,
    LDGSTS,
    NOTE_WIDTH,
    PIPE,
    REQUEST_AT,
    RETIRED,
    SHARED,
    SPAN_WIDTH,
)
from gpusim.sim.core.mio import Mio
from gpusim.sim.cta_scheduler import CtaLife
from gpusim.sim.figures import Figures, figures_of
from gpusim.sim.footprint import IN_L2, L2Status, LineMasks, Request
from gpusim.sim.stall_reasons import MIO_THROTTLE, REASONS
from gpusim.sim.tables import code_of
from gpusim.units import SECTORS_PER_LINE

A100 = load_machine("a100")
PIPES = pipe_names(A100)
WARPS = 32


def instruction(kind: int, *, pipe: str = "alu", waits: tuple[int, ...] = (), **fields: Any) -> Decoded:
    """One instruction with A100's figures; what it leaves unsaid is nothing, registers of memory instructions too."""
    figures = {"interval": 0, "latency": 0}
    port = len(PIPES) + (kind not in (*THROTTLES, COMMIT))
    if kind == PIPE:
        port = PIPES.index(pipe)
        known = A100.tensor["m16n8k16.f16.f32"] if pipe == "tensor core" else A100.pipes[pipe]
        figures = {"interval": known.interval, "latency": known.latency or 0}
    gated = {"gated": bool(waits) or kind in (DEPBAR, EXIT), "joins": kind != PIPE or pipe in ("branch", "mufu")}
    return Decoded(kind, port, THROTTLES.get(kind, MIO_THROTTLE), waits=waits, **(gated | figures | fields))


def ldmatrix(matrices: int, board: int, wavefronts: int | None = None, **fields: Any) -> Decoded:
    """An ldmatrix on a chain of its own: it waits for the one before it on the same scoreboard."""
    made = {
        "latency": A100.shared.ldmatrix_latency_x1,
        "waits": (board,),
        "write": board,
        "bytes": 128 * matrices,
        "wavefronts": ((wavefronts or matrices,) * WARPS,),
        "is_load": True,
    }
    return instruction(SHARED, **(made | fields))


def lds(**fields: Any) -> Decoded:
    """A 4-byte load that nobody waits for."""
    latency = A100.shared.load_latency
    return instruction(SHARED, latency=latency, bytes=128, wavefronts=((1,) * WARPS,), is_load=True, **fields)


def copy(fetch: int, **fields: Any) -> Decoded:
    """A cp.async.cg that makes the request of a fetch."""
    made = {"wavefronts": ((4,) * WARPS,), "target": (0, fetch, 0, 0), "zero_fills": True}
    return instruction(LDGSTS, **(made | fields))


def load(fetch: int, **fields: Any) -> Decoded:
    """An ld.global of an operand that makes the request of a fetch."""
    return instruction(GLOBAL, wavefronts=((1,) * WARPS,), target=(0, fetch, 0, 0), is_load=True, **fields)


def epilogue_load(output: int, **fields: Any) -> Decoded:
    """An ld.global of an epilogue."""
    return instruction(GLOBAL, target=(OUTPUT, output, 0, 0), is_load=True, **fields)


def store(output: int, **fields: Any) -> Decoded:
    """An st.global of an epilogue."""
    return instruction(GLOBAL, target=(OUTPUT, output, 0, 0), **fields)


def traced_load(**fields: Any) -> Decoded:
    """An ld.global that takes the next request of its warp's trace."""
    return instruction(GLOBAL, target=(0, 0, 0, 0), is_load=True, through_l1=True, traced=True, **fields)


def traced_store(atomic: int = 0, **fields: Any) -> Decoded:
    """An st.global, or an atomic of some kind, that takes the next request of its warp's trace."""
    return instruction(GLOBAL, target=(OUTPUT, -1, 0, 0), traced=True, atomic=atomic, **fields)


def masks_of(sectors: int) -> LineMasks:
    """Sectors that follow each other from the first one of line 0 on, by line."""
    left = range(sectors, 0, -SECTORS_PER_LINE)
    return tuple((line, (1 << min(count, SECTORS_PER_LINE)) - 1) for line, count in enumerate(left))


class Traced(NamedTuple):
    """
    The access of a traced instruction.

    Attributes:
        lines: Line and mask of the sectors of each line request.
        masked: Whether a store writes sectors in part.
        passes: Passes that an atomic takes at each line.
        wavefronts: Wavefronts in shared memory, or passes of an instruction that is no access.
    """

    lines: LineMasks = ()
    masked: bool = False
    passes: int = 0
    wavefronts: int = 0


class Memory(NamedTuple):
    """
    What CTAs by hand find in global memory, the same for all of them.

    Attributes:
        requests: The request of each fetch, the same for all warps but for ``apart``.
        statuses: L2 status of each fetch; of no use where lines are simulated. All hit where none is given.
        outputs: Sectors of each access of an epilogue, and their L2 status.
        simulates_l2: Whether the L2's lines are simulated.
        follows: The CTA whose stores each CTA's epilogue waits for, or -1; none waits where nothing is given.
        banks: Wavefronts that each fetch takes of the L1's banks; as many as lines where nothing is given.
        apart: Lines from those of one warp to those of the next; 0 where all have the same.
        trace: Accesses of each warp's traced instructions, in the order of their execution.
    """

    requests: Sequence[Request] = ()
    statuses: Sequence[L2Status] = ()
    outputs: Sequence[tuple[int, L2Status]] = ()
    simulates_l2: bool = True
    follows: Sequence[int] = ()
    banks: Sequence[int] = ()
    apart: int = 0
    trace: Sequence[Traced] = ()

    def data(self, warps: int, ctas: int) -> Data:
        """The columns: one row of copies, whose fetches are a pattern each."""
        fetches = range(len(self.requests))
        own = [lines for _, lines in self.requests]
        lines = [tuple((line + warp * self.apart, mask) for line, mask in one) for one in own for warp in range(warps)]
        lines += [masks_of(sectors) for sectors, _ in self.outputs for _ in range(warps)]
        made = range(len(self.requests), len(self.requests) + len(self.outputs))
        untraced = len(lines)
        lines += [one.lines for one in self.trace]
        statuses = self.statuses or [IN_L2 for _ in fetches]
        follows = self.follows or [-1] * ctas
        return Data(
            program=column([0] * ctas),
            follows=column(follows),
            followed=column(follows.index(cta) if cta in follows else -1 for cta in range(ctas)),
            rows=1,
            outputs=len(self.outputs),
            row_fetch=column([0] * ctas),
            row_status=column([0] * ctas),
            row_output=column([number * warps for _ in range(ctas) for number in made]),
            output_line=column([0] * ctas * len(self.outputs)),
            found_slow=column([status.slow for _ in range(ctas) for _, status in self.outputs]),
            found_missed=column([status.missed for _ in range(ctas) for _, status in self.outputs]),
            found_first=column([int(status.first) for _ in range(ctas) for _, status in self.outputs]),
            pattern=column(fetches),
            fetch_line=column(0 for _ in fetches),
            slow=column(status.slow for status in statuses),
            brought=column(status.missed for status in statuses),
            shared=column(status.shared for status in statuses),
            looked=column(status.looked for status in statuses),
            request=column(fetch * warps for fetch in fetches),
            vecs=column(1 for _ in fetches),
            asked=column(
                (
                    *(sectors for sectors, _ in (*self.requests, *self.outputs) for _ in range(warps)),
                    *(sum(mask.bit_count() for _, mask in one.lines) for one in self.trace),
                )
            ),
            touched=column(sum(map(len, lines[:number])) for number in range(len(lines) + 1)),
            l1_wavefronts=column(
                (
                    *(
                        banks
                        for banks in (*(self.banks or map(len, own)), *[0] * len(self.outputs))
                        for _ in range(warps)
                    ),
                    *(len(one.lines) for one in self.trace),
                )
            ),
            line=column(line for one in lines for line, _ in one),
            mask=column(mask for one in lines for _, mask in one),
            cached=True,
            simulates_l2=self.simulates_l2,
            traces=self.traces(warps, ctas, untraced, sum(map(len, lines[:untraced]))),
        )

    def traces(self, warps: int, ctas: int, untraced: int, lines: int) -> Traces:
        """The traces, behind so many requests and line requests of others: one array, the same entries of all CTAs."""
        entries = [(number, one.wavefronts) for number, one in enumerate(self.trace, untraced)]
        touched = [one for one in self.trace for _ in one.lines]
        return Traces(
            first=column([warp * len(entries) for _ in range(ctas) for warp in range(warps)]),
            arrays=1,
            array_line=column([0] * ctas),
            masked=column([0] * lines + [int(one.masked) for one in touched]),
            passes=column([0] * lines + [one.passes for one in touched]),
            access=column([number << REQUEST_AT | own for number, own in entries] * warps),
            line=column([warp * self.apart for warp in range(warps) for _ in entries]),
        )


NOTHING = Memory()


@dataclass(frozen=True)
class Warp:
    """
    What one warp did.

    Attributes:
        launched: Cycle of its CTA's launch.
        smsp: SMSP of the SM.
        spans: [begin, end) in cycles, and the stall reason, in the order of the log.
        notes: Issue of each instruction with an activity, and the cycle of its result.
    """

    launched: int
    smsp: int
    spans: list[tuple[int, int, str]]
    notes: list[tuple[int, int]]

    @property
    def selected(self) -> list[int]:
        """Cycles of its issues."""
        return [begin for begin, _, reason in self.spans if reason == "selected"]

    @property
    def issues(self) -> list[int]:
        """Cycles of its issues, counted from the first."""
        return [at - self.selected[0] for at in self.selected]

    def stalled(self, *reasons: str) -> int:
        """Cycles of some stall reasons."""
        return sum(end - begin for begin, end, reason in self.spans if reason in reasons)


@dataclass(frozen=True)
class Run:
    """
    A run of CTAs to its end.

    Attributes:
        chip: The chip as it was left.
        lives: The CTAs, in order of their end.
        warps: By (CTA, warp).
    """

    chip: Chip
    lives: list[CtaLife]
    warps: dict[tuple[int, int], Warp]

    def period(self, trips: int) -> float:
        """Cycles of one trip, where ``trips`` lie between the first issue of any warp and the last."""
        cycles = [at for warp in self.warps.values() for at in warp.selected]
        return (max(cycles) - min(cycles)) / trips


def assembly(*segments: tuple[Iterable[Decoded], int], warps: int) -> Assembly:
    """The code of a CTA: instructions and trips of each segment; an exit is appended."""
    code = [DecodedSegment("mainloop", tuple(body), trips, 1) for body, trips in segments]
    code.append(DecodedSegment("epilogue", (instruction(EXIT),), 1, 0))
    return of_one_role(code, warps)


def roles(*programs: tuple[Iterable[Decoded], int]) -> Assembly:
    """The code of a CTA whose roles execute a program each, once: instructions and warps; an exit is appended."""
    return Assembly(
        tuple(
            DecodedRole(f"role {number}", assembly((body, 1), warps=warps).segments, warps)
            for number, (body, warps) in enumerate(programs)
        )
    )


def chip_of(
    code: Assembly,
    figures: Figures,
    module: ModuleType,
    *,
    memory: Memory = NOTHING,
    ctas: int = 1,
    sms: int = 1,
    slots: int | None = None,
    share: int = 1,
    groups: Sequence[int] = (),
) -> Chip:
    """A chip for some CTAs, on which all run at once unless ``slots`` says else."""
    columns, slots = code_of({0: code}, figures.machine.instruction_cache.stream_lines), slots or -(-ctas // sms)
    chip: Chip = module.Chip(figures, columns, memory.data(code.warps, ctas), sms, slots, share, groups)
    return chip


def quiet(
    *code: Decoded,
    figures: Figures | None = None,
    machine: Machine = H200,
    memory: Memory = NOTHING,
    **more: Any,
) -> Chip:
    """An interpreted chip that is not run: what its mechanisms answer to, one call after the other."""
    figures = figures or figures_of(machine, 0, busy=False)
    return chip_of(assembly((code, 1), warps=3), figures, interpreted, memory=memory, **more)


def queue(mio: Mio, smsp: int, at: int, *, cycles: int, registers: int = 0, until: int = 0, **fields: int) -> int:
    """Queue an entry of warp 0; return the cycle at which the data stage takes it."""
    _fill(mio, cycles, registers, until, fields)
    return mio.queue(smsp, at, 0)


def queue_copy(mio: Mio, smsp: int, at: int, *, cycles: int, registers: int = 0, until: int = 0, **fields: int) -> int:
    """Queue a copy of warp 0; return the cycle at which the data stage takes it, or is passed."""
    _fill(mio, cycles, registers, until, fields)
    return mio.queue_copy(smsp, at, 0)


def _fill(mio: Mio, cycles: int, registers: int, until: int, fields: Mapping[str, int]) -> None:
    mio.entry(cycles, registers, until)
    for name, value in fields.items():
        setattr(mio, name, value)


def finish(chip: Chip, ctas: int, watched: int, at: int) -> list[CtaLife]:
    """Hand CTAs to the SMs in turn, all to come at one cycle, and run them to their end."""
    for cta in range(ctas):
        chip.hand(cta % chip.sms, cta, at, int(cta == watched))
    lives = []
    while (cta := chip.run()) >= 0:
        lives.append(CtaLife(cta, chip.ended_sm, chip.ended_launched, chip.ended_at))
    return lives


def run(
    module: ModuleType,
    code: Assembly,
    *,
    ctas: int = 1,
    sms: int = 1,
    share: int = 1,
    figures: Figures | None = None,
    machine: Machine = A100,
    memory: Memory = NOTHING,
    at: int = 0,
) -> Run:
    """
    Run CTAs that are all launched at one cycle, on SMs whose L1 has all their memory unless ``figures`` say else.

    A log tells the warps of one CTA, so that the run is repeated with each CTA watched in turn.
    """
    figures = figures or figures_of(machine, 0, busy=False)
    warps: dict[tuple[int, int], Warp] = {}
    ended: list[list[CtaLife]] = []
    for watched in range(ctas):
        chip = chip_of(code, figures, module, memory=memory, ctas=ctas, sms=sms, share=share)
        ended.append(finish(chip, ctas, watched, at))
        launched = next(life.launched for life in ended[-1] if life.cta == watched)
        warps |= {(watched, number): warp for number, warp in watched_warps(chip, launched).items()}
    assert all(lives == ended[0] for lives in ended), "to be watched changes nothing"
    return Run(chip, ended[0], warps)


def execute(module: ModuleType, *segments: tuple[Iterable[Decoded], int], warps: int = 1, **named: Any) -> Run:
    """Run CTAs of these segments; what is named is that of ``run``."""
    return run(module, assembly(*segments, warps=warps), **named)


def notes_of(chip: Chip) -> list[list[int]]:
    """Return the notes of a watched CTA, row by row."""
    return rows_of(chip.notes.column, NOTE_WIDTH).tolist()


def spans_of(chip: Chip) -> list[list[int]]:
    """Return the stall spans of a watched CTA, row by row."""
    return rows_of(chip.spans.column, SPAN_WIDTH).tolist()


def watched_warps(chip: Chip, launched: int) -> dict[int, Warp]:
    """The warps of the CTA that was watched, and launched at a cycle, as the logs have them."""
    notes, spans = notes_of(chip), spans_of(chip)
    noted = [(warp, at, landed) for warp, place, _, at, landed, _ in notes if place >= 0]
    return {
        number: Warp(
            launched,
            smsp,
            [(begin, end, REASONS[reason]) for warp, begin, end, reason in spans if warp == number],
            [(at, landed) for warp, at, landed in noted if warp == number],
        )
        for number, place, smsp, *_ in notes
        if place == RETIRED
    }
