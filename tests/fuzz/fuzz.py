"""
Feeds mutated files to the command line: ``python tests/fuzz/fuzz.py --kind scenario --count 10000 --seed 1``.

Each case is a file that gpusim reads, with a few changes, and a command that reads it. It must answer, or refuse it in
one line with exit code 1, 2 or 3: no traceback, no warning, no hang, no file outside the output folder, no network, no
process, and no more memory than ``MOST_MEMORY``. A case that breaks a rule is printed with its seed and kept.

Two processes are gpusim's own: git, which tells the commit, and ``ncu --import`` of the very report that it was given.
The ncu of this machine, if there is one, is never started: ``FAKE_NCU`` stands first on the PATH, and prints what lies
in the report, so that what ncu may print is mutated too.
"""

import argparse
import contextlib
import faulthandler
import gc
import gzip
import io
import json
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import prod
from pathlib import Path
from random import Random

from mutate import mutated

os.environ["MPLBACKEND"] = "Agg"
os.environ["OPENBLAS_NUM_THREADS"] = "1"

from gpusim.cli import main
from gpusim.errors import GpusimError
from gpusim.families.registry import load_scenario
from gpusim.machine.load import machine_names
from gpusim.records.record import measured_folder
from gpusim.scenario.catalogue import scenario_folder
from gpusim.scenario.models import Scenario

gc.set_threshold(400_000)  # as in a process of gpusim

ROOT = Path(__file__).parents[2]

MOST_SECONDS = 5.0
"""Longest time of a case, of this process alone: a machine with other work is no hang."""

MOST_MEMORY = 3 << 30
"""Most bytes of address space that a case may take, beyond what the process has when it begins."""

SMALL = 1 << 28
"""Most multiplications of a problem that is simulated or executed, rather than only read."""

FEW = 1 << 22
"""Most multiplications of a problem whose tensors are written."""

EXTENTS = ("m", "n", "k", "h", "w", "c", "r", "s", "batch", "heads", "queries", "keys", "head_dim")

TWO_K_TILES = (
    "--set",
    "problem.r=1",
    "--set",
    "problem.s=1",
    "--set",
    "problem.c=128",
    "--set",
    "problem.padding=[0, 0]",
)
"""Makes ``conv_9_k_tiles`` short: its timeline is a text to mutate and to read."""

SWEPT = ("gemm_ragged", "--set", "problem.m=16", "--over", "kernel.stages=3,4", "--jobs", "1", "--stream", "estimated")
"""A small sweep, whose folder is mutated."""

STREAMS = ("gmem_a", "gmem_b", "smem_store_a", "ldmatrix_b", "epilogue", "events", "gmem_q", "ldmatrix_k")

NCU = b""""ID","Kernel Name","Block Size","Grid Size","sm__cycles_elapsed.max","launch__registers_per_thread"
"","","","","cycle",""
"0","mine","(128, 1, 1)","(1, 1, 1)","20,000","99"
"1","other<float, 4>","(256, 1, 1)","(4, 2, 1)","1.234K","32"
"""

MAGIC = b"NVR\x00"
"""What a report of ncu begins with."""

FAKE_NCU = f"""#!/bin/sh
test "$1" = --import || exit 9
test "$(head -c 3 "$2")" = NVR || {{ echo "==ERROR== Failed to open report file $2" >&2; exit 1; }}
exec tail -c +{len(MAGIC) + 1} "$2"
"""
"""Refuses what begins otherwise than a report, and prints the rest of what does not."""


class TooLong(Exception):
    """A case ran for more than ``MOST_SECONDS``."""


@dataclass(frozen=True)
class Places:
    """
    Where a case may read and write.

    Attributes:
        folder: The sandbox, which only ``out`` may change in.
        out: The output folder, which is the working directory.
        run: A run directory, to be copied.
        ncu: The stand-in for ncu.
    """

    folder: Path
    out: Path
    run: Path
    ncu: Path


Case = tuple[Path, bytes, list[list[str]]]
"""A file to write, its content, and the commands that read it."""


def scenario(chance: Random, places: Places) -> Case:
    """A scenario file: shipped, or recorded."""
    source = chance.choice(sorted(scenario_folder().rglob("*.toml")))
    path = places.out / "scenario.toml"
    stream, file = chance.choice(STREAMS), str(path)
    commands = [["addresses", file, stream, "--json", *(("--threads", "0") if stream != "events" else ())]]
    text = mutated(source.read_bytes(), chance)
    path.write_bytes(text)
    if not is_small(path):
        commands = [["name", file]]
    elif chance.random() < 0.5:
        commands.append(["run", file, "--no-figures", "--stream", "estimated", chance.choice(("--exact", "--sampled"))])
    else:
        commands.append(["verify", file, *(("--save-tensors", "tensors") if is_small(path, FEW) else ())])
    return path, text, commands


def is_small(path: Path, most: int = SMALL) -> bool:
    """Whether a file is no scenario, or one whose problem has at most so many multiplications."""
    try:
        read: Scenario = load_scenario(path)
    except GpusimError:
        return True
    except Exception:  # noqa: BLE001 # the command will tell
        return True
    problem = read.resolved()["problem"]
    return prod(problem[name] for name in EXTENTS if name in problem) <= most


def machine(chance: Random, places: Places) -> Case:
    """A machine file."""
    name = chance.choice(machine_names())
    text = mutated((ROOT / "gpusim" / "machine" / f"{name}.toml").read_bytes(), chance)
    path = places.out / f"{name}.toml"
    asked = "turing_int4_conv" if name == "t4" else chance.choice(("conv_9_k_tiles", "gemm_ragged", "gemm_split_k"))
    setting = ["--set", f"machine={path}"]
    if name == "t4":
        setting += ["--set", "problem.h=8", "--set", "problem.w=8", "--set", "problem.c=64"]
    return path, text, [["run", asked, *setting, "--no-figures", "--out", "run", "--stream", "estimated"]]


def _of_run(name: str) -> Callable[[Random, Places], Case]:
    def case(chance: Random, places: Places) -> Case:
        shutil.copytree(places.run, places.out / "run")
        path = places.out / "run" / name
        kinds = [["trace", "run", "--format", "perfetto"], ["trace", "run", "--format", "kanata"]]
        kinds += [["plot", "run", kind] for kind in ("overlap", "conflicts", "stalls", "roofline")]
        (places.out / "report.csv").write_bytes(NCU)
        kinds += [["compare", "run", "report.csv"], ["report", "run", "--out", "page.html"], ["explain", "run"]]
        weights = (8, 8, 1, 1, 1, 1, 8, 4, 4)
        return path, mutated(path.read_bytes(), chance), chance.choices(kinds, weights, k=1)

    return case


def report(chance: Random, places: Places) -> Case:
    """ncu's CSV, ncu's report, the answers that ``check`` keeps, or a record."""
    match chance.randrange(5):
        case 0 | 1:
            shutil.copytree(places.run, places.out / "run")
            path = places.out / "report.csv"
            return path, mutated(NCU, chance), [["compare", "run", str(path)]]
        case 2:
            shutil.copytree(places.run, places.out / "run")
            path = places.out / "report.ncu-rep"
            return path, mutated(MAGIC + NCU, chance), [["compare", "run", str(path)]]
        case 3:
            path = places.out / "answers.jsonl"
            line = {"schema": "gpusim.check/1", "asked": {"file": "x"}, "holds": True, "rows": []}
            text = mutated(json.dumps(line).encode() + b"\n", chance)
            return path, text, [["check", "no_such_scenario", "--recorded", "--out", str(path)]]
        case _:
            path = places.out / "reports" / "measured" / "h200" / "conv_9_k_tiles.json"
            path.parent.mkdir(parents=True)
            text = (measured_folder() / "h200" / "conv_9_k_tiles.json").read_bytes()
            return path, mutated(text, chance), [["check", "conv_9_k_tiles", "--recorded", "--out", "answers.jsonl"]]


def sweep(chance: Random, places: Places) -> Case:
    """The definition or the journal of a sweep."""
    shutil.copytree(places.folder / "swept", places.out / "swept")
    path = places.out / "swept" / chance.choice(("sweep.json", "journal.jsonl", "journal.jsonl"))
    kinds = [["plot", "swept", "sweep", "--out", "chart.png"], ["report", "swept", "--out", "page.html"]]
    kinds += [["sweep", *SWEPT, "--out", "swept"]]
    return path, mutated(path.read_bytes(), chance), [chance.choice(kinds)]


def layout(chance: Random, places: Places) -> Case:
    """A layout with accesses to it, as the command line takes them."""
    asked = [
        chance.choice(("crosswise", "row_major", "padded<8>", "Swizzle<3,3,3>", "Sw<3,3,3> o _0 o (_8,_64):(_64,_1)")),
        *("--tile=64x64", "--base=0", "--load=16B@0:0", "--store=8B@8:8", "--ldmatrix=x4@16:0", "--lds=m16n8k8.tf32.a"),
        *("--access=16B@0:0,8:0,-,0:1", "--cp-async=16B.cg:4096@0:0", "--bits=16", "--stages=1"),
    ]
    first, *options = asked
    words = [first, *chance.sample(options, 3)]
    place = chance.randrange(len(words))
    changed = mutated(words[place].encode(), chance).replace(b"\0", b"").decode(errors="surrogateescape")
    option = words[place].partition("=")[0]
    words[place] = changed if not place or changed.startswith(f"{option}=") else f"{option}={changed}"
    return places.out / "asked", b"", [["layout", *words, *(["--search"] if chance.random() < 0.3 else [])]]


KINDS: dict[str, Callable[[Random, Places], Case]] = {
    "scenario": scenario,
    "machine": machine,
    "result": _of_run("result.json"),
    "trace": _of_run("timeline.json"),
    "report": report,
    "sweep": sweep,
    "layout": layout,
}


class Guard:
    """Notes whatever a case does that it may not do, as Python's audit events tell."""

    def __init__(self, places: Places) -> None:
        self.out, self.on, self.found = str(places.out.resolve()), False, list[str]()
        self._reads = [str(places.ncu), "--import", str(places.out / "report.ncu-rep")]
        sys.addaudithook(self._see)

    def _see(self, event: str, arguments: tuple[object, ...]) -> None:
        if not self.on:
            return
        if event.startswith("socket.") or event in {"subprocess.Popen", "os.system", "os.exec", "os.fork"}:
            if event != "subprocess.Popen" or not self._is_own(arguments[1]):
                self.found.append(f"{event} {arguments!r:.200}")
        elif event == "open":
            path, mode, flags = arguments
            writes = (
                any(letter in str(mode) for letter in "wax+")
                if mode
                else bool(int(str(flags)) & (os.O_WRONLY | os.O_RDWR))
            )
            if writes and not isinstance(path, int):
                self._place(event, path)
        elif event in {"os.mkdir", "os.remove", "os.rmdir", "os.rename", "os.link", "os.symlink", "os.truncate"}:
            for place in arguments[: 2 if event in {"os.rename", "os.link"} else 1]:
                self._place(event, place)

    def _is_own(self, command: object) -> bool:
        """Whether gpusim starts a process for itself: git, or ncu that is to read the report of the case."""
        words = [os.fsdecode(word) for word in command] if isinstance(command, (list, tuple)) else [""]
        return Path(words[0]).name == "git" or words[: len(self._reads)] == self._reads

    def _place(self, event: str, place: object) -> None:
        if isinstance(place, int):  # a file that was opened, and judged then
            return
        path = os.path.realpath(os.fsdecode(place))  # type: ignore[arg-type] # a path of some kind
        if not path.startswith(self.out) and path != os.devnull:
            self.found.append(f"{event} {path}")


@contextlib.contextmanager
def limits(seconds: float) -> Iterator[None]:
    """Stop a case that takes too long or too much."""

    def stop(*_: object) -> None:
        raise TooLong

    signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (used + MOST_MEMORY, hard))
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        resource.setrlimit(resource.RLIMIT_AS, (hard, hard))


def complaint(command: list[str], guard: Guard) -> tuple[str, str]:
    """Run a command, and return (what is wrong with its answer, the answer in a word); nothing is wrong with ""."""
    out, err = io.StringIO(), io.StringIO()
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), limits(MOST_SECONDS):
            guard.found.clear()
            guard.on = True
            code = main(command)
    except TooLong:
        return f"takes more than {MOST_SECONDS} s", ""
    except BaseException:  # noqa: BLE001 # whatever it is, it is a traceback
        return traceback.format_exc(limit=-6), ""
    finally:
        guard.on = False
    refusals = [line for line in err.getvalue().splitlines() if line.startswith("gpusim: ")]
    wrong = ""
    if guard.found:
        wrong = f"does what it may not: {guard.found[:3]}"
    elif code not in {0, 1, 2, 3} or (code != 0) != (len(refusals) == 1):
        wrong = f"exit code {code} with {len(refusals)} lines: {err.getvalue()[-300:]!r}"
    elif "Traceback" in err.getvalue():
        wrong = "a traceback is printed"
    elif "out of memory" in err.getvalue() or "Value error" in err.getvalue():
        wrong = err.getvalue()[-300:]
    return wrong, ("done" if code == 0 else f"exit {code}")


def make_inputs(folder: Path) -> None:
    """Make the run and the sweep whose files are mutated."""
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        main(["run", "conv_9_k_tiles", *TWO_K_TILES, "--out", str(folder / "made"), "--stream", "estimated"])
        main(["sweep", *SWEPT, "--out", str(folder / "swept")])
    keep_one_warp(folder / "made" / "timeline.json")


def fuzz(kind: str, asked: argparse.Namespace, inputs: Path) -> int:
    """Run cases of one kind on copies of the inputs, and return the number that break a rule."""
    count, seed, keep = asked.count, asked.seed, asked.keep.resolve()
    answers, broken, slowest = Counter[str](), 0, 0.0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        places = Places(folder, folder / "out", folder / "made", folder / "bin" / "ncu")
        places.ncu.parent.mkdir()
        places.ncu.write_text(FAKE_NCU)
        places.ncu.chmod(0o755)
        os.environ["PATH"] = os.pathsep.join((str(places.ncu.parent), os.environ["PATH"]))
        shutil.copytree(inputs, folder, dirs_exist_ok=True)
        guard = Guard(places)
        for number in range(seed, seed + count):
            shutil.rmtree(places.out, ignore_errors=True)
            places.out.mkdir()
            os.chdir(places.out)
            path, text, commands = KINDS[kind](Random(f"{kind} {number}"), places)  # noqa: S311 # no secret
            path.write_bytes(text)
            for command in commands:
                faulthandler.dump_traceback_later(60, exit=True)
                begun = time.process_time()
                wrong, answer = complaint(command, guard)
                slowest = max(slowest, time.process_time() - begun)
                faulthandler.cancel_dump_traceback_later()
                answers[answer or "broken"] += 1
                if wrong:
                    broken += 1
                    keep.mkdir(parents=True, exist_ok=True)
                    kept = keep / f"{kind}-{number}{path.suffix}.gz"
                    kept.write_bytes(gzip.compress(text))
                    say(f"{kind} --seed {number}: gpusim {' '.join(command)}\n  {wrong}\n  kept in {kept}")
            if sorted(path.name for path in folder.iterdir()) != ["bin", "made", "out", "swept"]:
                raise SystemExit(f"{kind} --seed {number}: something was left in {folder}")
        os.chdir(ROOT)
    words = ", ".join(f"{number} {answer}" for answer, number in sorted(answers.items()))
    say(f"{kind}: {count} files from seed {seed}: {words}; slowest {slowest:.1f} s; {broken} broken")
    return broken


def keep_one_warp(path: Path) -> None:
    """Leave one warp in a timeline, which is then read in a hundredth of a second."""
    data = json.loads(path.read_text())
    for table in (data["warps"], data["k_tiles"]):
        place = table["columns"].index("warp")
        table["rows"] = [row for row in table["rows"] if row[place] == 0]
    path.write_text(json.dumps(data))


def say(line: str) -> None:
    """Print a line at once."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Feed mutated files to the command line.")
    parser.add_argument("--kind", choices=(*KINDS, "all"), default="all", help="kind of the files")
    parser.add_argument("--count", type=int, default=300, help="files of each kind")
    parser.add_argument("--seed", type=int, default=0, help="seed of the first file")
    parser.add_argument(
        "--keep", type=Path, default=Path(tempfile.gettempdir()) / "gpusim-fuzz", help="folder of broken ones"
    )
    asked = parser.parse_args()
    chosen = list(KINDS) if asked.kind == "all" else [asked.kind]
    sys.dont_write_bytecode = True  # a module that a case is the first to import is no file that it writes
    warnings.simplefilter("error")
    warnings.filterwarnings("ignore", category=DeprecationWarning)
    with tempfile.TemporaryDirectory() as made:
        make_inputs(Path(made))
        broken = sum([fuzz(kind, asked, Path(made)) for kind in chosen])
    sys.exit(1 if broken else 0)
