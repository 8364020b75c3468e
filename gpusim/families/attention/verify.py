"""Verifies attention: executes a program for each sequence of key blocks, and compares with a float64 reference."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np

from gpusim.arrays import IntArray
from gpusim.families.attention.execute.batch import Batch, OutputTensors, gemm_tables, inputs_of
from gpusim.families.attention.execute.ctas import AttentionCtas
from gpusim.families.attention.problem import AttentionScenario
from gpusim.families.attention.program.hazards import find_attention_hazards
from gpusim.families.attention.program.mutations import ATTENTION_MUTATIONS
from gpusim.families.attention.program.step import AttentionProgram
from gpusim.families.attention.races import find_attention_races
from gpusim.families.attention.reference import attention_reference, lse_agreement, output_agreement
from gpusim.families.attention.schedule import cta_program
from gpusim.families.attention.tensors import AttentionTensors, make_attention_tensors, output_rows, rows_in_use
from gpusim.families.attention.tile.attention_lanes import AttentionLanes
from gpusim.families.attention.tile.blocks import KeyBlock, attention_ctas, block_advance, key_blocks
from gpusim.families.attention.tile.shape import attention_shape
from gpusim.families.verification import MEMORY_OF_ELEMENT, Compared, Executed, SayDone, SecondOutput, Verification
from gpusim.functional.data_hazards import DataHazard, HazardLog
from gpusim.functional.shared_memory import BATCH_BYTES, SharedMemory
from gpusim.schedule.hazards import Hazard


def cta_programs(scenario: AttentionScenario) -> tuple[tuple[AttentionProgram, IntArray], ...]:
    """Return each program that CTAs walk, and their blockIdx [ctas, 3]; CTAs without a query have none."""
    ctas = attention_ctas(scenario)
    advance = block_advance(scenario, ctas)
    alike: dict[tuple[KeyBlock, ...], list[int]] = defaultdict(list)
    for number in np.flatnonzero(advance.active).tolist():
        alike[key_blocks(scenario, advance, number)].append(number)
    return tuple((cta_program(scenario, blocks), ctas[numbers]) for blocks, numbers in alike.items())


def run_attention(
    scenario: AttentionScenario,
    tensors: AttentionTensors,
    programs: Sequence[AttentionProgram] | None = None,
    progress: SayDone | None = None,
) -> Executed:
    """
    Execute a scenario's kernel.

    Args:
        scenario: Problem and kernel.
        tensors: Inputs, which are not changed.
        programs: Programs in the order of ``cta_programs``; None takes those of the schedule.
        progress: Called after each batch with the CTAs done and the CTAs of the grid.

    Returns:
        The outputs and the hazards. The same arguments give the same bits.

    Not modelled: the order in which a tensor core adds its products, and the last bits of ex2.approx and lg2.approx.
    """
    hazards, output, lanes = HazardLog(), OutputTensors(scenario), AttentionLanes(scenario)
    tables, inputs = gemm_tables(lanes), inputs_of(scenario, tensors)
    own = cta_programs(scenario)
    total, done = sum(len(ctas) for _, ctas in own), 0
    size = max(1, BATCH_BYTES // (2 * attention_shape(scenario).shared_bytes))
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        for steps, (_, ctas) in zip(programs or [program for program, _ in own], own, strict=True):
            memory = SharedMemory()
            for begin in range(0, len(ctas), size):
                batch = Batch(lanes, tables, ctas[begin : begin + size], inputs, memory, output, hazards)
                AttentionCtas(batch).execute(steps)
                done += len(batch.ctas)
                if progress is not None:
                    progress(done, total)
    _check_stores(scenario, output, hazards)
    return Executed(output, hazards.hazards())


def _check_stores(scenario: AttentionScenario, output: OutputTensors, hazards: HazardLog) -> None:
    """Report a hazard unless every row in use was stored once, and no other element was stored."""
    problem = scenario.problem
    rows = output_rows(problem)
    wrong = output.output.stores.reshape(len(rows), -1) != rows[:, None]
    if wrong.any():
        row = int(wrong.nonzero()[0][0])
        message = f"{int(wrong.sum())} elements of the output are not stored once, the first in row {row}"
        hazards.add(DataHazard("output_not_written_once", message, -1, -1, "output", -1, row))
    expected = np.zeros((problem.batch, problem.heads, problem.lse_length), np.uint8)
    expected[..., : problem.queries] = rows_in_use(problem.queries, problem.lengths_q)[:, None]
    if (output.lse.stores.reshape(expected.shape) != expected).any():
        message = "log-sum-exps are not all stored once"
        hazards.add(DataHazard("output_not_written_once", message, -1, -1, "lse", -1, -1))


class AttentionVerification(Verification[AttentionProgram, AttentionTensors]):
    """The verification of one scenario; a row of the output is a (batch, query, head)."""

    scenario: AttentionScenario
    mutations = ATTENTION_MUTATIONS

    @property
    def memory(self) -> int:
        """Bytes of the tensors while an execution is compared, and of the scores of one head."""
        problem = self.scenario.problem
        width = problem.head_dim + problem.head_dim_v
        elements = problem.batch * problem.heads * (problem.queries + problem.keys) * width
        return (elements + problem.queries * problem.keys) * MEMORY_OF_ELEMENT

    @cached_property
    def programs(self) -> Sequence[AttentionProgram]:
        """One program for each sequence of key blocks."""
        return tuple(program for program, _ in cta_programs(self.scenario))

    def order_hazards(self, programs: Sequence[AttentionProgram]) -> list[tuple[int, Hazard]]:
        """Return the hazards of all programs together."""
        of_slots = (one for program in programs for one in find_attention_hazards(program, self.scenario))
        return [(-1, hazard) for hazard in (*dict.fromkeys(of_slots), *find_attention_races(programs, self.scenario))]

    def draw(self, seed: int) -> AttentionTensors:
        """Draw Q, K and V."""
        return make_attention_tensors(self.scenario, seed)

    def execute(
        self, tensors: AttentionTensors, programs: Sequence[AttentionProgram], progress: SayDone | None
    ) -> Executed:
        """Execute all CTAs that have a query."""
        return run_attention(self.scenario, tensors, programs, progress)

    def elements(self, done: Executed) -> int:  # noqa: ARG002 - lengths alone tell
        """Return the elements of the rows in use."""
        return int(output_rows(self.scenario.problem).sum()) * self.scenario.problem.head_dim_v

    def compare(self, tensors: AttentionTensors, done: Executed) -> Compared:
        """Compare the rows in use, and the log-sum-exps."""
        expected, used = attention_reference(self.scenario, tensors), output_rows(self.scenario.problem)
        found = output_agreement(done.stored.rows, expected, used)
        wrong, error = lse_agreement(done.stored.sums, expected)
        return Compared(found, replace(self.uncompared(), wrong=wrong, max_error=error), expected)

    def uncompared(self) -> SecondOutput:
        """Return that no log-sum-exp was compared."""
        return SecondOutput("lse", "log-sum-exps", 0, None)


def verification(scenario: AttentionScenario) -> AttentionVerification:
    """Return the verification of one scenario."""
    return AttentionVerification(scenario)
