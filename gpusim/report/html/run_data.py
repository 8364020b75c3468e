"""Describes one run for the page: its verdict, facts, stalls, places under the roofs, and provenance."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from gpusim.machine.spec import Machine
from gpusim.report.bank_grid import BankPicture, access_title
from gpusim.report.captions import Words, counted_work, machine_name, rate_unit, scenario_digest
from gpusim.report.html.banks import bank_map
from gpusim.report.roofline import memory_levels, working_share
from gpusim.report.stall_shares import ranked_stalls
from gpusim.results.result import Result
from gpusim.results.stall_words import STALL_WORDS
from gpusim.results.use import Use, use_of
from gpusim.results.verdict import verdict


def run_data(
    name: str, result: Result, words: Words, machine: Machine, *, pictures: Sequence[BankPicture], trust: str
) -> dict[str, Any]:
    """
    Return the page's data of one run, without its timeline.

    Args:
        name: Name of the run.
        result: The run.
        words: Description of its scenario.
        machine: The machine that was simulated.
        pictures: Accesses to shared memory, the worst first.
        trust: Expected error of the run's time, in words; empty if it is not known.
    """
    use = use_of(result, machine)
    return {
        "name": name,
        "problem": words.problem,
        "kernel": words.kernel,
        "verdict": verdict(result, use),
        "trust": trust,
        "facts": _facts(result, use),
        "peaks": [[resource, share] for resource, share in use.of_peak],
        "stalls": [[reason, share] for reason, share in ranked_stalls(result)],
        "roofline": roofline_data(result, machine),
        "banks": [bank_map(picture) for picture in pictures],
        "bank_rows": [{**asdict(row), "title": access_title(row.op, row.operand)} for row in result.bank_conflicts],
        "counters": [[metric, value] for metric, value in result.counters.items()],
        "hazards": [str(hazard) for hazard in result.hazards],
        "provenance": _provenance(result),
        "figures": dict(result.machine.get("figures", {})),
    }


def stall_definitions() -> dict[str, dict[str, str]]:
    """Return the meaning of each stall reason and what usually helps, by its name."""
    return {reason: dict(words._asdict()) for reason, words in STALL_WORDS.items()}


def roofline_data(result: Result, machine: Machine) -> dict[str, Any]:
    """
    Return the roofs of a machine and a run's place under each, as plain data.

    ``share`` is the share of the machine's SMs that have a CTA: their roof is that share of the tensor peak and of
    shared memory's bandwidth.
    """
    use = use_of(result, machine)
    return {
        "unit": rate_unit(result),
        "rate": result.tflops,
        "peak": use.tensor_peak,
        "sms": use.sms,
        "working": use.working,
        "share": working_share(use),
        "levels": [
            {
                "name": level.name,
                "gb_s": level.gb_s,
                "slope_gb_s": level.slope_gb_s,
                "of_sms": level.of_sms,
                "use": level.use,
                "intensity": level.intensity(result.tflops),
            }
            for level in memory_levels(result, machine)
        ],
    }


def _facts(result: Result, use: Use) -> list[list[str]]:
    unit = rate_unit(result)
    convention = f" ({counted_work(result)})" if counted_work(result) else ""
    share = f", {100 * result.tflops / use.tensor_peak:.1f} % of the tensor peak" if use.tensor_peak else ""
    facts = [
        ["time", f"{result.cycles.elapsed:,} cycles, {result.time_us:,.2f} µs at {result.clock_mhz:,} MHz"],
        ["throughput", f"{result.tflops:,.1f} {unit}{share}{convention}"],
        ["CTAs", f"{result.ctas:,} on {use.working} of {use.sms} SMs, at most {result.ctas_per_sm} on an SM at once"],
        ["waves", f"{use.waves:,}, the last filled to {100 * use.last_wave:.0f} %"],
    ]
    if use.tile_efficiency is not None:
        facts.append(["tile efficiency", f"{100 * use.tile_efficiency:.0f} % of the multiplications are useful"])
    facts += [
        ["registers", f"{result.registers_per_thread} a thread"],
        ["shared memory", f"{result.shared_bytes:,} bytes a CTA"],
        ["instructions", f"{result.stream} stream"],
        ["simulated", _simulated(result)],
    ]
    return facts


def _simulated(result: Result) -> str:
    done = result.simulated
    if not done.sampled:
        return f"every CTA ({done.ctas:,})"
    return f"{done.ctas:,} CTAs for all, some {done.sampling_error_percent:g} % of the elapsed cycles either way"


def _provenance(result: Result) -> list[list[str]]:
    known: Mapping[str, Any] = result.provenance
    rows = [["machine", machine_name(result)], ["machine digest", str(result.machine.get("digest", ""))]]
    rows.append(["scenario digest (short)", scenario_digest(result)])
    return rows + [[key.replace("_", " "), str(value)] for key, value in known.items() if value is not None]
