"""Holds the tensors of a GEMM or convolution on the GPU, and checks what its kernels store."""

from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from gpusim.cuda.specialise import PARAMS
from gpusim.errors import CheckFailed
from gpusim.families.gemm.specialise import specialise
from gpusim.gpu.run import DeviceProblem, Recording, put_pointers, put_recording
from gpusim.numerics.elements import decode, is_unwritten, unwritten
from gpusim.numerics.reference import agreement, reference
from gpusim.numerics.tensors import Tensors, fresh_output, fresh_workspace, make_tensors
from gpusim.records.record import Numerics
from gpusim.scenario.gemm import GemmScenario


@dataclass(frozen=True, slots=True)
class GemmOnDevice(DeviceProblem):
    """
    A scenario's tensors in GPU memory.

    Attributes:
        cupy: The CuPy module.
        scenario: The scenario.
        seed: Seed of the random inputs.
        tensors: Inputs as device arrays.
        output: Output, flat, as from ``tensors.fresh_output``.
        semaphore: int32 flags of serial split-K, zero between launches; at least one.
        partial: Partial sums of a parallel split-K; empty otherwise.
    """

    cupy: Any
    scenario: GemmScenario
    seed: int
    tensors: Tensors
    output: Any
    semaphore: Any
    partial: Any

    def poison(self) -> None:
        """Fill the output with NaN or an unlikely integer."""
        self.output.fill(unwritten(self.scenario.problem.dtype.output))

    def params(self, k_iterations: int, recording: Recording = Recording()) -> npt.NDArray[np.void]:  # noqa: B008
        """Return ``struct Params`` of one launch. A reduction takes that of the kernel before it."""
        params = np.zeros((), PARAMS)
        own = self.tensors
        pointers = {"a": own.a, "b": own.b, "source": own.source, "output": self.output, "bias": own.bias}
        put_pointers(params, pointers | {"partial": self.partial if self.partial.size else None})
        put_pointers(params, {"semaphore": self.semaphore})
        params["alpha"], params["beta"] = self.scenario.problem.alpha, self.scenario.problem.beta
        put_recording(params, recording)
        params["k_iterations"] = k_iterations
        return params

    def numerics(self) -> Numerics:
        """
        Compare the output with the float64 reference. Elements written in the padding of rows count as wrong.

        Raises:
            CheckFailed: A flag of the split-K semaphore is not zero after the launch.
        """
        cupy, scenario = self.cupy, self.scenario
        if bool(self.semaphore.any()):
            raise CheckFailed("the launch left flags of the split-K semaphore set")
        view = scenario.problem.output_view
        output = decode(self.output, scenario.problem.dtype.output, cupy)
        found = agreement(view.of(output), reference(scenario, self.tensors, cupy), cupy)
        padding = output.reshape(view.rows, view.leading)[:, view.columns :]
        stray = int((~is_unwritten(padding, scenario.problem.dtype.output, cupy)).sum()) if padding.size else 0
        return Numerics(seed=self.seed, **asdict(replace(found, wrong_elements=found.wrong_elements + stray)))


def upload(cupy: Any, scenario: GemmScenario, seed: int) -> GemmOnDevice:
    """Put random inputs and a poisoned output on the GPU, and return them."""
    host = make_tensors(scenario, seed)
    source, bias = (None if one is None else cupy.asarray(one) for one in (host.source, host.bias))
    return GemmOnDevice(
        cupy=cupy,
        scenario=scenario,
        seed=seed,
        tensors=Tensors(cupy.asarray(host.a), cupy.asarray(host.b), source, bias),
        output=cupy.asarray(fresh_output(scenario)),
        semaphore=cupy.zeros(max(1, specialise(scenario).semaphores), np.int32),
        partial=cupy.asarray(fresh_workspace(scenario)),
    )
