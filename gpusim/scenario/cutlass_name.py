"""The names CUTLASS 2.x's profiler prints for its kernels: read into scenario data, and written from a scenario.

    cutlass_tensorop_[OUTPUT_]{h|s|i}INSTRUCTION[tf32]gemm[_INPUT]_MxN_KxSTAGES_{n|t}{n|t}_alignA
    cutlass_tensorop_[OUTPUT_]{h|s|i}INSTRUCTION[tf32]fprop_{analytic|optimized}[_INPUT]_MxN_KxSTAGES_nhwc_alignA

The letter is the accumulator's type: h f16, s f32, i s32. OUTPUT and INPUT are left out where they equal it. Float
operands that the kernel rounds to tf32 put "tf32" before the operation.

The layout letters are those of the *profiler's* A and B, n column-major and t row-major, and its output is
column-major. The library's kernels write row-major outputs: it instantiates the transposed problem, B^T first, so that

    scenario rows m = the profiler's n      scenario A = the profiler's B^T
    scenario columns n = the profiler's m   scenario B = the profiler's A^T

and the threadblock of the name, M x N, applies to the scenario's m and n unchanged. tn and nt keep their letters; nn
means that A and B are both row-major here, tt that both are column-major. CUTLASS's example 47 also calls its
row-row-row GEMM "nn".

A name does not state warps, threadblock swizzle or the output's alignment (``cutlass_library``), nor the arguments of
the profiler: extents, alpha, beta, split-K, the convolution's mode.

Source: CUTLASS python/cutlass_library/gemm_operation.py (procedural_name, and EmitGemmUniversalInstance for the
transposition), conv2d_operation.py, library.py; media/docs/profiler.md.
"""

import re
from collections.abc import Mapping
from typing import Any

from gpusim.element_types import element_bits
from gpusim.errors import BadInput
from gpusim.scenario import cutlass_library as library
from gpusim.scenario.gemm import GemmScenario
from gpusim.scenario.text import Origin, quoted, shown

PREFIX = "cutlass"
"""The beginning of every profiler name and of no shipped scenario's name."""

_ACCUMULATORS = {"h": "f16", "s": "f32", "i": "s32"}
_LETTERS = {element: letter for letter, element in _ACCUMULATORS.items()}
_TYPE = "f16|bf16|tf32|f32|s32|s8|u8|s4|u4"
_NAME = re.compile(
    rf"cutlass_tensorop_(?:(?P<output>{_TYPE})_)?(?P<letter>[hsi])(?P<digits>[0-9]+)(?P<rounded>tf32)?"
    r"(?:gemm|fprop_(?P<iterator>analytic|optimized))"
    rf"(?:_(?P<ab>{_TYPE}))?_(?P<m>[0-9]{{1,5}})x(?P<n>[0-9]{{1,5}})_(?P<k>[0-9]{{1,5}})x(?P<stages>[0-9]{{1,3}})"
    r"_(?:(?P<b>[nt])(?P<a>[nt])|nhwc)(?:_align(?P<alignment>[0-9]{1,3}))?"
)
# Patterns of kernel names without a scenario in gpusim, and the kernels' family, the widest family first.
_OUTSIDE = (
    (r"cutlass3x_|cutlass_sm[0-9]+_", "CUTLASS 3.x kernels (wgmma, TMA)"),
    (r"cutlass_simt_", "CUDA-core kernels (simt)"),
    (r"cutlass_wmma", "WMMA kernels"),
    (r"cutlass_?[0-9]+_", "kernels of cuBLAS and cuDNN, whose names are not the profiler's,"),
    (r".*spgemm", "sparse kernels"),
    (r".*streamk", "Stream-K kernels"),
    (r".*(planar_complex|tensorop_g?[cz][0-9]|_g?[cz][0-9]+(gemm|fprop|dgrad|wgrad))", "complex kernels"),
    (r".*(gemm_grouped|schedule(Device|Host))", "grouped GEMMs"),
    (r".*(fprop3d|dgrad3d|wgrad3d|deconv3d)", "3-D convolutions"),
    (r".*dgrad", 'names of data gradients (a scenario file has them as kind = "conv2d_dgrad")'),
    (r".*wgrad", "weight-gradient convolutions (wgrad)"),
    (r".*deconv", "transposed convolutions (deconv)"),
    (r".*(fixed_channels|few_channels)", "fixed- and few-channels iterators"),
    (r".*(single_group|multiple_group|depthwise|_group_)", "grouped and depthwise convolutions"),
    (r".*_(n32t32|n64t64|nc[0-9]*hw|nc/?32hw32)", "interleaved layouts"),
    (r".*(xor|and)gemm", "binary kernels (b1)"),
    (r".*(e4m3|e5m2|fastaccum)", "fp8 kernels"),
    (r".*(trmm|syrk|herk|syr2k|her2k|symm|hemm)", "BLAS3 kernels other than GEMM"),
    (r".*_d884", "double-precision kernels"),
    (r".*[hsi]884(gemm|fprop)", "Volta kernels (m8n8k4)"),
    (r".*1688(f16|bf16)(gemm|fprop)", "float kernels that round to f16 or bf16"),
    (rf".*gemm_({_TYPE})_({_TYPE})_", "kernels of two input types"),
)
_FORM = "cutlass_tensorop_f16_s16816gemm_f16_128x128_32x4_tn_align8"
_CONV_FORM = "cutlass_tensorop_s16816fprop_optimized_f16_128x128_32x5_nhwc_align8"
_MAJOR = {"a": ("row", "column"), "b": ("column", "row")}


def parse_name(name: str) -> dict[str, Any]:
    """
    Parse a profiler name into scenario data for its kernel, without the problem's extents.

    The names of forward convolutions before CUTLASS 2.9 have no ``_align``; their alignment is the widest, 128 bits.

    Returns:
        ``machine`` (the first one the kernel was built for: t4 or a100), ``problem`` and ``kernel`` as in a scenario
        file. The caller adds the extents.

    Raises:
        BadInput: The text is not such a name, or it names a kernel that gpusim has no scenario for.
    """
    for mark, what in _OUTSIDE:
        if re.match(mark, name):
            raise BadInput(f"{what} are not supported: {name}")
    found = _NAME.fullmatch(name)
    if found is None or (found["iterator"] is None) != (found["a"] is not None):
        raise BadInput(f"a CUTLASS name must read like {_FORM} or {_CONV_FORM}, got {quoted(name)}")
    if found["alignment"] is None and found["a"] is not None:
        raise BadInput(f"a CUTLASS name must end in _align and the elements of an access, got {quoted(name)}")
    accumulator = _ACCUMULATORS[found["letter"]]
    ab = _input_type(name, found, accumulator)
    output = found["output"] or accumulator
    if output == accumulator and found["output"]:
        raise BadInput(f"a CUTLASS name must leave out the output's type where it is the accumulator's, got {name}")
    threadblock = (int(found["m"]), int(found["n"]), int(found["k"]))
    stages = int(found["stages"])
    warp = library.warp_tile(found["digits"], threadblock, stages)
    if warp is None or not all(warp):
        tile = f"{found['m']}x{found['n']}"
        raise BadInput(f"the library's {found['digits']} kernels have no {tile} tile, so its warps are unknown: {name}")
    alignment = int(found["alignment"] or 128 // element_bits(ab))
    problem: dict[str, Any] = {
        "kind": "gemm" if found["a"] else "conv2d_fprop",
        "alignment_a": alignment,
        "alignment_b": alignment,
        "alignment_c": library.output_alignment(found["digits"], threadblock, output, alignment),
        "dtype": {"ab": ab, "accumulator": accumulator, "output": output},
    }
    kernel: dict[str, Any] = {
        "mainloop": "multistage" if stages > 2 else "pipelined",
        "threadblock": list(threadblock),
        "warp": list(warp),
        "instruction": list(library.INSTRUCTION_SHAPES[found["digits"]]),
        "stages": stages,
        "threadblock_swizzle": library.GEMM_SWIZZLE if found["a"] else library.CONV_SWIZZLE,
        "shared": {"a": "crosswise", "b": "crosswise"},
    }
    if found["a"]:
        # The letters describe the profiler's A and B. The kernel's A is B^T; a transpose swaps row and column major.
        for operand, (crosswise, congruous) in _MAJOR.items():
            k_contiguous = found["b"] == "t" if operand == "b" else found["a"] == "n"
            problem[f"layout_{operand}"] = crosswise if k_contiguous else congruous
            kernel["shared"][operand] = "crosswise" if k_contiguous else "congruous"
    else:
        kernel["iterator"] = found["iterator"]
    machine = "t4" if library.is_turing(found["digits"], ab) else "a100"
    return {"machine": machine, "problem": problem, "kernel": kernel}


def _input_type(name: str, found: re.Match[str], accumulator: str) -> str:
    """Return the operands' element type in memory."""
    if found["digits"] not in library.INSTRUCTION_SHAPES:
        allowed = ", ".join(library.INSTRUCTION_SHAPES)
        raise BadInput(f"the instruction of a CUTLASS name must be one of {allowed}, got {found['digits']} ({name})")
    ab = found["ab"] or accumulator
    legal = (ab, accumulator) in library.OPERANDS[found["digits"]] and found["ab"] != accumulator
    if not legal or bool(found["rounded"]) != (ab == "f32"):
        if ab == accumulator == "f32" and not found["rounded"]:
            raise BadInput(f"float kernels of three tf32 products (3xTF32) are not supported: {name}")
        found_types = f"{ab} with {accumulator} accumulators"
        types = ", ".join(f"{a} with {c}" for a, c in library.OPERANDS[found["digits"]])
        raise BadInput(f"the types of a {found['digits']} kernel must be one of {types}, got {found_types} ({name})")
    return ab


def format_name(scenario: GemmScenario, origin: Origin) -> str:
    """
    Return the profiler name of a scenario's kernel.

    ``parse_name`` of the result gives back the scenario's types, layouts, alignments and kernel. Threadblock swizzle
    and machine may differ, because the name does not depend on them.

    Args:
        scenario: Scenario whose kernel is named.
        origin: Places of the scenario's values, for messages.

    Raises:
        BadInput: This kernel has no name; the message says which key differs from the value that its name would imply.
    """
    problem, kernel = scenario.problem, scenario.kernel
    types = problem.dtype
    digits = "".join(map(str, kernel.instruction))
    letter = _LETTERS.get(types.accumulator)
    if letter is None or (types.ab, types.accumulator) not in library.OPERANDS.get(digits, ()):
        pairs = ", ".join(f"{ab} with {of}" for ab, of in library.OPERANDS.get(digits, ()))
        rule = f"one of {pairs} for m{kernel.instruction[0]}n{kernel.instruction[1]}k{kernel.instruction[2]} in a name"
        found = f"{types.ab} with {types.accumulator}"
        raise origin.refusal("problem.dtype", rule, found)
    output = f"{types.output}_" if types.output != types.accumulator else ""
    rounded = "tf32" if types.ab == "f32" else ""
    inputs = f"_{types.ab}" if types.ab != types.accumulator else ""
    m, n, k = kernel.threadblock
    tile = f"{m}x{n}_{k}x{kernel.stages}"
    if library.warp_tile(digits, kernel.threadblock, kernel.stages) is None:
        raise origin.refusal("kernel.threadblock", f"a tile of CUTLASS's {digits} kernels", list(kernel.threadblock))
    operation, layout = problem.profiler_words(kernel.iterator)
    alignment = problem.access("a")
    name = f"cutlass_tensorop_{output}{letter}{digits}{rounded}{operation}{inputs}_{tile}_{layout}_align{alignment}"
    _refuse_difference(name, parse_name(name), scenario, origin)
    return name


def _refuse_difference(name: str, implied: Mapping[str, Any], scenario: GemmScenario, origin: Origin) -> None:
    """Refuse a scenario at the first key for which its name implies another value."""
    written = scenario.resolved()
    for table in ("problem", "kernel"):
        for key, value in implied[table].items():
            if key == "threadblock_swizzle":
                continue
            found = written[table][key]
            for part in value if isinstance(value, dict) else (None,):
                have, want = (found, value) if part is None else (found[part], value[part])
                if have != want:
                    place = f"{table}.{key}" + (f".{part}" if part else "")
                    raise origin.refusal(place, f"{shown(want)}, as in {name}", have)
