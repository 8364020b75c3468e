"""Derives the figures of the MIO's queues and of cp.async's way through them; measures nothing."""

from itertools import pairwise
from statistics import mean

from gpusim.gpu.calibrate.table import Formula, MeasuredTable, NotMeasured

_STORED_WORDS = (1, 2, 4)
"""Registers of data that STS, STS.64 and STS.128 read, besides one of the address."""

_HIDDEN_BY_STORE, _HIDDEN_BY_COPY = 6, 3
"""
Cycles for which a loop of release.cu and cp_async.cu holds an instruction's registers without taking longer.

Stalls of the machine code (sm_90, CUDA 13.0). The loop alone: UIADD3 1, IMAD 5, ISETP 13, so that BRA comes at 19. With
a store: UIADD3 1, STS, then IMAD when the registers are free, r cycles later, and 12 after it BRA, at 13 + r. With a
copy, three ``@!PT LDS RZ`` of 1 come before it: 16 + r. So r is what the loop takes longer, and 6 or 3.
"""

_TO_THE_QUEUE = 1
"""Cycles from the issue of a memory instruction until its queue may give it away."""


def _queue_depth(t: dict[str, MeasuredTable], _: int) -> tuple[float, str]:
    """
    Return the number of loads that issue before the queue is full, and the rule.

    A burst's loads first issue at the SMSP's pace and, once the queue is full, at the unit's slower pace. The load in
    the address unit is not counted. If the unit is not slower, the burst does not show the queue, and nothing is
    derived.
    """
    rows = t["shared"].rows(instruction="lds burst", smsps=1, wavefronts=1)
    time = {int(row["instructions"]): float(row["cycles"]) for row in rows}
    counts = sorted(time)
    steps = {b: (time[b] - time[a]) / (b - a) for a, b in pairwise(counts)}
    if len(counts) < 4:
        raise NotMeasured
    free, pace = min(steps[count] for count in counts[1:4]), steps[counts[-1]]
    if pace - free < 1:
        raise NotMeasured
    slow = next(count for count in counts[1:] if steps[count] >= (free + pace) / 2)
    return slow - 2, f"shared.csv, lds burst on one SMSP: load {slow} is the first that waits"


def _register_interval(t: dict[str, MeasuredTable], _: int) -> tuple[float, str]:
    wide, narrow = (
        t["shared"].numbers("per_instruction", instruction="sts", bytes=width, stride_bytes=width, warps=4, smsps=1)[0]
        for width in (16, 4)
    )
    return (wide - narrow) / 3, "shared.csv, sts of 16 bytes less that of 4 by 4 warps of one SMSP, over 3 registers"


def _source_release(t: dict[str, MeasuredTable], peak: int) -> tuple[float, str]:
    interval = int(_register_interval(t, peak)[0] + 0.5)
    release = t["release"]
    loop = release.numbers("per_trip", instruction="none", warps=1)[0]
    left = []
    for words in _STORED_WORDS:
        of = {"instruction": "sts_data", "bytes": 4 * words, "stride_bytes": 4 * words, "warps": 1}
        held = release.numbers("per_trip", **of)[0] - loop + _HIDDEN_BY_STORE
        left.append(held - _TO_THE_QUEUE - interval * (1 + words))
    return mean(left), (
        f"release.csv, sts_data of 4, 8 and 16 bytes, less the loop, and {_HIDDEN_BY_STORE} that it hides, less "
        f"{_TO_THE_QUEUE} to the queue and {interval} a register"
    )


def sm_depth(queue_depth: int, smsps: int) -> Formula:
    """
    Return the formula of the SM's queue, given the entries of the SMSPs' queues before it.

    Loads of 32 wavefronts keep the data stage busy. When the last load of a burst issues, those that the stage has not
    served whole wait in the queues, which are full.
    """

    def formula(t: dict[str, MeasuredTable], _: int) -> tuple[float, str]:
        of = {"instruction": "lds burst", "wavefronts": 32, "smsps": smsps}
        each = t["shared"].widest("instructions", **of)
        cycles = t["shared"].numbers("cycles", **of, instructions=each)[0]
        waiting = smsps * int(each) - cycles // 32
        depth = waiting - smsps * queue_depth
        if depth < 1:
            raise NotMeasured
        return depth, (
            f"shared.csv, lds burst of {each} loads of 32 wavefronts on each of {smsps} SMSPs: {waiting:.0f} issued "
            f"and not served, less {queue_depth} in the queue of each"
        )

    return formula


def _stage_half_cycles(t: dict[str, MeasuredTable], _: int) -> tuple[float, str]:
    rows = t["cp_async"].rows(what="stream", op="ca", warps=16, smsps=4)
    more = [float(row["per_copy"]) - int(row["wavefronts"]) for row in rows]
    return 2 * mean(more), "cp_async.csv, streams of .ca by 16 warps: half cycles a copy beyond its wavefronts, mean"


def _copy_latency(t: dict[str, MeasuredTable], _: int) -> tuple[float, str]:
    one = t["cp_async"].numbers("total", what="burst", op="ca", bytes=16, source="l1", copies=1, warps=1)[0]
    none = t["cp_async"].numbers("total", what="burst", op="cg", source="l2", copies=0, warps=1)[0]
    return one - none, "cp_async.csv, burst of one .ca that hits the L1, less an empty burst"


def _copy_release(t: dict[str, MeasuredTable], _: int) -> tuple[float, str]:
    found = t["cp_async"].numbers("each", what="release", op="cg", warps=1)[0]
    loop = t["cp_async"].numbers("each", what="loop")[0]
    return found - loop + _HIDDEN_BY_COPY - _TO_THE_QUEUE, (
        f"cp_async.csv, release less the loop, and {_HIDDEN_BY_COPY} that it hides, less {_TO_THE_QUEUE} to the queue"
    )


_ONE_REGISTER = ("ffma of 1", "imad of 1")
"""Arithmetic of dispatch.csv that reads one register."""


def _tensor_percent(t: dict[str, MeasuredTable], _: int) -> tuple[float, str]:
    found = []
    for first in ("mma", "mma of two tiles"):
        for warps in (8, 16):
            alone = t["dispatch"].numbers("per_trip", first=first, seconds=0, warps=warps)[0]
            for second in _ONE_REGISTER:
                for seconds in (8, 16, 32):
                    of = {"first": first, "second": second, "seconds": seconds, "warps": warps}
                    beside = t["dispatch"].numbers("per_trip", **of)[0]
                    found.append(100 * (beside - alone) / (seconds * warps / 4))
    rule = "dispatch.csv, ffma and imad of one register beside mma: more cycles for each, mean, in per cent"
    return mean(found), rule


def _store_buffer(t: dict[str, MeasuredTable], _: int) -> tuple[float, str]:
    """Return the bytes of stores that have issued and have not left, when each waits for another one to leave."""
    row = t["backlog"].rows(instruction="stg.128", smsps=4, blockers=0)[0]
    last = max(int(column.removeprefix("at_")) for column in row if column.startswith("at_"))
    pace = (float(row[f"at_{last * 2 // 3}"]) - float(row[f"at_{last // 2}"])) / (last * 2 // 3 - last // 2)
    if pace <= 0:
        raise NotMeasured
    waiting = [
        4 * (count - (float(row[f"at_{count}"]) - float(row["at_0"])) / pace)
        for count in range(last // 2, last * 2 // 3 + 1)
    ]
    return 512 * round(mean(waiting)), (
        f"backlog.csv, stg.128 on 4 SMSPs, one in {pace:.1f} cycles of each: "
        f"{mean(waiting):.1f} stores of 512 bytes wait"
    )


MIO_FORMULAS: dict[str, Formula] = {
    "mio.queue_depth": _queue_depth,
    "mio.register_interval": _register_interval,
    "mio.source_release": _source_release,
    "dispatch.tensor_percent": _tensor_percent,
    "l1.store_buffer_bytes": _store_buffer,
    "async_copy.stage_half_cycles": _stage_half_cycles,
    "async_copy.source_release": _copy_release,
    "async_copy.l1_latency": _copy_latency,
    "async_copy.commit_latency": lambda t, _: (
        t["cp_async"].numbers("each", what="commit")[0],
        "cp_async.csv, commits in a row",
    ),
    "async_copy.wait_latency": lambda t, _: (
        t["cp_async"].numbers("each", what="wait")[0],
        "cp_async.csv, empty waits in a row",
    ),
}
"""Formulas by dotted key in a machine file; that of ``mio.sm_depth`` is made by ``sm_depth``."""
