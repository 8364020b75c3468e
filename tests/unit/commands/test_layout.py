"""``gpusim layout``: its JSON, and where its picture goes."""

import json


def test_layout_json_has_offsets_and_the_conflicts_asked_for(gpusim):
    answer = gpusim("layout", "row_major", "--tile", "64x8", "--json", "--ldmatrix", "x1", "--store", "16B")

    data = json.loads(answer.out)
    accesses = {access["access"]: access["conflicts"] for access in data["accesses"]}

    assert data["offsets"][7][63] == 7 * 64 + 63
    assert accesses == {"store 16B": 0, "ldmatrix.x1": 7}


def test_layout_draws_where_it_is_told(gpusim, tmp_path):
    picture = tmp_path / "map.png"

    answer = gpusim("layout", "crosswise", "--png", picture)

    assert answer.code == 0
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert str(picture) in answer.err


def test_a_picture_that_cannot_be_written_is_exit_1(gpusim, tmp_path):
    (tmp_path / "file").write_text("")

    answer = gpusim("layout", "crosswise", "--png", tmp_path / "file" / "map.png")

    assert answer.code == 1
    assert answer.err.startswith("gpusim: ")
    assert answer.err.count("\n") == 1
