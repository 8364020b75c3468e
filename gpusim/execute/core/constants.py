"""
The named integers of the executor's core: kinds of operation, columns of an instruction's row, and places of operands.

In the compiled core they are constants of C.
"""

from gpusim.units import WARP_SIZE

ALL = (1 << WARP_SIZE) - 1
"""The mask of all lanes."""

REGISTERS, UNIFORM_REGISTERS, SPECIAL_REGISTERS = 256, 64, 32
"""Rows of a warp's vector, uniform and special registers, RZ and URZ among them."""

FILE_WORDS = (REGISTERS + UNIFORM_REGISTERS + SPECIAL_REGISTERS) * WARP_SIZE
"""Words of a warp's register file; a uniform register has its value in all lanes."""

CTAID_ROW = REGISTERS + UNIFORM_REGISTERS + 4
"""Row of the first of the three special registers that differ from CTA to CTA."""

PREDICATE_ROWS = 16
"""Predicates of a warp, as masks of lanes: P0 to P6 and PT, then UP0 to UP6 and UPT."""

RZ_ROW = 255
"""Row of the register that reads as zero; no register lies behind it."""

# Places of operands and results in the scratch words.
A, B, C, D, A_HIGH, B_HIGH, C_HIGH, D_HIGH = (WARP_SIZE * place for place in range(8))
SCRATCH_WORDS = 8 * WARP_SIZE

# Columns of an instruction's row. A source is a register's row, or ~n for word n of the constants.
(
    KIND,
    GUARD,
    GUARD_FLIP,
    IS_UNIFORM,
    TO,
    TO_HIGH,
    FROM_A,
    FROM_B,
    FROM_C,
    FROM_A_HIGH,
    FROM_B_HIGH,
    FROM_C_HIGH,
    KEEP_A,
    KEEP_B,
    KEEP_C,
    FLIP_A,
    FLIP_B,
    FLIP_C,
    P,
    Q,
    X,
    X_FLIP,
    Y,
    Y_FLIP,
    Z,
    Z_FLIP,
    FORM,
    FORM_2,
    FORM_3,
    FORM_4,
    OFFSET,
    SIZE,
    SPACE,
    WIDE,
    SCALE,
    NUMBER,
    OPERATION,
    INTO,
    INTO_OFFSET,
    TARGET,
) = range(40)
ROW = 40
"""Columns of a row."""

KEEPS, FLIPS, HIGHS = 6, 9, 3
"""Columns from a source to its mask of kept bits, to its flipped bits, and to its high word."""

GROUP = 5
"""Bits of a kind below its group's number."""

INSTRUCTION_BITS = 4
"""Bits of a code address within an instruction."""

# Kinds of operation, by group of 32.
(
    REFUSED,
    NO_EFFECT,
    BRANCH,
    BRANCH_INDEXED,
    EXIT_LANES,
    SET_CONVERGENCE,
    LEAVE_CONVERGENCE,
    CONVERGE,
    SYNCHRONIZE,
    MEET_BARRIER,
    WRITE_CONVERGENCE,
    READ_CONVERGENCE,
    CLEAR_CONVERGENCE,
    YIELD,
    BARRIER_RESULT,
    READ_CLOCK,
) = range(16)

(
    ADD3,
    MULTIPLY,
    MULTIPLY_WIDE,
    SHIFT_ADD,
    LOGIC,
    PREDICATE_LOGIC,
    SHIFT,
    PERMUTE,
    SELECT,
    MOVE,
    ABSOLUTE,
    EXTREME,
    ADD_EXTREME,
    COMPARE_INTEGERS,
    SIGN_EXTEND,
    BIT_MASK,
    COUNT_BITS,
    FIND_LEADING,
    REVERSE,
    DOT,
    PACK_PREDICATES,
    UNPACK_PREDICATES,
    PACK_INTEGERS,
    DIFFERENCE,
) = range(32, 56)

(
    F_ADD,
    F_MULTIPLY,
    F_FUSED,
    F_EXTREME,
    F_COMPARE,
    F_SET,
    F_SELECT,
    F_FUNCTION,
    F_CHECK,
    F_ROUND,
    F_CONVERT,
    F_PACK,
    INTEGER_TO_FLOAT,
    FLOAT_TO_INTEGER,
    EIGHT_PACK,
    EIGHT_UNPACK,
) = range(64, 80)

H_ADD, H_MULTIPLY, H_FUSED, H_EXTREME, H_COMPARE, D_ADD, D_MULTIPLY, D_FUSED, D_COMPARE = range(96, 105)

SHUFFLE, VOTE, MATCH, REDUCE, TO_UNIFORM, H_MATRIX, I_MATRIX, TRANSPOSE, D_MATRIX = range(128, 137)

LOAD, STORE_WORDS, ATOMIC, LOAD_CONSTANT, LOAD_MATRIX, COPY = range(160, 166)

# Spaces of memory.
GLOBAL_SPACE, SHARED_SPACE, LOCAL_SPACE, GENERIC_SPACE = range(4)

# Why a warp stops.
RUNNING, AT_BARRIER, EXITED, FAULT, TRACE_FULL, STANDSTILL = range(6)

# Faults.
(
    NO_FAULT,
    REFUSED_INSTRUCTION,
    OUT_OF_BOUNDS,
    MISALIGNED,
    NEVER_CONVERGES,
    LEFT_THE_CODE,
    TOO_MANY_GROUPS,
) = range(7)

SHARED_WINDOW, LOCAL_WINDOW = 0x100, 0x200
"""High words of generic addresses in shared memory and on a thread's stack; low words are the bytes there."""

# A warp's state of convergence: words of 64 bits.
AT, ACTIVE, ALIVE, DEPTH, MEETING, STATE, AWAITED, REDUCTION, CONVERGENCE = range(9)
CONVERGENCE_BARRIERS, MOST_GROUPS = 16, 64
WAITING_GROUPS = CONVERGENCE + CONVERGENCE_BARRIERS
MET_GROUPS = WAITING_GROUPS + 2 * MOST_GROUPS
STATE_WORDS = MET_GROUPS + 4 * MOST_GROUPS
"""
Where the groups of lanes lie: those that wait for their turn (instruction, lanes), and those that wait at a point of
convergence (barrier, instruction, lanes, those that a WARPSYNC names).
"""

NAMED_LANES = 16
"""Number of WARPSYNC among the convergence barriers."""

AT_NUMBERED = NAMED_LANES + 1
"""Number of the CTA's barrier 0 among the convergence barriers; the others follow."""

UNREDUCED = -1
"""The reduction of a barrier at which no warp has arrived."""

BARRIERS = 16
"""Barriers of a CTA."""

STEP_LANES = 32
"""Bits of a step below the instruction's number: the lanes that executed it."""

ADDRESS_OF_STEP, ADDRESS_LOWEST, ADDRESS_HASH, ADDRESS_LANES = range(4)
ADDRESS_ROW = ADDRESS_LANES + WARP_SIZE
"""
Integers that an access leaves in the trace: the number of its step, the lowest address of the lanes that execute, a
hash of their addresses relative to the line of the lowest, and each lane's address.
"""

HASH_FACTOR, HASH_STEP, HASH_SHIFT, HASH_ROUNDS = 0x2C1B3C6D, 0x297A2D38, 29, 3
"""Odd factor, even difference between two lanes' factors, and shift of each round of that hash, and its rounds."""

A_ELEMENTS, B_ELEMENTS, MATRIX_WORDS = 4 * WARP_SIZE, 36 * WARP_SIZE, 52 * WARP_SIZE
"""Scratch of a matrix product: its sums, then the elements of A (16 x 64 at most) and of B (64 x 8), and its end."""

HALF_F16, HALF_BF16 = 0, 1
"""Formats of a half."""

EIGHT_E4M3, EIGHT_E5M2 = 3, 4
"""Formats of 8 bits. E4M3 has no infinity: its largest exponent has numbers, but for the NaN 0x7F. Source: PTX ISA."""

NO_DESTINATION = -1
"""A destination that is not written, or a predicate that is not."""

ISSUES, LANES, WAVEFRONTS, IDEAL_WAVEFRONTS, SECTORS, IDEAL_SECTORS = range(6)
COUNTS = 6
"""Counts of an instruction: the columns, and how many there are."""

FOUND, DEPTHS, MASKS = WARP_SIZE, WARP_SIZE * (WARP_SIZE + 1), WARP_SIZE * (WARP_SIZE + 2)
"""
Scratch of an access behind its addresses: the distinct values of each column, how many a column has, and for each value
the bytes at which lanes access it.
"""

ACCESS_SCRATCH = WARP_SIZE * (2 * WARP_SIZE + 2)
"""Integers of that scratch."""
