"""Resolves the stream of an attention kernel into what the issue loop reads: wavefronts of every access, activities."""

from gpusim.families.attention.blocks import CopiedOperand, attention_epilogue
from gpusim.families.attention.lanes import AttentionWavefronts, Tensor
from gpusim.families.attention.ops import (
    AtomicMax,
    LoadStatistic,
    Shuffle,
    Step,
    StoreLse,
    StoreP,
    StoreStatistic,
    operand_name,
)
from gpusim.families.attention.problem import AttentionScenario
from gpusim.families.attention.shape import attention_shape
from gpusim.lower.stream import Executed, Stream
from gpusim.machine.spec import Machine
from gpusim.schedule.ops import (
    CommitGroup,
    CopyAsync,
    Ldmatrix,
    LoadFragment,
    LoadShared,
    LoadSource,
    StoreGlobal,
    StoreShared,
    WaitGroup,
)
from gpusim.sim.assembly import (
    FIRST_ACTIVITY,
    SOURCE_OR_OUTPUT,
    Access,
    Assembly,
    Decoder,
    Wavefronts,
    decode_segments,
)
from gpusim.units import WARP_SIZE, WORD_BYTES

ACTIVITIES = ("copy_q", "copy_k", "copy_v", "qk", "softmax", "pv", "output")
"""What an observed instruction belongs to, numbered from ``FIRST_ACTIVITY``. Each first GEMM, softmax and second GEMM
lasts from its first instruction's issue to its last one's result; copies until their data is in shared memory."""

OUTPUT_ROWS, BUFFER_ROWS = 0, 1
"""Which rows of a footprint's outputs an epilogue's step means: those of the output, those of the f32 buffer."""


def copy_row(scenario: AttentionScenario, operand: CopiedOperand, column_block: int, fetch: int) -> int:
    """Row of a footprint's copies that holds a fetch of Q, K or V: all of Q's, then K's, then V's by column block."""
    shape = attention_shape(scenario)
    fetches = fetches_of_qk(scenario)
    if operand == "v":
        return 2 * fetches + column_block * shape.pv_slots + fetch
    return fetch + (fetches if operand == "k" else 0)


def fetches_of_qk(scenario: AttentionScenario) -> int:
    """Fetches of a first GEMM: its k tiles, and where these do not all have a slot, the ring's overrun."""
    shape = attention_shape(scenario)
    return shape.qk_tiles + (0 if shape.qk_whole else shape.qk_slots)


def output_row(scenario: AttentionScenario, kind: int, column_block: int, step: int) -> int:
    """Row of a footprint's outputs: the log-sum-exp, then each kind's steps by column block."""
    steps = attention_epilogue(scenario).steps
    return 1 + (kind * attention_shape(scenario).column_blocks + column_block) * steps + step


class AttentionDecoder(Decoder):
    """
    Of one program of an attention kernel.

    Args:
        blocks: Key blocks that the program walks.
    """

    def __init__(self, accesses: AttentionWavefronts, machine: Machine, blocks: int) -> None:
        super().__init__(machine)
        self.accesses = accesses
        self.scenario = accesses.scenario
        self.blocks = blocks

    def access(self, op: Executed) -> Access:
        """What a step adds to its instruction."""
        if not isinstance(op, Step):
            raise TypeError(f"{op} is no step of an attention program")
        access = self._shared(op) or self._global(op) or Access()
        return access._replace(observed=self._activity(op), k_tile=self.ordinal(op))

    def ordinal(self, step: Step) -> int:
        """Place of a step's key block in the walk of the CTA; past all of them outside the key loop."""
        if step.key_block < 0:
            return self.blocks
        return self.blocks - 1 - step.key_block if self.scenario.flash else step.key_block

    def _activity(self, step: Step) -> int:
        op, phase = step.op, step.phase
        if phase == "start" or isinstance(op, CommitGroup):
            return -1
        if isinstance(op, CopyAsync):
            name = f"copy_{operand_name(phase, op.operand)}"
        else:
            name = phase if phase in ACTIVITIES else "output"
        return FIRST_ACTIVITY + ACTIVITIES.index(name)

    def _shared(self, step: Step) -> Access | None:
        """Accesses of shared memory that stay on the SM, and shuffles, which pass its data stage."""
        shared, of, op = self.machine.shared, self.accesses, step.op
        found: Access | None = None
        match op:
            case Ldmatrix() | LoadFragment():
                name: Tensor = operand_name(step.phase, op.operand)  # type: ignore[assignment]
                size = 4 * of.matrices[name]
                found = self._load((of.fragment(name, op),), shared.ldmatrix_latency_x1, size)
            case StoreP(access):
                found = self._store(of.store_p(access), fills=True)
            case StoreStatistic():
                found = self._store(of.statistic(op), fills=True)
            case LoadStatistic():
                found = self._load((of.statistic(op),), shared.load_latency, WORD_BYTES)
            case AtomicMax():
                found = self._store(tuple(lanes * shared.atomic_wavefronts for lanes in of.atomic(op)), fills=True)
            case Shuffle():
                found = self._load(((1,) * of.warps,), shared.shuffle_latency, WORD_BYTES)
            case StoreShared():
                found = self._store(of.staging(op), fills=False)
            case LoadShared():
                found = self._load((of.staging(op),), shared.load_latency, of.tile.load_bytes)
        return found

    def _store(self, wavefronts: tuple[int, ...], *, fills: bool) -> Access:
        return Access(wavefronts=(wavefronts,), latency=self.machine.shared.store_latency, fills=fills)

    def _load(self, wavefronts: Wavefronts, latency: int, size: int) -> Access:
        return Access(wavefronts=wavefronts, bytes=size * WARP_SIZE, latency=latency, is_load=True)

    def _global(self, step: Step) -> Access | None:
        """Copies, the epilogue's accesses of output and buffer, the log-sum-exp, and waits."""
        match step.op:
            case CopyAsync():
                op = step.op
                name: CopiedOperand = operand_name(step.phase, op.operand)  # type: ignore[assignment]
                row = copy_row(self.scenario, name, step.column_block, op.fetch)
                return Access(
                    wavefronts=(self.accesses.copy(name, op),),
                    target=(row, self.ordinal(step), op.access, op.vec),
                    through_l1=op.cache == "ca",
                    zero_fills=op.zfill,
                )
            case LoadSource(number, access):
                row = output_row(self.scenario, BUFFER_ROWS, step.column_block, number)
                return Access(target=(SOURCE_OR_OUTPUT, row, access, 0), is_load=True)
            case StoreGlobal(number, access):
                kind = BUFFER_ROWS if step.phase == "buffer" else OUTPUT_ROWS
                row = output_row(self.scenario, kind, step.column_block, number)
                return Access(target=(SOURCE_OR_OUTPUT, row, access, 0))
            case StoreLse(row):
                return Access(target=(SOURCE_OR_OUTPUT, 0, row, 0))
            case WaitGroup(pending):
                return Access(pending=pending)
        return None


def assemble_attention(stream: Stream, accesses: AttentionWavefronts, machine: Machine, blocks: int) -> Assembly:
    """
    Resolve the stream of one program.

    Args:
        blocks: Key blocks that the program walks; they are the assembly's k tiles.

    Raises:
        BadInput: The machine file has no figure for a pipe that the stream uses.
    """
    return Assembly(
        segments=decode_segments(stream, AttentionDecoder(accesses, machine, blocks)),
        warps=accesses.warps,
        stages=1,
        k_tiles=blocks,
        fetches=blocks,
        instructions_per_warp=stream.instructions_per_warp,
    )
