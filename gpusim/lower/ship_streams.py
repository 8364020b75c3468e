"""Writes the streams of the recordable scenarios into the package: ``python -m gpusim.lower.ship_streams``."""

import sys

from gpusim.errors import GpusimError
from gpusim.lower.compile_kernel import compile_kernel
from gpusim.lower.compiled import is_lowered, lower_kernel
from gpusim.lower.stream_file import SHIPPED, save_stream, stream_key
from gpusim.machine.load import load_machine
from gpusim.scenario import load_scenario
from gpusim.scenario_catalogue import recordable_scenarios


def ship() -> int:
    """
    Compile, lower and write the stream of every slice of every recordable scenario; drop those of other kernels.

    Scenarios whose kernels cannot be lowered (``lower.compiled.is_lowered``) have none.

    Returns:
        How many streams there are.

    Raises:
        CannotRun: No compiler is here.
        CheckFailed: A kernel does not execute its schedule.
    """
    written = set()
    for path in recordable_scenarios():
        scenario = load_scenario(path)
        if not is_lowered(scenario):
            continue
        architecture = load_machine(scenario.machine).compute_capability
        kernel = compile_kernel(scenario, architecture)
        for slice_ in range(scenario.problem.split_k_slices):
            target = SHIPPED / f"{stream_key(kernel.specialisation.digest, architecture, slice_)}.json.gz"
            save_stream(target, lower_kernel(scenario, kernel, slice_))
            written.add(target)
    for path in SHIPPED.glob("*.json.gz"):
        if path not in written:
            path.unlink()
    return len(written)


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
