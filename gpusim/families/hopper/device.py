"""Holds the tensors of an sm_90 GEMM on the GPU, and checks what its kernel stores."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from gpusim.element_types import INTEGER_RANGE, INTEGERS, element_bits
from gpusim.families.hopper.execute.kernel import compute_type_of
from gpusim.families.hopper.on_gpu.driver import encoded_maps
from gpusim.families.hopper.on_gpu.launch import launch_params
from gpusim.families.hopper.problem import HopperProblem, HopperScenario
from gpusim.gpu.run import DeviceProblem, Recording, put_recording
from gpusim.numerics.elements import as_multiplied, decode, unwritten
from gpusim.numerics.float8 import FLOAT8, encode_float8, float8_values
from gpusim.numerics.reference import (
    F16_ROUNDOFF,
    F16_SUMMED,
    F32_ROUNDOFF,
    Reference,
    agreement_of_blocks,
    half_step,
)
from gpusim.records.record import Numerics

_ROWS: Final = 2048
"""Rows of which the reference is in memory at a time."""

_GREATEST: Final = 7
"""Magnitude of random 8-bit integers, as in CUTLASS's measured kernels."""

_OF_FLOAT8: Final = 2.0**-11
"""Error of the sums of 8-bit floats over the sum of magnitudes: a tensor core keeps some 14 bits of them."""

_EXACT: Final = 2.0**24
_ROUNDINGS: Final = 3
"""float32 roundings of an integer's linear combination."""

_FEW: Final = 1 << 20
"""8-bit floats that are drawn on the host; larger tensors repeat them."""

_STORED: Final[dict[int, npt.DTypeLike]] = {8: np.uint8, 16: np.uint16, 32: np.uint32}


@dataclass(frozen=True, slots=True)
class HopperOnDevice(DeviceProblem):
    """
    A scenario's tensors in GPU memory, as bits of elements.

    Attributes:
        cupy: The CuPy module.
        scenario: The scenario.
        seed: Seed of the random inputs.
        a, b: Shape (l, m or n, k), or (l, k, m or n) where K is not contiguous.
        c: Shape (l, m, n); None if beta is 0.
        output: Shape (l, m, n).
    """

    cupy: Any
    scenario: HopperScenario
    seed: int
    a: Any
    b: Any
    c: Any
    output: Any

    def poison(self) -> None:
        """Fill the output with NaN or an unlikely integer."""
        element = self.scenario.problem.dtype.output
        self.output.fill(int(np.array(unwritten(element)).view(_STORED[element_bits(element)])))

    def params(self, k_iterations: int = 0, recording: Recording = Recording()) -> npt.NDArray[np.void]:  # noqa: ARG002, B008
        """Return ``struct Params`` of one launch."""
        tensors = {"a": self.a, "b": self.b, "c": self.c, "d": self.output}
        addresses = {name: int(one.data.ptr) for name, one in tensors.items() if one is not None}
        params = launch_params(self.scenario, encoded_maps(self.scenario, addresses), addresses["d"])
        put_recording(params, recording)
        found: npt.NDArray[np.void] = params
        return found

    def numerics(self) -> Numerics:
        """Compare the output with a float64 product; the error of 8-bit floats' accumulators is inside its bound."""
        return Numerics(seed=self.seed, **asdict(agreement_of_blocks(self._blocks(), self.cupy)))

    def _blocks(self) -> Iterator[tuple[Any, Reference]]:
        """Yield blocks of rows of the output, each with its reference."""
        problem, cupy = self.scenario.problem, self.cupy
        a_along_k, b_along_k = problem.k_contiguous
        for batch in range(problem.l):
            a, b = (self._multiplied(one[batch]) for one in (self.a, self.b))
            a, b = a if a_along_k else a.T, b.T if b_along_k else b
            for begin in range(0, problem.m, _ROWS):
                rows = slice(begin, begin + _ROWS)
                c = None if self.c is None else _values(self.c[batch, rows], problem.dtype.output, cupy)
                output = _values(self.output[batch, rows], problem.dtype.output, cupy)
                yield output, _expected(problem, a[rows], b, c, cupy)

    def _multiplied(self, bits: Any) -> Any:
        """Return an operand in float64 as the tensor core multiplies it."""
        element = self.scenario.problem.dtype.ab
        return as_multiplied(_values(bits, element, self.cupy), element, self.cupy).astype(np.float64)


def _values(bits: Any, element: str, cupy: Any) -> Any:
    """Return the values of bits on the device."""
    if element in FLOAT8:
        return cupy.asarray(float8_values(element))[bits]
    stored = {"f16": np.float16, "tf32": np.float32, "f32": np.float32, "s8": np.int8, "s32": np.int32}
    return decode(bits.view(stored.get(element, np.uint16)), element, cupy)


def _expected(problem: HopperProblem, a: Any, b: Any, c: Any, xp: Any) -> Reference:
    """Return the linear combination in float64 with the bound of a correct kernel."""
    sums = a @ b
    source = xp.zeros_like(sums) if c is None else problem.beta * c.astype(np.float64)
    value = problem.alpha * sums + source
    if problem.dtype.output in INTEGERS:
        return _integers(problem, value, source, xp)
    magnitudes = xp.abs(a) @ xp.abs(b)
    if problem.dtype.accumulator == "s32":
        error = 2 * F32_ROUNDOFF * xp.abs(sums)
    elif problem.dtype.accumulator == "f16":
        error = -(-problem.k // F16_SUMMED) * F16_ROUNDOFF * magnitudes
    else:
        error = (2 * problem.k * F32_ROUNDOFF + (_OF_FLOAT8 if problem.dtype.ab in FLOAT8 else 0.0)) * magnitudes
    bound = abs(problem.alpha) * error + 2 * F32_ROUNDOFF * (xp.abs(value) + xp.abs(source))
    return Reference(value, bound + half_step(xp.abs(value) + bound, problem.dtype.output, xp))


def _integers(problem: HopperProblem, value: Any, source: Any, xp: Any) -> Reference:
    exact = problem.alpha == 1 and bool((xp.abs(value) < _EXACT).all()) and not bool(source.any())
    error = xp.zeros_like(value)
    if compute_type_of(problem) != "s32" and not exact:
        error = _ROUNDINGS * F32_ROUNDOFF * (xp.abs(value) + xp.abs(source))
    limits = INTEGER_RANGE[problem.dtype.output]
    low, middle, high = (xp.clip(xp.rint(one), *limits) for one in (value - error, value, value + error))
    return Reference(middle, xp.maximum(high - middle, middle - low))


def _draw(cupy: Any, shape: tuple[int, int, int], element: str, seed: int) -> Any:
    """Return random bits: floats uniform in [-1, 1), 8-bit integers up to ``_GREATEST``, s32 of any size of 16 bits."""
    rng = cupy.random.default_rng(seed)
    bits = _STORED[element_bits(element)]
    if element in INTEGERS:
        most = _GREATEST if element == "s8" else 1 << 15
        return rng.integers(-most, most + 1, shape).astype(np.int8 if element == "s8" else np.int32).view(bits)
    if element in FLOAT8:
        few = encode_float8(np.random.default_rng(seed).uniform(-1.0, 1.0, _FEW), element)
        return cupy.asarray(few)[rng.integers(0, _FEW, shape)]
    values = (2.0 * rng.random(shape, np.float32) - 1.0).astype(np.float32)
    if element == "bf16":
        words = values.view(np.uint32)
        return ((words + 0x7FFF + (words >> 16 & 1)) >> 16).astype(np.uint16)
    return values.astype(np.float16).view(bits) if element == "f16" else values.view(bits)


def upload(cupy: Any, scenario: HopperScenario, seed: int) -> HopperOnDevice:
    """Put random inputs and a poisoned output on the GPU, and return them."""
    problem = scenario.problem
    a_along_k, b_along_k = problem.k_contiguous
    of_a = (problem.l, problem.m, problem.k) if a_along_k else (problem.l, problem.k, problem.m)
    of_b = (problem.l, problem.n, problem.k) if b_along_k else (problem.l, problem.k, problem.n)
    of_d = (problem.l, problem.m, problem.n)
    output = problem.dtype.output
    found = HopperOnDevice(
        cupy=cupy,
        scenario=scenario,
        seed=seed,
        a=_draw(cupy, of_a, problem.dtype.ab, seed),
        b=_draw(cupy, of_b, problem.dtype.ab, seed + 1),
        c=_draw(cupy, of_d, output, seed + 2) if scenario.loads_c else None,
        output=cupy.empty(of_d, _STORED[element_bits(output)]),
    )
    found.poison()
    return found
