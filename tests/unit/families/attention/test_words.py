"""What captions say of an attention scenario: one line of its problem, one of its kernel."""

from problems.small import small_attention

from gpusim.families.attention.words import words


def test_the_problem_in_one_line():
    asked = small_attention(
        batch=2,
        heads=8,
        queries=512,
        keys=256,
        head_dim_v=32,
        dtype={},
        mask="causal_top_left",
        key_lengths=[256, 100],
    )

    assert words(asked).problem == (
        "attention 2 x 8 heads of 64x32, 512 queries, 256 keys, causal top left mask, ragged,"
        " f16, f32 accumulate, f32 out"
    )


def test_the_kernel_in_one_line():
    asked = small_attention("flash", queries=512, keys=256)

    assert words(asked).kernel == "flash, 128 queries x 64 keys, mma m16n8k16, 2 stages"
