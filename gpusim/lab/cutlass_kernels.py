"""
``python -m gpusim.lab.cutlass_kernels FILE``: builds CUTLASS's own kernel of a scenario with nvcc, as a cubin.

The headers come from the wheel ``nvidia-cutlass`` (requirements/cutlass.txt). No GPU is needed.
"""

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from gpusim.cuda.compiler import Compiler, find_compiler
from gpusim.errors import BadInput, CannotRun, exit_code_of
from gpusim.families.registry import load_gemm_scenario
from gpusim.machine.load import load_machine
from gpusim.numerics.output_op import compute_type
from gpusim.scenario.catalogue import find_scenario
from gpusim.scenario.gemm import GemmScenario

_TYPES: Final = {
    "f16": "cutlass::half_t",
    "bf16": "cutlass::bfloat16_t",
    "tf32": "cutlass::tfloat32_t",
    "f32": "float",
    "s32": "int32_t",
    "s8": "int8_t",
    "u8": "uint8_t",
}
_LAYOUTS: Final = {"row": "cutlass::layout::RowMajor", "column": "cutlass::layout::ColumnMajor"}
_HEADERS: Final = {
    "gemm": ("gemm/device/gemm.h",),
    "conv2d_fprop": ("conv/kernel/default_conv2d_fprop.h", "conv/device/implicit_gemm_convolution.h"),
}
_SECONDS: Final = 600


def headers() -> Path | None:
    """Return the folder of CUTLASS's headers, or None if the wheel is not installed."""
    found = find_spec("cutlass_library")
    if found is None or found.origin is None:
        return None
    return Path(found.origin).parent / "source" / "include"


def at_hand(include: Path | None) -> tuple[Path, Compiler]:
    """
    Return the folder of CUTLASS's headers and the compiler.

    Args:
        include: The folder; None takes that of the wheel.

    Raises:
        CannotRun: Either is missing.
    """
    found = include or headers()
    if found is None:
        raise CannotRun("CUTLASS's headers are missing: pip install --no-deps -r requirements/cutlass.txt")
    return found, find_compiler("nvcc")


def source(scenario: GemmScenario) -> str:
    """
    Return the CUDA source that instantiates CUTLASS's kernel of a scenario: ``device::Gemm`` or a forward convolution.

    Raises:
        BadInput: CUTLASS's kernel of this scenario is not built here.
    """
    problem, kernel = scenario.problem, scenario.kernel
    if scenario.kind not in _HEADERS or problem.bias or problem.activation != "identity" or problem.reduces:
        raise BadInput(
            "CUTLASS's kernel is built of GEMMs and forward convolutions without bias, activation and parallel split-K"
        )
    dtype, gemm = problem.dtype, scenario.kind == "gemm"
    ab, accumulator, output = _TYPES[dtype.ab], _TYPES[dtype.accumulator], _TYPES[dtype.output]
    shapes = ", ".join(_shape(tile) for tile in (kernel.threadblock, kernel.warp, kernel.instruction))
    width = kernel.threadblock_swizzle.removeprefix("identity<").removesuffix(">")
    compute = _TYPES[compute_type(problem)] if dtype.accumulator != "s32" else "float"
    operation = (
        f"cutlass::epilogue::thread::LinearCombination<{output}, {scenario.epilogue.elements_per_access},"
        f" {accumulator}, {compute}>"
    )
    swizzle = f"cutlass::gemm::threadblock::GemmIdentityThreadblockSwizzle<{width}>"
    tensor_core = "cutlass::arch::OpClassTensorOp, cutlass::arch::Sm80"
    if gemm:
        layouts = [_LAYOUTS["row" if problem.k_contiguous("a") else "column"]]
        layouts.append(_LAYOUTS["column" if problem.k_contiguous("b") else "row"])
        named = (
            f"cutlass::gemm::device::Gemm<{ab}, {layouts[0]}, {ab}, {layouts[1]}, {output}, {_LAYOUTS['row']},"
            f" {accumulator}, {tensor_core}, {shapes}, {operation}, {swizzle}, {kernel.stages}, {problem.access('a')},"
            f" {problem.access('b')}, {'true' if problem.split_k_slices > 1 else 'false'}>::GemmKernel"
        )
    else:
        nhwc = "cutlass::layout::TensorNHWC"
        algorithm = f"cutlass::conv::IteratorAlgorithm::k{kernel.iterator.capitalize()}"
        named = (
            f"cutlass::conv::device::ImplicitGemmConvolution<typename cutlass::conv::kernel::DefaultConv2dFprop<{ab},"
            f" {nhwc}, {ab}, {nhwc}, {output}, {nhwc}, {accumulator}, {tensor_core}, {shapes}, {operation}, {swizzle},"
            f" {kernel.stages}, cutlass::arch::OpMultiplyAdd, {algorithm}>::Kernel>::UnderlyingKernel"
        )
    includes = "".join(f'#include "cutlass/{header}"\n' for header in ("cutlass.h", *_HEADERS[scenario.kind]))
    return (
        f"{includes}using Wanted = typename {named};\n"
        "template __global__ void cutlass::Kernel<Wanted>(typename Wanted::Params);\n"
    )


def _shape(tile: tuple[int, int, int]) -> str:
    return f"cutlass::gemm::GemmShape<{tile[0]}, {tile[1]}, {tile[2]}>"


def build(scenario: GemmScenario, include: Path, compiler: Compiler) -> bytes:
    """
    Compile CUTLASS's kernel of a scenario for the scenario's machine, and return the cubin.

    Args:
        scenario: Problem and kernel.
        include: Folder of CUTLASS's headers.
        compiler: An nvcc.

    Raises:
        CannotRun: The compiler refuses the source.
    """
    architecture = load_machine(scenario.machine).compute_capability
    options = ("-cubin", f"-arch=sm_{architecture}", "-O3", "-std=c++17", "--expt-relaxed-constexpr", f"-I{include}")
    with tempfile.TemporaryDirectory() as folder:
        text, cubin = Path(folder) / "kernel.cu", Path(folder) / "kernel.cubin"
        text.write_text(source(scenario), encoding="utf-8")
        command = [str(compiler.path), *options, str(text), "-o", str(cubin)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_SECONDS)  # noqa: S603 # built here, never by a shell
        if done.returncode:
            said = next((line for line in done.stderr.splitlines() if "error" in line), done.stderr[:200])
            raise CannotRun(f"nvcc does not compile CUTLASS's kernel: {said}")
        return cubin.read_bytes()


def main(argv: Sequence[str] | None = None) -> int:
    """Build the kernel of one scenario, and write its cubin. Return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m gpusim.lab.cutlass_kernels", description=__doc__)
    parser.add_argument("scenario", help="a scenario file, or the name of a shipped scenario")
    parser.add_argument("--set", action="append", default=[], dest="overrides", help="KEY=VALUE, as in gpusim run")
    parser.add_argument("--headers", type=Path, help="CUTLASS's include folder; default: that of the wheel")
    parser.add_argument("--out", type=Path, required=True, help="the cubin to write")
    arguments = parser.parse_args(argv)

    def work() -> None:
        include, compiler = at_hand(arguments.headers)
        scenario = load_gemm_scenario(find_scenario(arguments.scenario), arguments.overrides)
        arguments.out.write_bytes(build(scenario, include, compiler))

    return exit_code_of(work)


if __name__ == "__main__":
    sys.exit(main())
