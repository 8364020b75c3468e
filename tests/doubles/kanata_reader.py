"""A strict reader of Kanata logs, written from Konata's docs/kanata-log-format.md, version 0004."""

from dataclasses import dataclass, field


@dataclass
class Logged:
    """One instruction of a log."""

    simulated: int
    thread: int
    begin: int
    label: str = ""
    details: str = ""
    stages: dict[int, list[tuple[str, int, int]]] = field(default_factory=dict)
    open: dict[int, tuple[str, int]] = field(default_factory=dict)
    producers: list[int] = field(default_factory=list)
    end: int = -1
    retired: int = -1


def read_kanata(text):
    """Read a log; an assertion fails where it breaks a rule of the format."""
    assert text.endswith("\n")
    header, start, *commands = text.splitlines()
    assert header == "Kanata\t0004"
    word, cycle = start.split("\t")
    assert word == "C="
    now, log = int(cycle), []
    for command in commands:
        word, *arguments = command.split("\t")
        if word == "C":
            (passed,) = map(int, arguments)
            assert passed > 0
            now += passed
            continue
        number = int(arguments[0])
        if word == "I":
            assert number == len(log)
            log.append(Logged(int(arguments[1]), int(arguments[2]), now))
            continue
        one = log[number]
        assert one.end < 0
        _follow(one, word, arguments, now, log)
    assert all(one.end >= 0 for one in log)
    assert sorted(one.retired for one in log) == list(range(len(log)))
    return log


def _follow(one, word, arguments, now, log):
    match word:
        case "L":
            kind, text = int(arguments[1]), arguments[2]
            assert kind in {0, 1}
            one.label, one.details = (one.label + text, one.details) if kind == 0 else (one.label, one.details + text)
        case "S":
            lane, stage = int(arguments[1]), arguments[2]
            assert stage
            assert lane not in one.open
            one.open[lane] = stage, now
        case "E":
            lane, stage = int(arguments[1]), arguments[2]
            begun, at = one.open.pop(lane)
            assert begun == stage
            one.stages.setdefault(lane, []).append((stage, at, now))
        case "W":
            assert int(arguments[2]) == 0
            producer = log[int(arguments[1])]
            assert producer is not one
            one.producers.append(int(arguments[1]))
        case "R":
            assert int(arguments[2]) == 0
            assert not one.open
            one.end, one.retired = now, int(arguments[1])
        case _:
            raise AssertionError(word)
