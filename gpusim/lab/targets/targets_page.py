"""The page about all combinations: a table for each compiler, and the reasons for failures."""

import re
from collections import Counter
from collections.abc import Sequence

from gpusim.lab.tables.markdown_page import table_row
from gpusim.lab.targets.follow import Followed, FollowVerdict

TITLE = "# Machine code of every target, followed"
_ABOUT = """
For each combination of target, family, types, layouts, tile, stages and iterator the kernel is compiled. One warp of
its machine code is executed, and every memory instruction, barrier and mma.sync of it is found in the schedule, by the
addresses of its lanes. "followed" is all of that; "refused" has no such kernel on the target, and says why below;
"failed" has one that could not be followed, and there must be none.

`python -m gpusim.lab.targets --out reports/compiled_targets.md` writes the section of the compiler at hand, and
leaves those of others.
"""
_SECTION = re.compile(r"^## (.+)$", re.MULTILINE)
_LONGEST_REASON = 160


def section(compiler: str, host: Sequence[str], found: Sequence[Followed]) -> str:
    """Return the section of one compiler, from its heading on."""
    targets = sorted({one.combination.target for one in found})
    families = list(dict.fromkeys(one.combination.family for one in found))
    lines = [f"## {compiler}", "", *host, ""]
    lines += [table_row("family", *(f"sm_{target}" for target in targets)), "|---|" + "---:|" * len(targets)]
    for family in (*families, "all"):
        of_family = [one for one in found if family in {"all", one.combination.family}]
        by_target = [[one for one in of_family if one.combination.target == target] for target in targets]
        lines.append(table_row(family, *map(_cell, by_target)))
    for verdict in ("failed", "refused"):
        lines += _reasons(verdict, [one for one in found if one.verdict == verdict])
    return "\n".join(lines) + "\n"


def _cell(found: Sequence[Followed]) -> str:
    """Return the results of some combinations, such as "12, 2 refused"."""
    counted = Counter(one.verdict for one in found)
    others = [f"{counted[verdict]} {verdict}" for verdict in ("refused", "failed") if counted[verdict]]
    return ", ".join([str(counted["followed"]), *others]) if found else "-"


def _reasons(verdict: FollowVerdict, found: Sequence[Followed]) -> list[str]:
    if not found:
        return ["", f"None {verdict}."]
    lines = ["", f"{len(found)} {verdict}:", ""]
    if verdict == "failed":
        return [*lines, *(f"- sm_{one.combination.target} {one.combination.name}: {_short(one.why)}" for one in found)]
    return [*lines, *(f"- {number}: {_short(why)}" for why, number in Counter(one.why for one in found).items())]


def _short(why: str) -> str:
    return why if len(why) <= _LONGEST_REASON else f"{why[:_LONGEST_REASON]}..."


def with_section(page: str, own: str) -> str:
    """
    Return a page with a section, which replaces one of the same compiler.

    Args:
        page: The existing page; empty if there is none.
        own: The section.
    """
    parts = _SECTION.split(page)
    others = dict(zip(parts[1::2], parts[2::2], strict=True))
    heading = _SECTION.match(own)
    if heading is None:
        raise ValueError("a section begins with its heading")
    others[heading[1]] = own[heading.end() :]
    bodies = (f"## {name}\n\n{body.strip()}\n" for name, body in sorted(others.items()))
    return "\n".join([f"{TITLE}\n{_ABOUT}", *bodies])
