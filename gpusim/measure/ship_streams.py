"""Writes the compiled streams of gpusim's scenarios into the package: ``python -m gpusim.measure.ship_streams``."""

import sys

from gpusim.cuda.compiled_kernel import compile_kernel
from gpusim.element_types import is_emulated
from gpusim.errors import GpusimError
from gpusim.families.registry import family_of, load_scenario
from gpusim.lower.compiled import CompilableKernel, lower
from gpusim.lower.stream_file import SHIPPED, save_stream, stream_key
from gpusim.machine.load import load_machine
from gpusim.scenario.catalogue import recordable_scenarios, shipped_scenarios


def ship() -> int:
    """
    Compile, lower and write the streams of every recordable or shipped scenario, and delete all others.

    A kernel has no stream if the assembler emulates its mma.sync (D27), or if it is no ``CompilableKernel``.

    Returns:
        Number of streams.

    Raises:
        CannotRun: No compiler is installed.
        CheckFailed: A kernel does not execute its schedule.
    """
    written = set()
    shipped = (one.path for one in shipped_scenarios())
    for path in sorted({*recordable_scenarios(), *shipped}):
        scenario = load_scenario(path)
        for kernel in family_of(scenario).timing.timed_kernels(scenario, load_machine(scenario.machine)):
            if not isinstance(kernel, CompilableKernel):
                continue
            target = kernel.machine.compute_capability
            if kernel.mma is not None and is_emulated(kernel.mma.ab, target):
                continue
            binary = compile_kernel(kernel.specialisation, target)
            for slice_, block in enumerate(kernel.slice_blocks):
                file = SHIPPED / f"{stream_key(kernel.specialisation.digest, target, slice_)}.json.gz"
                save_stream(file, lower(kernel, binary, block))
                written.add(file)
    for path in SHIPPED.glob("*.json.gz"):
        if path not in written:
            path.unlink()
    return len(written)


def main() -> int:
    """Write the streams, and print their number or the error. Return the exit code."""
    try:
        sys.stdout.write(f"{ship()} streams in {SHIPPED}\n")
    except GpusimError as error:
        sys.stderr.write(f"error: {error}\n")
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
