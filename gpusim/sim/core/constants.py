"""
The named integers of the core: kinds of instruction, bit fields, and sizes of tables.

In the compiled core those that fit into 32 bits are constants of C.
"""

from gpusim.units import SECTORS_PER_LINE

PIPE, SHARED, LDGSTS, COMMIT, DEPBAR, BAR, GLOBAL, EXIT = range(8)
"""Kinds of instruction. Instructions of kind ``PIPE`` use nothing outside their SMSP."""

ARRIVES, WAITS = 1, 2
"""Bits of a barrier instruction: it arrives (BAR.ARV), waits (a test of a phase), or does both (BAR.SYNC)."""

TENSOR_STRIDE = 1 << 40
"""Distance between the first line numbers of two tensors; no tensor has so many lines."""

WAVE_STRIDE = 1 << 44
"""Distance between the line numbers of two waves of a sampled run; larger than those of all tensors."""

NEVER = 1 << 62
"""A cycle later than any that is simulated."""

MILLI, PERCENT = 1000, 100
READ, STORE, WAYS = 0, 1, 2
"""The ways into the L2, reads and stores, and how many there are."""
SHARES = 2
"""Shares of the bandwidth of each way: of SMs of large CPCs, and of SMs of small ones."""
FINE = 6
"""Fraction bits of the L2's time, whose unit is a thousandth of a cycle: a line takes 27.2 thousandths."""
FINE_MASK = (1 << FINE) - 1
PART = 12
"""Fraction bits of a ratio of two times."""
WAITING = 128
"""Size of the ring of an SM's stores that wait behind its port: more than the buffer there has room for."""
GROUPS = 32
"""Size of the ring of a warp's commit groups: more than any DEPBAR leaves pending."""

MULTIPLIER, INCREMENT, MODULUS = 1103515245, 12345, 1 << 31
"""The linear congruential generator of the C standard's example, from which latencies are drawn."""

HASH, HASH_SHIFT = 2654435761, 29
"""Knuth's multiplicative hash: the factor is 2^32 over the golden ratio."""
HASHED_WIDTH = 31
HASHED_BITS = (1 << HASHED_WIDTH) - 1
"""The hash multiplies 31 bits of a number, so that the product fits into 63; higher bits enter in the second round."""

TENSOR, MIO = 3, 2
"""The tensor core's port and the MIO's port, counted from the last port of an SMSP."""

RANK_OF_WAITED = 1 << 60
"""Added to the rank of a warp that has waited for scoreboards, so that it comes last: larger than any warp's age."""

TAKES = 16
"""Size of the ring of cycles at which a port was last taken, a power of two: more than warps can wait for a port."""

TAKES_MASK = TAKES - 1
"""Mask that reduces an index to the ring of ``TAKES``."""

GAPS = 2
"""How many mma.sync back the collector looks, to tell how many register reads fit between mma.sync."""

LINES_AT_ONCE = 32
"""Most lines that one warp instruction accesses: one for each lane."""

DATA, LINE_RETURNS, SM_QUEUE, COPY_WRITES, ZERO_WRITES, PIPELINES = range(6)
"""
Kinds of pipelines whose cycles are reserved, one of each kind for an SM; and how many kinds there are.

``DATA`` is the data stage, ``LINE_RETURNS`` the return of missing lines to loads, and ``SM_QUEUE`` the path from the
SMSPs' queues to the SM's. ``COPY_WRITES`` and ``ZERO_WRITES`` both have the copies' writes to shared memory: the former
as they delay stores, the latter as they delay copies of zeros.
"""

LOADS_IN_FLIGHT = 256
"""Size of the ring of an SM's loads that can be delayed, a power of two: eight loads of each of 32 warps."""

MOST_LOST = 4096
"""Most cycles of the data stage that one instruction can take: 32 lanes need far fewer wavefronts."""

DUE = 32
"""Size of the ring of an SMSP's reads that may delay an mma.sync, a power of two: more than its queue has entries."""

DUE_MASK = DUE - 1
"""Mask that reduces an index to the ring of ``DUE``."""

CYCLE_BITS = 4
"""A word has the states of 2^4 cycles of a pipeline, two bits each, and above them 31 bits of the word's number."""

WORD_CYCLES = (1 << CYCLE_BITS) - 1
"""Mask that reduces a cycle to its place in a word."""

WORD_NUMBER, WORD_NUMBERS = 32, (1 << 31) - 1
"""Lowest bit of the word's number in a word; mask of that number, which repeats after 2^35 cycles."""

STAGE_WORDS = 256
"""Words of a pipeline, a power of two. Cycles 256 words apart share a word, which has those that were set last."""

STAGE_MASK = STAGE_WORDS - 1
"""Mask that reduces a word's number to its place: a division would cost as much as ten other operations."""

ISSUED, RETURNING, STATES = 2, 3, 3
"""States of a cycle: taken by an instruction, or reserved for returning data; 0 is free. ``STATES`` is their mask."""

ALL_ISSUED = ((1 << 2 * (WORD_CYCLES + 1)) - 1) // STATES * ISSUED
"""The states of a word whose cycles are all taken by instructions."""

TO_WRITE, LINE_BITS = 2048, 8
"""Size of the ring of lines that an SM's copies are to write, a power of two; bits of an entry for its sectors."""

TO_WRITE_MASK, LINE_MASK = TO_WRITE - 1, (1 << LINE_BITS) - 1
"""Masks that reduce an index to the ring of ``TO_WRITE``, and an entry to its sectors."""

LINE_WIDTH = 8
"""Integers of 64 bits in a cache line of the host."""

SLOT_WIDTH = LINE_WIDTH
"""Integers from one slot of a simulated cache to the next."""

USES_A_LINE = 4
"""Uses that a simulated cache logs, for each line that it can hold, before it drops stale ones."""

WARP_WIDTH = 40
"""Integers from one warp to the next: an odd number of the host's cache lines, which spreads best over its sets."""

SMSP_COLUMNS = 22
"""Integers of an SMSP that lie before its warps."""

PORT_WIDTH = LINE_WIDTH + TAKES
"""Integers from one port of an SMSP to the next: its columns and the cycles of its takes, in whole host lines."""

CODE_WIDTH = 16
"""Integers of 32 bits from one instruction to the next: one cache line of the host."""

NEIGHBOURS = 3
"""Low bits of a line's number. Lines that differ in them alone have buckets in one cache line of the host."""

BUCKETS_A_LINE = 4
"""Buckets of a simulated cache for each of its lines, so that few lines share a bucket: each costs a host miss."""

PLACE_BITS, APART = 17, 40503
"""Bits of a line's number, above ``NEIGHBOURS``, that differ within a tensor; distance of two tensors in buckets."""

MERGED_BITS, ASKED_BITS = 12, 8
"""Lowest bits of the time and of the sector mask in an entry of the L2's merge table.

There is an entry for each line and GPC. It has the time until which requests are merged, the mask of the sectors that
were looked up last, and, in the lowest bits, how many requests that lookup has served.
"""

MOST_MERGED = (1 << ASKED_BITS) - 1
"""Mask of the number of requests in an entry of the merge table."""

MERGED_TIME, MERGED_AHEAD = (1 << 50) - 1, 1 << 49
"""Mask of the time in an entry of the merge table; differences below the second number lie in the future."""

PART_BITS = 27
"""Bits of the number of a DRAM part within a tensor; the tensor's number lies above them when both are hashed."""

OUTPUT_LINES = 1 << 46
"""First number of the lines that stores allocate, and of lines whose number is not known: above all operands' lines."""

PARTS_KEPT = 256
"""Parts of a sample's L2; for each it is known how many of its sectors were stored."""
PARTS_KNOWN = PARTS_KEPT + 2

MOST_CREDIT = LINES_AT_ONCE * SECTORS_PER_LINE * MILLI
"""Limit, in thousandths, of the credit of sectors that wait for DRAM while the sample requests no new line."""

WHOLE_LINE = (1 << SECTORS_PER_LINE) - 1
"""Mask of all sectors of a line."""

TURN = 4096
"""Half cycles of a turn of the calendar, a power of two: few waits are longer."""

TURN_MASK = TURN - 1
"""Mask that reduces a half cycle to its place in a turn."""

WOKEN, TIMED = 0, 1
"""The half of a cycle in which an event lies: SMSPs that are woken come before those that slept until this cycle."""

NOTE_WIDTH, SPAN_WIDTH = 6, 4
"""
Integers of a row of ``WarpRecord.notes`` and of ``WarpRecord.spans``; the first is the warp's index in its CTA.

The others of a note are the instruction's index in the code, the k tiles before this trip, the cycles of its issue and
of its data's arrival, and the end of the previous instruction's fixed stall. The others of a span are its begin, its
end and the stall reason.
"""

RELEASED, RETIRED = -1, -2
"""
A note's index in the code if it says that a warp is released from a barrier, or that it exits.

All three cycles of such a note are that of the event. In place of k tiles an exit has the SMSP's number, a release 0.
"""

INSTRUCTIONS_AHEAD = 64
"""Instructions of a warp that the operand collector searches for mma.sync that issue while registers are read."""

LOG_ROWS = 4096
"""Rows of a log's block, which is moved to its column when it is full."""

GRANULE_WIDTH = 7
"""Integers of a granule: parts and bytes held; two neighbours in order of use; a turn, and its touches and misses."""
