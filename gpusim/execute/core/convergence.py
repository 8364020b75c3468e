"""
Divergence and convergence of a warp's lanes: branches, BSSY, BSYNC, BREAK, WARPSYNC, EXIT.

A warp executes one group of lanes at a time, which are at the same instruction. Where a branch is taken by some lanes,
the others go on, and the taken wait for their turn. BSYNC and WARPSYNC hold a group until the others that take part
have come or left. So does a barrier of the CTA, at which a warp arrives when all its lanes have. Groups take turns, so
that lanes may wait for a flag that others of their warp set.

State: ``STATE_WORDS`` integers for each warp. Source: Jia et al. 2018; PTX ISA 9.0, bar.warp.sync; CUDA C++ programming
guide, independent thread scheduling.
"""

from typing import TYPE_CHECKING

from gpusim.execute.core.constants import (
    ACTIVE,
    ALIVE,
    AT,
    AT_BARRIER,
    AT_NUMBERED,
    AWAITED,
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


def rotate(c: Convergence, at: int) -> int:
    """Let the active lanes wait for their turn behind all other groups; return the instruction of the first group."""
    depth, place = c.state[c.first + DEPTH], c.first + WAITING_GROUPS
    if not depth:
        return at
    following, lanes = c.state[place], c.state[place + 1]
    for word in range(2 * (depth - 1)):
        c.state[place + word] = c.state[place + word + 2]
    c.state[place + 2 * (depth - 1)], c.state[place + 2 * (depth - 1) + 1] = at, c.state[c.first + ACTIVE]
    c.state[c.first + ACTIVE] = lanes
    return following


def members(c: Convergence, key: int, lanes: int) -> int:
    """Return the living lanes that take part in a convergence barrier, a WARPSYNC of some lanes, or a CTA's barrier."""
    if key >= AT_NUMBERED:
        return c.state[c.first + ALIVE]
    return (lanes if key == NAMED_LANES else c.state[c.first + CONVERGENCE + key]) & c.state[c.first + ALIVE]


def converge(c: Convergence, at: int, key: int) -> int:
    """BSYNC: let the active lanes arrive; return what follows, or what another group executes."""
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
    c.state[c.first + MEETING] = count
    if members(c, key, 0) & ~arrived:
        return hold(c, at, key, arrived, 0)
    c.state[c.first + ACTIVE] = arrived & c.state[c.first + ALIVE]
    return at + 1


def hold(c: Convergence, at: int, key: int, arrived: int, lanes: int) -> int:
    """Keep a group until others have arrived, too; return what another group executes."""
    count = c.state[c.first + MEETING]
    place = c.first + MET_GROUPS + 4 * count
    if count == MOST_GROUPS:
        c.fault = TOO_MANY_GROUPS
        return at
    c.state[place], c.state[place + 1], c.state[place + 2], c.state[place + 3] = key, at, arrived, lanes
    c.state[c.first + MEETING] = count + 1
    return next_group(c)


def meet(c: Convergence, at: int, key: int, arrived: int, lanes: int) -> int:
    """Let lanes arrive at a WARPSYNC, which names others, or at a CTA's barrier; return what follows."""
    others = c.state[c.first + ACTIVE] & ~arrived
    if others:
        put_off(c, at + 1, others)
        c.state[c.first + ACTIVE] = arrived
    if members(c, key, lanes) & ~arrived:
        return hold(c, at, key, arrived, lanes)
    if key >= AT_NUMBERED:
        c.state[c.first + STATE], c.state[c.first + AWAITED] = AT_BARRIER, key - AT_NUMBERED
    return at + 1


def arrived_lanes(c: Convergence, here: int) -> int:
    """Return the lanes that have arrived where a group waits; those at equal WARPSYNCs or barriers count together."""
    place, key, lanes = c.first + MET_GROUPS, c.state[here], c.state[here + 2]
    if key >= NAMED_LANES:
        for number in range(c.state[c.first + MEETING]):
            other = place + 4 * number
            if c.state[other] == key and c.state[other + 3] == c.state[here + 3]:
                lanes = lanes | c.state[other + 2]
    return lanes


def let_go(c: Convergence, key: int, lanes: int) -> int:
    """End the wait of all groups at a WARPSYNC or barrier; return the next instruction."""
    place, left, following = c.first + MET_GROUPS, 0, -1
    for number in range(c.state[c.first + MEETING]):
        here, there = place + 4 * number, place + 4 * left
        at, arrived = c.state[here + 1] + 1, c.state[here + 2] & c.state[c.first + ALIVE]
        if c.state[here] != key or c.state[here + 3] != lanes:
            for column in range(4):
                c.state[there + column] = c.state[here + column]
            left = left + 1
        elif following < 0:
            following = at
            c.state[c.first + ACTIVE] = arrived
        elif following == at:
            c.state[c.first + ACTIVE] = c.state[c.first + ACTIVE] | arrived
        else:
            put_off(c, at, arrived)
    c.state[c.first + MEETING] = left
    if key >= AT_NUMBERED:
        c.state[c.first + STATE], c.state[c.first + AWAITED] = AT_BARRIER, key - AT_NUMBERED
    return following


def separate(c: Convergence) -> None:
    """Let groups go on that wait at a BSYNC for lanes that spin: those may wait for a flag of these."""
    place, left = c.first + MET_GROUPS, 0
    for number in range(c.state[c.first + MEETING]):
        here, there = place + 4 * number, place + 4 * left
        if c.state[here] >= NAMED_LANES:
            for column in range(4):
                c.state[there + column] = c.state[here + column]
            left = left + 1
        else:
            barrier = c.first + CONVERGENCE + c.state[here]
            c.state[barrier] = c.state[barrier] & ~c.state[here + 2]
            put_off(c, c.state[here + 1] + 1, c.state[here + 2] & c.state[c.first + ALIVE])
    c.state[c.first + MEETING] = left


def next_group(c: Convergence) -> int:
    """Activate another group of lanes and return its instruction; -1 if all have exited, or none can go on."""
    place, count = c.first + MET_GROUPS, c.state[c.first + MEETING]
    for number in range(count):
        here = place + 4 * number
        arrived = arrived_lanes(c, here)
        if not members(c, c.state[here], c.state[here + 3]) & ~arrived:
            if c.state[here] >= NAMED_LANES:
                return let_go(c, c.state[here], c.state[here + 3])
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
    at = pass_warpsync(c)
    if at >= 0:
        return at
    if c.state[c.first + ALIVE]:
        c.fault = NEVER_CONVERGES
        c.state[c.first + STATE] = FAULT
    else:
        c.state[c.first + STATE] = EXITED
    return -1


def pass_warpsync(c: Convergence) -> int:
    """
    Let groups go on that wait at a WARPSYNC for lanes at a barrier of the CTA; return the next instruction, or -1.

    nvcc puts WARPSYNC.ALL before the barrier of one branch alone, so lanes at a barrier have to count as arrived.
    """
    place, named, numbered = c.first + MET_GROUPS, -1, 0
    for number in range(c.state[c.first + MEETING]):
        here = place + 4 * number
        if c.state[here] == NAMED_LANES:
            named = here
        elif c.state[here] >= AT_NUMBERED:
            numbered = 1
    return let_go(c, NAMED_LANES, c.state[named + 3]) if numbered and named >= 0 else -1


def leave(c: Convergence, at: int, lanes: int) -> int:
    """EXIT: some lanes end; return what follows, or what another group executes."""
    c.state[c.first + ALIVE] = c.state[c.first + ALIVE] & ~lanes
    c.state[c.first + ACTIVE] = c.state[c.first + ACTIVE] & ~lanes
    return at + 1 if c.state[c.first + ACTIVE] else next_group(c)


def start(c: Convergence, lanes: int) -> None:
    """Put the chosen warp to its first instruction with some lanes. It has no groups, so their words may be old."""
    for word in range(WAITING_GROUPS):
        c.state[c.first + word] = 0
    c.state[c.first + ACTIVE] = lanes
    c.state[c.first + ALIVE] = lanes
    c.state[c.first + AT] = 0
