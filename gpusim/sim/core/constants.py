"""
The named integers of the core: kinds of instruction, bit fields, and sizes of tables.

In the compiled core those that fit into 32 bits are constants of C.
"""

from gpusim.units import SECTORS_PER_LINE

PIPE, SHARED, LDGSTS, COMMIT, DEPBAR, BAR, GLOBAL, EXIT, PASSES, FENCE = range(10)
"""
Kinds of instruction.

Those of kind ``PIPE`` use nothing outside their SMSP. The pipe of kind ``PASSES`` takes a pass for each distinct value
of the lanes. A ``FENCE`` waits until the warp's stores are acknowledged.
"""

MBARRIER, TMA_LOAD, TMA_STORE, STORE_WAIT, WGMMA, WGMMA_WAIT = range(10, 16)
"""
Further kinds, of sm_90.

A ``STORE_WAIT`` waits until few of the warp's TMA stores still read shared memory, a ``WGMMA_WAIT`` until few groups of
the warp's wgmma are in flight.
"""

ARRIVES, WAITS = 1, 2
"""Bits of a barrier instruction: BAR.ARV arrives, a test of a phase waits, BAR.SYNC does both."""

PHASE_AT, RANKS_AT, BARRIER_MASK, RANKS_MASK = 32, 16, (1 << 16) - 1, (1 << 16) - 1
"""
Positions in a trace's entry of an mbarrier's instruction or of a box of TMA, and masks after a shift.

In the highest bits stands the phase that is awaited, or the request of the box; then a bit for each CTA of the cluster
that it is for, by rank, 0 for its own; then the number of the mbarrier.
"""

WGMMA_RING, STORE_RING = 16, 16
"""Sizes of the rings of a warp's latest wgmma and TMA stores, powers of two: more than may be in flight."""

BOXES = 2048
"""Size of an SM's ring of boxes that its TMA unit has not loaded yet, a power of two: more than all stages have."""

LINES_OF_TURN = 32
"""Lines that the TMA unit requests in one event of the calendar, so that SMs' requests come in order of time."""

TENSOR_STRIDE = 1 << 40
"""Distance between the first line numbers of two tensors; no tensor has so many lines."""

WAVE_STRIDE = 1 << 44
"""Distance between the line numbers of two waves of CTAs in a sampled run; larger than those of all tensors."""

NEVER = 1 << 62
"""A cycle later than any that is simulated."""

MILLI, PERCENT = 1000, 100
READ, STORE, DIRECTIONS = 0, 1, 2
"""Directions of L2 traffic, reads and stores, and their number."""
CPC_SIZES = 2
"""Number of CPC sizes: large and small CPCs. The bandwidth of a direction is divided between SMs of either size."""
FRACTION_BITS = 6
"""Fraction bits of the L2's time, whose unit is a thousandth of a cycle: a line takes 27.2 thousandths."""
FRACTION_MASK = (1 << FRACTION_BITS) - 1
RATIO_BITS = 12
"""Fraction bits of a ratio of two times."""
WAITING_STORES = 128
"""Size of the ring of an SM's stores that have passed its port and wait for the L2: more than the buffer can hold."""
COMMIT_GROUPS = 32
"""Size of the ring of a warp's commit groups: more than any DEPBAR leaves pending."""

MULTIPLIER, INCREMENT, MODULUS = 1103515245, 12345, 1 << 31
"""The linear congruential generator of the C standard's example, from which latencies are drawn."""

HASH, HASH_SHIFT = 2654435761, 29
"""Knuth's multiplicative hash: the factor is 2^32 over the golden ratio."""
HASHED_WIDTH = 31
HASHED_BITS = (1 << HASHED_WIDTH) - 1
"""The hash multiplies 31 bits of a number, so that the product fits into 63; higher bits enter in the second round."""

TENSOR, MIO = 3, 2
"""The tensor core's port is the third from the end of an SMSP's ports, the MIO's port the second from the end."""

RANK_OF_WAITED = 1 << 60
"""Added to the rank of a warp that has waited for scoreboards, so that the warp ranks last. Larger than any age."""

PORT_LOG = 16
"""Size of a port's ring of its latest issue cycles, a power of two: larger than the number of warps that can wait."""

PORT_LOG_MASK = PORT_LOG - 1
"""Mask that reduces an index to the ring of a port's issue cycles."""

GAPS = 2
"""Number of past mma.sync whose spacing tells the operand collector how many registers it can read between two."""

REQUEST_AT, ARRAY_AT, TRACED_WAVEFRONTS = 24, 12, (1 << 12) - 1
"""Positions of the request and of the array in an entry of a trace, and the mask of its wavefronts."""

TRACED_ARRAY = (1 << REQUEST_AT - ARRAY_AT) - 1
"""Mask of the array in an entry of a trace, after a shift by ``ARRAY_AT``."""

LINES_AT_ONCE = 32
"""Most lines that one warp instruction accesses: one for each lane."""
CHUNK_BITS = 3
"""Bits of a line's number within the kilobyte whose lines are in two slices of the L2."""

DATA, LINE_RETURNS, SM_QUEUE, COPY_WRITES, ZERO_WRITES, PIPELINES = range(6)
"""
Kinds of pipelines whose cycles are reserved, and the number of kinds. Each SM has one pipeline of each kind.

``DATA`` is the data stage, ``LINE_RETURNS`` the return of missing lines to loads, and ``SM_QUEUE`` the path from the
SMSPs' queues to the SM's queue. ``COPY_WRITES`` and ``ZERO_WRITES`` both hold the copies' writes to shared memory:
the first at the rate that delays stores, the second at the rate that delays copies of zeros.
"""

LOADS_IN_FLIGHT = 256
"""Size of an SM's ring of loads in flight, a power of two: eight loads of each of 32 warps."""

MOST_LOST = 4096
"""Most cycles of the data stage that one instruction can take from returning data: 32 lanes need far fewer."""

PENDING_READS = 32
"""Size of an SMSP's ring of register reads that may delay a later mma.sync, a power of two above its queue's depth."""

PENDING_READS_MASK = PENDING_READS - 1
"""Mask that reduces an index to the ring of register reads."""

CYCLE_BITS = 4
"""A word holds the states of 2^4 cycles of a pipeline, two bits each, and above them 31 bits of the word's number."""

WORD_CYCLES = (1 << CYCLE_BITS) - 1
"""Mask that reduces a cycle to its index within a word."""

WORD_NUMBER, WORD_NUMBERS = 32, (1 << 31) - 1
"""Position of the word's number in a word; mask of that number, which repeats after 2^35 cycles."""

STAGE_WORDS = 256
"""Words of a pipeline, a power of two. Cycles at a distance of 256 words share a word, which holds the later ones."""

STAGE_MASK = STAGE_WORDS - 1
"""Mask that reduces a word's number to its index: a division would cost as much as ten other operations."""

ISSUED, RETURNING, STATES = 2, 3, 3
"""States of a cycle: taken by an instruction, or reserved for returning data; 0 is free. ``STATES`` is their mask."""

ALL_ISSUED = ((1 << 2 * (WORD_CYCLES + 1)) - 1) // STATES * ISSUED
"""The states of a word whose cycles are all taken by instructions."""

TO_WRITE, LINE_BITS = 2048, 8
"""Size of an SM's ring of lines that copies will write, a power of two; bits of an entry that count its sectors."""

TO_WRITE_MASK, LINE_MASK = TO_WRITE - 1, (1 << LINE_BITS) - 1
"""Mask that reduces an index to the ring of lines to write; mask of the sector count in an entry."""

LINE_WIDTH = 8
"""Integers of 64 bits in a cache line of the host."""

SLOT_WIDTH = LINE_WIDTH
"""Integers from one slot of a simulated cache to the next."""

USES_A_LINE = 4
"""Capacity of a simulated cache's log of uses, for each line that the cache can hold. A full log drops stale uses."""

WARP_WIDTH = 40
"""Integers from one warp to the next: an odd number of the host's cache lines, which spreads best over its sets."""

SMSP_COLUMNS = 22
"""Integers at the start of an SMSP's row, before the list of its warps."""

PORT_WIDTH = LINE_WIDTH + PORT_LOG
"""Integers from one port of an SMSP to the next, in whole host lines: the port's columns and its issue cycles."""

CODE_WIDTH = 16
"""Integers of 32 bits from one instruction to the next: one cache line of the host."""

NEIGHBOURS = 3
"""Low bits of a line's number. Lines that differ only in these bits have buckets in one cache line of the host."""

BUCKETS_A_LINE = 4
"""Buckets of a simulated cache for each of its lines: enough that few lines share a bucket, to save host misses."""

PLACE_BITS, TENSOR_BUCKETS = 17, 40503
"""Bits of a line's number, above ``NEIGHBOURS``, that differ within a tensor; buckets from one tensor to the next."""

MERGED_BITS, ASKED_BITS = 12, 8
"""Positions of the time and of the sector mask in an entry of the L2's merge table.

The table has an entry for each line and GPC: the time until which requests are merged, the mask of the sectors that
were looked up last and, in the lowest bits, the number of requests that this lookup has served.
"""

MOST_MERGED = (1 << ASKED_BITS) - 1
"""Mask of the number of requests in an entry of the merge table."""

MERGED_TIME, MERGED_AHEAD = (1 << 50) - 1, 1 << 49
"""Mask of the time in an entry of the merge table; a distance of times below the second number lies in the future."""

UNIT_BITS = 27
"""Bits of the number of a refresh unit (``Dram.refresh_left``) within a tensor. The tensor's number lies above them."""

OUTPUT_LINES = 1 << 46
"""Number of the first line that stores allocate, and of lines without a known number: above all operands' lines."""

CHUNKS = 256
"""Chunks of equal size into which a sample's L2 is divided. The core counts the stored sectors of each chunk."""
CHUNKS_KNOWN = CHUNKS + 2

MOST_CREDIT = LINES_AT_ONCE * SECTORS_PER_LINE * MILLI
"""Largest credit of sectors that wait for DRAM, in thousandths of a sector (``L2Sampled.credit_slow``)."""

WHOLE_LINE = (1 << SECTORS_PER_LINE) - 1
"""Mask of all sectors of a line."""

ATOMIC, FLOAT_ATOMIC = 1, 2
"""Atomics on global memory: of integers, and additions of floats."""

PAIR, FIRST_OF_PAIRS = 0b11, 0b0101
"""Masks of a line's first two sectors, and of the first sector of each pair."""

WHEEL = 4096
"""Half cycles of the calendar's timing wheel, a power of two: few waits are longer."""

WHEEL_MASK = WHEEL - 1
"""Mask that reduces a half cycle to its index in the wheel."""

WOKEN, TIMED = 0, 1
"""The half of a cycle in which an event lies. SMSPs that are woken come before SMSPs that slept until this cycle."""

NOTE_WIDTH, SPAN_WIDTH = 6, 4
"""
Integers of a row of ``WarpRecord.notes`` and of ``WarpRecord.spans``.

A note has the warp's index in its CTA, the instruction's index in the code, the k tiles before this trip, the cycle of
the issue, the cycle at which the data arrives, and the end of the previous instruction's fixed stall. A span has the
warp's index, the begin, the end and the stall reason.
"""

RELEASED, RETIRED = -1, -2
"""
Index in the code of the notes that log a warp's release from a barrier, and its exit.

All three cycles of such a note are the cycle of the event. The field of k tiles is 0 for a release, and the SMSP's
number for an exit.
"""

INSTRUCTIONS_AHEAD = 64
"""Instructions of a warp that the operand collector searches for mma.sync that will issue while registers are read."""

LOG_ROWS = 4096
"""Rows of a log's block. A full block is moved to the log's column."""

GRANULE_WIDTH = 7
"""Integers of a granule: parts and bytes held; neighbours in order of use; a step, its accessed and missing parts."""
