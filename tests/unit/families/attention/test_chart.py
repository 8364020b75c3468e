"""The overlap chart of attention: every activity of each key block, and both ends of a long walk."""

import pytest
from problems.small import small_attention

from gpusim.errors import CannotRun
from gpusim.families.attention.chart import StampedBlocks, attention_overlap_chart, warp_spans
from gpusim.families.attention.words import words
from gpusim.results.result import PipelineRow
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


def stamped_rows(blocks):
    """Key block b: K is asked for at 1000 b, waited for until 1000 b + 300, and multiplied from + 400 to + 900."""
    return tuple(
        PipelineRow(block, 0, 1000 * block, None, 1000 * block + 100, 1000 * block + 300, begin, begin + 500)
        for block, begin in ((block, 1000 * block + 400) for block in range(blocks))
    )


def test_measured_key_blocks_begin_with_their_fragments_and_end_with_their_last_mma():
    """Of four blocks all is drawn; of seven, three and two. Each waits 200 cycles; the last MMA ends at 3,900."""
    assert StampedBlocks(stamped_rows(4)).windows() == [(0, 3900)]
    assert StampedBlocks(stamped_rows(7)).windows() == [(0, 3400), (5400, 6900)]
    assert StampedBlocks(stamped_rows(4)).pace().startswith("1,000 cycles per key block (median); ")
    assert "800 of 3,900 cycles to the last MMA are waits for K" in StampedBlocks(stamped_rows(4)).pace()


def test_measured_key_blocks_are_drawn_above_the_simulated_ones(tmp_path):
    asked = small_attention("flash", queries=128, keys=256)
    result, timeline = simulate(asked)
    alone = attention_overlap_chart(result, words(asked), timeline, tmp_path / "a.png").read_bytes()
    both = attention_overlap_chart(result, words(asked), timeline, tmp_path / "b.png", measured=stamped_rows(4))

    height = [int.from_bytes(image[20:24], "big") for image in (alone, both.read_bytes())]
    assert height[1] > height[0], "PNG's height stands in bytes 20 to 23"


def test_another_number_of_key_blocks_is_not_drawn(tmp_path):
    asked = small_attention("flash", queries=128, keys=256)
    result, timeline = simulate(asked)

    with pytest.raises(CannotRun, match="3 key blocks were measured, but the simulated CTA walks 4"):
        attention_overlap_chart(result, words(asked), timeline, tmp_path / "a.png", measured=stamped_rows(3))
    assert not list(tmp_path.iterdir())
