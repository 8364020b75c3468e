"""What the global accesses of one CTA of an attention kernel touch: Q, K, V, output, buffer, log-sum-exp."""

from dataclasses import dataclass

from gpusim.arrays import BoolArray, IntArray
from gpusim.element_types import element_bits
from gpusim.families.attention.blocks import (
    BlockAdvance,
    CopiedOperand,
    KeyBlock,
    attention_epilogue,
    operand_access,
    output_access,
)
from gpusim.families.attention.code import fetches_of_qk
from gpusim.families.attention.lanes import COPIED
from gpusim.families.attention.problem import AttentionScenario
from gpusim.families.attention.shape import attention_shape
from gpusim.families.attention.statistics import buffer_access, lse_access
from gpusim.sim.footprint import IN_L2, TENSOR_STRIDE, Footprint, L2Status, Request, requests, requests_with_lines
from gpusim.tile.requests import distinct_sectors
from gpusim.units import SECTOR_BYTES, VECTOR_BITS, WARP_SIZE

BlockRequests = list[list[list[Request]]]
"""[access][vec][warp]."""


@dataclass(frozen=True, slots=True)
class CtaWalk:
    """
    One CTA with work.

    Attributes:
        place: blockIdx (x, y, z), shape [1, 3].
        blocks: Its key blocks in the order in which it walks them.
    """

    place: IntArray
    blocks: tuple[KeyBlock, ...]


def attention_footprint(
    scenario: AttentionScenario,
    advance: BlockAdvance,
    cta: int,
    walk: CtaWalk,
    *,
    with_lines: bool,
    status: tuple[tuple[L2Status, ...], ...],
) -> Footprint:
    """
    Evaluate the addresses of one CTA.

    Key blocks that are whole ask for as many sectors each, so that without lines one stands for all. The buffer is
    written a key block before it is read: it is in the L2.

    Args:
        advance: Where CTAs stand, of all CTAs.
        cta: Index into ``advance``.
        with_lines: Whether lines are needed: where the L2 itself is simulated.
        status: [row of copies][key block], where it is not; else empty.
    """
    shape, bits = attention_shape(scenario), element_bits(scenario.problem.dtype.ab)
    made: dict[tuple[object, ...], BlockRequests] = {}

    def copies(operand: CopiedOperand, fetch: int, column_block: int = 0) -> list[BlockRequests]:
        """[key block] of one fetch."""
        rows = []
        for block in walk.blocks:
            number = 0 if operand == "q" else block.number
            alike = (operand, fetch, column_block, number if with_lines or operand == "q" else block.keys)
            if alike not in made:
                access = operand_access(
                    scenario, operand, walk.place, key_block=number, column_block=column_block, fetch=fetch
                )
                base = COPIED.index(operand) * TENSOR_STRIDE
                made[alike] = (
                    requests_with_lines(access.offset, access.valid, bits, base)[0]
                    if with_lines
                    else requests(access.offset, access.valid, bits)[0]
                )
            rows.append(made[alike])
        return rows

    tables = [copies(operand, fetch) for operand in COPIED[:2] for fetch in range(fetches_of_qk(scenario))]
    tables += [copies("v", tile, column) for column in range(shape.column_blocks) for tile in range(shape.pv_slots)]
    lse = _sectors(*lse_access(scenario, advance, cta), element_bits("f32"), element_bits("f32") // 8)
    outputs = [lse, *_output_rows(scenario, walk.place)]
    return Footprint(tuple(tables), outputs, (IN_L2,) * len(outputs), status)


def _output_rows(scenario: AttentionScenario, place: IntArray) -> list[list[list[int]]]:
    """[column block and step][access][warp] of the output, then, where there is one, of the buffer."""
    shape, tile = attention_shape(scenario), attention_epilogue(scenario)
    columns = range(shape.column_blocks)
    accesses = [output_access(scenario, place, column, step) for column in columns for step in range(tile.steps)]
    rows = [_sectors(one.offset[0], one.valid[0], tile.output_bits, tile.access_bytes) for one in accesses]
    if not shape.in_registers:
        bits = element_bits("f32")
        rows += [_sectors(*buffer_access(scenario, one), bits, VECTOR_BITS // 8) for one in accesses]
    return rows


def _sectors(offset: IntArray, valid: BoolArray, bits: int, access_bytes: int) -> list[list[int]]:
    """[access][warp] of arrays [threads, accesses]."""
    threads, accesses = offset.shape
    lanes = offset.reshape(threads // WARP_SIZE, WARP_SIZE, accesses).transpose(2, 0, 1)
    active = valid.reshape(threads // WARP_SIZE, WARP_SIZE, accesses).transpose(2, 0, 1)
    sectors: list[list[int]] = (distinct_sectors(lanes, active, bits) * max(1, access_bytes // SECTOR_BYTES)).tolist()
    return sectors
