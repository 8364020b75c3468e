"""Every malformed scenario is refused in one line that says what is allowed, what was found, and where."""
# ruff: noqa: E501 - a message stands on one line, as its reader sees it

from pathlib import Path

import pytest

from gpusim.errors import BadInput
from gpusim.families.registry import kinds, load_gemm_scenario, load_scenario
from gpusim.machine import machine_names
from gpusim.scenario.gemm import GemmScenario

MALFORMED = Path(__file__).parent / "malformed"


def listed(names):
    """The names as a sentence has them: "a", "b" or "c"."""
    *others, last = (f'"{name}"' for name in names)
    return f"{', '.join(others)} or {last}"


MESSAGES = {
    "attention_block_uneven": "keys_per_block must be 64 with 64 queries per block of the attention kernel, got 128 ({file}: kernel.keys_per_block)",
    "attention_block_unknown": "queries_per_block must be 64 or 32 of the attention kernel, got 128 ({file}: kernel.queries_per_block)",
    "attention_flash_buffer": "keep_output_in_registers must be true of the flash kernel, got false ({file}: kernel.keep_output_in_registers)",
    "attention_flash_stages": "stages must be 2: flash keeps one block of keys and one of values, got 3 ({file}: kernel.stages)",
    "attention_head_misaligned": "head_dim must be a multiple of 8, at most 256, got 60 ({file}: problem.head_dim)",
    "attention_head_too_large": "head_dim_v must be a multiple of 8, at most 256, got 264 ({file}: problem.head_dim_v)",
    "attention_instruction": "instruction must be [16, 8, 16] of the flash kernel, got [16, 8, 8] ({file}: kernel.instruction)",
    "attention_lengths_as_text": 'key_lengths must be a list of integers of at least 0, one for each batch, got "all" ({file}: problem.key_lengths)',
    "attention_lengths_count": "query_lengths must be one for each of the 2 batches, got [100] ({file}: problem.query_lengths)",
    "attention_lengths_too_long": "key_lengths must be at most keys = 100, got [100, 101] ({file}: problem.key_lengths)",
    "attention_mask_unknown": 'mask must be "none", "causal_top_left" or "causal_bottom_right", got "causal" ({file}: problem.mask)',
    "attention_no_cp_async": 'machine must be one with cp.async: t4 has none, and attention\'s copies are asynchronous, got "t4" ({file}: machine)',
    "attention_of_gemm_mainloop": 'mainloop must be "attention" or "flash", got "multistage" ({file}: kernel.mainloop)',
    "attention_output_too_wide": "keep_output_in_registers must be false where head_dim_v = 160 is more than the 128 keys per block, got true ({file}: kernel.keep_output_in_registers)",
    "attention_output_type": 'dtype.output must be "f32" or "bf16" for bf16 operands, got "f16" ({file}: problem.dtype.output)',
    "attention_scale_overflows": "scale must be at most 5.75844e+34 in magnitude with head_dim = 64, so that no score overflows f32, got -1e+35 ({file}: problem.scale)",
    "attention_stages_too_few": "stages must be 2..10 for 64 keys per block and head_dim = 64, got 1 ({file}: kernel.stages)",
    "attention_unknown_key": 'unknown key "threadblock", allowed: mainloop, queries_per_block, keys_per_block, stages, preload_v, keep_output_in_registers, cta_order, instruction, code ({file}: kernel.threadblock)',
    "accumulator_of_other_types": 'dtype.accumulator must be "f32" for bf16 operands, got "f16" ({file}: problem.dtype.accumulator)',
    "accumulators_spill": "warp must be small enough for its accumulators to leave some of a thread's 255 registers, got [64, 128, 32] ({file}: kernel.warp)",
    "alignment_too_narrow": "alignment_a must be one of 8, 4, 2 elements, got 1 ({file}: problem.alignment_a)",
    "alpha_of_narrow_accumulators": "alpha must be at most 65504 in magnitude, the greatest f16, which the epilogue computes in, got 65536.0 ({file}: problem.alpha)",
    "alpha_as_text": 'alpha must be a number, got "1" ({file}: problem.alpha)',
    "channel_slices": "split_k_slices must be 1..1, the channel tiles to share, got 2 ({file}: problem.split_k_slices)",
    "channels_misaligned": "alignment_a must be one of 8, 4, 2 and divide c = 36, got 8 ({file}: problem.alignment_a)",
    "congruous_along_k": 'shared.a must be crosswise, row_major, padded<N> or Swizzle<B,M,S> for an operand that is contiguous along K, got "congruous" ({file}: kernel.shared.a)',
    "congruous_lines": "threadblock must be a multiple of 64 along M, the elements of a 128-byte line, for an operand contiguous along it, got [96, 128, 32] ({file}: kernel.threadblock)",
    "congruous_uneven": "threadblock must be one whose 1 x 8 warp accesses, of 64 elements along M by 4 along K, its 16 warps share evenly, along K first, got [64, 256, 32] ({file}: kernel.threadblock)",
    "crosswise_k": "threadblock must be 32 or 64 along K for a crosswise f16 tile, got [128, 128, 128] ({file}: kernel.threadblock)",
    "dtype_not_yet": 'dtype.ab must be "f16" or "bf16" or "tf32" or "s8" or "u8" or "s4" or "u4" (other values are not supported yet), got "f64" ({file}: problem.dtype.ab)',
    "empty_slice": "split_k_slices must be such that each slice of 2 of the 9 k tiles finds one (5, for example), got 8 ({file}: problem.split_k_slices)",
    "epilogue_uneven": "threadblock must be one whose 8 x 96 output slabs 2 warps store in whole 4-element accesses (problem.alignment_c = 4), got [96, 96, 64] ({file}: kernel.threadblock)",
    "extent_missing": "k must be given, got nothing ({file}: problem.k)",
    "extent_of_zero": "h must be at least 1, got 0 ({file}: problem.h)",
    "filter_too_large": "r must be at most 16, so that it fits the padded h, got 19 ({file}: problem.r)",
    "instruction_of_other_types": "instruction must be [16, 8, 16] or [16, 8, 8] for f16 operands on h200, got [16, 8, 32] ({file}: kernel.instruction)",
    "kind_missing": "kind must be {kinds}, got nothing ({file}: problem.kind)",
    "kind_of_other_commands": 'kind must be {gemm_kinds} for this command, got "attention" ({file}: problem.kind)',
    "layout_name_unknown": 'shared.b must be crosswise, row_major, padded<N> or Swizzle<B,M,S>, got "rowmajor" ({file}: kernel.shared.b)',
    "layout_of_other_contiguity": 'shared.b must be congruous, row_major, padded<N> or Swizzle<B,M,S> for an operand that is contiguous along N, got "crosswise" ({file}: kernel.shared.b)',
    "lda_misaligned": "lda must be a multiple of 2: cp.async moves at least 4 bytes of A, got 259 ({file}: problem.lda)",
    "lda_too_small": "lda must be at least 4, the elements of a row of A, got 3 ({file}: problem.lda)",
    "ldc_too_small": "ldc must be at least 256, the elements of a row of C, got 128 ({file}: problem.ldc)",
    "mainloop_not_yet": 'mainloop must be "multistage" or "pipelined" (other values are not supported yet), got "flash" ({file}: kernel.mainloop)',
    "mainloop_unknown": 'mainloop must be "multistage", "pipelined", "attention" or "flash", got "multistaged" ({file}: kernel.mainloop)',
    "no_cp_async": 'mainloop must be "pipelined" on t4, whose compute capability 7.5 has no cp.async, got "multistage" ({file}: kernel.mainloop)',
    "not_toml": "scenario must be TOML: Expected ']' at the end of a table declaration (at line 3, column 9) ({file})",
    "odd_channels": "c must be a multiple of 2: cp.async moves at least 4 bytes of the activation, got 63 ({file}: problem.c)",
    "odd_k": "k must be a multiple of 2: cp.async moves at least 4 bytes of A, got 255 ({file}: problem.k)",
    "one_k_group": "warp must be at least 32 deep: the multistage mainloop needs two k groups of 16, got [64, 64, 16] ({file}: kernel.warp)",
    "optimized_filter_too_large": 's must be at most 32 with iterator = "optimized", whose predicates are bits of a mask, got 33 ({file}: problem.s)',
    "optimized_gemm": 'iterator must be "analytic" for a GEMM; "optimized" is of convolutions, got "optimized" ({file}: kernel.iterator)',
    "output_of_other_types": 'dtype.output must be "s32" or "s8" for s8 operands with s32 accumulators, got "f32" ({file}: problem.dtype.output)',
    "p_of_zero": "p must be at least 1, got 0 ({file}: problem.p)",
    "padding_misaligned": 'shared.a must be padded by a multiple of 8 elements, the 16 bytes of a vector, got "padded<4>" ({file}: kernel.shared.a)',
    "activation_unknown": 'activation must be "identity" or "relu", got "gelu" ({file}: problem.activation)',
    "bias_as_text": 'bias must be true or false, got "yes" ({file}: problem.bias)',
    "partial_sums_uneven": "threadblock must be one whose 8 x 192 partial-sum slabs 2 warps store in whole 8-element accesses, got [96, 192, 32] ({file}: kernel.threadblock)",
    "pipelined_stages": "stages must be 2: a pipelined mainloop has two slots, got 3 ({file}: kernel.stages)",
    "problem_as_number": "problem must be a table, got 3 ({file}: problem)",
    "problem_missing": "problem must be given, got nothing ({file}: problem)",
    "registers_exceeded": "threadblock must be small enough for its accumulators to leave some of the SM's 65536 registers, got [256, 256, 32] ({file}: kernel.threadblock)",
    "shared_memory_exceeded": "stages must be at most 7 for this tile (32768 of h200's 232448 shared-memory bytes a stage), got 8 ({file}: kernel.stages)",
    "sliced_k": "warp must be as deep as the threadblock's K = 64 (sliced K is not supported yet), got [64, 64, 32] ({file}: kernel.warp)",
    "stages_as_boolean": "stages must be an integer, got true ({file}: kernel.stages)",
    "stages_as_text": 'stages must be an integer, got "three" ({file}: kernel.stages)',
    "stages_too_few": "stages must be 2..10, got 1 ({file}: kernel.stages)",
    "stride_of_zero": "stride must be two integers of at least 1, got [0, 1] ({file}: problem.stride)",
    "swizzle_overlaps": 'shared.a must be Swizzle<B,M,S> with B >= 0, M >= 0 and abs(S) >= B, got "Swizzle<3,3,2>" ({file}: kernel.shared.a)',
    "swizzle_splits_vectors": 'shared.a must be Swizzle<B,M,S> with M at least 3, so that 16-byte vectors stay whole, got "Swizzle<3,2,3>" ({file}: kernel.shared.a)',
    "table_unknown": 'unknown key "kernels", did you mean "kernel"? ({file}: kernels)',
    "thread_map_uneven": "threadblock must be a multiple of 64 along N, the rows its 512 threads copy at once, got [128, 32, 64] ({file}: kernel.threadblock)",
    "threadblock_of_two": "threadblock must be three integers of at least 1, got [128, 128] ({file}: kernel.threadblock)",
    "threadblock_swizzle_unknown": 'threadblock_swizzle must be identity<1>, identity<2>, identity<4>, identity<8> or horizontal, got "vertical" ({file}: kernel.threadblock_swizzle)',
    "threadblock_swizzle_width": 'threadblock_swizzle must be identity<1>, identity<2>, identity<4>, identity<8> or horizontal, got "identity<3>" ({file}: kernel.threadblock_swizzle)',
    "too_many_slices": "split_k_slices must be 1..4, the k tiles to share, got 5 ({file}: problem.split_k_slices)",
    "too_many_warps": "warp must be large enough that the threadblock has at most 32 warps, got [16, 16, 32] ({file}: kernel.warp)",
    "unknown_key": 'unknown key "stagse", did you mean "stages"? ({file}: kernel.stagse)',
    "unknown_machine": 'machine must be one of {machines} or the path of a .toml file, got "h2000", did you mean "h200"? ({file}: machine)',
    "warp_not_dividing": "warp must be a divisor of the threadblock's M = 128, got [48, 64, 64] ({file}: kernel.warp)",
    "warp_not_of_instructions": "warp must be a multiple of 16 along M, got [60, 60, 64] ({file}: kernel.warp)",
    "warp_not_of_ldmatrix": "warp must be a multiple of 32 along N, got [32, 16, 64] ({file}: kernel.warp)",
}


def test_every_malformed_file_has_its_message():
    assert {path.stem for path in MALFORMED.glob("*.toml")} == set(MESSAGES)


@pytest.mark.parametrize("name", sorted(MESSAGES))
def test_refused_with_exactly_this_line(name, monkeypatch):
    monkeypatch.chdir(MALFORMED)
    file = f"{name}.toml"

    with pytest.raises(BadInput) as refused:
        (load_gemm_scenario if name == "kind_of_other_commands" else load_scenario)(file)

    assert str(refused.value) == MESSAGES[name].format(
        file=file,
        machines=", ".join(machine_names()),
        kinds=listed(kind.name for kind in kinds()),
        gemm_kinds=listed(kind.name for kind in kinds() if kind.scenario is GemmScenario),
    )
    assert "\n" not in str(refused.value)
    assert refused.value.exit_code == 2
