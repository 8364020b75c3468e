"""Defines the addresses of the LDGSTS experiment: rows of chosen length, and k tiles of GEMM kernels."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from gpusim.arrays import IntArray
from gpusim.errors import BadInput
from gpusim.layout.named import shared_layout
from gpusim.schedule import multistage
from gpusim.schedule.mainloop import shape_of
from gpusim.schedule.ops import CopyAsync
from gpusim.tile.gemm_iterators import GemmSource
from gpusim.tile.operand import SIDES, Operand, Side, Tiling
from gpusim.tile.shared_store import store_offsets

NO_SOURCE = -1
"""Source offset of a lane that copies nothing."""

LANE_MASKS = {
    "all": lambda lane: lane >= 0,
    "even": lambda lane: lane % 2 == 0,
    "low": lambda lane: lane < 16,
    "one": lambda lane: lane == 0,
    "none": lambda lane: lane < 0,
}
"""Predicates over the lane index, by name: which lanes have a source."""

_WARP = 32
_PHASE = 8
_VECTOR = 16
_ROW_STRIDE = 8192


@dataclass(frozen=True, slots=True)
class Pattern:
    """
    The copies that one CTA makes in one step.

    Attributes:
        name: Description of the global addresses.
        target_name: Description of the shared-memory addresses.
        lanes: Description of the lanes that have a source, such as a key of ``LANE_MASKS``.
        bytes: Bytes that one lane copies.
        source: Global byte offsets, shape [copies, threads]; ``NO_SOURCE`` for lanes without a source.
        target: Shared-memory byte offsets, shape [copies, threads].
        shared_bytes: Shared memory that the launch needs for all stages.
        step_bytes: Distance of the next k tile in global memory, bytes.
        stages: Slots of shared memory.
        stage_bytes: Distance between slots, bytes.
    """

    name: str
    target_name: str
    lanes: str
    bytes: int
    source: IntArray
    target: IntArray
    shared_bytes: int
    step_bytes: int = 0
    stages: int = 1
    stage_bytes: int = 0

    @property
    def copies(self) -> int:
        """Number of copy instructions that each warp issues."""
        return int(self.source.shape[0])

    @property
    def threads(self) -> int:
        """Number of threads of the CTA."""
        return int(self.source.shape[1])


def row_pattern(
    row_bytes: int,
    *,
    width: int = 16,
    target: str,
    lanes: str = "all",
    skew: int = 0,
    copies: int = 1,
    warps: int = 1,
) -> Pattern:
    """
    Return a pattern in which the 32 lanes of each warp instruction read rows of ``row_bytes``, 8192 bytes apart.

    Args:
        row_bytes: Bytes of a row. With copies of 16 bytes, 512 makes one contiguous row and 16 makes 32 rows.
        width: Bytes of a copy: 4, 8 or 16.
        target: "linear" (lane after lane), "row_major" (rows 128 bytes apart and not permuted, so that short rows have
            bank conflicts), or "crosswise" (CUTLASS's layout for rows of 128 and 64 bytes, an XOR of vector and row for
            other lengths).
        lanes: Key of ``LANE_MASKS``.
        skew: Distance of the rows' first byte from the start of a 128-byte line.
        copies: Instructions of a warp. Each reads the rows that follow those of the previous one.
        warps: Warps of the CTA. Each reads the rows that follow those of the previous one.

    Raises:
        BadInput: A row is not a whole number of copies, or the target is unknown.
    """
    if row_bytes % width or row_bytes > _WARP * width:
        raise BadInput(f"row_bytes must be a multiple of {width} up to {_WARP * width}, got {row_bytes}")
    across = row_bytes // width
    thread: IntArray = np.arange(warps * _WARP, dtype=np.int64)
    copy = np.arange(copies, dtype=np.int64)[:, None]
    lane, warp = thread % _WARP, thread // _WARP
    rows = _WARP // across
    row = (warp * copies + copy) * rows + lane // across
    vector = np.broadcast_to(lane % across, row.shape)
    source = row * _ROW_STRIDE + vector * width + skew
    source = np.where(LANE_MASKS[lanes](lane)[None, :], source, NO_SOURCE)
    offsets = _target(target, row, vector, width, row_bytes)
    name = f"{rows} rows of {row_bytes} B" + (f" from {skew} B of the line" if skew else "")
    return Pattern(name, target, lanes, width, source, offsets, int(offsets.max()) + width)


def _target(target: str, row: IntArray, vector: IntArray, width: int, row_bytes: int) -> IntArray:
    if target == "linear":
        return row * row_bytes + vector * width
    if target == "row_major":
        return row * max(row_bytes, 128) + vector * width
    if target != "crosswise":
        raise BadInput(f'target must be one of linear, row_major, crosswise, got "{target}"')
    if row_bytes in {64, 128}:
        strided = -(-(int(row.max()) + 1) // 8) * 8
        layout = shared_layout("crosswise", element_bits=16, contiguous=row_bytes // 2, strided=strided, stages=1)
        return layout.offset(vector * (width // 2), row) * 2
    if row_bytes > 128:
        return row * row_bytes + vector * width
    return row * 128 + (vector * width ^ (row % 8) * 16)


def phase_pattern(name: str, target_name: str, first: IntArray, vectors: int, target: IntArray) -> Pattern:
    """
    Return a pattern of one warp instruction with four phases of 8 lanes, each reading consecutive 16-byte vectors.

    Args:
        name: Description of the global addresses.
        target_name: Description of the shared-memory addresses.
        first: Vector of global memory that the first lane of each phase reads, shape [4]; ``NO_SOURCE`` for a phase
            without a source.
        vectors: Number of leading lanes of a phase that have a source.
        target: Vector of shared memory that each lane writes, shape [4, 8].
    """
    lane = np.arange(_PHASE, dtype=np.int64)
    has_source = (lane < vectors) & (first[:, None] != NO_SOURCE)
    source = np.where(has_source, (first[:, None] + lane) * _VECTOR, NO_SOURCE)
    shared_bytes = (int(target.max()) + 1) * _VECTOR
    lanes = f"{vectors} of 8"
    return Pattern(
        name, target_name, lanes, _VECTOR, source.reshape(1, _WARP), target.reshape(1, _WARP) * _VECTOR, shared_bytes
    )


def single_phases() -> Iterator[Pattern]:
    """
    Yield patterns in which only one phase has a source.

    It reads from every vector of a line, and writes a line permuted by every XOR or rotated by every distance. The
    other phases write lines of their own.
    """
    lane = np.arange(_PHASE, dtype=np.int64)
    own_lines = (2 + np.arange(4, dtype=np.int64))[:, None] * _PHASE + lane
    for vectors in (5, 8):
        for start in range(_PHASE):
            for permuted in range(_PHASE):
                target = own_lines.copy()
                target[0] = lane ^ permuted
                yield phase_pattern(
                    f"{vectors} vectors from vector {start} of a line",
                    f"XOR {permuted}",
                    np.array([start, NO_SOURCE, NO_SOURCE, NO_SOURCE], dtype=np.int64),
                    vectors,
                    target,
                )
    for start in (0, 1):
        for rotation in range(1, _PHASE):
            target = own_lines.copy()
            target[0] = lane + rotation
            yield phase_pattern(
                f"8 vectors from vector {start} of a line",
                f"from vector {rotation} of a line",
                np.array([start, NO_SOURCE, NO_SOURCE, NO_SOURCE], dtype=np.int64),
                8,
                target,
            )


def pitched_rows() -> Iterator[Pattern]:
    """
    Yield patterns in which all four phases have a source.

    The first ones read packed rows of 5 vectors, as in a GEMM with K = 40, into rows from 0 or 4 of the tile. The
    others read whole lines (8 vectors) or half lines (4 vectors, two rows in a phase) into rows of every pitch.
    """
    lane = np.arange(_PHASE, dtype=np.int64)
    phase = np.arange(4, dtype=np.int64)
    for first_row in (0, 4):
        rows = first_row + phase
        crosswise = rows[:, None] * _PHASE + (lane ^ rows[:, None] % _PHASE)
        yield phase_pattern("rows of 5 vectors, packed", f"crosswise from row {first_row}", rows * 5, 5, crosswise)
        linear = rows[:, None] * _PHASE + lane
        yield phase_pattern("rows of 5 vectors, packed", f"linear from row {first_row}", rows * 5, 5, linear)
    for pitch in range(8, 17):
        target = phase[:, None] * pitch + lane
        yield phase_pattern("4 rows of 128 B", f"rows {pitch * _VECTOR} B apart", phase * 512, 8, target)
    for pitch in range(4, 13):
        half_row = phase[:, None] * 2 + lane // 4
        thread_source = (half_row * 512 + lane % 4) * _VECTOR
        target = (half_row * pitch + lane % 4) * _VECTOR
        yield Pattern(
            "8 rows of 64 B",
            f"rows {pitch * _VECTOR} B apart",
            "all",
            _VECTOR,
            thread_source.reshape(1, _WARP),
            target.reshape(1, _WARP),
            int(target.max()) + _VECTOR,
        )


def gemm_patterns() -> Iterator[Pattern]:
    """
    Yield the copies of one k tile of fp16 TN GEMM kernels with crosswise shared memory, in the mainloop's order.

    Each kernel gives three patterns: both operands, A alone, and B alone.
    """
    for threadblock, warp, stages in (
        ((128, 128, 32), (64, 64, 32), 3),
        ((128, 256, 32), (64, 64, 32), 3),
        ((128, 128, 64), (64, 64, 64), 3),
        ((64, 64, 64), (32, 32, 64), 5),
    ):
        tiling = Tiling(threadblock, warp, (16, 8, 16), stages)
        operands = {side: _operand(side, tiling) for side in SIDES}
        order = _mainloop_order(operands)
        yield _tile(operands, order, "A and B")
        for side in SIDES:
            yield _tile(operands, [copy for copy in order if copy[0] == side], side.upper())


def _operand(side: Side, tiling: Tiling) -> Operand:
    """Return an operand of a GEMM of 1024 x 1024 x 1024."""
    matrix = GemmSource(side, extent=1024, k=1024, leading=1024, bits=16)
    return Operand(side, side, "f16", 8, k_contiguous=True, layout="crosswise", tiling=tiling, source=matrix)


def _mainloop_order(operands: Mapping[Side, Operand]) -> list[tuple[Side, int]]:
    """Return operand and access of each copy of the first k tile that the mainloop fetches."""
    shape = shape_of(operands, multistage.GEMM_POLICY)
    prologue, iterations, tail = multistage.mainloop(shape, multistage.GEMM_POLICY, shape.stages)
    ops = (*prologue, *(op for body in iterations for op in body), *tail)
    fetch = shape.stages - 1
    return [(op.operand, op.access) for op in ops if isinstance(op, CopyAsync) and op.fetch == fetch]


def _tile(operands: Mapping[Side, Operand], order: list[tuple[Side, int]], names: str) -> Pattern:
    tiling = operands["a"].tiling
    bases = {"a": 0, "b": operands["a"].shared_bytes}
    # B lies after all of A in global memory.
    apart = {"a": 0, "b": 1024 * 1024 * 2}
    sources, targets = [], []
    for side, access in order:
        fetched = operands[side].iterator(0, 0).fetch(1)
        sources.append(fetched.offset[:, access, 0] * 2 + apart[side])
        targets.append(store_offsets(operands[side], 0)[:, access, 0] * 2 + bases[side])
    first, second = (int(store_offsets(operands["a"], stage).min()) for stage in (0, 1))
    return Pattern(
        name=f"k tile of gemm {'x'.join(map(str, tiling.threadblock))}, {names}",
        target_name="crosswise",
        lanes="all",
        bytes=16,
        source=np.stack(sources),
        target=np.stack(targets),
        shared_bytes=sum(operand.shared_bytes for operand in operands.values()),
        step_bytes=tiling.threadblock[2] * 2,
        stages=tiling.stages,
        stage_bytes=(second - first) * 2,
    )
