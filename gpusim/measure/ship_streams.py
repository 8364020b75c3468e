"""Writes the streams of gpusim's own scenarios into the package: ``python -m gpusim.measure.ship_streams``."""

import sys

from gpusim.cuda.compiled_kernel import compile_kernel
from gpusim.cuda.specialise import kernels
from gpusim.element_types import is_emulated
from gpusim.errors import GpusimError
from gpusim.families.registry import load_gemm_scenario
from gpusim.lower.compiled import lower_kernel
from gpusim.lower.compiled_reduction import lower_reduction
from gpusim.lower.stream_file import SHIPPED, save_stream, stream_key
from gpusim.machine.load import load_machine
from gpusim.scenario.catalogue import is_attention, recordable_scenarios, shipped_scenarios
from gpusim.scenario.gemm import GemmScenario


def ship() -> int:
    """
    Compile, lower and write the stream of every slice of every recordable or shipped scenario; drop all others.

    Kernels whose mma.sync the assembler emulates have none (D27).

    Returns:
        How many streams there are.

    Raises:
        CannotRun: No compiler is here.
        CheckFailed: A kernel does not execute its schedule.
    """
    written = set()
    shipped = (one.path for one in shipped_scenarios() if not is_attention(one.path))
    for path in sorted({*recordable_scenarios(), *shipped}):
        scenario = load_gemm_scenario(path)
        architecture = load_machine(scenario.machine).compute_capability
        if is_emulated(scenario.problem.dtype.ab, architecture):
            continue
        first, *others = (compile_kernel(one, architecture) for one in kernels(scenario))
        streams = [(first, slice_, lower_kernel(scenario, first, slice_)) for slice_ in _slices(scenario)]
        streams += [(second, 0, lower_reduction(scenario, second)) for second in others]
        for kernel, slice_, stream in streams:
            target = SHIPPED / f"{stream_key(kernel.specialisation.digest, architecture, slice_)}.json.gz"
            save_stream(target, stream)
            written.add(target)
    for path in SHIPPED.glob("*.json.gz"):
        if path not in written:
            path.unlink()
    return len(written)


def _slices(scenario: GemmScenario) -> range:
    return range(scenario.problem.split_k_slices)


def main() -> int:
    """Say how many streams were written, or what stands in the way."""
    try:
        sys.stdout.write(f"{ship()} streams in {SHIPPED}\n")
    except GpusimError as error:
        sys.stderr.write(f"error: {error}\n")
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
