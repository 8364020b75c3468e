"""Runs an attention kernel on real data, and compares it with float64 softmax attention."""

from collections import defaultdict
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from gpusim.arrays import IntArray
from gpusim.errors import BadInput
from gpusim.families.attention.blocks import KeyBlock, attention_ctas, block_advance, key_blocks
from gpusim.families.attention.execute import AttentionCtas
from gpusim.families.attention.execute_gemms import attention_tables
from gpusim.families.attention.execute_output import OutputTensors
from gpusim.families.attention.hazards import find_attention_hazards
from gpusim.families.attention.mutations import AttentionMutation
from gpusim.families.attention.ops import AttentionProgram
from gpusim.families.attention.problem import AttentionScenario
from gpusim.families.attention.reference import AttentionReference, attention_reference
from gpusim.families.attention.shape import attention_shape
from gpusim.families.attention.tensors import AttentionTensors, make_attention_tensors, output_rows, rows_in_use
from gpusim.functional.data_hazards import DataHazard, HazardLog
from gpusim.numerics.elements import Values
from gpusim.numerics.reference import Reference, agreement
from gpusim.schedule.program import cta_program
from gpusim.verbs.verify import VerifyReport

BATCH_BYTES = 32 << 20
"""What one batch of CTAs may hold at a time; small enough to stay near the caches."""


@dataclass(frozen=True, slots=True)
class AttentionRun:
    """
    Attributes:
        output: Shape (batch * queries * heads, head_dim_v), as the working type of its elements; NaN where nothing was
            stored.
        lse: Log-sum-exps, shape (batch, heads, queries), likewise.
        hazards: What the data gave away, in the order it was met.
    """

    output: Values
    lse: Values
    hazards: tuple[DataHazard, ...]


def cta_programs(scenario: AttentionScenario) -> tuple[tuple[AttentionProgram, IntArray], ...]:
    """Each program that CTAs of the grid walk, and their blockIdx [ctas, 3]; CTAs without a query have none."""
    ctas = attention_ctas(scenario)
    advance = block_advance(scenario, ctas)
    alike: dict[tuple[KeyBlock, ...], list[int]] = defaultdict(list)
    for number in np.flatnonzero(advance.active).tolist():
        alike[key_blocks(scenario, advance, number)].append(number)
    return tuple((cta_program(scenario, blocks), ctas[numbers]) for blocks, numbers in alike.items())


def run_attention(
    scenario: AttentionScenario,
    tensors: AttentionTensors,
    mutate: AttentionMutation | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> AttentionRun:
    """
    Execute a scenario's kernel.

    Args:
        scenario: Problem and kernel.
        tensors: Its inputs, left as they are.
        mutate: Breaks each CTA's program on purpose.
        progress: Called after each batch with the CTAs done and the CTAs of the grid.

    Returns:
        Output, log-sum-exps and hazards. The same arguments give the same bits.

    Not modelled: the order in which a tensor core adds its products, and the last bits of ex2.approx and lg2.approx.
    """
    hazards, output, tables = HazardLog(), OutputTensors(scenario), attention_tables(scenario)
    programs = cta_programs(scenario)
    total, done = sum(len(ctas) for _, ctas in programs), 0
    size = max(1, BATCH_BYTES // (8 * attention_shape(scenario).shared_bytes))
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        for program, ctas in programs:
            steps = program if mutate is None else mutate(program)
            for begin in range(0, len(ctas), size):
                batch = ctas[begin : begin + size]
                AttentionCtas(scenario, tables, tensors, batch, output=output, hazards=hazards).execute(steps)
                done += len(batch)
                if progress is not None:
                    progress(done, total)
    _check_stores(scenario, output, hazards)
    problem = scenario.problem
    lse = output.lse.reshape(problem.batch, problem.heads, -1)[..., : problem.queries]
    return AttentionRun(output.output.values.reshape(-1, problem.head_dim_v), lse, hazards.hazards())


def _check_stores(scenario: AttentionScenario, output: OutputTensors, hazards: HazardLog) -> None:
    """Every row in use once, nothing else."""
    problem = scenario.problem
    rows = output_rows(problem)
    wrong = output.output.stores.reshape(len(rows), -1) != rows[:, None]
    if wrong.any():
        row = int(wrong.nonzero()[0][0])
        message = f"{int(wrong.sum())} elements of the output are not stored once, the first in row {row}"
        hazards.add(DataHazard("output_not_written_once", message, -1, -1, "output", -1, row))
    expected = np.zeros((problem.batch, problem.heads, problem.lse_length), np.uint8)
    expected[..., : problem.queries] = rows_in_use(problem.queries, problem.lengths_q)[:, None]
    if (output.lse_stores.reshape(expected.shape) != expected).any():
        message = "log-sum-exps are not all stored once"
        hazards.add(DataHazard("output_not_written_once", message, -1, -1, "lse", -1, -1))


@dataclass(frozen=True, slots=True)
class AttentionReport(VerifyReport):
    """
    What ``gpusim verify`` answers about attention; a row of the output is a (batch, query, head).

    Attributes:
        wrong_lse: Log-sum-exps beyond their bound, or not a number.
        max_lse_error: Largest difference of a finite one; None where one is not a number.
    """

    wrong_lse: int
    max_lse_error: float | None


def verify_attention(
    scenario: AttentionScenario,
    seed: int,
    mutate: AttentionMutation | None = None,
    progress: Callable[[int, int], None] | None = None,
    *,
    reference_check: bool = True,
) -> AttentionReport:
    """
    Run a scenario on random data, compare with float64 softmax attention, and look for hazards.

    Args:
        scenario: Problem and kernel.
        seed: Of the random tensors.
        mutate: Breaks the schedule on purpose, to see that the checks catch it.
        progress: Called after each batch of CTAs with the CTAs done and the CTAs of the grid.
        reference_check: Compute the reference and compare; without, only hazards are looked for.

    Raises:
        BadInput: The mutation finds nothing to break in this schedule.
    """
    programs = tuple(program for program, _ in cta_programs(scenario))
    if mutate is not None:
        broken = tuple(map(mutate, programs))
        if broken == programs:
            name = getattr(mutate, "__name__", "the mutation")
            raise BadInput(f"{name} finds nothing to break in this {scenario.kernel.mainloop} schedule")
        programs = broken
    in_order = dict.fromkeys(hazard for program in programs for hazard in find_attention_hazards(program, scenario))
    tensors = make_attention_tensors(scenario, seed)
    done = run_attention(scenario, tensors, mutate, progress)
    hazards: tuple[dict[str, Any], ...] = tuple(
        {"origin": origin, "slice": -1} | asdict(one)
        for origin, found in (("schedule", in_order), ("data", done.hazards))
        for one in found
    )
    used = output_rows(scenario.problem)
    elements = int(used.sum()) * scenario.problem.head_dim_v
    if not reference_check or not elements:
        return AttentionReport(not hazards, seed, elements, 0, None, None, None, hazards, 0, None)
    expected = attention_reference(scenario, tensors)
    wrong_lse, lse_error = _lse_agreement(done.lse, expected)
    found = agreement(done.output[used], Reference(expected.value[used], expected.bound[used]))
    row, column = found.worst_element
    return AttentionReport(
        ok=found.wrong_elements == 0 and wrong_lse == 0 and not hazards,
        seed=seed,
        elements=found.elements,
        wrong_elements=found.wrong_elements,
        max_error=found.max_error,
        max_error_over_bound=found.max_error_over_bound,
        worst_element=(int(np.flatnonzero(used)[row]), column),
        hazards=hazards,
        wrong_lse=wrong_lse,
        max_lse_error=lse_error,
    )


def _lse_agreement(found: Values, expected: AttentionReference) -> tuple[int, float | None]:
    """Log-sum-exps beyond their bound, and the largest finite difference; rows past a batch's length must be NaN."""
    both_empty = np.isneginf(expected.lse) & np.isneginf(found)
    with np.errstate(invalid="ignore"):
        error = np.where(both_empty, 0.0, np.abs(found - expected.lse))
    unused = np.isnan(expected.lse)
    right = np.where(unused, np.isnan(found), error <= expected.lse_bound)
    used = error[~unused]
    return int((~right).sum()), None if np.isnan(used).any() else float(used.max(initial=0))
