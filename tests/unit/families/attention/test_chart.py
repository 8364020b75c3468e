"""The overlap chart of attention: every activity of each key block, and both ends of a long walk."""

import pytest
from problems.small import small_attention

from gpusim.families.attention.chart import attention_overlap_chart, warp_spans
from gpusim.families.attention.words import words
from gpusim.verbs.simulate import simulate


@pytest.mark.parametrize("mainloop", ["attention", "flash"])
def test_the_chart_shows_every_activity_of_each_key_block(mainloop, tmp_path):
    asked = small_attention(mainloop, queries=128, keys=256)
    result, timeline = simulate(asked)
    warp = warp_spans(timeline, len(result.pipeline))

    assert warp.blocks == 4
    for block in range(4):
        assert all(warp.of(activity, block) for activity in ("copy_k", "copy_v", "qk", "softmax", "pv"))
    assert warp.waits
    assert warp.windows() == [(0, warp.end)]
    first = attention_overlap_chart(result, words(asked), timeline, tmp_path / "a.png").read_bytes()
    assert first == attention_overlap_chart(result, words(asked), timeline, tmp_path / "b.png").read_bytes()


def test_a_long_walk_is_drawn_at_both_ends(tmp_path):
    asked = small_attention("flash", keys=640)
    result, timeline = simulate(asked)
    warp = warp_spans(timeline, len(result.pipeline))

    assert warp.windows() == [(0, warp.begins[3]), (warp.begins[8], warp.end)]
    assert attention_overlap_chart(result, words(asked), timeline, tmp_path / "a.png").exists()


@pytest.mark.parametrize("lengths", [{"key_lengths": [0]}, {"query_lengths": [0]}])
def test_a_grid_without_a_key_or_a_query_is_simulated_and_drawn(lengths, tmp_path):
    asked = small_attention(**lengths)
    result, timeline = simulate(asked)

    assert result.pipeline == ()
    assert result.counters["sm__inst_executed_pipe_tensor_op_hmma.sum"] == 0
    assert attention_overlap_chart(result, words(asked), timeline, tmp_path / "a.png").exists()
