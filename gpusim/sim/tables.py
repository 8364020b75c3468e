"""Turns decoded code and footprints of CTAs into the columns that the core executes."""

from array import array
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import cache
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np

from gpusim.arrays import IntArray
from gpusim.schedule.lanes import CtaLanes, Fetches, GlobalRow, Lanes
from gpusim.sim.code import Assembly, Decoded
from gpusim.sim.columns import INSTRUCTION_COLUMNS, Code, Column, Data, Traces, column
from gpusim.sim.core.constants import TENSOR_STRIDE, WAVE_STRIDE
from gpusim.sim.footprint import FetchPattern, L2Status, Patterns, Request
from gpusim.sim.l2_walk import L2Walk
from gpusim.sim.timed_kernel import KernelCtas, KernelData
from gpusim.tile.shared_tables import SharedTable, copy_table
from gpusim.units import LINE_BITS

_NOTHING_KNOWN = np.zeros((0, 3), dtype=np.int64)

_TARGET = ("row", "fetch_number", "access", "vec")
"""Columns of ``code.Target``."""


def distinct_of(assemblies: Mapping[Hashable, Assembly]) -> list[Assembly]:
    """Return the assemblies of all behaviours, each once, in the order in which programs are numbered."""
    return list({id(assembly): assembly for assembly in assemblies.values()}.values())


def programs_of(assemblies: Mapping[Hashable, Assembly]) -> dict[Hashable, int]:
    """Return the number of each behaviour's program."""
    number = {id(assembly): place for place, assembly in enumerate(distinct_of(assemblies))}
    return {behaviour: number[id(assembly)] for behaviour, assembly in assemblies.items()}


def decoded_of(assemblies: Mapping[Hashable, Assembly]) -> list[Decoded]:
    """Return the instructions of all programs in the order of the columns."""
    return [one for assembly in distinct_of(assemblies) for segment in assembly.segments for one in segment.code]


def code_of(assemblies: Mapping[Hashable, Assembly], stream_lines: int) -> Code:
    """
    Return the code of all behaviours as columns.

    Args:
        assemblies: The code of each behaviour (``programs_of`` numbers the programs).
        stream_lines: Instruction lines that are fetched ahead.
    """
    code = decoded_of(assemblies)
    programs = distinct_of(assemblies)
    warps = max(assembly.warps for assembly in programs)
    of, wavefronts = columns_of_code(code, warps)
    segments = [segment for assembly in programs for segment in assembly.segments]
    ends = [0]
    for segment in segments:
        ends.append(ends[-1] + len(segment.code))
    return Code(
        of=of,
        wavefronts=wavefronts,
        first=column(ends[:-1]),
        end=column(ends[1:]),
        trips=column(segment.trips for segment in segments),
        tiles=column(segment.tiles_per_trip for segment in segments),
        begins=column(_begins(programs, warps)),
        warps_of=column(assembly.warps for assembly in programs),
        warps=warps,
        lines=max(one.line for one in code) + stream_lines + 1,
        barriers=max(one.barrier for one in code) + 1,
        stretches=tuple(pairwise(ends)),
    )


def columns_of_code(code: Sequence[Decoded], warps: int) -> tuple[dict[str, Column], Column]:
    """
    Return the columns of instructions (``Code.of``), and the wavefronts that they index.

    Args:
        code: The instructions.
        warps: Most warps of a CTA.
    """
    fields = dict(zip(Decoded._fields, zip(*code, strict=True), strict=True))
    wavefronts: list[int] = []
    first_of: dict[Any, int] = {}
    for access in dict.fromkeys(fields["wavefronts"]):
        first_of[access] = len(wavefronts)
        for slot in access or ((),):
            wavefronts += [*slot, *[0] * (warps - len(slot))]
    made = {
        **dict(zip(_TARGET, zip(*fields["target"], strict=True), strict=True)),
        "icache_line": fields["line"],
        "ring_slot": fields["stage"],
        "waits": [sum(1 << board for board in boards) for boards in fields["waits"]],
        "first_wavefront": [first_of[access] for access in fields["wavefronts"]],
        "wavefront_slots": [max(1, len(access)) for access in fields["wavefronts"]],
    }
    return {name: column(made.get(name) or fields[name]) for name in INSTRUCTION_COLUMNS}, column(wavefronts)


def _begins(programs: Sequence[Assembly], warps: int) -> list[int]:
    """Return the first segment of every warp of each program; 0 for each of the ``warps`` that it does not have."""
    begins, following = [], 0
    for assembly in programs:
        for role in assembly.roles:
            begins += [following] * role.warps
            following += len(role.segments)
        begins += [0] * (warps - assembly.warps)
    return begins


class TouchingKernel(KernelCtas, KernelData, Protocol):
    """The kernel that the tables read: its CTAs, their data, and the lanes that access it (``KernelSchedule``)."""

    copied: ClassVar[tuple[str, ...]]

    def lanes(self) -> Lanes[Any]:
        """Return the addresses of all CTAs."""
        ...

    def missing_work(self, block: int) -> str:
        """Return the reason why a CTA has no work, such as "no tile"; empty for a CTA with work."""
        ...


class _Output(NamedTuple):
    """
    A row of outputs of one CTA. Rows of CTAs with equal access patterns differ only in their base.

    Attributes:
        request: First request of the row; requests are ordered by access and warp.
        line: Line of the tensor from which the requests' lines are counted.
        base: Base of the row (``CtaLanes.output_bases``).
        bits: Width of an element.
    """

    request: int
    line: int
    base: int
    bits: int


class DataTables:
    """
    Collects the memory accesses of CTAs. Each address pattern, and the fetches of each tile, are evaluated once.

    Args:
        kernel: The kernel whose CTAs they are.
        warps: Largest number of warps of a CTA.
        walk: Hits and misses in the L2; None if the L2 itself is simulated.
        first_wave: Number of CTAs in a wave: those that run at once on the whole chip.
    """

    def __init__(self, kernel: TouchingKernel, warps: int, walk: L2Walk | None, first_wave: int) -> None:
        self._kernel, self._warps, self._walk, self._first_wave = kernel, warps, walk, first_wave
        self._lanes = kernel.lanes()
        self._patterns = Patterns()
        self._row = cache(self._row_figures)
        self._columns: dict[str, Column] = {
            name: array("q")
            for name in (
                *(
                    "program",
                    "row_fetch",
                    "row_status",
                    "row_output",
                    "output_line",
                    "found_slow",
                    "found_missed",
                    "found_first",
                ),
                *("pattern", "fetch_line", "slow", "brought", "shared", "looked", "request", "vecs"),
                *("asked", "touched", "l1_wavefronts", "line", "mask"),
            )
        }
        self._fetches: dict[Hashable, int] = {}
        self._statuses: dict[Hashable, int] = {}
        self._status_of: dict[tuple[int, int], int] = {}
        self._brought: Mapping[tuple[int, int], int] = {}
        self._alike: dict[int, IntArray] = {}
        self._outputs: dict[int, int] = {}
        self._alike_outputs: dict[Hashable, list[_Output]] = {}
        self._tensors: list[int] | None = None
        self._known: dict[int, int] = {}

    def of(
        self, ctas: Sequence[int], programs: Mapping[Hashable, int], say: Callable[[int], None] = lambda _: None
    ) -> Data:
        """
        Return the columns of some CTAs.

        Args:
            ctas: CTAs in the order in which they are handed out.
            programs: Number of the program of each behaviour.
            say: Called with the number of CTAs that are done.
        """
        kernel, columns = self._kernel, self._columns
        if self._walk is not None:
            self._brought = self._walk.brought(ctas)
        found = []
        for done, cta in enumerate(ctas):
            found.append(self._cta(cta))
            say(done)
        rows = max((len(fetches) for fetches, _, _, _ in found), default=0)
        outputs = max((len(own) for _, _, own, _ in found), default=0)
        for cta, (fetches, statuses, own, status) in zip(ctas, found, strict=True):
            columns["program"].append(programs[kernel.behaviour(cta)])
            columns["row_fetch"].extend([*fetches, *[0] * (rows - len(fetches))])
            columns["row_status"].extend([*statuses, *[0] * (rows - len(statuses))])
            of_outputs = [*own, *[(0, 0)] * (outputs - len(own))]
            columns["row_output"].extend([request for request, _ in of_outputs])
            columns["output_line"].extend([line for _, line in of_outputs])
            padded = [*status, *[L2Status(0, 0)] * (outputs - len(status))]
            columns["found_slow"].extend([one.slow for one in padded])
            columns["found_missed"].extend([one.missed for one in padded])
            columns["found_first"].extend([int(one.first) for one in padded])
        columns["touched"].append(len(columns["line"]))
        number = {cta: place for place, cta in enumerate(ctas)}
        follows = [number.get(kernel.follows(cta), -1) for cta in ctas]
        followed = [-1] * len(ctas)
        for place, before in enumerate(follows):
            if before >= 0:
                followed[before] = place
        return Data(
            follows=column(follows),
            followed=column(followed),
            **{name: column(values) for name, values in columns.items()},
            rows=rows,
            outputs=outputs,
            cached=any(kernel.cached_in_l1(row) for row in range(rows)),
            simulates_l2=self._walk is None,
            traces=Traces(),
        )

    def _cta(self, cta: int) -> tuple[list[int], list[int], list[tuple[int, int]], tuple[L2Status, ...]]:
        """Return the first fetch and status of each row, first request and line of each output, and outputs' status."""
        kernel = self._kernel
        block = int(kernel.launched[cta])
        if kernel.missing_work(block):
            return [], [], [], ()
        walked, lanes = kernel.walked(cta), self._lanes.cta(block)
        if self._tensors is None:
            self._tensors = [kernel.tensor_of(row) for row in range(len(lanes.fetches()))] if kernel.copied else []
        # The walk gives the hits of each wave of CTAs, so each wave has lines of its own.
        wave = 0 if self._walk is None else cta // self._first_wave
        keys = [(row, walked[tensor], wave) for row, tensor in enumerate(self._tensors)]
        if any(key not in self._fetches for key in keys):
            for key, fetches in zip(keys, lanes.fetches(), strict=True):
                if key not in self._fetches:
                    self._fetches[key] = self._fetched(key[0], fetches, lanes, wave)
        alike = lanes.alike_outputs()
        if alike not in self._alike_outputs:
            rows = zip(lanes.output_rows, lanes.output_bases(), strict=True)
            self._alike_outputs[alike] = [self._output(row, base) for row, base in rows]
        known = zip(self._alike_outputs[alike], lanes.output_bases(), strict=True)
        outputs = [(one.request, one.line + (base - one.base) * one.bits // LINE_BITS) for one, base in known]
        found = kernel.found(cta, first_wave=cta < self._first_wave)
        statuses = self._status(cta, self._tensors)
        return [self._fetches[key] for key in keys], statuses, outputs, found

    def _status(self, cta: int, tensors: Sequence[int]) -> list[int]:
        """Return the first L2 status of each row's fetches."""
        if self._walk is None:
            return [0] * len(tensors)
        of_tensor, wave = self._walk.status(cta), cta // self._first_wave
        firsts = []
        for tensor in tensors:
            key, brought = of_tensor[tensor], self._brought[wave, tensor]
            known = id(key), brought  # hashing a long tuple takes long
            if known not in self._status_of:
                if (key, brought) not in self._statuses:
                    self._statuses[key, brought] = len(self._columns["slow"])
                    self._columns["slow"].extend(key.slow)
                    self._columns["brought"].extend([brought] * len(key))
                    self._columns["shared"].extend(key.shared)
                    self._columns["looked"].extend(key.looked)
                self._status_of[known] = self._statuses[key, brought]
            firsts.append(self._status_of[known])
        return firsts

    def _row_figures(self, row: int) -> tuple[int, int, int, SharedTable, bool]:
        """Return a row's tensor, element bits, access bytes and table of copies, and whether they bypass the L1."""
        tensor = self._kernel.tensor_of(row)
        operand = self._lanes.operands[self._kernel.copied[tensor]]
        return tensor, operand.bits, operand.access_bytes, copy_table(operand), not self._kernel.cached_in_l1(row)

    def _fetched(self, row: int, fetches: Fetches, lanes: CtaLanes[Any], wave: int) -> int:
        """Add the fetches of one row; return the first one's number. One of several like fetches is evaluated."""
        columns, (tensor, bits, access_bytes, table, around) = self._columns, self._row(row)
        first_line = tensor * TENSOR_STRIDE + wave * WAVE_STRIDE
        first = len(columns["pattern"])
        if len(fetches.alike):
            known = self._known_of(row, int(fetches.alike.max()))
            places = dict[int, int]()
            for place in np.flatnonzero(known[fetches.alike, 0] < 0).tolist():
                places.setdefault(int(fetches.alike[place]), place)
            for alike, place in places.items():
                access = lanes.fetched(row, int(fetches.number[place]))
                line, pattern = self._patterns.copies(access, table, access_bytes, around_l1=around)
                # A fetch without accesses requests no line.
                known[alike] = self._number(pattern), -1 if line is None else line, fetches.base[place]
            pattern_of, line_of, at = known[fetches.alike].T
            lines = np.where(line_of < 0, 0, line_of + (fetches.base - at) * bits // LINE_BITS)
            columns["pattern"].frombytes(pattern_of.tobytes())
            columns["fetch_line"].frombytes((first_line + lines).tobytes())
        return first

    def _known_of(self, row: int, most: int) -> IntArray:
        """Return [pattern or -1, line, base] of a row's fetches for each value of ``Fetches.alike``, up to ``most``."""
        known = self._alike.get(row, _NOTHING_KNOWN)
        if len(known) <= most:
            self._alike[row] = known = np.concatenate([known, np.full((2 * (most + 1), 3), -1, dtype=np.int64)])
        return known

    def _number(self, pattern: FetchPattern) -> int:
        """Return the number of a pattern, and add the pattern if it is new."""
        columns = self._columns
        if id(pattern) not in self._known:
            self._known[id(pattern)] = len(columns["request"])
            columns["request"].append(len(columns["asked"]))
            columns["vecs"].append(len(pattern.requests[0]))
            for vecs, wavefronts_of_vecs in zip(pattern.requests, pattern.wavefronts, strict=True):
                for warps, wavefronts in zip(vecs, wavefronts_of_vecs, strict=True):
                    self._add(warps, wavefronts)
        return self._known[id(pattern)]

    def _add(self, warps: Sequence[Request], wavefronts: Sequence[int]) -> None:
        """Add the requests of one access by all warps, with their wavefronts in the L1."""
        columns, idle = self._columns, self._warps - len(warps)
        columns["l1_wavefronts"].extend([*wavefronts, *[0] * idle])
        for sectors, lines in [*warps, *[(0, ())] * idle]:
            columns["asked"].append(sectors)
            columns["touched"].append(len(columns["line"]))
            columns["line"].extend([line for line, _ in lines])
            columns["mask"].extend([mask for _, mask in lines])

    def _output(self, row: GlobalRow, base: int) -> _Output:
        """Return a row of outputs with its base, and add its requests if they are new."""
        first, requests = self._patterns.output(row)
        if id(requests) not in self._outputs:
            self._outputs[id(requests)] = len(self._columns["asked"])
            for warps in requests:
                self._add(warps, [0] * len(warps))
        # A row without accesses requests no line.
        return _Output(self._outputs[id(requests)], first or 0, base, row.bits)
