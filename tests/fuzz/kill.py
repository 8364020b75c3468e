"""
Kills commands with kill -9: ``python tests/fuzz/kill.py --count 100``, or ``--command run`` for one of them.

Each command writes to a folder of its own and is killed at a random moment of its usual time. What then stands at the
place of its result must be whole, or nothing may stand there. At the end the command runs undisturbed in a folder where
it was killed: it must finish, and leave what one leaves that was never killed.
"""

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

from gpusim.errors import GpusimError
from gpusim.results.answers_file import AnswersFile
from gpusim.results.run_directory import read_run
from gpusim.results.whole_file import is_unfinished
from gpusim.verbs.sweep import read_sweep


@dataclass(frozen=True)
class Command:
    """
    A command to be killed.

    Attributes:
        arguments: Arguments of ``gpusim``.
        place: Name of what it writes.
        whole: Raises unless what stands at the place, and is compared with an undisturbed one, is whole.
    """

    arguments: tuple[str, ...]
    place: str
    whole: Callable[[Path, Path], None]


def whole_run(found: Path, undisturbed: Path) -> None:
    """A run directory has every file of an undisturbed one, with the same answers, and every picture to its end."""
    assert visible(found) == visible(undisturbed)
    (result, timeline), (expected, observed) = read_run(found), read_run(undisturbed)
    assert replace(result, provenance={}) == replace(expected, provenance={})
    assert timeline == observed
    for picture in found.glob("*.png"):
        assert picture.read_bytes().endswith(b"IEND\xaeB`\x82")
    assert (found / "trace.pftrace").read_bytes() == (undisturbed / "trace.pftrace").read_bytes()


def whole_answers(found: Path, undisturbed: Path) -> None:
    """All answers that the file has are those of an undisturbed one."""
    AnswersFile(found, "gpusim.check/1")
    lines, expected = found.read_bytes().split(b"\n")[:-1], undisturbed.read_bytes().split(b"\n")[:-1]
    assert [json.loads(line) for line in lines] == [json.loads(line) for line in expected[: len(lines)]]


def whole_sweep(found: Path, undisturbed: Path) -> None:
    """The points that have finished are those of an undisturbed sweep, and a table has all of them."""
    rows, expected = read_sweep(found).rows, read_sweep(undisturbed).rows
    assert [row for row in expected if row in rows] == list(rows)
    table = found / "points.csv"
    assert not table.exists() or table.read_bytes() == (undisturbed / "points.csv").read_bytes()


def whole_page(found: Path, undisturbed: Path) -> None:
    """A page is the same to its last byte."""
    assert found.read_bytes() == undisturbed.read_bytes()


CHECKED = ("conv_9_k_tiles", "gemm_ragged", "gemm_split_k", "conv_s6_crosswise")

OVER = ("--over", "kernel.stages=3,4,5,11", "--over", "problem.c=64,128,192")

COMMANDS = {
    "run": Command(("run", "conv_9_k_tiles", "--out", "run"), "run", whole_run),
    "run --force": Command(("run", "conv_9_k_tiles", "--out", "run", "--force"), "run", whole_run),
    "sweep": Command(
        ("sweep", "conv_9_k_tiles", *OVER, "--out", "sweep", "--table", "csv", "--jobs", "2"), "sweep", whole_sweep
    ),
    "report": Command(("report", "../made", "--out", "page.html", "--force"), "page.html", whole_page),
    "check": Command(("check", *CHECKED, "--recorded", "--gpu", "h200", "--out", "kept"), "kept", whole_answers),
}
"""Every command that writes a result. One that is new gets a line here."""


def visible(folder: Path) -> list[str]:
    """Names in a folder that are no unfinished ones."""
    return sorted(path.name for path in folder.iterdir() if not is_unfinished(path))


def started(command: Command, folder: Path) -> subprocess.Popen[bytes]:
    """Start a command in a folder."""
    arguments = [sys.executable, "-m", "gpusim", *command.arguments]
    environment = os.environ | {"GPUSIM_COMMIT": "0" * 40, "MPLBACKEND": "Agg"}
    return subprocess.Popen(
        arguments,
        cwd=folder,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def kill(name: str, count: int, seed: int) -> int:
    """Kill a command a number of times, and return how often something half-written stood there as a whole."""
    command, chance, seen, broken = COMMANDS[name], Random(seed), Counter[str](), 0  # noqa: S311 # no secret
    with tempfile.TemporaryDirectory() as made:
        clean, dirty = Path(made) / "clean", Path(made) / "dirty"
        made_run = Command(("run", "conv_9_k_tiles", "--out", str(Path(made) / "made")), "made", whole_run)
        if "../made" in command.arguments and started(made_run, Path(made)).wait():
            raise SystemExit("no run to report on")
        for folder in (clean, dirty):
            folder.mkdir()
        begun = time.monotonic()
        if started(command, clean).wait() not in {0, 3}:
            raise SystemExit(f"{name} does not run")
        usual = time.monotonic() - begun
        for _ in range(count):
            if name.endswith("--force") and not (dirty / command.place).exists():
                shutil.copytree(clean / command.place, dirty / command.place)
            process = started(command, dirty)
            time.sleep(chance.uniform(0, 1.1 * usual))
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            outcomes = [judged(command, dirty / own, clean / command.place) for own in visible(dirty)]
            seen.update(outcomes or ["nothing"])
            broken += outcomes.count("half")
            if chance.random() < 0.5:
                for own in visible(dirty):
                    remove(dirty / own)
        broken += not finishes(command, dirty, clean)
    words = ", ".join(f"{number} {outcome}" for outcome, number in sorted(seen.items()))
    sys.stdout.write(f"{name}: killed {count} times in {usual:.1f} s: {words}; {broken} broken\n")
    return broken


def remove(path: Path) -> None:
    """Remove a file or a folder."""
    shutil.rmtree(path) if path.is_dir() else path.unlink()


def judged(command: Command, place: Path, undisturbed: Path) -> str:
    """What stands at a place: something that gpusim refuses to read, a whole result, or half of one."""
    try:
        command.whole(place, undisturbed)
    except GpusimError:
        return "refused"
    except Exception as error:  # noqa: BLE001 # whatever it is, it is half a result
        sys.stdout.write(f"{place}: {type(error).__name__}: {error}\n")
        return "half"
    return "whole"


def finishes(command: Command, dirty: Path, clean: Path) -> bool:
    """Return whether the command finishes where it was killed, and leaves no leftover of it."""
    place = dirty / command.place
    for name in visible(dirty) if place.is_dir() else ():
        remove(dirty / name)
    done = started(command, dirty).wait() in {0, 3} and judged(command, place, clean / command.place) == "whole"
    return done and visible(dirty) == sorted(path.name for path in dirty.iterdir())


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Kill commands while they write.")
    parser.add_argument("--command", choices=(*COMMANDS, "all"), default="all")
    parser.add_argument("--count", type=int, default=100, help="times that each is killed")
    parser.add_argument("--seed", type=int, default=0, help="seed of the moments")
    asked = parser.parse_args()
    chosen = list(COMMANDS) if asked.command == "all" else [asked.command]
    sys.exit(1 if sum([kill(name, asked.count, asked.seed) for name in chosen]) else 0)
