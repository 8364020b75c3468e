"""The state of a batch of attention CTAs before their first op: addresses, inputs, memory, outputs."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from gpusim.arrays import IntArray
from gpusim.families.attention.problem import AttentionScenario
from gpusim.families.attention.tensors import AttentionTensors
from gpusim.families.attention.tile.attention_lanes import AttentionLanes
from gpusim.families.attention.tile.operands import GEMMS, PLACE_OF, Gemm
from gpusim.functional.data_hazards import HazardLog
from gpusim.functional.epilogue import OutputTensor
from gpusim.functional.mainloop import OperandTables, multiplied, operand_tables
from gpusim.functional.shared_memory import SharedMemory
from gpusim.numerics.elements import Values
from gpusim.tile.operand import Side

GemmTables: TypeAlias = dict[Gemm, dict[Side, OperandTables]]
"""The operands' tables of both GEMMs; their offsets count 16-bit elements from the base of shared memory."""


def gemm_tables(lanes: AttentionLanes) -> GemmTables:
    """Return the address tables of both GEMMs, which are equal in all CTAs."""
    tables: GemmTables = {gemm: {} for gemm in GEMMS}
    for tensor, (gemm, side) in PLACE_OF.items():
        tables[gemm][side] = operand_tables(lanes.operands[tensor], lanes.shared_base[tensor] // 2)
    return tables


def inputs_of(scenario: AttentionScenario, tensors: AttentionTensors) -> dict[str, Values]:
    """Return Q, K and V by name, as ``Batch.inputs``."""
    stored = {"q": tensors.q, "k": tensors.k, "v": tensors.v}
    return {name: multiplied(tensor, scenario.problem.dtype.ab) for name, tensor in stored.items()}


class OutputTensors:
    """
    The output, the f32 buffer and the log-sum-exps in global memory. Elements that were not stored are NaN.

    Attributes:
        output: Shape [batch * queries * heads * head_dim_v].
        buffer: Buffer of the output's elements, f32; empty if the output stays in registers.
        lse: Shape [batch * heads * queries rounded up].
    """

    def __init__(self, scenario: AttentionScenario) -> None:
        self._problem = problem = scenario.problem
        elements = problem.output_elements
        self.output = OutputTensor(elements, problem.dtype.output)
        self.buffer: Values = np.full(0 if scenario.in_registers else elements, np.nan, np.float32)
        self.lse = OutputTensor(problem.batch * problem.heads * problem.lse_length, "f32")

    @property
    def rows(self) -> Values:
        """The output. Shape (batch * queries * heads, head_dim_v)."""
        return self.output.values.reshape(-1, self._problem.head_dim_v)

    @property
    def sums(self) -> Values:
        """The log-sum-exps of all queries. Shape (batch, heads, queries)."""
        problem = self._problem
        return self.lse.values.reshape(problem.batch, problem.heads, -1)[..., : problem.queries]


@dataclass(frozen=True, slots=True)
class Batch:
    """
    CTAs that walk the same program together.

    Attributes:
        lanes: Addresses of the scenario's kernel.
        tables: The kernel's ``gemm_tables``.
        ctas: blockIdx (x, y, z) of each CTA. Shape (ctas, 3).
        inputs: Q, K and V in global memory, by name, as ``multiplied`` returns them.
        memory: Shared memory of the CTAs.
        output: Outputs in global memory.
        hazards: Log of the hazards that the data shows.
    """

    lanes: AttentionLanes
    tables: GemmTables
    ctas: IntArray
    inputs: Mapping[str, Values]
    memory: SharedMemory
    output: OutputTensors
    hazards: HazardLog
