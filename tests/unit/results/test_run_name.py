"""The name of a run: its scenario's, or else its folder's."""

import json

import pytest

from gpusim.results.run_name import name_of_run


def test_a_run_has_its_scenarios_name(tmp_path):
    (tmp_path / "manifest.json").write_text(json.dumps({"command": ["gpusim", "run", "mine/conv.toml", "--exact"]}))

    assert name_of_run(tmp_path) == "conv"


DAMAGED = ("", "[]", "{}", '{"command": []}', '{"command": null}', '{"command": ["a", "b", ""]}')


@pytest.mark.parametrize("text", DAMAGED)
def test_a_manifest_without_one_leaves_the_folders_name(tmp_path, text):
    (tmp_path / "manifest.json").write_text(text)

    assert name_of_run(tmp_path) == tmp_path.name


def test_without_a_manifest_the_folder_has_the_name(tmp_path):
    assert name_of_run(tmp_path / "runs") == "runs"
