"""
Divergence and convergence of a warp's lanes: branches, BSSY, BSYNC, BREAK, WARPSYNC, EXIT.

A warp executes one group of lanes at a time, which are at the same instruction. Where a branch is taken by some lanes,
the others go on, and the taken wait for their turn. BSYNC and WARPSYNC hold a group until the others that take part
have come or left. State: ``STATE_WORDS`` integers for each warp. Source: Jia et al. 2018; PTX ISA 9.0, bar.warp.sync.
"""

from typing import TYPE_CHECKING

from gpusim.execute.core.constants import (
    ACTIVE,
    ALIVE,
    AT,
    CONVERGENCE,
    DEPTH,
    EXITED,
    FAULT,
    MEETING,
    MET_GROUPS,
    MOST_GROUPS,
    NAMED_LANES,
    NEVER_CONVERGES,
    NO_FAULT,
    STATE,
    STATE_WORDS,
    TOO_MANY_GROUPS,
    WAITING_GROUPS,
)
from gpusim.execute.core.words import integers_of

if TYPE_CHECKING:
    from gpusim.arrays import IntArray


class Convergence:
    """
    Where the lanes of all warps of a CTA are.

    Attributes:
        state: ``STATE_WORDS`` integers for each warp.
        first: Where those of the executing warp begin.
        fault: Why its lanes cannot go on.
    """

    def __init__(self, state: "IntArray") -> None:
        """Take the state of all warps."""
        self.held = state
        self.state = integers_of(state)
        self.first, self.fault = 0, NO_FAULT

    def choose(self, warp: int) -> None:
        """Execute a warp from now on."""
        self.first = warp * STATE_WORDS


def put_off(c: Convergence, at: int, lanes: int) -> None:
    """Let a group of lanes wait for its turn at an instruction."""
    depth = c.state[c.first + DEPTH]
    if depth == MOST_GROUPS:
        c.fault = TOO_MANY_GROUPS
        return
    c.state[c.first + WAITING_GROUPS + 2 * depth] = at
    c.state[c.first + WAITING_GROUPS + 2 * depth + 1] = lanes
    c.state[c.first + DEPTH] = depth + 1


def branch(c: Convergence, at: int, target: int, taken: int) -> int:
    """Return the instruction that follows a branch; the lanes that take it wait if others do not."""
    if not taken:
        return at + 1
    staying = c.state[c.first + ACTIVE] & ~taken
    if staying:
        put_off(c, target, taken)
        c.state[c.first + ACTIVE] = staying
        return at + 1
    return target


def members(c: Convergence, key: int, lanes: int) -> int:
    """Return the living lanes that take part in a convergence barrier, or in a WARPSYNC of some lanes."""
    return (lanes if key == NAMED_LANES else c.state[c.first + CONVERGENCE + key]) & c.state[c.first + ALIVE]


def converge(c: Convergence, at: int, key: int, lanes: int) -> int:
    """Let the active lanes arrive at a point of convergence; return what follows, or what another group executes."""
    arrived, count = c.state[c.first + ACTIVE], c.state[c.first + MEETING]
    place = c.first + MET_GROUPS
    for number in range(count):
        here = place + 4 * number
        if c.state[here] == key and c.state[here + 1] == at:
            arrived = arrived | c.state[here + 2]
            count = count - 1
            for column in range(4):
                c.state[here + column] = c.state[place + 4 * count + column]
            break
    if members(c, key, lanes) & ~arrived:
        if count == MOST_GROUPS:
            c.fault = TOO_MANY_GROUPS
            return at
        c.state[place + 4 * count], c.state[place + 4 * count + 1] = key, at
        c.state[place + 4 * count + 2], c.state[place + 4 * count + 3] = arrived, lanes
        c.state[c.first + MEETING] = count + 1
        return next_group(c)
    c.state[c.first + MEETING] = count
    c.state[c.first + ACTIVE] = arrived & c.state[c.first + ALIVE]
    return at + 1


def next_group(c: Convergence) -> int:
    """Activate another group of lanes and return its instruction; -1 if all have exited, or none can go on."""
    place, count = c.first + MET_GROUPS, c.state[c.first + MEETING]
    for number in range(count):
        here = place + 4 * number
        arrived = c.state[here + 2]
        if not members(c, c.state[here], c.state[here + 3]) & ~arrived:
            at = c.state[here + 1]
            for column in range(4):
                c.state[here + column] = c.state[place + 4 * (count - 1) + column]
            c.state[c.first + MEETING] = count - 1
            c.state[c.first + ACTIVE] = arrived & c.state[c.first + ALIVE]
            return at + 1
    depth = c.state[c.first + DEPTH]
    if depth:
        here = c.first + WAITING_GROUPS + 2 * (depth - 1)
        c.state[c.first + DEPTH] = depth - 1
        c.state[c.first + ACTIVE] = c.state[here + 1]
        return c.state[here]
    if c.state[c.first + ALIVE]:
        c.fault = NEVER_CONVERGES
        c.state[c.first + STATE] = FAULT
    else:
        c.state[c.first + STATE] = EXITED
    return -1


def leave(c: Convergence, at: int, lanes: int) -> int:
    """EXIT: some lanes end; return what follows, or what another group executes."""
    c.state[c.first + ALIVE] = c.state[c.first + ALIVE] & ~lanes
    c.state[c.first + ACTIVE] = c.state[c.first + ACTIVE] & ~lanes
    return at + 1 if c.state[c.first + ACTIVE] else next_group(c)


def start(c: Convergence, lanes: int) -> None:
    """Put the chosen warp to its first instruction with some lanes."""
    for word in range(STATE_WORDS):
        c.state[c.first + word] = 0
    c.state[c.first + ACTIVE] = lanes
    c.state[c.first + ALIVE] = lanes
    c.state[c.first + AT] = 0
