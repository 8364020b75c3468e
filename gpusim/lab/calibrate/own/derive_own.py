"""Derives figures of opcodes, atomics and scattered accesses from their CSV files; measures nothing."""

from collections.abc import Callable, Iterator, Mapping
from itertools import product
from statistics import median
from typing import Final

from gpusim.lab.calibrate.own.scattered import OWN_RESIDENT, OWN_STREAMED
from gpusim.lab.calibrate.table import Formula, MeasuredTable, NotMeasured, NumberFormula
from gpusim.units import LINE_BYTES

OWN_TABLES: Final = (
    "opcodes.",
    "pairs.",
    "constant_cache.indexed.",
    "shared.atomics.",
    "l2.atomics.",
    "l2.scattered.",
    "spaces.",
    "dram.partial.",
)
"""Tables of figures that a machine file has no key for."""

OWN_FILES: Final = (
    "opcodes",
    "opcode_pairs",
    "indexed",
    "shared_atomics",
    "global_atomics",
    "scattered",
    "spaces",
    "partial",
    "fences",
    "residents",
)

_Tables = Mapping[str, MeasuredTable]


def own_formulas(t: _Tables) -> Iterator[tuple[str, Formula]]:
    """Return the formula of each figure by its dotted key, for what the files have."""
    yield from _opcode_formulas(t)
    yield from _atomic_formulas(t)
    yield from _SCATTERED.items()
    for kind, words, way in product(t["partial"].values("kind"), (1, 4), ("read", "write")):
        yield f"dram.partial.{kind}_{4 * words}.{way}", _partial(kind, words, way)
    for name in t["spaces"].values("space"):
        yield f"spaces.{name}.latency", _space_latency(name)
        for access in ("load", "store"):
            yield f"spaces.{name}.{access}_line", _space_line(name, access)


def _opcode_formulas(t: _Tables) -> Iterator[tuple[str, Formula]]:
    for name in t["opcodes"].values("instruction"):
        yield f"opcodes.{name}.latency", _opcode(name, "latency")
        yield f"opcodes.{name}.interval", _opcode(name, "interval")
    yield "opcodes.dsetp.interval", _dsetp_interval
    yield "opcodes.dsetp.latency", _dsetp_latency
    for one in t["opcode_pairs"].values("one"):
        for other in _others(t, one):
            yield f"pairs.{one}.{other}.percent", _pair(one, other)
    yield "constant_cache.indexed.latency", _indexed_latency
    yield "constant_cache.indexed.word", _indexed_word


def _atomic_formulas(t: _Tables) -> Iterator[tuple[str, Formula]]:
    for name in t["shared_atomics"].values("operation"):
        for figure, shared in _SHARED.items():
            yield f"shared.atomics.{name}.{figure}", shared(name)
    for name in t["global_atomics"].values("operation"):
        for figure, formula in _GLOBAL.items():
            yield f"l2.atomics.{name}.{figure}", formula(name)


def _chain(table: MeasuredTable, figure: str, **columns: object) -> tuple[float, str]:
    """Return the latency or interval of a chain, and the words of its rule."""
    if figure == "latency":
        return table.numbers("per_round", **columns, ilp=1, warps=1)[0], "one chain"
    warps = table.widest("warps", **columns, ilp=8)
    found = table.numbers("interval", **columns, ilp=8, warps=warps)[0]
    return found, f"8 chains in each of {warps} warps"


def _opcode(name: str, figure: str) -> NumberFormula:
    def formula(t: dict[str, MeasuredTable], _: int) -> tuple[float, str]:
        found, words = _chain(t["opcodes"], figure, instruction=name, spread=1)
        return found, f"opcodes.csv, {name}, {words}"

    return formula


def _of(t: _Tables, name: str, figure: str) -> float:
    return _chain(t["opcodes"], figure, instruction=name, spread=1)[0]


def _dsetp_interval(t: dict[str, MeasuredTable], _: int) -> tuple[float, str]:
    found = _of(t, "dsetp_dadd", "interval") - _of(t, "dadd", "interval")
    return found, "opcodes.csv, dsetp_dadd less dadd, 8 chains in each warp"


def _dsetp_latency(t: dict[str, MeasuredTable], _: int) -> tuple[float, str]:
    found = _of(t, "dsetp_fsel", "latency") - _of(t, "lop3", "latency")
    return found, "opcodes.csv, dsetp_fsel less lop3, one chain"


def _others(t: _Tables, one: str) -> list[str]:
    return list(dict.fromkeys(row["other"] for row in t["opcode_pairs"].rows(one=one)))


def _pair(one: str, other: str) -> NumberFormula:
    """
    Return the formula of how far the times of two opcodes add up: 0 per cent if they overlap, 100 if they share a pipe.

    The two take their intervals, alone. The formula takes the round in which these are the closest, where the issue of
    both would take less than either.
    """

    def formula(t: dict[str, MeasuredTable], _: int) -> tuple[float, str]:
        alone, each = (_of(t, name, "interval") for name in (one, other))
        warps = t["opcode_pairs"].widest("warps", one=one, other=other)
        rounds = {
            int(row["others"]): float(row["per_round"])
            for row in t["opcode_pairs"].rows(one=one, other=other, warps=warps)
        }
        best = min(rounds, key=lambda others: max(alone, others * each) / min(alone, others * each))
        longer, shorter = max(alone, best * each), min(alone, best * each)
        found = 100 * (rounds[best] - longer) / shorter
        return max(0.0, found), (
            f"opcode_pairs.csv, one {one} and {best} {other}: {rounds[best]:.2f} cycles, of {alone:.2f} and "
            f"{best * each:.2f} alone: what the longer hides of the shorter not, in per cent"
        )

    return formula


def _indexed_latency(t: dict[str, MeasuredTable], _: int) -> tuple[float, str]:
    found, words = _chain(t["indexed"], "latency", lanes=32, step=4)
    return found, f"indexed.csv, all lanes at one word, {words}"


def _indexed_word(t: dict[str, MeasuredTable], _: int) -> tuple[float, str]:
    many, one = (_chain(t["indexed"], "interval", lanes=lanes, step=4)[0] for lanes in (1, 32))
    return (many - one) / 31, "indexed.csv, 32 words less one, 8 chains in each warp, over 31"


_SHARED_WARPS = 16


def _shared(name: str, column: str, words: str, value: Callable[[MeasuredTable, dict[str, object]], float]) -> Formula:
    def formula(t: dict[str, MeasuredTable], _: int) -> tuple[float, str]:
        return value(t["shared_atomics"], {"operation": name, "together": 0, "result": column}), (
            f"shared_atomics.csv, {column} {name}, {words}"
        )

    return formula


def _of_lanes(table: MeasuredTable, of: dict[str, object]) -> float:
    many, few = (table.numbers("per_atomic", **of, ways=1, lanes=lanes, warps=_SHARED_WARPS)[0] for lanes in (32, 8))
    return (many - few) / 24


def _of_ways(table: MeasuredTable, of: dict[str, object]) -> float:
    many, few = (table.numbers("per_atomic", **of, lanes=1, ways=ways, warps=_SHARED_WARPS)[0] for ways in (32, 8))
    return (many - few) / 24


def _apart(table: MeasuredTable, of: dict[str, object]) -> float:
    return table.numbers("per_atomic", **of, lanes=1, ways=1, warps=_SHARED_WARPS)[0]


_SHARED: Final[dict[str, Callable[[str], Formula]]] = {
    "latency": lambda name: _shared(
        name,
        "dependent",
        "one warp, a word for each lane",
        lambda table, of: table.numbers("per_atomic", **of, lanes=1, ways=1, warps=1)[0],
    ),
    "interval": lambda name: _shared(name, "dropped", "16 warps, a word for each lane", _apart),
    "lane": lambda name: _shared(name, "dropped", "16 warps, 32 lanes at a word less 8, over 24", _of_lanes),
    "way": lambda name: _shared(name, "dropped", "16 warps, 32 words of a bank less 8, over 24", _of_ways),
    "returned_interval": lambda name: _shared(name, "returned", "16 warps, a word for each lane", _apart),
    "returned_lane": lambda name: _shared(name, "returned", "16 warps, 32 lanes at a word less 8, over 24", _of_lanes),
}
"""Figures of an atomic in shared memory, in cycles of the SM."""


def _global(name: str, result: str, words: str, together: str, **columns: object) -> NumberFormula:
    """Return the formula of the cycles of the chip between two warp instructions of all its SMs."""

    def formula(t: dict[str, MeasuredTable], _: int) -> tuple[float, str]:
        table = t["global_atomics"]
        of = {"operation": name, "result": result, "warps": 8, "together": together, **columns}
        sms = table.widest("sms", **of)
        if sms == "1":
            raise NotMeasured
        found = table.numbers("per_atomic", **of, sms=sms)[0] / int(sms)
        return found * 100, f"global_atomics.csv, {result} {name}, {words}, {sms} SMs, hundredths of a cycle"

    return formula


def _global_latency(lines: int) -> Callable[[str], NumberFormula]:
    def of(name: str) -> NumberFormula:
        def formula(t: dict[str, MeasuredTable], _: int) -> tuple[float, str]:
            table = {"operation": name, "result": "dependent", "lines": lines}
            found = median(t["global_atomics"].numbers("per_atomic", **table, lanes=1))
            return found, f"global_atomics.csv, dependent {name}, one warp, a word for each lane, {lines} lines"

        return formula

    return of


_GLOBAL: Final[dict[str, Callable[[str], NumberFormula]]] = {
    "latency": lambda name: _global_latency(2 if name.endswith("64") else 1)(name),
    "latency_of_32_lines": _global_latency(32),
    "one_word": lambda name: _global(name, "dropped", "all lanes of all warps at one word", "all", lanes=32),
    "one_line": lambda name: _global(
        name, "dropped", "all warps at one line", "all", lanes=1, step=8 if name.endswith("64") else 4
    ),
    "own_line": lambda name: _global(
        name,
        "dropped",
        "each warp at lines of its own, one after another",
        "",
        lanes=1,
        step=8 if name.endswith("64") else 4,
        along=256 if name.endswith("64") else LINE_BYTES,
    ),
    "own_lines": lambda name: _global(
        name, "dropped", "each lane at a line of its own", "", lanes=1, step=LINE_BYTES, along=32 * LINE_BYTES
    ),
}
"""Figures of an atomic in global memory: latencies in cycles, the others in hundredths of a cycle of the chip."""


def _scattered(column: str, rule: str, *, alone: bool, **columns: object) -> NumberFormula:
    def formula(t: dict[str, MeasuredTable], _: int) -> tuple[float, str]:
        sms = "1" if alone else t["scattered"].widest("sms", **columns)
        if not alone and sms == "1":
            raise NotMeasured
        found = t["scattered"].numbers(column, **columns, pitch=LINE_BYTES, sms=sms)[0]
        return found * 100, f"scattered.csv, {rule}, {sms} SMs: cycles of an SM, in hundredths"

    return formula


_WORDS: Final = {"sectors": 1, "bytes": 4, "words": 1}
_WHOLE: Final = {"bytes": 32, "words": 4}


def _scattered_formulas() -> Iterator[tuple[str, Formula]]:
    for kind in ("store", "load"):
        for name, span, alone in (
            ("sm", OWN_RESIDENT, True),
            ("chip", OWN_RESIDENT, False),
            ("dram", OWN_STREAMED, False),
        ):
            of = {"kind": kind, "span": span}
            yield (
                f"l2.scattered.{kind}.{name}_line",
                _scattered("per_line", f"{kind}s of a word of each of 32 lines", alone=alone, **of, **_WORDS, lines=32),
            )
            for lines, sectors, words in ((16, 1, "a sector"), (4, 4, "four sectors")):
                yield (
                    f"l2.scattered.{kind}.{name}_sector_of_{sectors}",
                    _scattered(
                        "per_sector",
                        f"{kind}s of {words} of each of {lines} lines, whole",
                        alone=alone,
                        **of,
                        **_WHOLE,
                        lines=lines,
                        sectors=sectors,
                    ),
                )


_SCATTERED: Final[dict[str, Formula]] = dict(_scattered_formulas())
"""Figures of scattered accesses, in hundredths of a cycle of an SM."""


def _space_latency(name: str) -> NumberFormula:
    def formula(t: dict[str, MeasuredTable], _: int) -> tuple[float, str]:
        found = t["spaces"].numbers("per_round", access="load", space=name, lanes=32, ilp=1, warps=1)[0]
        return found, f"spaces.csv, loads of {name}, all lanes in a line, one chain"

    return formula


def _space_line(name: str, access: str) -> NumberFormula:
    """Return the formula of the time of a further line, or wavefront of shared memory, in hundredths of a cycle."""

    def formula(t: dict[str, MeasuredTable], _: int) -> tuple[float, str]:
        of = {"access": access, "space": name, "ilp": 8 if access == "load" else 1}
        warps = t["spaces"].widest("warps", **of)
        many, few = (t["spaces"].numbers("per_instruction", **of, lanes=lanes, warps=warps)[0] for lanes in (1, 4))
        return max(0.0, 100 * (many - few) / 24), (
            f"spaces.csv, {access}s of {name} by {warps} warps, 32 lines less 8, over 24, hundredths of a cycle"
        )

    return formula


def _partial(kind: str, words: int, way: str) -> NumberFormula:
    """Return the formula of DRAM's bytes for a line of which a part of one sector is accessed."""

    def formula(t: dict[str, MeasuredTable], _: int) -> tuple[float, str]:
        (row,) = t["partial"].rows(kind=kind, words=words, lines=32, sectors=1)
        found = float(row[f"dram__bytes_{way}.sum"]) / int(row["all_lines"])
        return found, f"partial.csv, {kind}s of {4 * words} bytes of each line: bytes {way} for each"

    return formula
