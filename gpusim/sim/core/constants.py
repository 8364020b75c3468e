"""
The numbers that the core's text has names for, and those of kinds of instruction: nothing but integers.

Compiled, those that fit into 32 bits are constants of C.
"""

from gpusim.units import SECTORS_PER_LINE

PIPE, SHARED, LDGSTS, COMMIT, DEPBAR, BAR, GLOBAL, EXIT = range(8)
"""Kinds of instruction that the issue loop distinguishes. Those of kind ``PIPE`` use nothing outside their SMSP."""

ARRIVES, WAITS = 1, 2
"""Bits of a barrier instruction: it arrives (BAR.ARV), waits (a test of a phase), or does both (BAR.SYNC)."""

TENSOR_STRIDE = 1 << 40
"""Distance in lines between the first lines of two tensors, larger than any tensor."""

WAVE_STRIDE = 1 << 44
"""Distance in lines between those of two waves of a sampled run, larger than all tensors."""

NEVER = 1 << 62
"""A cycle that does not come."""

MILLI, PERCENT = 1000, 100
READ, STORE, WAYS = 0, 1, 2
"""Ways into the L2: of reads, and of stores."""
SHARES = 2
"""Shares of each way: of SMs of larger CPCs, and of smaller ones."""
FINE = 6
"""Bits behind the point of the thousandths of a cycle in which the L2's time is counted: a line takes 27.2 of them."""
FINE_MASK = (1 << FINE) - 1
PART = 12
"""Bits behind the point of what something takes of one time over what it takes of another."""
WAITING = 128
"""Stores of an SM that can wait for the L2 behind its port: more than have room there."""
GROUPS = 32
"""Commit groups of a warp that are remembered: more than any wait leaves pending."""

MULTIPLIER, INCREMENT, MODULUS = 1103515245, 12345, 1 << 31
"""The linear congruential generator of the C standard's example, from which latencies are drawn."""

HASH, HASH_SHIFT = 2654435761, 29
"""Knuth's multiplicative hash, by 2^32 over the golden ratio."""
HASHED_WIDTH = 31
HASHED_BITS = (1 << HASHED_WIDTH) - 1
"""Numbers are cut to 31 bits, so that 63 hold the product; what is above them enters in the second turn."""

TENSOR, MIO = 3, 2
"""Ports of an SMSP, counted from the end: its tensor core's and that of the MIO."""

RANK_OF_WAITED = 1 << 60
"""What puts a warp whose instruction names scoreboards and has waited behind all others: more than the age of any."""

TAKES = 16
"""Cycles at which a port was last taken that are kept, a power of two: more than warps of an SMSP can wait for it."""

TAKES_MASK = TAKES - 1
"""Takes a number of takes to the place of the last one among them."""

GAPS = 2
"""mma.sync behind one another that say how many registers of memory instructions there is room for."""

LINES_AT_ONCE = 32
"""Most lines that one warp instruction touches: one for each lane."""

DATA, LINE_RETURNS, SM_QUEUE, COPY_WRITES, ZERO_WRITES, PIPELINES = range(6)
"""
Pipelines of an SM whose cycles are reserved, and how many there are.

Its data stage; the way of lines that loads lack; the way from the SMSPs' queues to the SM's; the writes of copies to
shared memory as stores meet them, and as zeros do.
"""

LOADS_IN_FLIGHT = 256
"""Loads in flight of an SM that can be delayed, the last ones, a power of two: as many as eight of 32 warps."""

MOST_LOST = 4096
"""Most cycles of the data stage that one instruction takes: wavefronts of 32 lanes are far fewer."""

DUE = 32
"""Register reads of an SMSP that may delay the next mma.sync, a power of two: more than its queue holds."""

DUE_MASK = DUE - 1
"""Takes a number of them to the place of the last one."""

CYCLE_BITS = 4
"""Cycles of an SM's data stage whose states are one integer, as a power of two: two bits each, and above them 31."""

WORD_CYCLES = (1 << CYCLE_BITS) - 1
"""Takes a cycle to its place in that integer."""

WORD_NUMBER, WORD_NUMBERS = 32, (1 << 31) - 1
"""Bits below the number of those cycles in their integer, and what takes it to one that is theirs for 2^35 cycles."""

STAGE_WORDS = 256
"""Such integers of a data stage, a power of two; of cycles so many integers apart those taken later are kept."""

STAGE_MASK = STAGE_WORDS - 1
"""Takes a number of them to a place: a division costs as much as ten other operations."""

ISSUED, RETURNING, STATES = 2, 3, 3
"""States of a cycle: taken by an instruction, or reserved for returning data; the bits of either, 0 is free."""

ALL_ISSUED = ((1 << 2 * (WORD_CYCLES + 1)) - 1) // STATES * ISSUED
"""The states of such an integer all of whose cycles go to instructions."""

TO_WRITE, LINE_BITS = 2048, 8
"""Lines of an SM's copies in flight that are kept, a power of two, and bits for the sectors of one."""

TO_WRITE_MASK, LINE_MASK = TO_WRITE - 1, (1 << LINE_BITS) - 1
"""Takes a number of such lines to a place, and one to its sectors."""

LINE_WIDTH = 8
"""Integers of a line of the memory that this runs in."""

SLOT_WIDTH = LINE_WIDTH
"""Integers from one slot of a cache to the next."""

USES_A_LINE = 4
"""Uses of lines that a cache logs, for each line that it holds, before it drops the stale ones."""

WARP_WIDTH = 40
"""Integers from one warp to the next: an odd number of such lines, as far apart as spreads best over a cache."""

SMSP_COLUMNS = 22
"""Integers of an SMSP that lie before its warps."""

PORT_WIDTH = LINE_WIDTH + TAKES
"""Integers from one port of an SMSP to the next: the port's own and the cycles of its takes, in whole lines."""

CODE_WIDTH = 16
"""Integers of 32 bits from one instruction to the next: one such line."""

NEIGHBOURS = 3
"""Bits of a line's number that tell those apart whose buckets are one line of that memory."""

BUCKETS_A_LINE = 4
"""Buckets of a cache for each of its lines: others of a bucket are rare, whose slots lie anywhere in memory."""

PLACE_BITS, APART = 17, 40503
"""Bits of a line's number, beyond those of neighbours, that differ within a tensor; buckets between two tensors."""

MERGED_BITS, ASKED_BITS = 12, 8
"""Bits below those of the time, and of the mask, in an entry of the L2's merge table: one for each line and GPC.

It has until when it does, which sectors were asked for last, and how many times.
"""

MOST_MERGED = (1 << ASKED_BITS) - 1
"""Takes that integer to how many times."""

MERGED_TIME, MERGED_AHEAD = (1 << 50) - 1, 1 << 49
"""Takes a time to what that integer has of it; what is less far ahead by these bits is to come, for 2^39 cycles."""

PART_BITS = 27
"""Bits of the number of a part of DRAM within a tensor, of those that are hashed into its phase of refresh."""

OUTPUT_LINES = 1 << 46
"""Numbers of the lines that stores allocate, or whose number is not known; no operand's lines reach them."""

PARTS_KEPT = 256
"""Parts of the L2, of each of which it is known how much of what has come to it was stored."""
PARTS_KNOWN = PARTS_KEPT + 2

MOST_CREDIT = LINES_AT_ONCE * SECTORS_PER_LINE * MILLI
"""Sectors that may wait for DRAM and have found no line that is new to the sample, in thousandths."""

WHOLE_LINE = (1 << SECTORS_PER_LINE) - 1
"""Mask of all sectors of a line."""

TURN = 4096
"""Half cycles of a turn of the calendar, a power of two: few waits are longer."""

TURN_MASK = TURN - 1
"""Takes a half cycle to its place in a turn."""

WOKEN, TIMED = 0, 1
"""Half cycles of events: at the same cycle, SMSPs that are woken come before those that slept until then."""

NOTE_WIDTH, SPAN_WIDTH = 6, 4
"""
Integers of a row in ``WarpRecord.notes`` and in ``WarpRecord.spans``; the first is the warp's index in its CTA.

A note goes on with the place in the code, the k tiles of the trip, issue, arrival of data, and the end of the
instruction before's fixed stall. A span goes on with begin, end and stall reason.
"""

RELEASED, RETIRED = -1, -2
"""
What stands for a note's place in the code where a warp leaves a barrier, and where it exits.

The cycle stands for the three that follow k tiles. An exit has its SMSP for k tiles, a release 0.
"""

INSTRUCTIONS_AHEAD = 64
"""Instructions of a warp among which mma.sync are looked for that come while registers are read."""

LOG_ROWS = 4096
"""Rows that a log collects before its column grows."""

GRANULE_WIDTH = 7
"""Integers of a granule: parts and bytes held, the two beside it in order of use, and of a turn what was touched."""
