"""The tiles, slots and shared memory of an attention kernel: every derived size, no addresses and no order."""

from dataclasses import dataclass

from gpusim.element_types import Shape
from gpusim.families.attention.problem import TILE_DEPTH, AttentionScenario
from gpusim.tile.operand import Tiling

WARPS = 4
"""Warps of a CTA of every attention kernel (golden fmha_facts, kNumWarpsPerBlock)."""

CTAS_PER_SM = {"attention": 4, "flash": 2}
"""CTAs of an SM for which a kernel's launch bounds keep registers free (golden fmha_facts has 4 of ``attention``)."""

WARP_TILE = 32
"""Rows and columns of the warps of ``attention`` in both GEMMs (golden fmha_facts, MM0_WarpShape_MNK)."""

ELEMENTS_PER_LINE = 64
"""16-bit elements of a 128-byte line of shared memory: V's rows are whole lines."""

P_PADDING = 8
"""Elements after each row of P in shared memory: with them ldmatrix and the stores of pairs meet no conflict."""

ROW_STATISTICS = ("maximum", "previous", "sum", "rescale")
"""One float a query each, in this order from the base of shared memory; the partial sums of each warp column follow."""

_STAGED_ROWS = 16
"""Rows of accumulators that the epilogue's staging reserves for each warp along M, twice what a step uses."""

_ACCUMULATOR_BYTES, _ELEMENT_BYTES = 4, 2


@dataclass(frozen=True, slots=True)
class AttentionShape:
    """
    The two GEMMs of a CTA and where their operands lie in shared memory.

    Attributes:
        qk, pv: Threadblock tile (M, N, K) of each GEMM.
        qk_warp, pv_warp: Warp tile of each.
        qk_tiles: k tiles of the first GEMM: head_dim in tiles.
        qk_slots, pv_slots: Slots of each GEMM's ring.
        column_blocks: Tiles of the second GEMM that cover head_dim_v.
        instruction: mma.sync of both.
        flash: P stays in registers, and Q, K and V lie side by side.
        in_registers: The output stays in registers until the last key block.
    """

    qk: Shape
    qk_warp: Shape
    qk_tiles: int
    qk_slots: int
    pv: Shape
    pv_warp: Shape
    pv_slots: int
    column_blocks: int
    instruction: Shape
    flash: bool
    in_registers: bool

    @property
    def threads(self) -> int:
        """Threads of a CTA."""
        return self.tiling("qk").threads

    def tiling(self, gemm: str) -> Tiling:
        """Return the tiles of a GEMM, "qk" or "pv"."""
        if gemm == "qk":
            return Tiling(self.qk, self.qk_warp, self.instruction, self.qk_slots)
        return Tiling(self.pv, self.pv_warp, self.instruction, self.pv_slots)

    @property
    def qk_whole(self) -> bool:
        """Whether each k tile of the first GEMM has a slot of its own."""
        return self.qk_tiles <= self.qk_slots

    @property
    def warp_columns(self) -> int:
        """Warps that share a row of S."""
        return self.qk[1] // self.qk_warp[1]

    @property
    def rows_of_lane(self) -> int:
        """Rows of S whose accumulators a lane holds."""
        return self.qk_warp[0] // 8

    @property
    def scores_of_row(self) -> int:
        """Scores of one row that a lane holds."""
        return self.qk_warp[1] // 4

    @property
    def owned_rows(self) -> int:
        """Rows whose statistics one warp updates, a lane each."""
        return self.qk[0] // WARPS

    @property
    def statistics_bytes(self) -> int:
        """Bytes of the row statistics, which lie at the base of shared memory."""
        arrays = 0 if self.flash else len(ROW_STATISTICS) + self.warp_columns
        return arrays * self.qk[0] * _ACCUMULATOR_BYTES

    @property
    def operand_bytes(self) -> dict[str, int]:
        """Bytes that each operand's slots take; P takes none in flash."""
        (queries, keys, depth), (_, columns, deep) = self.qk, self.pv
        return {
            "q": self.qk_slots * queries * depth * _ELEMENT_BYTES,
            "k": self.qk_slots * keys * depth * _ELEMENT_BYTES,
            "p": 0 if self.flash else queries * (keys + P_PADDING) * _ELEMENT_BYTES,
            "v": self.pv_slots * deep * columns * _ELEMENT_BYTES,
        }

    @property
    def operand_base(self) -> dict[str, int]:
        """Byte of shared memory at which each operand begins: P and V of ``attention`` take the place of Q and K."""
        size, first = self.operand_bytes, self.statistics_bytes
        second = first + size["q"] + size["k"] if self.flash else first
        return {"q": first, "k": first + size["q"], "p": second, "v": second + size["p"]}

    @property
    def staging_base(self) -> int:
        """Byte at which the epilogue's staging begins: behind V where the key loop has epilogues, else in its place."""
        base, size = self.operand_base, self.operand_bytes
        return self.statistics_bytes if self.in_registers else base["v"] + size["v"]

    @property
    def staging_bytes(self) -> int:
        """Bytes of the epilogue's staging: padded rows of f32 accumulators."""
        columns = self.pv[1] + P_PADDING
        return self.pv[0] // self.pv_warp[0] * _STAGED_ROWS * columns * _ACCUMULATOR_BYTES

    @property
    def shared_bytes(self) -> int:
        """
        Bytes of a CTA's shared memory.

        Source: golden fmha_facts, ``shared_storage_bytes``.
        """
        base, size = self.operand_base, self.operand_bytes
        ends = [base[operand] + size[operand] for operand in base]
        return max(*ends, self.staging_base + self.staging_bytes)


def attention_shape(scenario: AttentionScenario) -> AttentionShape:
    """Return the shape of a scenario's kernel."""
    problem, queries, keys = scenario.problem, scenario.queries_per_block, scenario.keys_per_block
    if scenario.flash:
        depth = ELEMENTS_PER_LINE if problem.head_dim % ELEMENTS_PER_LINE == 0 else TILE_DEPTH
        tiles = -(-problem.head_dim // depth)
        columns = ELEMENTS_PER_LINE
        while columns < problem.head_dim_v:
            columns *= 2
        return AttentionShape(
            qk=(queries, keys, depth),
            qk_warp=(queries // WARPS, keys, depth),
            qk_tiles=tiles,
            qk_slots=tiles,
            pv=(queries, columns, keys),
            pv_warp=(queries // WARPS, columns, keys),
            pv_slots=1,
            column_blocks=1,
            instruction=scenario.instruction,
            flash=True,
            in_registers=True,
        )
    tile, warp = (queries, keys, TILE_DEPTH), (WARP_TILE, WARP_TILE, TILE_DEPTH)
    tiles = -(-problem.head_dim // TILE_DEPTH)
    return AttentionShape(
        qk=tile,
        qk_warp=warp,
        qk_tiles=tiles,
        qk_slots=min(scenario.stages, tiles),
        pv=tile,
        pv_warp=warp,
        pv_slots=keys // TILE_DEPTH,
        column_blocks=-(-problem.head_dim_v // keys),
        instruction=scenario.instruction,
        flash=False,
        in_registers=scenario.in_registers,
    )
