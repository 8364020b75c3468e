"""Simulates the points of a sweep: here, in local processes, or on a Dask cluster. It knows no folder and no table."""

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from importlib import import_module
from multiprocessing import active_children, get_context
from typing import Any

import gpusim
from gpusim.arguments import MOST_JOBS, text, whole_number
from gpusim.errors import CannotRun, missing_extra
from gpusim.verbs.processes import end_with_parent, interrupts_held
from gpusim.verbs.sweeping.point import Base, PointRow, point_row

KILLED = "the process that simulated it was killed twice"
"""Error of a point whose process dies, for example by lack of memory."""

CONNECT_SECONDS = 10


def processes_of(jobs: object, scheduler: object) -> int:
    """
    Return the number of local processes; one for each core if ``jobs`` is None.

    Raises:
        BadInput: ``jobs`` is not a number of processes, or ``scheduler`` is not an address.
    """
    if scheduler is not None:
        text("scheduler", scheduler)
    return (os.cpu_count() or 1) if jobs is None else whole_number("jobs", jobs, 1, MOST_JOBS)


def simulated(
    base: Base, points: dict[int, dict[str, Any]], *, jobs: int, scheduler: str | None
) -> Iterator[tuple[int, PointRow]]:
    """
    Yield number and row of each point as it finishes.

    Args:
        base: The common part of all points.
        points: Settings by the point's number.
        jobs: Local processes; 1 simulates in this one.
        scheduler: Address of a Dask scheduler; its workers then simulate the points.

    Raises:
        CannotRun: Processes cannot be started here, no scheduler answers, or its workers have another gpusim.
    """
    if scheduler is not None:
        yield from _on_cluster(base, points, scheduler)
    elif jobs == 1 or len(points) == 1:
        for number, settings in points.items():
            yield number, point_row(base, settings)
    else:
        yield from _in_processes(base, points, min(jobs, len(points)))


def _in_processes(base: Base, points: dict[int, dict[str, Any]], jobs: int) -> Iterator[tuple[int, PointRow]]:
    """Simulate in a pool. If a process dies, the points that may have killed it run again alone; the rest continue."""
    waiting = dict(points)
    while waiting:
        try:
            with _pool(jobs) as executor:
                for number, row in _collected(executor, base, waiting):
                    del waiting[number]
                    yield number, row
        except BrokenProcessPool:
            for number in list(waiting)[:jobs]:
                yield number, _alone(base, waiting.pop(number))


def _alone(base: Base, settings: dict[str, Any]) -> PointRow:
    try:
        with _pool(1) as executor:
            with interrupts_held():
                waiting = executor.submit(point_row, base, settings)
            return waiting.result()
    except BrokenProcessPool:
        return {"error": KILLED}


def _collected(executor: Executor, base: Base, points: dict[int, dict[str, Any]]) -> Iterator[tuple[int, PointRow]]:
    with interrupts_held():
        futures: dict[Future[PointRow], int] = {
            executor.submit(point_row, base, settings): number for number, settings in points.items()
        }
    for future in as_completed(futures):
        yield futures.pop(future), future.result()


@contextmanager
def _pool(jobs: int) -> Iterator[ProcessPoolExecutor]:
    """Yield a pool. Its processes end with the block and with this process, even in the middle of a point."""
    before = set(active_children())
    executor = ProcessPoolExecutor(jobs, mp_context=get_context("spawn"), initializer=end_with_parent)
    try:
        _require_start(executor)
        yield executor
    except BaseException:
        executor.shutdown(wait=False, cancel_futures=True)
        for child in set(active_children()) - before:
            child.terminate()
        raise
    executor.shutdown()


def _require_start(executor: Executor) -> None:
    with interrupts_held():
        answer = executor.submit(version_here)
    try:
        answer.result()
    except BrokenProcessPool as error:
        raise CannotRun(
            'no process can be started: a script must sweep under `if __name__ == "__main__":`, or with jobs=1'
        ) from error


def _on_cluster(base: Base, points: dict[int, dict[str, Any]], address: str) -> Iterator[tuple[int, PointRow]]:
    """
    Simulate on the workers of a Dask cluster, through the executor of its client.

    If a worker dies, its point is simulated on another one. The scheduler gives up a point that killed several workers.
    """
    try:
        distributed = import_module("distributed")
    except ImportError as error:
        raise missing_extra("--scheduler", "dask") from error
    with _connected(distributed.Client, address) as client:
        _require_same_version(client.run)
        executor = client.get_executor(pure=False)
        futures: dict[Future[PointRow], int] = {
            executor.submit(point_row, base, settings): number for number, settings in points.items()
        }
        try:
            for future in as_completed(futures):
                number = futures.pop(future)
                try:
                    row = future.result()
                except distributed.KilledWorker:
                    row = {"error": KILLED}
                yield number, row
        finally:
            executor.shutdown(wait=False)


def _connected(client_class: Any, address: str) -> Any:
    """
    Return a client of the scheduler at an address. The caller must close it.

    A client without a scheduler is closed here. Otherwise the garbage collector would close it, and could then wait
    forever for a lock of ``distributed`` while the next client starts.
    """

    def start(client: Any, **settings: Any) -> None:
        try:
            client_class.start(client, **settings)
        except BaseException:
            client.close()
            raise

    closing = type(client_class.__name__, (client_class,), {"start": start})
    try:
        return closing(address, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError) as error:
        raise CannotRun(f"--scheduler: no Dask scheduler answers at {address}") from error


def version_here() -> str:
    """Return the versions of gpusim and of Python, which must be the same in all processes of a sweep."""
    return f"gpusim {gpusim.__version__}, Python {sys.version_info.major}.{sys.version_info.minor}"


def _require_same_version(run: Callable[..., Any]) -> None:
    try:
        found: Sequence[str] = list(run(version_here).values())
    except Exception as error:
        raise CannotRun(f"--scheduler: its workers cannot import gpusim ({error})") from error
    others = sorted(set(found) - {version_here()})
    if others:
        raise CannotRun(f"--scheduler: its workers have {others[0]}, this process has {version_here()}")
