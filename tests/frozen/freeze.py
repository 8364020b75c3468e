"""
Freezes what gpusim answers about every shipped and recorded scenario, so that a change can be shown to change nothing.

    python tests/frozen/freeze.py write           # digests of today's answers into tests/frozen/answers.json
    python tests/frozen/freeze.py check [NAME...] # exit 1 and a line for every answer that differs

It knows gpusim's command line and nothing else: results, timelines, pictures, traces, address streams, annotated
streams and rows of ``check --recorded`` are digested as a user gets them. Left out is what differs from run to run by
its nature: provenance and seconds. Pictures are digested as pixels, which are those of one version of matplotlib.
"""

import argparse
import contextlib
import hashlib
import io
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

os.environ["MPLBACKEND"] = "Agg"

from matplotlib.image import imread

from gpusim.cli import main as command_line

TREE = Path(__file__).parents[2]
ANSWERS = Path(__file__).parent / "answers.json"
STREAMS = ("estimated", "compiled")
PICTURES = ("overlap", "conflicts", "stalls", "roofline")
TRACES = ("perfetto", "kanata")
TABLES = {
    "gemm": ("gmem_a", "gmem_b", "smem_store_a", "smem_store_b", "ldmatrix_a", "ldmatrix_b", "epilogue"),
    "attention": (
        *(f"gmem_{operand}" for operand in "qkv"),
        *(f"{kind}_{operand}" for kind in ("smem_store", "ldmatrix") for operand in "qkpv"),
        "epilogue",
    ),
}
VERIFIED = (
    "attention_d32_512",
    "attention_ragged_bottom_right",
    "conv_9_k_tiles",
    "flash_ragged_bottom_right",
    "gemm_pipelined_ragged",
    "gemm_ragged",
    "gemm_split_k",
    "gemm_split_k_parallel_bias_relu",
)
RUN_FIELDS = ("seconds", "total_seconds", "engine")
UNFROZEN = ("provenance", "trust")
"""Fields of a result that are no answer of the simulation."""

EXACT = (*VERIFIED, "conv_s6_crosswise", "gemm_128x128x32_s3_1024", "gemm_nt_pipelined")
"""Scenarios that are also simulated CTA by CTA."""

MUTATIONS = {
    "gemm": (
        "lax_wait",
        "missing_barrier",
        "one_stage_too_few",
        "skipped_zero_fill",
        "load_too_early",
        "store_after_barrier",
    ),
    "attention": (
        "missing_v_wait",
        "lax_wait",
        "missing_barrier",
        "missing_softmax_barrier",
        "missing_maximum",
        "missing_mask",
        "skipped_zero_fill",
    ),
}
SMALL_TRACE = 250_000
"""Bytes of a timeline up to which its trace files are digested: larger ones take long and show no other code."""

Answers = dict[str, str]


def call(*arguments: object) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of one command."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = command_line([str(argument) for argument in arguments])
    return code, out.getvalue(), err.getvalue()


def complaint(code: int, err: str) -> str:
    """The digest of a command's last words, wherever the tree lies."""
    return digest(f"{code} {err.splitlines()[-1]}".replace(str(TREE), ""))


def digest(text: str | bytes) -> str:
    """Sixteen hexadecimal digits of SHA-256."""
    return hashlib.sha256(text.encode() if isinstance(text, str) else text).hexdigest()[:16]


def answer(*arguments: object) -> str:
    """The digest of what a command prints, wherever the tree lies; of its complaint where it fails."""
    code, out, err = call(*arguments)
    return digest(out.replace(str(TREE), "")) if code in (0, 3) else complaint(code, err)


def frozen_result(data: dict[str, Any]) -> str:
    """The digest of a result.json without what differs from run to run."""
    kept = {key: value for key, value in data.items() if key not in UNFROZEN}
    timeless = {key: value for key, value in data["simulated"].items() if key not in RUN_FIELDS}
    return digest(json.dumps(kept | {"simulated": timeless}))


def answers_of(name: str) -> tuple[str, Answers]:
    """Every answer about one scenario."""
    found: Answers = {}
    found |= dict(_runs(name))
    found |= dict(_tables(name))
    found["check"] = _checked(name)
    found["name"] = answer("name", name)
    if name in VERIFIED:
        found["verify"] = answer("verify", name, "--json")
        for mutation in MUTATIONS[_family(name)]:
            found[f"verify --mutate {mutation}"] = answer("verify", name, "--json", "--mutate", mutation)
    return name, found


def _runs(name: str) -> Iterator[tuple[str, str]]:
    with tempfile.TemporaryDirectory() as folder:
        for stream in STREAMS:
            directory = Path(folder) / stream
            code, out, err = call("run", name, "--json", "--no-figures", "--stream", stream, "--out", directory)
            if code:
                yield f"{stream} result", complaint(code, err)
                continue
            data = json.loads(out)
            yield f"{stream} result", frozen_result(data)
            timeline = (directory / "timeline.json").read_bytes()
            yield f"{stream} timeline", digest(timeline)
            yield f"{stream} scenario", digest((directory / "scenario.resolved.toml").read_bytes())
            yield from ((f"{stream} {what}", found) for what, found in _pictures(directory, data, timeline))
            if stream == "compiled":
                yield "sass", answer("sass", name, "--json")
            shutil.rmtree(directory)
            if name in EXACT:
                exact = ("run", name, "--exact", "--json", "--no-figures", "--stream", stream, "--out", directory)
                yield f"{stream} exact result", frozen_result(json.loads(call(*exact)[1]))
                yield f"{stream} exact timeline", digest((directory / "timeline.json").read_bytes())


def _pictures(directory: Path, data: dict[str, Any], timeline: bytes) -> Iterator[tuple[str, str]]:
    data["provenance"] = {"version": "frozen", "commit": None}
    data["simulated"] |= {"seconds": 0.0, "total_seconds": 0.0, "engine": ""}
    (directory / "result.json").write_text(json.dumps(data), encoding="utf-8")
    for kind in PICTURES:
        path = directory / f"{kind}.png"
        code, _, err = call("plot", directory, kind, "--out", path)
        yield kind, digest(imread(path).tobytes()) if code == 0 else digest(err)
    for trace in TRACES if len(timeline) < SMALL_TRACE else ():
        path = directory / trace
        code, _, err = call("trace", directory, "--format", trace, "--out", path)
        yield trace, digest(path.read_bytes()) if code == 0 else digest(err)


def _tables(name: str) -> Iterator[tuple[str, str]]:
    few = ("--k-tiles", "0-3")
    for table in TABLES[_family(name)]:
        narrowed = () if table == "epilogue" else few
        code, out, _ = call("addresses", name, table, "--json", *narrowed)
        yield f"addresses {table}", digest(out) if code == 0 else answer("addresses", name, table, "--json")
    for thread in (0, 37):
        yield f"events {thread}", answer("addresses", name, "events", "--thread", thread, "--json")


def _checked(name: str) -> str:
    code, out, err = call("check", name, "--recorded", "--gpu", "h200", "--json")
    if code not in (0, 3):
        return complaint(code, err)
    return digest(json.dumps(json.loads(out)["rows"]))


def _family(name: str) -> str:
    return "attention" if name.startswith(("attention", "flash")) else "gemm"


def scenario_names() -> list[str]:
    """Every scenario that is shipped or recorded, the slow ones first; those of the validation are not looked at."""
    files = [path for path in (TREE / "scenarios").glob("**/*.toml") if path.parent.name != "validation"]
    return sorted({path.stem for path in files}, key=lambda name: (_family(name) == "gemm", name))


def all_answers(names: Sequence[str], jobs: int) -> dict[str, Answers]:
    """Answers by scenario; about no scenario in particular under ""."""
    found: dict[str, Answers] = {
        "": {
            "schema": digest(json.dumps(_undescribed(json.loads(call("schema")[1])))),
            "scenarios": answer("scenarios", "--json"),
            "layout": answer("layout", "crosswise", "--tile", "64x128", "--stages", "3", "--store", "16B", "--json"),
        }
    }
    with ProcessPoolExecutor(jobs) as pool:
        for number, (name, answers) in enumerate(pool.map(answers_of, names)):
            found[name] = answers
            sys.stderr.write(f"{number + 1} of {len(names)}: {name}\n")
    return found


def _undescribed(schema: Any) -> Any:
    """A JSON Schema without its prose, which may be written better at any time."""
    if isinstance(schema, dict):
        prose = {"description"} if isinstance(schema.get("description"), str) else set()
        return {key: _undescribed(value) for key, value in schema.items() if key not in prose}
    return [_undescribed(value) for value in schema] if isinstance(schema, list) else schema


def differences(frozen: dict[str, Answers], found: dict[str, Answers]) -> list[str]:
    """A line for every answer that is not as it was frozen."""
    unknown = [f"{name}: not frozen yet" for name in found.keys() - frozen.keys()]
    return unknown + [
        f"{name or 'gpusim'}: {what}: {frozen[name].get(what, 'none')} frozen, {answers.get(what, 'none')} now"
        for name, answers in found.items()
        if name in frozen
        for what in sorted(frozen.get(name, {}).keys() | answers.keys())
        if frozen.get(name, {}).get(what) != answers.get(what)
    ]


def main() -> int:
    """Write or check."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("write", "check"))
    parser.add_argument("names", nargs="*", metavar="NAME", help="Only these scenarios.")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--answers", type=Path, default=ANSWERS)
    arguments = parser.parse_args()
    found = all_answers(arguments.names or scenario_names(), arguments.jobs)
    if arguments.what == "write":
        # Named scenarios are frozen anew beside the others, for a commit that changes their numbers.
        kept = json.loads(arguments.answers.read_text(encoding="utf-8")) if arguments.names else {}
        arguments.answers.write_text(json.dumps(kept | found, indent=1, sort_keys=True) + "\n", encoding="utf-8")
        return 0
    unlike = differences(json.loads(arguments.answers.read_text(encoding="utf-8")), found)
    sys.stdout.write("".join(f"{line}\n" for line in unlike) or f"{len(found) - 1} scenarios: all as frozen\n")
    return 1 if unlike else 0


if __name__ == "__main__":
    sys.exit(main())
