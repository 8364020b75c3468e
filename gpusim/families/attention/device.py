"""Holds the tensors of an attention scenario on the GPU, and checks the kernel's output."""

from dataclasses import asdict, dataclass, replace
from math import e, log2
from typing import Any

import numpy as np
import numpy.typing as npt

from gpusim.families.attention.cuda import ATTENTION_PARAMS
from gpusim.families.attention.problem import AttentionScenario
from gpusim.families.attention.reference import attention_reference, lse_agreement, output_agreement
from gpusim.families.attention.tensors import AttentionTensors, make_attention_tensors, output_rows
from gpusim.gpu.run import DeviceProblem, Recording, put_pointers, put_recording
from gpusim.numerics.elements import decode, is_unwritten, unwritten, unwritten_tensor
from gpusim.numerics.reference import Agreement
from gpusim.records.record import Numerics


@dataclass(frozen=True, slots=True)
class AttentionOnDevice(DeviceProblem):
    """
    A scenario's tensors in GPU memory.

    Attributes:
        tensors: Q, K and V, as device arrays.
        output: Output, flat, as from ``elements.unwritten_tensor``.
        lse: Log-sum-exp, f32, shape [batch, heads, lse_length].
        buffer: f32 buffer of the output; one element if the output stays in registers.
        lengths: Queries and keys in use of each batch, int32.
    """

    cupy: Any
    scenario: AttentionScenario
    seed: int
    tensors: AttentionTensors
    output: Any
    lse: Any
    buffer: Any
    lengths: tuple[Any, Any]

    def poison(self) -> None:
        """Fill output and log-sum-exp with NaN."""
        self.output.fill(unwritten(self.scenario.problem.dtype.output))
        self.lse.fill(np.nan)

    def params(self, k_iterations: int, recording: Recording = Recording()) -> npt.NDArray[np.void]:  # noqa: ARG002, B008
        """Return the ``struct AttentionParams`` of one launch."""
        params = np.zeros((), ATTENTION_PARAMS)
        common: Any = params["common"]
        own: Any = self.tensors
        queries, keys = self.lengths
        put_pointers(common, {"a": own.q, "b": own.k, "output": self.output, "partial": self.buffer})
        put_pointers(params, {"v": own.v, "log_sum_exp": self.lse, "query_lengths": queries, "key_lengths": keys})
        put_recording(common, recording)
        params["scale_log2"] = self.scenario.problem.score_scale * log2(e)
        return params

    def numerics(self) -> Numerics:
        """Compare every element of output and log-sum-exp with float64 softmax attention."""
        return compare(self.scenario, self.tensors, (self.output, self.lse), self.seed, self.cupy)


def upload(cupy: Any, scenario: AttentionScenario, seed: int) -> AttentionOnDevice:
    """Put random inputs, with NaN past each batch's length, and an output of NaN on the GPU."""
    host, problem = make_attention_tensors(scenario, seed), scenario.problem
    output = unwritten_tensor(problem.output_elements, problem.dtype.output)
    return AttentionOnDevice(
        cupy=cupy,
        scenario=scenario,
        seed=seed,
        tensors=AttentionTensors(cupy.asarray(host.q), cupy.asarray(host.k), cupy.asarray(host.v)),
        output=cupy.asarray(output),
        lse=cupy.asarray(np.full((problem.batch, problem.heads, problem.lse_length), np.nan, np.float32)),
        buffer=cupy.empty(1 if scenario.in_registers else output.size, np.float32),
        lengths=(
            cupy.asarray(np.array(problem.lengths_q, np.int32)),
            cupy.asarray(np.array(problem.lengths_k, np.int32)),
        ),
    )


def compare(
    scenario: AttentionScenario, tensors: AttentionTensors, stored: tuple[Any, Any], seed: int, xp: Any = np
) -> Numerics:
    """
    Compare the outputs of a launch with float64 softmax attention.

    Written rows past a batch's length count as wrong. The worst element is an element of the output, not of the
    log-sum-exp.

    Args:
        scenario: Problem and kernel.
        tensors: Inputs, arrays of the array module.
        stored: The output, flat as stored, and the log-sum-exp [batch, heads, lse_length].
        seed: Seed of the inputs.
        xp: The array module.
    """
    problem, element = scenario.problem, scenario.problem.dtype.output
    expected, used = attention_reference(scenario, tensors, xp), output_rows(problem)
    output = decode(stored[0], element, xp).reshape(-1, problem.head_dim_v)
    stray = ~is_unwritten(output[xp.asarray(~used)], element, xp)
    wrong_sums, _ = lse_agreement(stored[1][:, :, : problem.queries].astype(xp.float64), expected, xp)
    found = output_agreement(output, expected, used, xp) if used.any() else Agreement(0, 0, 0.0, 0.0, (0, 0))
    wrong = found.wrong_elements + int(stray.sum()) + wrong_sums
    return Numerics(seed=seed, **asdict(replace(found, elements=int(output.size), wrong_elements=wrong)))
