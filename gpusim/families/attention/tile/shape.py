"""The tiles, slots and shared memory of an attention kernel: every derived size, no addresses and no order."""

from dataclasses import dataclass

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
        qk, pv: Tiles of each GEMM; its stages are the slots of its ring.
        qk_tiles: k tiles of the first GEMM: head_dim in tiles.
        column_blocks: Tiles of the second GEMM that cover head_dim_v.
        flash: P stays in registers, and Q, K and V lie side by side.
        in_registers: The output stays in registers until the last key block.
    """

    qk: Tiling
    pv: Tiling
    qk_tiles: int
    column_blocks: int
    flash: bool
    in_registers: bool

    @property
    def threads(self) -> int:
        """Threads of a CTA."""
        return self.qk.threads

    def tiling(self, gemm: str) -> Tiling:
        """Return the tiles of a GEMM, "qk" or "pv"."""
        return self.qk if gemm == "qk" else self.pv

    @property
    def qk_whole(self) -> bool:
        """Whether each k tile of the first GEMM has a slot of its own."""
        return self.qk_tiles <= self.qk.stages

    @property
    def warp_columns(self) -> int:
        """Warps that share a row of S."""
        return self.qk.threadblock[1] // self.qk.warp[1]

    @property
    def compiled_stages(self) -> int:
        """Stages that the kernel is compiled with, the second GEMM's, of which a GEMM has two at least."""
        return 2 if self.flash else max(2, self.pv.stages)

    @property
    def rows_of_lane(self) -> int:
        """Rows of S whose accumulators a lane holds."""
        return self.qk.warp[0] // 8

    @property
    def scores_of_row(self) -> int:
        """Scores of one row that a lane holds."""
        return self.qk.warp[1] // 4

    @property
    def owned_rows(self) -> int:
        """Rows whose statistics one warp updates, a lane each."""
        return self.qk.threadblock[0] // WARPS

    @property
    def statistics_bytes(self) -> int:
        """Bytes of the row statistics, which lie at the base of shared memory."""
        arrays = 0 if self.flash else len(ROW_STATISTICS) + self.warp_columns
        return arrays * self.qk.threadblock[0] * _ACCUMULATOR_BYTES

    @property
    def operand_bytes(self) -> dict[str, int]:
        """Bytes that each operand's slots take; P takes none in flash."""
        (queries, keys, depth), (_, columns, deep) = self.qk.threadblock, self.pv.threadblock
        return {
            "q": self.qk.stages * queries * depth * _ELEMENT_BYTES,
            "k": self.qk.stages * keys * depth * _ELEMENT_BYTES,
            "p": 0 if self.flash else queries * (keys + P_PADDING) * _ELEMENT_BYTES,
            "v": self.pv.stages * deep * columns * _ELEMENT_BYTES,
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
        columns = self.pv.threadblock[1] + P_PADDING
        return self.pv.threadblock[0] // self.pv.warp[0] * _STAGED_ROWS * columns * _ACCUMULATOR_BYTES

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
    instruction = scenario.instruction
    if scenario.flash:
        depth = ELEMENTS_PER_LINE if problem.head_dim % ELEMENTS_PER_LINE == 0 else TILE_DEPTH
        tiles, rows = -(-problem.head_dim // depth), queries // WARPS
        columns = ELEMENTS_PER_LINE
        while columns < problem.head_dim_v:
            columns *= 2
        return AttentionShape(
            qk=Tiling((queries, keys, depth), (rows, keys, depth), instruction, tiles),
            pv=Tiling((queries, columns, keys), (rows, columns, keys), instruction, 1),
            qk_tiles=tiles,
            column_blocks=1,
            flash=True,
            in_registers=True,
        )
    tile, warp = (queries, keys, TILE_DEPTH), (WARP_TILE, WARP_TILE, TILE_DEPTH)
    tiles = -(-problem.head_dim // TILE_DEPTH)
    return AttentionShape(
        qk=Tiling(tile, warp, instruction, min(scenario.stages, tiles)),
        pv=Tiling(tile, warp, instruction, keys // TILE_DEPTH),
        qk_tiles=tiles,
        column_blocks=-(-problem.head_dim_v // keys),
        flash=False,
        in_registers=scenario.in_registers,
    )
