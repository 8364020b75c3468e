"""The kernels that are run, each with a small problem that is traced and larger ones that are timed."""

from dataclasses import dataclass
from typing import Any, Final, cast

from gpusim.families.hopper.problem import HopperScenario
from gpusim.families.registry import scenario_of

_Extents = tuple[int, int, int]
"""M, N and K."""

_FEW_SMS: Final = 4


@dataclass(frozen=True, slots=True)
class HopperCase:
    """
    A kernel and its problems.

    Attributes:
        name: Name of the kernel; that of the measured CUTLASS kernel where there is one.
        problem, kernel: Settings of the scenario's two tables, without extents.
        traced: Extents of the problem that is traced.
        batches: Batches of that problem.
        timed: Extents of the problems that are timed.
    """

    name: str
    problem: dict[str, Any]
    kernel: dict[str, Any]
    traced: _Extents
    batches: int
    timed: tuple[_Extents, ...]

    def scenario(self, extents: _Extents) -> HopperScenario:
        """Return the scenario of one problem on a whole chip."""
        return self._scenario(extents, 1, "h200")

    @property
    def small(self) -> HopperScenario:
        """The scenario that is traced: on so few SMs that a persistent CTA has several tiles."""
        return self._scenario(self.traced, self.batches, f"h200 with sms = {_FEW_SMS}")

    def _scenario(self, extents: _Extents, batches: int, machine: str) -> HopperScenario:
        m, n, k = extents
        sizes = {"kind": "hopper_gemm", "m": m, "n": n, "k": k, "l": batches}
        found = scenario_of({"machine": machine, "problem": self.problem | sizes, "kernel": self.kernel})
        return cast("HopperScenario", found)


_SCHEDULES: Final = {
    "co": "cooperative",
    "pp": "pingpong",
    "ws": "warp_specialized",
    "nws": "non_specialized",
}
_SQUARE: Final = (4096, 4096, 4096)
_WAVE: Final = ((1408, 1536, 1024), (1408, 1536, 4096))
"""Problems of one tile of 128x128 for each of 132 SMs."""


def _case(  # noqa: PLR0917 - each is needed
    name: str,
    schedule: str,
    tile: _Extents,
    cluster: tuple[int, int] = (1, 1),
    timed: tuple[_Extents, ...] = (),
    traced: _Extents = (264, 248, 352),
    batches: int = 1,
    *,
    types: str = "f16 f32 f16",
    layouts: str = "tn",
    problem: dict[str, Any] | None = None,
    **kernel: Any,
) -> HopperCase:
    ab, accumulator, output = types.split()
    settings = {
        "layout_a": "row" if layouts[0] == "t" else "column",
        "layout_b": "column" if layouts[1] == "n" else "row",
        "dtype": {"ab": ab, "accumulator": accumulator, "output": output},
    }
    settings |= problem or {}
    chosen = {"schedule": _SCHEDULES[schedule], "tile": list(tile), "cluster": list(cluster)} | kernel
    return HopperCase(name, settings, chosen, traced, batches, timed)


_T128, _T64, _T256 = (128, 128, 64), (64, 128, 64), (128, 256, 64)

HOPPER_CASES: Final = (
    _case("f16_tn_128x128x64_nws_1x1_auto", "nws", _T128, timed=((2048, 2048, 2048), (512, 4096, 4096))),
    _case("f16_tn_128x128x64_ws_1x1_auto", "ws", _T128, timed=(*_WAVE, _SQUARE)),
    _case("f16_tn_64x128x64_ws_1x1_auto", "ws", _T64, timed=((2048, 2048, 2048),)),
    _case("f16_tn_128x128x64_co_1x1_auto", "co", _T128, timed=(*_WAVE, _SQUARE, (2000, 1000, 712))),
    _case("f16_tn_128x128x64_pp_1x1_auto", "pp", _T128, timed=(*_WAVE, _SQUARE, (2000, 1000, 712))),
    _case("f16_tn_64x128x64_pp_1x1_auto", "pp", _T64, timed=((2048, 2048, 2048),)),
    _case("f16_tn_128x256x64_co_1x1_auto", "co", _T256, timed=((2816, 1536, 4096),)),
    _case("f16_tn_256x128x64_co_1x1_auto", "co", (256, 128, 64), timed=((2816, 1536, 4096),)),
    _case("f16_tn_128x128x64_co_2x1_auto", "co", _T128, (2, 1), ((2048, 2048, 2048), _SQUARE), (520, 504, 352)),
    _case("f16_tn_128x128x64_co_1x2_auto", "co", _T128, (1, 2), ((2048, 2048, 2048),), (264, 504, 352)),
    _case("f16_tn_128x128x64_pp_2x1_auto", "pp", _T128, (2, 1), ((2048, 2048, 2048), _SQUARE), (520, 504, 352)),
    _case("f16_tn_128x128x64_pp_2x2_auto", "pp", _T128, (2, 2), (_SQUARE,), (520, 504, 352)),
    _case("f16_tn_128x256x64_co_2x1_auto", "co", _T256, (2, 1), ((4096, 4096, 1024), _SQUARE), (520, 1016, 352)),
    _case("f16_tn_128x256x64_co_1x2_auto", "co", _T256, (1, 2), (_SQUARE,), (264, 1016, 352)),
    _case("f16_tn_128x128x64_ws_2x1_auto", "ws", _T128, (2, 1), ((4096, 4096, 2048),)),
    _case("f16_tn_128x128x64_nws_2x1", "nws", _T128, (2, 1)),
    _case("f16_tn_128x128x64_co_1x1_s2", "co", _T128, timed=((1408, 1536, 4096),), stages=2),
    _case("f16_tn_128x128x64_co_1x1_s3", "co", _T128, timed=((1408, 1536, 4096),), stages=3),
    _case("f16_tn_128x128x64_pp_1x1_s4", "pp", _T128, timed=((1408, 1536, 4096),), stages=4),
    _case("f16_nn_128x128x64_pp_1x1_auto", "pp", _T128, layouts="nn", batches=2),
    _case("f16_nt_128x128x64_co_1x1_auto", "co", _T128, timed=((2048, 2048, 2048),), layouts="nt"),
    _case("f16_tt_128x128x64_co_1x1_auto", "co", _T128, timed=((2048, 2048, 2048),), layouts="tt"),
    _case("f16_nt_128x128x64_co_2x2", "co", _T128, (2, 2), (), (520, 504, 352), layouts="nt"),
    _case("bf16_tn_128x128x64_co_1x1_auto", "co", _T128, timed=(_SQUARE,), types="bf16 f32 bf16"),
    _case("f16_tn_128x128x64_co_1x1_auto_f32out", "co", _T128, timed=((4096, 4096, 1024),), types="f16 f32 f32"),
    _case("tf32_tn_128x128x32_co_1x1_auto", "co", (128, 128, 32), timed=((2048, 2048, 2048),), types="tf32 f32 f32"),
    _case(
        "e4m3_tn_128x128x128_co8_1x1_auto", "co", (128, 128, 128), timed=((1408, 1536, 8192), _SQUARE),
        traced=(272, 240, 704), types="e4m3 f32 f16", fast_accumulation=True,
    ),
    _case(
        "e4m3_tn_128x128x128_co_1x1_auto", "co", (128, 128, 128), timed=((1408, 1536, 8192),), traced=(272, 240, 704),
        types="e4m3 f32 f16",
    ),
    _case("e5m2_tn_64x128x128_pp", "pp", (64, 128, 128), traced=(272, 240, 704), types="e5m2 f32 bf16"),
    _case(
        "s8_tn_64x128x128_pp_1x1_auto", "pp", (64, 128, 128), timed=(_SQUARE,), traced=(272, 240, 704),
        types="s8 s32 s32",
    ),
    _case("s8_tn_128x128x128_co_s8out", "co", (128, 128, 128), traced=(272, 240, 704), types="s8 s32 s8"),
    _case("f16_tn_128x128x64_co_beta", "co", _T128, problem={"alpha": 2.0, "beta": 0.5}, batches=2),
    _case("f16_tn_64x128x64_pp_beta", "pp", _T64, problem={"alpha": 2.0, "beta": 0.5}, stages=3),
    _case(
        "f16_tn_128x128x64_pp_2x1_beta_f32out", "pp", _T128, (2, 1), (), (520, 504, 352),
        types="f16 f32 f32", problem={"beta": 1.0},
    ),
    _case("f16_tn_128x128x64_ws_beta", "ws", _T128, problem={"beta": 1.0}),
    _case("s8_tn_128x128x128_co_s8out_beta", "co", (128, 128, 128), traced=(272, 240, 704), types="s8 s32 s8",
          problem={"alpha": 0.0625, "beta": 1.0}),
    _case("f16_tn_128x128x64_co_void", "co", _T128, void_c=True),
    _case("f16_tn_128x128x64_co_swizzled", "co", _T128, (2, 1), (), (1800, 1544, 64), max_swizzle=2, raster="along_n"),
    _case("f16_tn_128x128x64_pp_swizzled", "pp", _T128, (1, 1), (), (1800, 1544, 64), max_swizzle=4, raster="along_m"),
    _case("f16_tn_128x48x64_co", "co", (128, 48, 64)),
    _case("f16_tn_128x208x32_co", "co", (128, 208, 32)),
    _case("f16_tn_128x128x64_co_f16acc", "co", _T128, types="f16 f16 f16"),
)  # fmt: skip
"""All cases. Names with an end in ``auto`` or ``s2`` and the like are those of measured CUTLASS kernels."""
