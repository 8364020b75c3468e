"""The log of a CTA's warps: a file that is read as it was written, or refused."""

import json
from dataclasses import replace

import pytest
from problems.own_answers import own_log

from gpusim.errors import BadInput
from gpusim.results.kernel_warps import load_warp_log


def test_a_log_is_read_as_it_was_written(tmp_path):
    path = tmp_path / "timeline.json"
    path.write_text(own_log().to_json())

    assert load_warp_log(path) == own_log()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"schema": "gpusim.timeline/1"}, "schema must be 'gpusim.warps/1'"),
        ({"cta": "two"}, "damaged: cta: Input should be a valid integer, unable to parse string as an integer"),
        ({"more": 1}, "damaged: more: Unexpected keyword argument"),
        ({"reasons": ["selected"]}, "damaged: the lists of warp 0 contradict each other"),
        ({"instructions": []}, "damaged: the lists of warp 0 contradict each other"),
    ],
)
def test_another_file_is_refused(tmp_path, change, message):
    path = tmp_path / "timeline.json"
    path.write_text(json.dumps(json.loads(own_log().to_json()) | change))

    with pytest.raises(BadInput) as refused:
        load_warp_log(path)

    assert str(refused.value) == f"{path}: {message}"


def test_lists_of_several_lengths_are_refused(tmp_path):
    path = tmp_path / "timeline.json"
    (warp,) = own_log().warps
    path.write_text(own_log(warps=(replace(warp, end=(1, 5)),)).to_json())

    with pytest.raises(BadInput, match="the lists of warp 0 contradict each other"):
        load_warp_log(path)
