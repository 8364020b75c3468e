"""The table of ``gpusim check-perf`` in Markdown, fit for the comment of a pull request."""

from collections.abc import Iterator, Sequence
from typing import Final

from gpusim.verbs.performance.check import PerfAnswer, PerfChange
from gpusim.verbs.performance.metrics import PERF_METRICS

PERF_TITLE: Final = "### gpusim: "
"""First characters of the table's page, by which gpusim knows that it has made the file."""

_VERDICTS: Final = {"beyond": "**beyond**", "worse": "worse", "better": "better"}


def perf_markdown(answers: Sequence[PerfAnswer]) -> str:
    """
    Return the page about kernels beside their baseline.

    A metric that has not changed has no row. A kernel in which none has changed has one.
    """
    failed, beyond = sum(bool(one.error) for one in answers), sum(one.is_beyond for one in answers)
    words = f"{beyond} of {_kernels(len(answers))} beyond a threshold" + (f", {failed} failed" if failed else "")
    lines = [
        f"{PERF_TITLE}{words}",
        "",
        "| kernel | metric | baseline | now | change | allowed | |",
        "|---|---|---:|---:|---:|---:|---|",
        *(_row(cells) for one in answers for cells in _rows(one)),
    ]
    said = [
        f"- {_escaped(one.name)}: {_escaped(sentence)}" for one in answers for sentence in (*one.reasons, *one.notes)
    ]
    trust = list(dict.fromkeys(one.trust for one in answers if one.trust))
    said += [f"- Cycles are simulated ({_escaped(', '.join(trust))})."] if trust else []
    return "\n".join([*lines, "", *said] if said else lines) + "\n"


def _rows(answer: PerfAnswer) -> Iterator[tuple[str, ...]]:
    if answer.error:
        yield answer.name, f"failed: {answer.error}", "", "", "", "", "**failed**"
        return
    changed = [one for one in answer.changes if one.verdict != "equal"]
    for one in changed:
        metric = PERF_METRICS[one.metric].title
        yield (
            answer.name,
            metric,
            f"{one.before:,}",
            f"{one.now:,}",
            _change(one),
            _allowed(one),
            _VERDICTS[one.verdict],
        )
    if not changed:
        yield answer.name, "all", "", "", "", "", "equal"


def _change(one: PerfChange) -> str:
    return f"{one.percent:+.1f} %" if one.before else "new"


def _allowed(one: PerfChange) -> str:
    sign = "+" if PERF_METRICS[one.metric].worse == "more" else "-"
    return "any" if one.threshold == float("inf") else f"{sign}{one.threshold:g} %" if one.threshold else "0 %"


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(map(_escaped, cells))} |".replace("  ", " ")


def _escaped(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")


def _kernels(number: int) -> str:
    return f"{number} kernel{'' if number == 1 else 's'}"
