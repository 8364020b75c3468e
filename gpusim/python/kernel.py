"""Executes a kernel of the user's own on arrays, without a GPU: ``gpusim.kernel("my.cu", "k")[grid, block](x, y)``."""

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias, overload

import numpy as np
import numpy.typing as npt

from gpusim.arguments import flag, text, whole_number
from gpusim.errors import BadInput, Unsupported
from gpusim.execute.by_line import LineCounts, counts_by_line
from gpusim.execute.checks.memory import MemoryFindings, SharedRace, UnwrittenRead
from gpusim.execute.conflicts import ConflictExample, conflict_lines
from gpusim.execute.counts import InstructionCounts, KernelCounts, count, empty_counts
from gpusim.execute.counts_table import counts_table
from gpusim.execute.image import Allocation, Image, image_of
from gpusim.execute.kernel_source import KernelSource
from gpusim.execute.launch import Dim, KernelLaunch
from gpusim.execute.run import KernelExecution, executor
from gpusim.execute.variables import ModuleVariables, variables_of, with_variables
from gpusim.execute.watch import LaunchWatch
from gpusim.lower.sass.cubin import Cubin, read_cubin
from gpusim.lower.sass.lines import read_lines
from gpusim.lower.user_kernel import read_user_kernel
from gpusim.machine.load import load_machine
from gpusim.machine.spec import Machine
from gpusim.own.timed import OwnTime, TracedExecution
from gpusim.python.numba_kernel import NumbaKernel, is_numba
from gpusim.python.sources import Defines, machine_code

GridExtent: TypeAlias = int | Sequence[int]

POINTER_BYTES = 8

MANY_WARPS = 1 << 12
"""Warps of a launch that an interpreted executor takes about ten seconds for, at hundred instructions each."""

MOST_FLOAT = float(np.finfo(np.float32).max)

LARGEST_LIMIT = (1 << 63) - 1
"""Largest limit of a launch."""


@dataclass(frozen=True)
class KernelRun:
    """
    What a launch did; what it wrote is in the arrays that it was given.

    Attributes:
        kernel: Name of the kernel.
        machine: Name of the machine.
        launch: Grid, block and dynamic shared memory.
        counts: Counts of each instruction.
        traced: The trace of the execution, from which ``time`` is simulated.
        source: The source lines of its instructions.
        watch: What some CTAs did with shared memory, from which ``findings`` and ``conflict_examples`` are made.
    """

    kernel: str
    machine: str
    launch: KernelLaunch
    counts: KernelCounts
    traced: TracedExecution = field(repr=False)
    source: KernelSource = field(repr=False)
    watch: LaunchWatch = field(repr=False)

    @cached_property
    def time(self) -> OwnTime:
        """
        How long the launch takes. It is simulated when it is first asked for.

        Raises:
            BadInput: A CTA does not fit on an SM.
            Unsupported: The time of an executed instruction is not simulated.
        """
        return self.traced.time()

    @property
    def cycles(self) -> int:
        """Elapsed cycles of the launch, like ncu's ``sm__cycles_elapsed.max``; see ``time``."""
        return self.time.cycles

    @property
    def time_us(self) -> float:
        """Microseconds of the launch at the machine's clock; see ``time``."""
        return self.cycles / self.traced.machine.clock_mhz

    @property
    def rows(self) -> list[InstructionCounts]:
        """The instructions that were issued, by address."""
        return [row for row in self.counts.rows if row.issues]

    @property
    def lines(self) -> tuple[LineCounts, ...]:
        """The instructions that were issued, by source line."""
        return counts_by_line(self.rows, self.source)

    @cached_property
    def conflict_examples(self) -> tuple[ConflictExample, ...]:
        """The worst access of each instruction that has bank conflicts, the instruction with the most first."""
        return self.watch.examples(self.counts)

    @cached_property
    def findings(self) -> MemoryFindings:
        """Races and unwritten reads of shared memory, and how many CTAs were examined."""
        return self.watch.findings()

    @property
    def races(self) -> tuple[SharedRace, ...]:
        """Pairs of instructions whose accesses of shared memory are unordered."""
        return self.findings.races

    @property
    def unwritten_reads(self) -> tuple[UnwrittenRead, ...]:
        """Instructions that read shared memory, or an uninitialised array, that no thread has written."""
        return self.findings.unwritten_reads

    @property
    def issues(self) -> int:
        """Warp instructions that were executed."""
        return self.counts.total("issues")

    @property
    def wavefronts(self) -> int:
        """Wavefronts in shared memory."""
        return self.counts.total("wavefronts")

    @property
    def conflicts(self) -> int:
        """Wavefronts in shared memory beyond those that accesses without conflicts take."""
        return self.counts.total("conflicts")

    @property
    def sectors(self) -> int:
        """Sectors of global memory that were accessed, 32 bytes each."""
        return self.counts.total("sectors")

    def __str__(self) -> str:
        try:
            time = f"{self.kernel} on {self.machine}: {self.cycles} cycles ({self.time_us:.1f} us)"
        except Unsupported as error:
            time = str(error)
        work = f"{self.issues} warp instructions, {self.wavefronts} wavefronts ({self.conflicts} of bank conflicts)"
        summary = f"{time}, {work}, {self.sectors} sectors"
        found = [*str(self.findings).splitlines(), *conflict_lines(self.conflict_examples)]
        return "\n".join([summary, *found, *counts_table(self.lines)])


@dataclass(frozen=True, slots=True)
class BoundKernel:
    """
    A kernel with its grid and block, to be called with arguments.

    Attributes:
        cubin: The kernel.
        machine: Machine that it was compiled for.
        launch: Grid, block and dynamic shared memory.
        source: Its source lines.
        constants, variables: The variables of its module.
    """

    cubin: Cubin = field(repr=False)
    machine: Machine = field(repr=False)
    launch: KernelLaunch
    constants: ModuleVariables = field(repr=False)
    variables: ModuleVariables = field(repr=False)
    source: KernelSource = field(default_factory=KernelSource, repr=False)

    def __call__(
        self,
        *arguments: object,
        check_every_cta: bool = False,
        uninitialised: Sequence[int] = (),
        limit: int | None = None,
    ) -> KernelRun:
        """
        Execute the kernel on numpy arrays and numbers; arrays have what it wrote afterwards.

        Args:
            arguments: In the order of the kernel's signature: arrays for pointers; numbers, which take the parameter's
                size: a float is an f32 or f64, an int an integer; or numpy scalars.
            check_every_cta: Look for races and unwritten reads of shared memory in all CTAs, not in at most eight.
            uninitialised: Places of arguments, from 0: arrays that nobody wrote before the launch, as outputs are.
                ``unwritten_reads`` has the instructions that read them before a write.
            limit: Warp instructions after which the launch is stopped; None for 2^28 of each CTA.

        Raises:
            BadInput: The arguments are not those of the signature, or an array cannot be written back.
            CheckFailed: An access is out of bounds or misaligned, warps wait for ever, or the limit is reached.
            Unsupported: An instruction that is reached is not executed.
        """
        every_cta = flag("check_every_cta", check_every_cta)
        if limit is not None:
            limit = whole_number("limit", limit, 1, LARGEST_LIMIT)
        _warn_if_slow(self.cubin.kernel, self.launch.ctas * self.launch.warps)
        execution, held = self._prepared(arguments, sliced=False, limit=limit)
        counts, traced = empty_counts(execution.code), TracedExecution(execution, self.machine)
        fresh = _uninitialised(uninitialised, [*held], execution.image)
        watch = LaunchWatch(execution, every_cta=every_cta, uninitialised=fresh)
        try:
            count(counts, execution.rows, watch.watch(traced.run()))
        finally:
            for number, array in enumerate(held.values()):
                array[...] = execution.image.contents_of(number, array)
            self.variables.keep(execution.image.module_bytes())
        return KernelRun(self.cubin.kernel, self.machine.name, self.launch, counts, traced, self.source, watch)

    def execution(
        self, arguments: Sequence[object], *, sliced: bool = False, limit: int | None = None
    ) -> KernelExecution:
        """
        Return an execution that has not begun, whose global memory has a copy of each array.

        Args:
            arguments: Arrays and numbers, as for a call.
            sliced: Only what reaches an address, a predicate or a branch is executed, for time alone.
            limit: Warp instructions after which the launch is stopped; None for 2^28 of each CTA.

        Raises:
            BadInput: The arguments are not those of the signature, or an array cannot be written back.
        """
        execution, _ = self._prepared(arguments, sliced=sliced, limit=limit)
        return execution

    def _prepared(
        self, arguments: Sequence[object], *, sliced: bool, limit: int | None
    ) -> tuple[KernelExecution, dict[int, npt.NDArray[Any]]]:
        """Return an execution that has not begun, and the arrays that it writes by the place of the argument."""
        sizes = [size for _, size in self.cubin.parameters]
        if len(arguments) != len(sizes):
            raise BadInput(f"{self.cubin.kernel} takes {signature_words(sizes)}, got {len(arguments)}")
        held, owners = _arrays(self.cubin.kernel, arguments, sizes)
        cubin = with_variables(self.cubin, self.constants, self.variables)
        image = image_of([(f"argument {place}", array) for place, array in held.items()], cubin.module)
        addresses = {place: one.address for place, one in zip(held, image.allocations, strict=False)}
        values = [
            addresses[owners[place]].to_bytes(POINTER_BYTES, "little")
            if place in owners
            else _scalar(given, size, place)
            for place, (given, size) in enumerate(zip(arguments, sizes, strict=True))
        ]
        execution = KernelExecution(
            cubin, self.launch, values, image, keeps=True, sliced=sliced, source=self.source, limit=limit
        )
        return execution, held


def _uninitialised(places: object, arrays: Sequence[int], image: Image) -> list[Allocation]:
    """Return the arrays at some places of the arguments."""
    given: Sequence[object] = places if isinstance(places, Sequence) and not isinstance(places, str) else [places]
    chosen = [int(one) for one in given if isinstance(one, int | np.integer)]
    if len(chosen) < len(given) or not set(chosen) <= set(arrays):
        listed = ", ".join(map(str, arrays)) or "none"
        raise BadInput(f"uninitialised must be places of array arguments ({listed}), got {places!r}")
    return [image.allocations[arrays.index(one)] for one in chosen]


@dataclass(frozen=True, slots=True)
class ReadyKernel:
    """
    A kernel of the user's own.

    Attributes:
        cubin: Its machine code.
        machine: Machine that it was compiled for.
        source: Its source lines.
        constants: ``__constant__`` variables of its source by name: ``k.constants["weights"] = array`` sets one.
        variables: ``__device__`` variables of its source by name, which keep what launches write.
    """

    cubin: Cubin = field(repr=False)
    machine: Machine = field(repr=False)
    constants: ModuleVariables = field(repr=False)
    variables: ModuleVariables = field(repr=False)
    source: KernelSource = field(default_factory=KernelSource, repr=False)

    def __getitem__(self, launch: tuple[GridExtent, ...]) -> BoundKernel:
        """
        Return the kernel with grid and block, and dynamic shared memory in bytes if that is given.

        Raises:
            BadInput: These are not two extents of one to three positive integers, and bytes.
        """
        if not isinstance(launch, tuple) or not 2 <= len(launch) <= 3:
            raise BadInput(f"a launch is [grid, block] or [grid, block, shared bytes], got {launch!r}")
        shared = launch[2] if len(launch) == 3 else 0
        if not isinstance(shared, int | np.integer):
            raise BadInput(f"shared memory must be a number of bytes, got {shared!r}")
        shape = KernelLaunch(extents_of("grid", launch[0]), extents_of("block", launch[1]), int(shared))
        needed, most = self.cubin.shared_bytes + shape.shared_bytes, self.machine.limits.shared_bytes_per_cta
        if needed > most:
            raise BadInput(
                f"a CTA has at most {most} bytes of shared memory on {self.machine.name}, {needed} are asked for"
            )
        return BoundKernel(self.cubin, self.machine, shape, self.constants, self.variables, self.source)


@overload
def kernel(
    source: str | Path, entry: str = "", *, machine: str | Path = "h200", defines: Defines | None = None
) -> ReadyKernel: ...


@overload
def kernel(
    source: object, entry: str = "", *, machine: str | Path = "h200", defines: Defines | None = None
) -> ReadyKernel | NumbaKernel: ...


def kernel(
    source: object, entry: str = "", *, machine: str | Path = "h200", defines: Defines | None = None
) -> ReadyKernel | NumbaKernel:
    """
    Return a kernel of one's own, to be executed without a GPU.

    Args:
        source: A file of CUDA C++ (.cu), which NVRTC or nvcc compiles, of PTX (.ptx), which ptxas or nvJitLink
            assembles, or of machine code (.cubin); a ``cupy.RawKernel``, a ``cupy.RawModule``, or a function with
            ``@numba.cuda.jit``.
        entry: Name of the kernel, or a part of it that no other kernel's name has; "" if there is one kernel. An
            instance of a template has its arguments: "scale<float, 3>".
        machine: Machine whose target it is compiled for: a name, or a machine file.
        defines: Macros of a source (.cu) and their values, as the compiler's ``-D``.

    Returns:
        A ``ReadyKernel``; for a function of Numba, a kernel that is compiled as it is launched.

    Raises:
        BadInput: There is no such kernel, the machine code is of another target, or the source can take no macro.
        CannotRun: The file cannot be read, or no compiler is installed, or it rejects the source.

    >>> import numpy as np
    >>> x = np.arange(8, dtype=np.float32)
    >>> halve = gpusim.kernel("halve.cu", "halve", machine="a100")  # doctest: +SKIP
    >>> run = halve[1, 32](x, 8)  # doctest: +SKIP
    """
    entry, chosen = text("entry", entry), load_machine(machine)
    folder = Path(source).parent if isinstance(source, str | Path) else None
    if is_numba(source):
        if defines:
            raise BadInput("defines are macros of a source (.cu), and a function of Numba has none")
        return NumbaKernel(source, chosen, lambda file, name: _called(name, _ready(file, entry, chosen, folder)))
    file, name = machine_code(source, entry, chosen.compute_capability, defines)
    return _ready(file, name, chosen, folder, Path(source) if isinstance(source, str | Path) else None)


def _ready(file: Path, entry: str, machine: Machine, folder: Path | None, source: Path | None = None) -> ReadyKernel:
    found, target = read_user_kernel(file, entry, source=source, asked=("source", "entry")), machine.compute_capability
    if found.architecture != target:
        raise BadInput(
            f"{file} is machine code of sm_{found.architecture}, {machine.name} executes that of sm_{target}"
        )
    return ready_kernel(found.data, found.entry, found.file, machine, folder)


def _warn_if_slow(name: str, warps: int) -> None:
    """Warn the caller's caller of a large launch on an interpreted executor."""
    core = executor()
    if core.name == "interpreted" and warps > MANY_WARPS:
        text = f"{name}: {warps} warps take long, because the executor is interpreted: {core.why}"
        warnings.warn(text, stacklevel=3)


def _called(name: str, kernel: ReadyKernel) -> ReadyKernel:
    """Return a kernel under the name that its author gave it."""
    return replace(kernel, cubin=replace(kernel.cubin, kernel=name))


def ready_kernel(data: bytes, entry: str, file: str, machine: Machine, folder: Path | None = None) -> ReadyKernel:
    """
    Return a kernel of machine code.

    Args:
        data: Bytes of a cubin of the machine's target.
        entry: Name of the kernel.
        file: Name of the cubin in messages.
        machine: Machine that executes it.
        folder: Folder in which the sources are looked for that its lines name.

    Raises:
        BadInput: The data are no cubin, or have no such kernel.
    """
    lines = KernelSource(read_lines(data, entry, file), folder or Path())
    cubin = read_cubin(data, entry, file)
    return ReadyKernel(cubin, machine, *variables_of(cubin), lines)


def signature_words(sizes: Sequence[int]) -> str:
    """Return in words what a signature takes, with the bytes of each parameter."""
    return f"{len(sizes)} arguments, of {', '.join(map(str, sizes)) or 'no'} bytes"


def _arrays(
    kernel: str, arguments: Sequence[object], sizes: Sequence[int]
) -> tuple[dict[int, npt.NDArray[Any]], dict[int, int]]:
    """
    Return the arrays by the place of the argument, one of each memory; and for each place of an array that of the first
    with its memory.

    Raises:
        BadInput: An array cannot be written back, or two share a part of their memory.
    """
    held: dict[int, npt.NDArray[Any]] = {}
    owners: dict[int, int] = {}
    for place, array in enumerate(arguments):
        if not isinstance(array, np.ndarray):
            continue
        if array.dtype.hasobject or not array.dtype.isnative or not array.itemsize:
            raise BadInput(f"{kernel}: argument {place} must be of numbers in native order, got {array.dtype}")
        if sizes[place] != POINTER_BYTES:
            raise BadInput(f"argument {place} has {sizes[place]} bytes in the signature, an array takes 8")
        if not array.flags.writeable or not array.flags.c_contiguous:
            raise BadInput(f"{kernel}: argument {place} must be a writeable array in C order")
        other = next((other for other, second in held.items() if np.shares_memory(array, second)), place)
        if other != place and (array.ctypes.data, array.nbytes) != (held[other].ctypes.data, held[other].nbytes):
            raise BadInput(f"{kernel}: arguments {other} and {place} share memory; give each its own array")
        owners[place] = other
        held.setdefault(other, array)
    return held, owners


def extents_of(name: str, value: GridExtent) -> Dim:
    """
    Return the three extents of a grid or a block; those that are not given are 1.

    Raises:
        BadInput: The value is not one to three integers.
    """
    given = tuple(value) if isinstance(value, Sequence) else (value,)
    if not 1 <= len(given) <= 3 or not all(isinstance(one, int | np.integer) for one in given):
        raise BadInput(f"{name} must be one to three integers, got {value!r}")
    x, y, z = (*map(int, given), 1, 1)[:3]
    return x, y, z


def _scalar(value: object, size: int, place: int) -> bytes:
    """Return a number as the bytes of a parameter."""
    if isinstance(value, np.number | np.bool_ | np.void):
        data = value.tobytes()
        if len(data) != size:
            raise BadInput(
                f"argument {place} has {size} bytes in the signature, {type(value).__name__} has {len(data)}"
            )
        return data
    if isinstance(value, bytes) and len(value) == size:
        return value
    if isinstance(value, float) and size in (4, 8):
        if size == 4 and MOST_FLOAT < abs(value) < math.inf:
            raise BadInput(f"argument {place} must fit into an f32, got {value}")
        return np.array(value, dtype=np.float32 if size == 4 else np.float64).tobytes()
    if isinstance(value, int) and size in (1, 2, 4, 8):
        if not -(1 << 8 * size - 1) <= value < 1 << 8 * size:
            raise BadInput(f"argument {place} must fit into {size} bytes, got {value}")
        return (value & (1 << 8 * size) - 1).to_bytes(size, "little")
    raise BadInput(f"argument {place} has {size} bytes in the signature, got {value!r}")
