"""
Changes the machine in forty places, one after the other, and says which test fails each time.

    python tests/mutations/mutate.py --out reports/mutations.md
    python tests/mutations/mutate.py --seed 6 --count 10     # other places, printed

A mutation leaves a statement out, turns a bound round, doubles a number of the text that keeps time, or takes a figure
of the H200's machine file for 30 % more or less. It is made in a copy of the tree, of which each job has its own. First
the tests run whose expectations are worked by hand or derived anew, with a changed core interpreted, for the compiled
one is of another text; if none fails, those that simulate whole kernels, with a core that is compiled anew.
"""

import argparse
import ast
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import NamedTuple

from gpusim.sim.core.source import CORE_UNITS

TREE = Path(__file__).parents[2]

MACHINE = "gpusim/machine/h200.toml"
OF_CORE = tuple(f"gpusim/sim/core/{unit}.py" for unit in CORE_UNITS)
OTHERS = (
    "gpusim/sim/core/constants.py",
    "gpusim/sim/figures.py",
    "gpusim/sim/cta_scheduler.py",
    "gpusim/sim/launch.py",
    "gpusim/sim/sampling.py",
    "gpusim/lower/estimated.py",
    "gpusim/lower/estimated_output.py",
)
"""The text that keeps time."""

CORE_SHARE = 0.45
FIGURE_SHARE = 0.35
"""Of all mutations, those of the core and those of figures; the others are of the other files."""

OF_THE_CORE = (
    "tests/unit/sim/core",
    "tests/lab/fit/chip/test_astern.py",
    "tests/lab/fit/chip/test_cpcs.py",
    "tests/lab/fit/chip/test_leaving.py",
    "tests/lab/fit/chip/test_mixed.py",
    "tests/lab/fit/sm/test_issue_and_queues.py",
)
OF_FIGURES = (
    "tests/lab/fit/test_h200_figures.py",
    "tests/unit/machine",
    "tests/lab/tables/test_figure_table.py",
)
OF_STREAMS = (
    "tests/unit/families/gemm/test_estimated.py",
    "tests/unit/lower/test_estimated.py",
    "tests/unit/lower/test_estimated_output.py",
)
BY_HAND = (*OF_THE_CORE, "tests/unit/sim", *OF_FIGURES, *OF_STREAMS)
"""Tests whose expectations are arithmetic on paper, or derived from committed measurements."""

NEAREST = {"core": OF_THE_CORE, "machine": OF_FIGURES, "lower": OF_STREAMS}
"""Those of them that run first, by the folder of the changed file."""

WHOLE_KERNELS = (
    "tests/golden/test_development_records.py",
    "tests/unit/verbs/test_simulate.py",
    "tests/contract/test_exact_lives.py",
)
"""Tests that simulate kernels, and compare with what was frozen or validated."""

NO_TIME = {
    **{f"{unit}.py": {"__init__"} for unit in CORE_UNITS},
    "lsu.py": {"__init__", "figures_of", "code_of", "data_of", "take_columns"},
    "smsp.py": {"__init__", "rows_of", "take_columns", "note"},
    "warps.py": {"__init__", "whole_lines"},
    "cache.py": {"__init__", "bucket"},
    "log.py": {"__init__", "row", "flush", "charge", "span", "note"},
    "cta_scheduler.py": {"__init__"},
    "launch.py": {"_cost"},
}
"""Functions that copy, allocate, hash, log or describe: a change there is no mechanism's."""

NO_TIME_NAMES = ("WIDTH", "COLUMNS", "ROWS", "RATE", "NEVER", "BITS", "CYCLES", "TURN", "TURNS")
"""Ends of the names of numbers that size logs and calendars or estimate seconds."""

TURNED = {ast.Lt: ">=", ast.GtE: "<", ast.Gt: "<=", ast.LtE: ">"}
SWAPPED = {"max": "min", "min": "max"}
MOST_SECONDS = 240
"""A test run that takes more of the processor's time hangs, which is noticed."""


LISTED = "tests/lab/tables/test_figure_table.py"
"""It compares figures with a committed list: it notices a change, and says nothing of which value is right."""

NO_END = "(no end"
"""How the answer begins where tests did not end in time."""

SEEN = {
    1: "stopped after 12; tests had been written for what an earlier run of it had missed",
    2: "its list was read, and two tests written for it, before it was run",
    3: "stopped after 15: 13 by hand, 1 by a whole kernel alone, 1 by none; both are pinned since",
    4: "39 of 40 at first; `hand`, which leaves `expected` out, was missed by every test and is pinned since",
    5: "37 of 40; the other three change no cycle: an answer at the end, a step before the first, a line of text",
    6: "37 of 40; two changed an allocation and a calendar's size, which are left out since, one is pinned since",
    7: "37 of 40; two change no cycle: which warps log, and a short cut; one is pinned since",
    8: "38 of 40; one is pinned since",
    9: "38 of 40; one is pinned since, the other is an answer at the end",
    11: "39 of 40, the page that is committed; the other marks an evicted line by -2 for -1, which changes nothing",
}
"""Seeds that were run or read while tests were written, with what was found: they measure the tests no more."""


class Mutation(NamedTuple):
    """
    One change.

    Attributes:
        file: Path in the tree.
        place: Function or key that it is in.
        what: What is done.
        begin, end: The characters of the text that are replaced.
        new: What stands there then.
    """

    file: str
    place: str
    what: str
    begin: int
    end: int
    new: str

    def of(self, text: str) -> str:
        """Return the changed text."""
        return text[: self.begin] + self.new + text[self.end :]


def text_mutations(file: str, text: str) -> Iterator[Mutation]:
    """Yield every change of a Python text that could be one of a mechanism's."""
    offsets = [0]
    for line in text.splitlines(keepends=True):
        offsets.append(offsets[-1] + len(line))

    def made(place: str, what: str, node: ast.stmt | ast.expr, new: str) -> Mutation:
        begin = offsets[node.lineno - 1] + node.col_offset
        end = offsets[(node.end_lineno or 0) - 1] + (node.end_col_offset or 0)
        return Mutation(file, place, what, begin, end, new)

    module = ast.parse(text)
    for statement in module.body:
        if isinstance(statement, ast.Assign | ast.AnnAssign):
            target = statement.targets[0] if isinstance(statement, ast.Assign) else statement.target
            name, value = ast.unparse(target), statement.value
            if isinstance(value, ast.Constant) and _number(value) and not name.endswith(NO_TIME_NAMES):
                yield made(name, f"doubled: {value.value}", value, str(2 * value.value))
    functions = [node for node in ast.walk(module) if isinstance(node, ast.FunctionDef)]
    for function in functions:
        if function.name not in NO_TIME.get(Path(file).name, ()):
            for node in ast.walk(function):
                for what, replaced, new in _changes(node):
                    yield made(function.name, what, replaced, new)


def _changes(node: ast.AST) -> Iterator[tuple[str, ast.stmt | ast.expr, str]]:
    """Yield what can be done to a part of a function: in words, what is replaced, and by what."""
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in TURNED:
        turned = f"({ast.unparse(node.left)} {TURNED[type(node.ops[0])]} {ast.unparse(node.comparators[0])})"
        yield f"turned round: `{ast.unparse(node)}`", node, turned
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in SWAPPED:
        yield f"turned round: `{ast.unparse(node)}`", node.func, SWAPPED[node.func.id]
    elif isinstance(node, ast.Constant) and _number(node):
        yield f"doubled: {node.value} in line {node.lineno}", node, str(2 * node.value)
    elif isinstance(node, ast.stmt) and _is_a_step(node):
        yield f"left out: `{ast.unparse(node).splitlines()[0]}`", node, "pass"


def _number(node: ast.Constant) -> bool:
    return type(node.value) is int and node.value > 0


def _is_a_step(node: ast.AST) -> bool:
    """Return whether a statement can be left out: it changes something, and defines no name that is needed later."""
    match node:
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]) | ast.AugAssign():
            return True
        case ast.Expr(value=ast.Call() | ast.YieldFrom()):
            return True
        case ast.If(orelse=[]):
            return not any(isinstance(one, ast.Return) for one in node.body) or len(node.body) == 1
    return False


def figure_mutations(file: str, text: str, factor: tuple[int, ...] = (70, 130)) -> Iterator[Mutation]:
    """Yield every figure of a machine file, with 30 % less and 30 % more."""
    table = ""
    position = 0
    for line in text.splitlines(keepends=True):
        header = re.match(r"\[([^\]]+)\]", line)
        table = header.group(1) if header else table
        found = re.match(r"(\w+) = \{ value = (\d+)|value = (\d+)", line)
        if found and not table.startswith("sources"):
            group = 2 if found.group(2) else 3
            value = int(found.group(group))
            key = f"{table}.{found.group(1)}" if found.group(1) else table
            for percent in factor:
                new = value * percent // 100 if percent < 100 else -(-value * percent // 100)
                if new not in {value, 0}:
                    span = position + found.start(group), position + found.end(group)
                    yield Mutation(file, key, f"{value} becomes {new}", *span, str(new))
        position += len(line)


def choose(tree: Path, seed: int, count: int) -> list[Mutation]:
    """Choose mutations: of the core, of figures, and of the other files."""
    draw = random.Random(seed)  # noqa: S311 - a choice that is to be repeated
    of_key: dict[str, list[Mutation]] = {}
    for one in figure_mutations(MACHINE, (tree / MACHINE).read_text()):
        of_key.setdefault(one.place, []).append(one)
    core, rest = (
        [one for file in files for one in text_mutations(file, (tree / file).read_text())]
        for files in (OF_CORE, OTHERS)
    )
    groups = [
        (round(count * CORE_SHARE), core),
        (round(count * FIGURE_SHARE), [draw.choice(both) for both in of_key.values()]),
    ]
    groups.append((count - sum(number for number, _ in groups), rest))
    return [one for number, candidates in groups for one in draw.sample(candidates, number)]


def first_failure(tree: Path, tests: Sequence[str], seconds: int = MOST_SECONDS) -> str:
    """Run tests in a tree up to the first that fails; return its name, or nothing where none does."""
    options = ["-x", "-q", "-p", "no:xdist", "-p", "no:cacheprovider", "--tb=no"]
    limited = ["/bin/sh", "-c", 'ulimit -t "$0" && exec "$@"', str(seconds)]  # the processor's: others may be busy
    command = [*limited, sys.executable, "-m", "pytest", *options, *tests]
    environment = os.environ | {"PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1"}
    ran = subprocess.run(command, cwd=tree, env=environment, capture_output=True, text=True, check=False)
    if ran.returncode < 0:
        return f"{NO_END} within {seconds} s of the processor)"
    if ran.returncode == 0:
        return ""
    failed = re.search(r"^(?:FAILED|ERROR) (\S+)", ran.stdout, re.MULTILINE)
    return failed.group(1) if failed else f"(pytest ends with {ran.returncode})"


def copy_of(tree: Path, folder: Path) -> Path:
    """Copy what tests need of a tree."""
    copy = folder / "tree"
    left_out = shutil.ignore_patterns(
        ".git", ".venv", "__pycache__", ".*_cache", ".hypothesis", "runs", "dist", "build"
    )
    shutil.copytree(tree, copy, ignore=left_out, symlinks=True)
    return copy


def run(mutations: Sequence[Mutation], tree: Path, jobs: int) -> Iterator[tuple[int, str, str]]:
    """
    Make each mutation in a copy of the tree, some side by side, in copies of their own.

    Yields:
        As they are done: a mutation's place in the list, and the test that fails, by hand or else on whole kernels.

    Raises:
        SystemExit: A test fails without any mutation.
    """
    with tempfile.TemporaryDirectory() as folder, ProcessPoolExecutor(jobs) as pool:
        green = [pool.submit(first_failure, tree, tests, MOST_SECONDS * 10) for tests in (BY_HAND, WHOLE_KERNELS)]
        for broken in filter(None, [one.result() for one in green]):
            sys.exit(f"{broken} fails without a mutation")
        copies = [copy_of(tree, Path(folder) / str(job)) for job in range(jobs)]
        shares = [pool.submit(tried, mutations[job::jobs], copy) for job, copy in enumerate(copies)]
        for share in as_completed(shares):
            for place, (by_hand, kernels) in enumerate(share.result()):
                yield shares.index(share) + place * jobs, by_hand, kernels


def tried(mutations: Sequence[Mutation], copy: Path) -> list[tuple[str, str]]:
    """Make each mutation in a copy of a tree; return the tests that fail, by hand and else on whole kernels."""
    found = []
    for mutation in mutations:
        path = copy / mutation.file
        text = path.read_text()
        path.write_text(mutation.of(text))
        nearest = NEAREST.get(path.parent.name, ())
        by_hand = first_failure(copy, nearest) if nearest else ""
        by_hand = by_hand or first_failure(copy, [one for one in BY_HAND if one not in nearest])
        kernels = "" if by_hand else with_its_core(copy, path)
        path.write_text(text)
        found.append((by_hand, kernels))
        sys.stderr.write(f"{mutation.file} {mutation.place}: {mutation.what}: {by_hand or kernels or 'NONE'}\n")
    return found


def with_its_core(copy: Path, changed: Path) -> str:
    """Run the tests of whole kernels in a tree, a changed core compiled for them; return the first that fails."""
    if changed.parent.name != "core":
        return first_failure(copy, WHOLE_KERNELS, MOST_SECONDS * 10)
    built = {path: path.read_bytes() for path in changed.parent.glob("_chip*")}
    built_anew = subprocess.run([sys.executable, "hatch_build.py"], cwd=copy, capture_output=True, check=False)
    if built_anew.returncode:
        return "(the core does not compile)"
    failed = first_failure(copy, WHOLE_KERNELS, MOST_SECONDS * 10)
    for path, content in built.items():
        path.write_bytes(content)
    return failed


def page(rows: Sequence[tuple[Mutation, str, str]], seed: int) -> str:
    """Return the report as markdown."""
    first = [one or other for _, one, other in rows]
    caught = sum(map(bool, first))
    endless = sum(test.startswith(NO_END) for test in first)
    listed = sum(test.startswith(LISTED) for test in first)
    kernels = sum(bool(other) and not other.startswith(NO_END) for _, _, other in rows)
    lines = [
        "# Mutations of the machine and its figures",
        "",
        (
            f"`python tests/mutations/mutate.py --seed {seed}`: {caught} of {len(rows)} mutations are noticed,"
            f" {100 * caught / len(rows):.0f} %. Of these, {caught - endless - listed - kernels} fail a test that"
            f" is worked by hand or derived from a committed measurement; {listed} only the comparison with the"
            f" committed list of figures, which says nothing of which value is right; {kernels} only a whole"
            f" kernel; with {endless} the"
            " tests do not end."
        ),
        "",
        *_history(seed),
        "| file | in | mutation | first test that fails |",
        "|---|---|---|---|",
    ]
    for mutation, one, other in rows:
        test = (one or other).removeprefix("tests/").replace("|", "\\|") or "**none**"
        what = mutation.what.replace("|", "\\|")
        lines.append(f"| {Path(mutation.file).name} | {mutation.place} | {what} | {test} |")
    return "\n".join(lines) + "\n"


def _history(seed: int) -> list[str]:
    """Say what is known of seeds that were looked at; a page of one of them says that it is no measure."""
    if seed not in SEEN:
        return []
    told = [f"- seed {number}: {what}" for number, what in SEEN.items()]
    return [
        (
            "This seed was looked at while tests were written, so the share above is not an estimate of what the tests"
            " notice. A seed that is not in this list gives one."
        ),
        "",
        *told,
        "",
    ]


def main() -> int:
    """Choose, run and report; return 1 where a mutation is not noticed and the page is only printed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=5)
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="mutations that are tried side by side")
    parser.add_argument("--out", type=Path, help="file to write the page to; by default it is printed")
    parsed = parser.parse_args()
    mutations = choose(TREE, parsed.seed, parsed.count)
    found = {place: tests for place, *tests in run(mutations, TREE, min(parsed.jobs, len(mutations)))}
    text = page([(one, *found[place]) for place, one in enumerate(mutations)], parsed.seed)
    if parsed.out is None:
        sys.stdout.write(text)
    else:
        parsed.out.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
