"""``python tests/hardware/bench_attention.py``: attention kernels beside CUTLASS's and PyTorch's, on this GPU."""

import argparse
import importlib
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from gpusim.errors import GpusimError
from gpusim.families.attention.cuda import specialisations
from gpusim.families.attention.device import upload
from gpusim.families.attention.problem import AttentionScenario
from gpusim.families.attention.tensors import make_attention_tensors
from gpusim.gpu.device import environment, import_cupy
from gpusim.gpu.module import load_kernels
from gpusim.gpu.run import BATCHES, LAUNCHES, check_numerics, time_loop
from gpusim.lab.tables.attention_table import COMPARED_CTAS_PER_SM, DEFAULT_TILE

ROWS = Path("tests/golden/data/attention_h200.json")
"""Measured figures of CUTLASS's fused attention and of PyTorch's FlashAttention-2 on an H200, by shape."""


def scenario_of(row: dict[str, Any], mainloop: str, **tile: int) -> AttentionScenario:
    """The scenario of a measured row, f16 throughout, with the schedule's tile but for the keys given."""
    problem = {
        "batch": row["B"],
        "heads": row["H"],
        "queries": row["Sq"],
        "keys": row["Sk"],
        "head_dim": row["D"],
        "head_dim_v": row["D"],
        "mask": "causal_top_left" if row["causal"] else "none",
        "dtype": {"output": "f16"},
    }
    kernel = {"mainloop": mainloop, "instruction": [16, 8, 16], **tile}
    scenario: AttentionScenario = AttentionScenario.model_validate(
        {"machine": "h200", "problem": problem, "kernel": kernel}
    )
    return scenario


def _shape(row: dict[str, Any]) -> dict[str, Any]:
    return {key: row[key] for key in ("B", "H", "Sq", "Sk", "D", "causal")}


def _attempt(what: dict[str, Any], measure: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """A row, or why there is none: one kernel that fails leaves the others."""
    try:
        return what | measure()
    except Exception as error:  # noqa: BLE001 # whatever CuPy or PyTorch raises, the other rows are wanted
        return what | {"error": f"{type(error).__name__}: {error}"[:500]}


def _measured(cupy: Any, scenario: AttentionScenario, seed: int) -> dict[str, Any]:
    """Resources, wrong elements and microseconds of the warm loop."""
    problem, (loaded,) = upload(cupy, scenario, seed), load_kernels(cupy, specialisations(scenario))
    numerics = check_numerics([loaded], problem)
    loop = time_loop([loaded], problem)
    cupy.get_default_memory_pool().free_all_blocks()
    return {
        "registers": loaded.registers,
        "local_bytes": loaded.local_bytes,
        "shared_bytes": loaded.specialisation.shared_bytes,
        "wrong_elements": numerics.wrong_elements,
        "max_error_over_bound": numerics.max_error_over_bound,
        "us": loop.median,
        "us_least": loop.least,
        "tflops": round(scenario.problem.flops / loop.median / 1e6, 1),
    }


def beside_cutlass(cupy: Any, row: dict[str, Any], seed: int) -> Iterator[dict[str, Any]]:
    """The schedule ``attention`` at the block sizes of one of CUTLASS's measured rows."""
    tile = {key: row[key] for key in ("queries_per_block", "keys_per_block")}
    scenario = scenario_of(row, "attention", **tile)
    what = {"schedule": "attention", **_shape(row), **tile, "ctas_per_sm": COMPARED_CTAS_PER_SM}
    found = _attempt(what, partial(_measured, cupy, scenario, seed))
    if "us" in found:
        found |= {"cutlass_us": row["loop_us_median"], "speed": round(row["loop_us_median"] / found["us"], 3)}
    yield found


def beside_torch(cupy: Any, row: dict[str, Any], seed: int) -> Iterator[dict[str, Any]]:
    """``flash``, and PyTorch's FlashAttention-2 in the same call."""
    scenario = scenario_of(row, "flash")
    theirs = _attempt({"schedule": "torch flash", **_shape(row)}, partial(_torch, scenario, seed))
    yield theirs | {"recorded_us": row["us_median"]}
    what = {"schedule": "flash", **_shape(row), "tile": DEFAULT_TILE}
    found = _attempt(what, partial(_measured, cupy, scenario, seed))
    if "us" in found:
        found["speed_of_recorded"] = round(row["us_median"] / found["us"], 3)
        if "us" in theirs:
            found["speed"] = round(theirs["us"] / found["us"], 3)
    yield found


def _torch(scenario: AttentionScenario, seed: int) -> dict[str, Any]:
    """PyTorch's scaled_dot_product_attention with its FlashAttention-2 back end, in a warm loop of one CUDA graph."""
    try:
        torch: Any = importlib.import_module("torch")
        attention: Any = importlib.import_module("torch.nn.attention")
    except ImportError as error:
        return {"error": f"PyTorch is not installed: {error}"}
    host, problem = make_attention_tensors(scenario, seed), scenario.problem
    shape = (problem.batch, -1, problem.heads, problem.head_dim)
    tensors = [torch.from_numpy(one.reshape(shape)).cuda().transpose(1, 2) for one in (host.q, host.k, host.v)]

    def launch() -> None:
        torch.nn.functional.scaled_dot_product_attention(*tensors, is_causal=problem.mask != "none")

    with torch.no_grad(), attention.sdpa_kernel(attention.SDPBackend.FLASH_ATTENTION):
        for _ in range(3):
            launch()
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            for _ in range(LAUNCHES):
                launch()
        graph.replay()
        torch.cuda.synchronize()
        times = []
        for _ in range(BATCHES):
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            begin.record()
            graph.replay()
            end.record()
            torch.cuda.synchronize()
            times.append(1000.0 * begin.elapsed_time(end) / LAUNCHES)
    return {"us": round(median(times), 3), "us_least": round(min(times), 3), "torch": str(torch.__version__)}


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, and print one JSON object: the environment and a list of rows; progress on stderr."""
    parser = argparse.ArgumentParser(prog="python tests/hardware/bench_attention.py", description=__doc__)
    parser.add_argument("--rows", type=Path, default=ROWS, help=f"measured figures (default: {ROWS})")
    parser.add_argument("--only", choices=("attention", "flash"), help="one schedule")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args(argv)
    try:
        cupy = import_cupy()
        measured = json.loads(arguments.rows.read_text(encoding="utf-8"))
    except (GpusimError, OSError, ValueError) as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code if isinstance(error, GpusimError) else 1
    parts = {"attention": (beside_cutlass, measured["cutlass"]), "flash": (beside_torch, measured["sdpa_flash2"])}
    rows = []
    for name, (part, of_part) in parts.items():
        for measured_row in of_part if arguments.only in {None, name} else ():
            try:
                for row in part(cupy, measured_row, arguments.seed):
                    sys.stderr.write(json.dumps(row) + "\n")
                    rows.append(row)
            except Exception as error:  # noqa: BLE001 # as above: of the inputs or their reference
                rows.append({"schedule": name, **_shape(measured_row), "error": str(error)[:500]})
    sys.stdout.write(json.dumps({"environment": environment(), "rows": rows}, indent=1) + "\n")
    return 1 if any("error" in row or row.get("wrong_elements") for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
