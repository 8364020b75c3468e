"""
``python -m gpusim.lab.own.fuzz --count N --seed S``: executes mutated cubins with mutated arguments.

Each case is a kept cubin with a few changes, or a launch with other arguments and extents. ``gpusim.kernel`` must
execute it, or refuse it by a GpusimError: no other exception, no crash, no more than ``MOST_CASE_SECONDS`` and
``MOST_CASE_BYTES``, and no file, process or connection. Cases run in processes of their own, so that a crash ends one.
"""

import argparse
import contextlib
import gc
import gzip
import multiprocessing
import resource
import sys
import tempfile
import time
import traceback
import warnings
import zipfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from multiprocessing.connection import Connection
from pathlib import Path
from random import Random
from typing import Any, Final, NamedTuple

import numpy as np

import gpusim
from gpusim.errors import CannotRun, GpusimError
from gpusim.lab.own.contents import make_arguments
from gpusim.lab.own.mutate import ABSURD, mutated
from gpusim.lab.own.sources import own_folder
from gpusim.lab.own.table import OWN_KERNELS
from gpusim.lower.sass.cubin import kernel_names, read_cubin

MOST_CASE_SECONDS: Final = 5.0
"""Longest time of a case: of its process alone, so that other work on the machine is no hang."""

PATIENCE: Final = 60.0
"""Longest time of a case on the clock, after which its process is ended."""

MOST_CASE_BYTES: Final = 1 << 30
"""Most bytes of address space that a case may take beyond what its process has."""

MOST_EXECUTED: Final = 60_000
"""Limit of a launch in warp instructions: no small launch of an own kernel has more."""

FUZZED_MACHINES: Final = {75: "t4", 80: "a100", 86: "rtx3090", 89: "rtx4090", 90: "h200"}
"""A machine of each target."""

_CHANGING: Final = frozenset({"os.remove", "os.rename", "os.mkdir", "os.rmdir", "os.link", "os.symlink", "os.truncate"})
_LEAVING: Final = frozenset({"subprocess.Popen", "os.system", "os.exec", "os.fork", "socket.connect", "socket.bind"})


class FuzzOutcome(NamedTuple):
    """How a case ended: the number of the case, a word for its kind, and what is to be told of it."""

    number: int
    kind: str
    text: str


@dataclass(frozen=True)
class FuzzedLaunch:
    """
    A call of ``gpusim.kernel``.

    Attributes:
        name: Names the cubin and what was changed.
        machine: Name of the machine.
        data: The cubin.
        entry: Name of the kernel.
        shape: Grid, block, and bytes of shared memory.
        arguments: Its arguments.
    """

    name: str
    machine: str
    data: bytes
    entry: str
    shape: tuple[Any, ...]
    arguments: tuple[Any, ...]


def fuzzed_launch(number: int, seed: int) -> FuzzedLaunch:
    """Return a case by its number: equal numbers and seeds give equal cases."""
    chance = Random(f"{seed}:{number}")  # noqa: S311 - nothing secret
    if chance.random() < 0.2:
        case = chance.choice(other_launches())
    else:
        target = chance.choice(tuple(FUZZED_MACHINES))
        kernel = chance.choice([one for one in OWN_KERNELS if one.needs <= target])
        launch, data = kernel.launch("small"), kept_cubins(target)[kernel.source]
        shape = launch.grid, launch.block, launch.shared_bytes
        given = tuple(make_arguments(launch).values())
        case = FuzzedLaunch(f"{kernel.name} sm_{target}", FUZZED_MACHINES[target], data, kernel.entry, shape, given)
    of_arguments = chance.random() < 0.2
    if of_arguments:
        shape, given = _other_launch(case.shape, case.arguments, chance)
        case = replace(case, name=f"{case.name}, arguments", shape=shape, arguments=given)
    if not of_arguments or chance.random() < 0.1:
        cubins = kept_cubins(chance.choice(tuple(FUZZED_MACHINES)))
        data = mutated(case.data, cubins[chance.choice(sorted(cubins))], chance)
        case = replace(case, name=f"{case.name}, cubin", data=data)
    return case


@cache
def other_launches() -> tuple[FuzzedLaunch, ...]:
    """Return a launch of each kernel of the other kept cubins: gpusim's own GEMMs, and kernels of tests."""
    folder = own_folder().parents[1]
    files = [*(folder / "unit").rglob("*.cubin*"), *(folder / "own" / "measured").glob("*.cubin")]
    launches = []
    for file in sorted(files):
        data = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
        for entry in kernel_names(data, file.name):
            cubin = read_cubin(data, entry, file.name)
            given = tuple(np.zeros(16384, np.uint8) if size == 8 else bytes(size) for _, size in cubin.parameters)
            shape = (1, 128, 16384)
            machine = FUZZED_MACHINES[cubin.architecture]
            launches.append(FuzzedLaunch(f"{file.name} {entry}", machine, data, entry, shape, given))
    return tuple(launches)


@cache
def kept_cubins(target: int) -> Mapping[str, bytes]:
    """Return the kept machine code of a target by source."""
    with zipfile.ZipFile(own_folder().parent / "cubins" / f"sm_{target}.zip") as archive:
        return {Path(name).stem: archive.read(name) for name in archive.namelist()}


def _other_launch(
    shape: tuple[Any, ...], arguments: tuple[Any, ...], chance: Random
) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    given, extents = list(arguments), list(shape)
    for _ in range(chance.choice((1, 1, 2, 3))):
        if chance.random() < 0.3:
            place = chance.randrange(3)
            extents[place] = _other_extent(extents[place], chance)
        elif given:
            place = chance.randrange(len(given))
            given[place] = _other_argument(given[place], given, chance)
            if chance.random() < 0.1:
                del given[chance.randrange(len(given))]
    return tuple(extents), tuple(given)


def _other_extent(extent: Any, chance: Random) -> object:
    drawn = chance.choice((*ABSURD, -1, 1.5, None, "32", (), (1, 2), (1, 2, 3, 4), (1, 1, 65536), np.int64(3)))
    if isinstance(extent, tuple) and extent and chance.random() < 0.6:
        changed = list(extent)
        changed[chance.randrange(len(changed))] = chance.choice(ABSURD[:12])
        return tuple(changed)
    return drawn


def _other_argument(argument: Any, given: Sequence[Any], chance: Random) -> object:
    if isinstance(argument, np.ndarray) and chance.random() < 0.6:
        flat = argument.reshape(-1)
        changes = (
            lambda: np.array(flat[: chance.randrange(len(flat) + 1)]),
            lambda: np.array(flat[:0]),
            lambda: np.repeat(argument, 2),
            lambda: argument.T,
            lambda: flat[::2],
            lambda: np.zeros(argument.shape, chance.choice(("u1", "f8", "c16", ">i4", "S3", "O", "M8[s]", "?"))),
            lambda: chance.choice([one for one in given if isinstance(one, np.ndarray)]),
            lambda: np.frombuffer(chance.randbytes(argument.nbytes), np.uint8).copy(),
            lambda: _read_only(argument),
            lambda: np.broadcast_to(argument, (2, *argument.shape)),
            lambda: np.array(3),
            lambda: np.zeros(3, dtype=[("a", "f4"), ("b", "i4")]),
        )
        return chance.choice(changes)()
    numbers = (*ABSURD, -1, -(1 << 31), -(1 << 63), 1 << 64, 1 << 80)
    others = (
        0.5,
        float("nan"),
        float("inf"),
        1e308,
        True,
        None,
        "3",
        b"abcd",
        b"",
        [1],
        1j,
        np.float16(1),
        np.int64(-1),
    )
    return chance.choice(
        (*numbers, *others, np.uint8(255), np.float64(2), np.bool_(1), np.datetime64(1, "s"), object())
    )


def _read_only(array: Any) -> Any:
    copied = array.copy()
    copied.flags.writeable = False
    return copied


def outcome_of(case: FuzzedLaunch, number: int, file: Path) -> FuzzOutcome:
    """Execute a case, and return how it ended; a kind in capitals breaks a rule."""
    file.write_bytes(case.data)
    _seen.clear()
    begun = time.process_time()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            ready = gpusim.kernel(file, case.entry, machine=case.machine)
            ready[case.shape](*case.arguments, limit=MOST_EXECUTED)
        kind, text = "executed", ""
    except GpusimError as error:
        kind, text = type(error).__name__, str(error)
    except BaseException as error:  # noqa: BLE001 - whatever it is, it is the finding
        last = traceback.extract_tb(error.__traceback__)[-1]
        kind, text = "TRACEBACK", f"{type(error).__name__}: {error} ({Path(last.filename).name}:{last.lineno})"
    spent = time.process_time() - begun
    if kind != "TRACEBACK" and "\n" in text:
        kind = "LINES"
    if spent > MOST_CASE_SECONDS:
        kind, text = "SLOW", f"{spent:.1f} s, then {kind}: {text}"
    if _seen:
        kind, text = "ELSEWHERE", "; ".join(_seen)
    return FuzzOutcome(number, kind, f"{case.name}: {text}")


_seen: list[str] = []


def _watch(event: str, arguments: tuple[Any, ...]) -> None:
    """Note what a case does outside of its process."""
    if event == "open" and isinstance(arguments[1], str) and set(arguments[1]) & set("wax+"):
        _seen.append(f"opens {arguments[0]} to write")
    elif event in _CHANGING or event in _LEAVING:
        _seen.append(f"{event} {arguments[:1]}")


def _serve(seed: int, numbers: Sequence[int], answers: Connection) -> None:
    """Execute cases in a process of their own; say which one begins, and how it ended."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "mutated.cubin"
        file.write_bytes(b"")
        outcome_of(fuzzed_launch(0, seed), 0, file)  # imports, caches
        gc.collect()
        used = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + MOST_CASE_BYTES, used + MOST_CASE_BYTES))
        sys.addaudithook(_watch)
        for number in numbers:
            answers.send(number)
            answers.send(outcome_of(fuzzed_launch(number, seed), number, file))
        _seen.clear()


def fuzz(count: int, seed: int) -> Iterator[FuzzOutcome]:
    """
    Execute cases in another process, and in a new one after each that it does not survive; yield how each ended.

    Raises:
        CannotRun: A process ends before its first case.
    """
    context, numbers = multiprocessing.get_context("spawn"), list(range(count))
    while numbers:
        yield from _run_some(context, seed, numbers)


def _run_some(context: Any, seed: int, numbers: list[int]) -> Iterator[FuzzOutcome]:
    """Execute cases in one process until it ends; take those that are done out of the numbers."""
    answers, end = context.Pipe(duplex=False)
    process = context.Process(target=_serve, args=(seed, list(numbers), end), daemon=True)
    process.start()
    end.close()
    begun: int | None = None
    with answers:
        while numbers:
            if not answers.poll(PATIENCE):
                process.kill()
                kind = "HANG"
                break
            try:
                said = answers.recv()
            except EOFError:
                kind = "CRASH"
                break
            if isinstance(said, FuzzOutcome):
                numbers.remove(said.number)
                yield said
            else:
                begun = said
        else:
            kind = ""
    process.join()
    if kind:
        if begun is None:
            raise CannotRun(f"a process that executes cases ended with code {process.exitcode} before its first one")
        numbers.remove(begun)
        yield FuzzOutcome(begun, kind, f"{fuzzed_launch(begun, seed).name}: exit code {process.exitcode}")


def main(argv: Sequence[str] | None = None) -> int:
    """
    Print each outcome that breaks a rule, then how many there are of each kind.

    Returns:
        Exit code: 0, or 1 if a case broke a rule.
    """
    parser = argparse.ArgumentParser(prog="python -m gpusim.lab.own.fuzz", description=__doc__)
    parser.add_argument("--count", type=int, default=1000, help="number of cases")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args(argv)
    kinds: Counter[str] = Counter()
    for outcome in fuzz(arguments.count, arguments.seed):
        kinds[outcome.kind] += 1
        if outcome.kind.isupper():
            sys.stdout.write(f"{outcome.number}: {outcome.kind} {outcome.text}\n")
            sys.stdout.flush()
    total = ", ".join(f"{number} {kind}" for kind, number in sorted(kinds.items()))
    sys.stdout.write(f"{arguments.count} cases of seed {arguments.seed}: {total}\n")
    return int(any(kind.isupper() for kind in kinds))


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        sys.exit(main())
