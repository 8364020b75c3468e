"""Derives the figures of the MIO's queues and of cp.async's path through them; measures nothing."""

from collections.abc import Sequence
from math import log2
from statistics import linear_regression, mean
from typing import Final

from gpusim.lab.calibrate.runs import SMSPS
from gpusim.lab.calibrate.table import Formula, MeasuredTable, NotMeasured
from gpusim.lab.calibrate.tiles import AMID_LAG, AMID_LOADERS, AMID_LOADS
from gpusim.units import SECTOR_BYTES

_STORED_WORDS = (1, 2, 4)
"""Registers of data that STS, STS.64 and STS.128 read, besides one of the address."""

_HIDDEN_BY_STORE, _HIDDEN_BY_COPY = 6, 3
"""
Cycles for which a loop of release.cu and cp_async.cu holds an instruction's registers without taking longer.

Stalls of the machine code (sm_90, CUDA 13.0). The loop alone: UIADD3 1, IMAD 5, ISETP 13, so BRA issues at 19. With a
store: UIADD3 1, STS, then IMAD when the registers are free, r cycles later, and BRA 12 after it, at 13 + r. With a
copy, three ``@!PT LDS RZ`` of 1 come before it: 16 + r. So r is the additional time of the loop, plus 6 or 3.
"""

_TO_THE_QUEUE = 1
"""Cycles from the issue of a memory instruction until it may leave its queue."""

_SMSPS, _BURST = 4, 8
"""SMSPs of held.csv's warps, and the longest of its bursts."""


def _at_least_one(found: float) -> float:
    """Return a derived number of at least one. Raise ``NotMeasured`` if it is less: the bursts show nothing."""
    if found < 1:
        raise NotMeasured
    return found


def _queue_depth(t: dict[str, MeasuredTable], _: int) -> tuple[float, str]:
    """
    Return the number of loads that wait in an SMSP, and the rule.

    Loads of 32 wavefronts keep the data stage busy. When the last load of a burst issues, the queues are full: the
    loads that the data stage has not served wait in the SM's queue (``_sm_depth``), and evenly in those of the SMSPs.
    """
    of = {"instruction": "lds burst", "wavefronts": 32, "smsps": _SMSPS}
    each = t["shared"].widest("instructions", **of)
    waiting = _SMSPS * int(each) - t["shared"].numbers("cycles", **of, instructions=each)[0] // 32
    return _at_least_one((waiting - round(_sm_depth(t, _)[0])) / _SMSPS), (
        f"shared.csv, lds burst of {each} loads of 32 wavefronts on each of {_SMSPS} SMSPs: {waiting:.0f} issued and "
        "not served, less those in the queue of the SM, over SMSPs"
    )


def _sm_depth(t: dict[str, MeasuredTable], _: int) -> tuple[float, str]:
    """
    Return the number of loads that have released their address and wait for the data stage, and the rule.

    In a burst of loads of four wavefronts, the last one releases its address when so many are left before it. The four
    loads of a burst of one on each SMSP release theirs at once, one a cycle.
    """
    one, many = (_then(t, "ldmatrix.x4", count, 512) for count in (1, _BURST))
    late = max(many) - max(one) + _SMSPS - 1
    return _at_least_one(_SMSPS * _BURST - 1 - late / 4), (
        f"held.csv, {_BURST} ldmatrix.x4 on each of {_SMSPS} SMSPs: the last address is free {late:.0f} cycles after "
        "the first, of 4 for each load"
    )


def _then(  # noqa: PLR0917 - the columns that tell a burst
    t: dict[str, MeasuredTable], instruction: str, count: int, row_bytes: int, behind: str = "", warps: int = _SMSPS
) -> list[float]:
    """
    Return the columns ``then_0`` ... of held.csv, in cycles, for ``warps`` warps on an SMSP each.

    They have the cycle at which the address register of the last instruction of each warp's burst may be overwritten.
    If ``behind`` names a load behind the burst, they have the cycle at which its value has arrived.
    """
    of = {"instruction": instruction, "count": count, "ahead": 0, "row_bytes": row_bytes, "behind": behind}
    return [t["held"].numbers(f"then_{warp}", **of, warps=warps)[0] for warp in range(warps)]


_ADDRESS_REGISTERS = 3
"""Address registers of a copy, each an entry of the SM's queue: one of the shared address, two of the global one."""

_SHORT_BURST = 3
"""Copies of each SMSP that may wait for the tag lookup. Later copies leave at the pace at which these are looked up."""


def _copy_interval(t: dict[str, MeasuredTable], _: int) -> tuple[float, str]:
    some, many = (_then(t, "cp.async.cg", count, 128) for count in (1, _SHORT_BURST))
    return _at_least_one((max(many) - max(some)) / (_SMSPS * (_SHORT_BURST - 1))), (
        f"held.csv, cp.async of rows of 128 bytes, {_SHORT_BURST} less 1 on each of {_SMSPS} SMSPs: cycles a copy"
    )


_NARROW = 32
"""Bytes of the rows of bursts with the longest tag lookups: 16 requests a copy."""


def _look_ups(t: dict[str, MeasuredTable], _: int) -> tuple[float, str]:
    """
    Return the copies that wait for the tag lookup when a load behind them passes, and the rule.

    A load behind a burst passes when some of the burst's copies have begun. Their number is the time of a load behind
    the longest bursts, less that of a load behind a single copy, over the time of a copy. The time of a copy is taken
    from bursts of half that length.
    """
    half, longest = (max(_then(t, "cp.async.cg", count, _NARROW, "lds.32")) for count in (_BURST // 2, _BURST))
    (alone,) = _then(t, "cp.async.cg", 1, 512, "lds.32", warps=1)
    pace = (longest - half) / (_SMSPS * _BURST / 2)
    if pace <= 0:
        raise NotMeasured
    return _at_least_one(_SMSPS * _BURST - (longest - alone) / pace), (
        f"held.csv, a load behind {_BURST} cp.async of rows of {_NARROW} bytes on each of {_SMSPS} SMSPs, one in "
        f"{pace:.1f} cycles: copies not looked up when it passes"
    )


def _queue_percent(t: dict[str, MeasuredTable], peak: int) -> tuple[float, str]:
    """
    Return the share of an entry of an SMSP's queue that a copy takes, and the rule.

    When the last copy of the longest burst issues, copies without a tag lookup wait: some for the lookup, some in the
    queue of the SM, in which each takes three entries, and the others in those of the SMSPs, which are full.
    """
    of = {"row_bytes": _NARROW, "warps": _SMSPS}
    counts = sorted(int(row["copies"]) for row in t["queued"].rows(**of))
    some, all_of = (t["queued"].numbers("last", **of, copies=count)[0] for count in counts[-2:])
    pace = (all_of - some) / (_SMSPS * (counts[-1] - counts[-2]))
    if pace <= 0:
        raise NotMeasured
    waiting = _SMSPS * counts[-1] - all_of / pace
    own = (waiting - _look_ups(t, peak)[0] - _sm_depth(t, peak)[0] / _ADDRESS_REGISTERS) / _SMSPS
    return 100 * int(_queue_depth(t, peak)[0] + 0.5) / own, (
        f"queued.csv, bursts of {counts[-1]} copies of rows of {_NARROW} bytes on each of {_SMSPS} SMSPs: "
        f"{waiting:.1f} issued and not looked up, less those that the SM holds: {own:.1f} in a queue, in per cent of it"
    )


_LONG_BURSTS = ((64, 32), (32, 32), (32, 16), (32, 8))
"""Bytes of a row, and lanes of each copy."""


def _outstanding(t: dict[str, MeasuredTable], _: int) -> tuple[float, str]:
    """Return the requests of copies around the L1 that are in flight when no more issue, and the rule."""
    return _on_their_way(t, "copies", _LONG_BURSTS, twice=True)


def _on_their_way(
    t: dict[str, MeasuredTable], kernel: str, bursts: Sequence[tuple[int, int]], *, twice: bool
) -> tuple[float, str]:
    """
    Return the requests of a kernel of outstanding.cu that are in flight when no more issue, and the rule.

    Some of the issued copies wait for the tag lookup, equally many in all bursts. The number of the others falls with
    the requests of each. A request of one sector counts ``twice`` or once.
    """
    issued, places = [], []
    for row_bytes, lanes in bursts:
        of = {"kernel": kernel, "source": "host", "pitch": 256, "row_bytes": row_bytes, "lanes": lanes}
        issued.append(t["outstanding"].numbers("issued", **of)[0])
        if issued[-1] >= t["outstanding"].numbers("count", **of)[0]:
            raise NotMeasured
        places.append(lanes * 16 // row_bytes * (2 if twice and row_bytes == SECTOR_BYTES else 1))
    slope, waiting = linear_regression([1 / each for each in places], issued)
    rows = " and ".join(str(row_bytes) for row_bytes in dict.fromkeys(row_bytes for row_bytes, _ in bursts))
    return slope, (
        f"outstanding.csv, {kernel} of the host's memory in rows of {rows} bytes: "
        f"{', '.join(f'{count:.0f}' for count in issued)} issued before the first pause, of which {waiting:.0f} wait "
        f"for their look-up, by the requests of each{', those of a sector counted twice' if twice else ''}"
    )


_THROUGH_BURSTS = ((128, 16), (128, 32), (64, 32), (32, 32))
"""Bytes of a row, and lanes of each copy through the L1. Of copies of one line, fewer issue than the limit of lines."""


def _outstanding_through(t: dict[str, MeasuredTable], _: int) -> tuple[float, str]:
    """Return the missing lines of copies through the L1 that are in flight when no more issue, and the rule."""
    return _on_their_way(t, "copies_through", _THROUGH_BURSTS, twice=False)


_CROSSED_STORES: Final = ("sts16", "sts8", "sts4")
_CROSSED_GAP: Final = 256


def _fill_bytes(t: dict[str, MeasuredTable], _: int) -> tuple[float, str]:
    """Return the bytes of copies that are written in each cycle that stores lose to them, and the rule."""

    def taken(most: str) -> float:
        alone = t["crossed"].numbers("issued", most=most, few="nothing")[0]
        beside = {"most": most, "few": "copies", "gap": _CROSSED_GAP}
        issued, copied, cycles = (
            t["crossed"].numbers(name, **beside)[0] for name in ("issued", "few_issued", "cycles")
        )
        return (alone - issued) / alone * cycles / copied

    each = mean(map(taken, _CROSSED_STORES)) - taken("lds16")
    if each <= 0:
        raise NotMeasured
    return 2.0 ** round(log2(_ACCESS_BYTES / each)), (
        f"crossed.csv: a copy of {_ACCESS_BYTES} bytes costs st.shared of 16 warps {each:.2f} cycles more than "
        "ld.shared: bytes in each, a power of two"
    )


def _apart(t: dict[str, MeasuredTable], _: int) -> tuple[float, str]:
    found = []
    for row in t["fills"].rows(lines_apart=4):
        copies = int(row["copies"])
        beside = {"row_bytes": int(row["row_bytes"]), "copies": copies}
        more = float(row["cycles"]) - t["fills"].numbers("cycles", **beside, lines_apart=1)[0]
        found.append(more * copies / (copies + 1))
    return mean(found), "fills.csv, lines 4 apart less those side by side: more cycles for each copy and group, mean"


_EMPTY_LOADS = 3
"""Predicated-off loads that ptxas puts before each group of crowded.cu (machine code, sm_90, CUDA 13.0)."""


def _commit_stage(t: dict[str, MeasuredTable], _: int) -> tuple[float, str]:
    found = []
    for row in t["crowded"].rows(mma_warps=0):
        copies = int(row["copies"])
        if copies == 0:
            continue
        alone = t["crowded"].numbers("ldmatrix", mma_warps=0, copies=0, row_bytes=int(row["row_bytes"]))[0]
        missing = (alone - int(row["ldmatrix"])) / alone * int(row["cycles"])
        found.append(missing * copies / int(row["copied"]) - _EMPTY_LOADS)
    return mean(found), (
        f"crowded.csv, no mma: cycles that a group of copies takes from ldmatrix, less {_EMPTY_LOADS} of loads of "
        "nothing, mean"
    )


def _register_interval(t: dict[str, MeasuredTable], _: int) -> tuple[float, str]:
    wide, narrow = (
        t["shared"].numbers("per_instruction", instruction="sts", bytes=width, stride_bytes=width, warps=4, smsps=1)[0]
        for width in (16, 4)
    )
    return (wide - narrow) / 3, "shared.csv, sts of 16 bytes less that of 4 by 4 warps of one SMSP, over 3 registers"


_GAPS_BURSTS: Final = (2, 8)
_STORED_REGISTERS: Final = {"sts.32": 2, "sts.64": 3, "sts.128": 5}
"""Registers of a store to shared memory: its address and its data."""


def _beside(gaps: MeasuredTable, access: str, mma: str) -> tuple[float, float]:
    """Return the cycles of an access of a burst beside mma.sync of a kind, and those of an mma.sync."""
    few, many = (gaps.numbers("landed", access=access, mma=mma, count=count)[0] for count in _GAPS_BURSTS)
    each = gaps.numbers("mma_each", access=access, mma=mma, count=_GAPS_BURSTS[1])[0]
    return (many - few) / (_GAPS_BURSTS[1] - _GAPS_BURSTS[0]), each


def _registers_an_mma(t: dict[str, MeasuredTable], _: int) -> tuple[float, str]:
    found, (few, many) = [], _GAPS_BURSTS
    for access, registers in _STORED_REGISTERS.items():
        takes, each = _beside(t["gaps"], access, "m16n8k16.f16.f32")
        found.append(registers * each / takes)
    return mean(found), (
        f"gaps.csv, bursts of {many} stores less {few} beside m16n8k16, over their registers: registers read in an "
        "mma.sync, mean"
    )


_COPIED_REGISTERS: Final = 3
"""Registers of a copy's addresses."""


def _copy_registers(t: dict[str, MeasuredTable], peak: int) -> tuple[float, str]:
    found, (few, many), interval = [], _GAPS_BURSTS, _register_interval(t, peak)[0]
    for mma in ("m16n8k16.f16.f32", "m16n8k8.f16.f32", "m16n8k32.s8.s32"):
        takes, each = _beside(t["gaps"], "cp.async", mma)
        found.append((takes - _COPIED_REGISTERS * interval) / (each - interval))
    return mean(found), (
        f"gaps.csv, bursts of {many} cp.async less {few} beside mma.sync: what each takes longer than its "
        f"{_COPIED_REGISTERS} registers alone, over what one register does, mean"
    )


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


def _beside_mma(instruction: str) -> Formula:
    """Return the formula of the issue time that an instruction takes from other warps' mma.sync on its SMSP."""

    def formula(t: dict[str, MeasuredTable], _: int) -> tuple[float, str]:
        alone = float(t["duel"].rows(first="mma", second="")[0]["cycles"])
        beside = t["duel"].rows(first="mma", second=instruction)
        found = [100 * (float(row["cycles"]) - alone) / int(row["seconds"]) for row in beside]
        return mean(found), f"duel.csv, {instruction} beside mma: more cycles for each, mean, in per cent"

    return formula


def _store_buffer(t: dict[str, MeasuredTable], _: int) -> tuple[float, str]:
    """
    Return the bytes of stores that have issued and not left the SM, when each waits for an earlier one to leave.

    One store of each SMSP is still in its queue.
    """
    row = t["backlog"].rows(instruction="stg.128", smsps=4, blockers=0)[0]
    last = max(int(column.removeprefix("at_")) for column in row if column.startswith("at_"))
    pace = (float(row[f"at_{last * 2 // 3}"]) - float(row[f"at_{last // 2}"])) / (last * 2 // 3 - last // 2)
    if pace <= 0:
        raise NotMeasured
    waiting = [
        SMSPS * (count - (float(row[f"at_{count}"]) - float(row["at_0"])) / pace)
        for count in range(last // 2, last * 2 // 3 + 1)
    ]
    return 512 * round(mean(waiting) - SMSPS), (
        f"backlog.csv, stg.128 on 4 SMSPs, one in {pace:.1f} cycles of each: "
        f"{mean(waiting):.1f} stores of 512 bytes wait, one in each queue"
    )


_STEP_WARPS, _STEP_STORES = 4, (2, 4)


def _store_way(t: dict[str, MeasuredTable], _: int) -> tuple[float, str]:
    """Return the bytes of a store to global memory for each cycle by which it delays later instructions of a step."""

    def cycles(stores: int) -> float:
        return mean(t["steps"].numbers("cycles", bytes=16, warps=_STEP_WARPS, stores=stores))

    few, many = _STEP_STORES
    each = (cycles(many) - cycles(few)) / ((many - few) * _STEP_WARPS)
    if each <= 0:
        raise NotMeasured
    return _ACCESS_BYTES / each, (
        f"steps.csv, {many} stores of 16 bytes a lane by each of {_STEP_WARPS} warps less {few}: "
        f"{each:.2f} cycles for each {_ACCESS_BYTES} bytes"
    )


_ACCESS_BYTES: Final = 512
"""Bytes of a warp whose lanes load or store 16 bytes each."""

_RETURNED_ROWS: Final = {"row_bytes": 64, "along": 128, "warps": 16}
"""Rows of returns.csv with enough loads in flight that lines arrive without a pause; a load has two sectors a line."""


def _line_interval(t: dict[str, MeasuredTable], _: int) -> tuple[float, str]:
    each = t["returns"].numbers("cycles_each", kernel="loads", **_RETURNED_ROWS)[0]
    lines = _ACCESS_BYTES // _RETURNED_ROWS["row_bytes"]
    return each / lines, "returns.csv, loads of rows of 64 bytes by 16 warps: cycles a line"


_AMID_ROWS, _AMID_LAGS = 32, range(32, 224)
"""Rows of the bursts with the longest tag lookups; lags of readers behind all loads, before any data arrives."""


def _load_look_ups(t: dict[str, MeasuredTable], _: int) -> tuple[float, str]:
    """
    Return the loads that wait for the tag lookup when ldmatrix behind them passes, and the rule.

    An ldmatrix that begins sooner ends at the same time: when all loads but these have begun, each for its wavefronts.
    """
    cycles = {int(row["lag"]): float(row["cycles"]) for row in t["amid"].rows(row_bytes=_AMID_ROWS)}
    alone = min(cycles.values(), default=0)
    passed = [lag + AMID_LAG / 2 + own - alone for lag, own in cycles.items() if lag in _AMID_LAGS]
    if not passed:
        raise NotMeasured
    loads, each = AMID_LOADERS * AMID_LOADS, _ACCESS_BYTES // _AMID_ROWS
    return _at_least_one(loads - mean(passed) / each), (
        f"amid.csv, {loads} loads of rows of {_AMID_ROWS} bytes: those that have not begun when ldmatrix passes, "
        f"{mean(passed):.0f} cycles behind the first"
    )


_STORES: Final = {"ahead": "sts.32", "stride_bytes": 128, "busy": 1, "loader": 0}
"""Rows of ahead.csv: bursts of stores of 32 wavefronts by one warp, and a load behind them on its SMSP."""

_STORE_BURST, _BANKS, _STORE_PACE = 14, 32, 2
"""Stores of the longest burst, wavefronts of each, and cycles of one for a lone warp (shared.csv)."""


def _stores_apart(t: dict[str, MeasuredTable], _: int) -> tuple[float, str]:
    """
    Return the stores that have not begun when a load behind them passes, and the rule.

    The load issues behind the burst. It waits until the remaining stores may wait apart from the queue. A warp's stores
    take the data stage one after another, each for the latency of its wavefronts.
    """
    (issued, waited), (at_once, alone) = (
        [t["ahead"].numbers(column, **_STORES, count=count)[0] for column in ("issued", "cycles")]
        for count in (_STORE_BURST, 0)
    )
    each = _BANKS * _STORE_PACE
    return _at_least_one(_STORE_BURST - 1 - (issued - at_once + waited - alone) / each), (
        f"ahead.csv, a load behind {_STORE_BURST} st.shared of {_BANKS} wavefronts: stores that have not begun when it "
        "passes"
    )


MIO_FORMULAS: dict[str, Formula] = {
    "mio.queue_depth": _queue_depth,
    "mio.sm_depth": _sm_depth,
    "mio.register_interval": _register_interval,
    "mio.gaps.registers": _registers_an_mma,
    "mio.gaps.copy_registers": _copy_registers,
    "mio.source_release": _source_release,
    "dispatch.tensor_percent": _tensor_percent,
    "dispatch.memory.shared_load_percent": _beside_mma("ldmatrix"),
    "dispatch.memory.shared_store_percent": _beside_mma("st.shared.128"),
    "dispatch.memory.copy_percent": _beside_mma("cp.async.cg"),
    "dispatch.memory.load_percent": _beside_mma("ld.global.cg"),
    "dispatch.memory.store_percent": _beside_mma("st.global.128"),
    "l1.store_buffer_bytes": _store_buffer,
    "l1.stores.bytes_per_cycle": _store_way,
    "l1.lines.interval": _line_interval,
    "l1.lines.look_ups": _load_look_ups,
    "shared.stores.apart": _stores_apart,
    "async_copy.queue_percent": _queue_percent,
    "async_copy.look_ups": _look_ups,
    "async_copy.apart": _apart,
    "async_copy.commit_stage": _commit_stage,
    "async_copy.source_release": _copy_release,
    "async_copy.pace.interval": _copy_interval,
    "async_copy.pace.outstanding": _outstanding,
    "async_copy.pace.outstanding_through": _outstanding_through,
    "async_copy.pace.fill_bytes": _fill_bytes,
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
"""Formulas by dotted key in a machine file."""
