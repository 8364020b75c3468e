"""Runs a function in worker processes, which end when this process ends, and print nothing when interrupted."""

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import active_children, get_context, parent_process, resource_tracker
from typing import Any, TypeVar

ResultT = TypeVar("ResultT")


@contextmanager
def in_processes(
    function: Callable[..., ResultT], arguments: Iterable[tuple[Any, ...]], jobs: int | None
) -> Iterator[Iterator[ResultT]]:
    """
    Call a function in fresh processes, once for each tuple of arguments; yield the results in that order.

    If the block ends with an error or an interrupt, pending calls are dropped and the workers are terminated.

    Args:
        function: A function at the top of a module.
        arguments: Arguments of each call.
        jobs: Processes; None takes one for each core.
    """
    before = set(active_children())
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn"), initializer=end_with_parent) as pool:
        try:
            with interrupts_held():
                waiting = [pool.submit(function, *one) for one in arguments]
            yield (one.result() for one in waiting)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            for worker in set(active_children()) - before:
                worker.terminate()
            raise


@contextmanager
def interrupts_held() -> Iterator[None]:
    """
    Block SIGINT within the block; processes that start in it inherit this, and never receive one.

    Python starts its resource tracker with the first process, and then unblocks SIGINT. So this function starts the
    tracker before it blocks SIGINT.
    """
    if sys.platform == "win32":
        yield
        return
    resource_tracker.ensure_running()
    held = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, held)


def end_with_parent() -> None:
    """End this process as soon as its parent has ended, even by kill -9."""
    threading.Thread(target=_wait_for_parent, daemon=True).start()


def _wait_for_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
