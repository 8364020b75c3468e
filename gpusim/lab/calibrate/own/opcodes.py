"""Measures opcodes one by one and in pairs, and loads of indexed constants."""

from itertools import product
from typing import Final

import numpy as np

from gpusim.lab.calibrate.runner import WARP, Device, MeasuredRow, elapsed
from gpusim.lab.calibrate.runs import SMSPS

CHAINED_OPCODES: Final = (
    *("dadd", "dmul", "dfma", "dsetp_dadd", "dsetp_fsel", "frnd_f64", "rcp64h", "rsq64h"),
    *("ffma", "fmul", "fsetp_fadd", "div_rn", "frnd"),
    *("mufu_ex2", "mufu_lg2", "mufu_rsq", "mufu_sqrt", "mufu_tanh", "fmul_mufu_sin", "mufu_ex2_f16x2"),
    *("i2fp", "i2f_s64", "i2f_f64", "i2f_f64_s64", "f2i", "f2i_s64", "f2i_f64", "f2i_f64_s64"),
    *("f2f_f64_f32", "f2f_f32_f64", "f2f_f32_f16"),
    *("popc", "flo", "brev", "lop3", "iadd3", "sgxt", "shf", "prmt"),
    *("imad", "imad_hi", "imad_wide", "idp_4a", "idp_2a"),
    *("hadd2", "hfma2", "hfma2_bf16"),
    *("shfl", "shfl_idx", "redux_add", "redux_min", "redux_or", "match_any", "match_all", "isetp_vote"),
)
"""
Kernels of opcodes.cu.

A name of two opcodes is a chain of both. REDUX includes the move from its uniform register, mufu_ex2_f16x2 has two
MUFU, div_rn is a division without its slow path, and ptxas alternates HFMA2 and HFMA2.MMA.
"""

OPCODE_PAIRS: Final = (
    *(("dfma", other) for other in ("ffma", "imad", "lop3", "mufu_ex2", "dadd", "hfma2")),
    *(
        ("mufu_ex2", other)
        for other in ("ffma", "lop3", "i2f_s64", "f2i", "frnd", "f2f_f64_f32", "popc", "flo", "brev")
    ),
    *(("mufu_ex2", other) for other in ("shfl", "redux_add", "match_any")),
    *(("f2f_f64_f32", "dfma"), ("f2i", "lop3"), ("popc", "lop3")),
    *((one, other) for one in ("idp_4a", "imad_wide", "imad_hi", "hfma2") for other in ("imad", "ffma", "lop3")),
    *(("isetp_vote", "lop3"), ("redux_add", "lop3"), ("redux_add", "shfl"), ("match_any", "shfl"), ("shfl", "lop3")),
    *(("iadd3", "lop3"), ("iadd3", "ffma"), ("imad", "ffma"), ("imad", "lop3"), ("hadd2", "ffma")),
)
"""Opcodes that may share a pipe or a dispatch port: one of a round, and the one that follows it 1, 2, 4 or 8 times."""

_SPREAD_MATTERS: Final = ("redux_add", "redux_min", "match_any", "match_all")
"""Opcodes that are measured with equal values in all lanes as well."""

_ILPS: Final = (1, 8)
_OTHERS: Final = (1, 2, 4, 8)
_ITERATIONS, _CHAINED, _ROUNDS = 64, 32, 8
_Y, _Z = np.uint32(3), np.uint32(5)
_ALL_SMSPS: Final = np.int32(SMSPS)


def measure_opcodes(device: Device, *, quick: bool) -> list[MeasuredRow]:
    """
    Measure chains of one opcode by ILP and warps.

    Column ``per_round`` with ILP 1 and a single warp is the latency; ``interval`` has the cycles that an SMSP takes for
    each instruction. With ``spread`` 0, all lanes begin with one value, else with different ones.
    """
    rows: list[MeasuredRow] = []
    for name in CHAINED_OPCODES:
        for spread, ilp, warps in product((1, 0) if name in _SPREAD_MATTERS else (1,), _ILPS, _warps(quick=quick)):
            arguments = (np.int32(_ITERATIONS), _Y, _Z, np.uint32(spread), _ALL_SMSPS)
            cycles = elapsed(device.spans("opcodes", f"{name}_{ilp}", arguments, threads=warps * WARP))
            row: MeasuredRow = {"instruction": name, "spread": spread}
            rows.append(row | _chain_row(cycles, ilp, warps))
    return rows


def _warps(*, quick: bool) -> tuple[int, ...]:
    return (1, 32) if quick else (1, 4, 8, 16, 32)


def _chain_row(cycles: int, ilp: int, warps: int) -> MeasuredRow:
    rounds = _ITERATIONS * (_CHAINED // ilp)
    row: MeasuredRow = {"ilp": ilp, "warps": warps, "cycles": cycles, "per_round": cycles / rounds}
    return row | {"interval": cycles / (rounds * ilp * -(-warps // SMSPS))}


def measure_opcode_pairs(device: Device, *, quick: bool) -> list[MeasuredRow]:
    """
    Measure rounds of one opcode and some of another one, all of them independent.

    Column ``per_round`` has the cycles that an SMSP takes for a round of one of its warps.
    """
    rows: list[MeasuredRow] = []
    for (one, other), others in product(OPCODE_PAIRS, _OTHERS):
        for warps in (32,) if quick else (4, 16, 32):
            arguments = (np.int32(_ITERATIONS), _Y, _Z, _ALL_SMSPS)
            kernel = f"pair_{one}_{other}_{others}"
            cycles = elapsed(device.spans("opcodes", kernel, arguments, threads=warps * WARP))
            row: MeasuredRow = {"one": one, "other": other, "others": others, "warps": warps, "cycles": cycles}
            rows.append(row | {"per_round": cycles / (_ITERATIONS * _ROUNDS * -(-warps // SMSPS))})
    return rows


def measure_indexed(device: Device, *, quick: bool) -> list[MeasuredRow]:
    """
    Measure chains of LDC at addresses of a register.

    ``lanes`` lanes load one word, and words are ``step`` bytes apart. The other columns are those of
    ``measure_opcodes``.
    """
    rows: list[MeasuredRow] = []
    for step, lanes, ilp, warps in product((4, 32), (1, 2, 4, 8, 16, 32), _ILPS, _warps(quick=quick)):
        arguments = (np.int32(_ITERATIONS), np.uint32(lanes), np.uint32(step), _ALL_SMSPS)
        cycles = elapsed(device.spans("opcodes", f"indexed_{ilp}", arguments, threads=warps * WARP))
        row: MeasuredRow = {"lanes": lanes, "step": step}
        rows.append(row | _chain_row(cycles, ilp, warps))
    return rows
