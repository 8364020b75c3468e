"""The names of CUTLASS 3.x's library for its sm_90 GEMMs: read into scenario data.

    cutlass3x_sm90_tensorop_s64x128x16gemm_f16_f16_f32_f16_f16_128x128x64_2x1x1_0_tnt_align8
        _warpspecialized_cooperative_epi_tma

Behind the instruction stand the types of A, B, the accumulators, C and D; then the CTA's tile, the cluster, the stages
(0: as many as fit), the layouts of A, B, C and D (t row-major, n column-major; one letter for C and D if they agree),
the alignment, the scheduler, the schedule and the epilogue.

Source: CUTLASS python/cutlass_library/gemm_operation.py (procedural_name of 3.x), library.py.
"""

import re
from typing import Any, Final

from gpusim.element_types import element_bits
from gpusim.errors import BadInput
from gpusim.scenario.text import quoted

PREFIX_3X: Final = "cutlass3x_"
"""The beginning of every such name."""

_TYPE = "f16|bf16|tf32|f32|s32|s8|u8|e4m3|e5m2|void"
_NAME = re.compile(
    rf"cutlass3x_sm90_tensorop_(?P<letter>[hsi])64x(?P<columns>\d+)x(?P<depth>\d+)(?P<tf32>tf32)?gemm"
    rf"_(?P<a>{_TYPE})_(?P<b>{_TYPE})_(?P<accumulator>{_TYPE})_(?P<c>{_TYPE})_(?P<d>{_TYPE})"
    r"_(?P<m>\d{1,4})x(?P<n>\d{1,4})x(?P<k>\d{1,4})_(?P<along_m>\d{1,2})x(?P<along_n>\d{1,2})x1_(?P<stages>\d{1,2})"
    r"_(?P<layouts>[nt]{3,4})_align(?P<alignment>\d{1,2})(?P<stream_k>_stream_k)?(?P<rest>(?:_[a-z0-9]+)*)"
)
_FORM = (
    "cutlass3x_sm90_tensorop_s64x128x16gemm_f16_f16_f32_f16_f16_128x128x64_1x1x1_0_tnt_align8"
    "_warpspecialized_cooperative_epi_tma"
)
_SCHEDULES: Final = {
    "": "non_specialized",
    "_warpspecialized": "warp_specialized",
    "_warpspecialized_cooperative": "cooperative",
    "_warpspecialized_pingpong": "pingpong",
}
_LETTERS: Final = {"f32": "s", "f16": "h", "s32": "i"}
_MOST_COLUMNS, _K_BYTES = 256, 32
_FAST: Final = "_fp8_fastaccum"
_EPILOGUES: Final = ("_epi_tma", "_epi_nosmem", "")
_MAJOR: Final = {"t": "row", "n": "column"}


def parse_3x_name(name: str) -> dict[str, Any]:
    """
    Parse a name into scenario data for its kernel, without the problem's extents.

    Returns:
        ``machine`` (h100_sxm), ``problem`` and ``kernel`` as in a scenario file. The caller adds the extents.

    Raises:
        BadInput: The text is not such a name, or it names a kernel that gpusim has no scenario for.
    """
    found = _NAME.fullmatch(name)
    if found is None:
        raise BadInput(f"a CUTLASS 3.x name must read like {_FORM}, got {quoted(name)}")
    schedule, fast, epilogue = _parts(name, found["rest"])
    if found["a"] != found["b"]:
        raise BadInput(f"kernels of two input types are not supported: {name}")
    if found["c"] not in (found["d"], "void"):
        raise BadInput(f"kernels whose C has another type than D are not supported: {name}")
    layouts = found["layouts"]
    if set(layouts[2:]) != {"t"}:
        raise BadInput(
            f"column-major outputs are not supported (layouts {layouts}, whose third letter must be t): {name}"
        )
    needs = "_epi_nosmem" if schedule == "non_specialized" else "_epi_tma"
    if epilogue not in (needs, ""):
        raise BadInput(f"the epilogue of {schedule} must be {needs[1:]}, got {epilogue[1:]}: {name}")
    ab = _operand_type(name, found)
    _check_numbers(name, found, ab)
    kernel: dict[str, Any] = {
        "schedule": schedule,
        "tile": [int(found[axis]) for axis in "mnk"],
        "cluster": [int(found["along_m"]), int(found["along_n"])],
        "stages": int(found["stages"]) or "auto",
        "void_c": found["c"] == "void",
        "fast_accumulation": fast,
    }
    if found["stream_k"]:
        kernel["scheduler"] = "stream_k"
    problem = {
        "kind": "hopper_gemm",
        "layout_a": _MAJOR[layouts[0]],
        "layout_b": _MAJOR[layouts[1]],
        "dtype": {"ab": ab, "accumulator": found["accumulator"], "output": found["d"]},
    }
    return {"machine": "h100_sxm", "problem": problem, "kernel": kernel}


def _operand_type(name: str, found: re.Match[str]) -> str:
    """Return the operands' type; f32 is rounded to tf32 by kernels that say so."""
    if (found["a"] in ("f32", "tf32")) != bool(found["tf32"]):
        raise BadInput(f"a CUTLASS 3.x name must have tf32gemm for operands of f32 or tf32, and only for these: {name}")
    letter = _LETTERS.get(found["accumulator"])
    if letter != found["letter"]:
        raise BadInput(f"the letter before 64x must be {letter} for {found['accumulator']} accumulators: {name}")
    return "tf32" if found["tf32"] else found["a"]


def _check_numbers(name: str, found: re.Match[str], ab: str) -> None:
    """Check the instruction and the alignment, which follow from the type and the tile."""
    bits = element_bits(ab)
    for key, what, needed in (
        ("columns", "N of the instruction", min(int(found["n"]), _MOST_COLUMNS)),
        ("depth", f"K of the instruction for {ab}", 8 * _K_BYTES // bits),
        ("alignment", f"alignment for {ab}, which TMA needs,", 128 // bits),
    ):
        if int(found[key]) != needed:
            raise BadInput(f"the {what} must be {needed}, got {found[key]}: {name}")


def _parts(name: str, rest: str) -> tuple[str, bool, str]:
    """Return the schedule, whether 8-bit floats are accumulated fast, and the epilogue's suffix."""
    epilogue = next(suffix for suffix in _EPILOGUES if rest.endswith(suffix))
    schedule = rest.removesuffix(epilogue) if epilogue else rest
    fast = schedule.endswith(_FAST)
    schedule = schedule.removesuffix(_FAST)
    if schedule not in _SCHEDULES:
        known = ", ".join(suffix[1:] for suffix in _SCHEDULES if suffix)
        raise BadInput(f"the schedule of a CUTLASS 3.x name must be one of {known}, got {quoted(rest)} ({name})")
    return _SCHEDULES[schedule], fast, epilogue
