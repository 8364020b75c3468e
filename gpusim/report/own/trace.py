"""Writes the Perfetto trace of a kernel of the user's own: a thread for each warp of a CTA, its stalls as slices."""

import numpy as np

from gpusim.arrays import IntArray
from gpusim.report.perfetto import CLOCK
from gpusim.report.trace_packets import Texts, TracePackets
from gpusim.results.kernel_result import KernelResult
from gpusim.results.kernel_warps import WarpLog

_PID = 1000


def kernel_trace(result: KernelResult, log: WarpLog) -> bytes:
    """
    Return the trace as a serialised ``perfetto.protos.Trace``, which can be opened at ui.perfetto.dev.

    The CTA is a process, and each of its warps a thread. The slices of a thread cover the warp's lifetime, under the
    names of the stall reasons; "selected" is an issue. A slice names the instruction that the warp issues, or waits to
    issue, and its source line if that is known. One cycle is one nanosecond.

    Args:
        result: The answer.
        log: The log of the CTA's warps.
    """
    trace = TracePackets()
    end = max((warp.end[-1] for warp in log.warps if warp.end), default=0)
    facts = {
        "time": CLOCK,
        "kernel": result.kernel,
        "machine": str(result.machine["name"]),
        "trust": result.validation,
        "commit": str(result.provenance.get("commit") or "unknown"),
    }
    about = trace.track(name=f"gpusim, {CLOCK}")
    trace.slice(about, 0, end, f"{result.kernel} on {facts['machine']}", facts)
    process = trace.track(process={"pid": _PID, "process_name": f"CTA {log.cta} ({CLOCK})"})
    lines = {f"{row.address:#06x} {row.text}": row.source for row in result.rows}
    sources = [lines.get(text, "") for text in log.instructions]
    for warp in log.warps:
        thread = trace.track(
            thread={"pid": _PID, "tid": _PID + 1 + warp.warp, "thread_name": f"warp {warp.warp} (SMSP {warp.smsp})"},
            parent=process,
            child_ordering="EXPLICIT",
        )
        row = _column(warp.row)
        notes = {"instruction": Texts(log.instructions, row), "source": Texts(sources, row)}
        trace.slices(thread, _column(warp.begin), _column(warp.end), Texts(log.reasons, _column(warp.reason)), notes)
    return trace.serialised()


def _column(values: tuple[int, ...]) -> IntArray:
    return np.array(values, dtype=np.int64)
