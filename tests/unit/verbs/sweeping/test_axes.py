"""The axes of a sweep: from text, from a file, from a mapping, and their product."""

import pytest

from gpusim.errors import BadInput
from gpusim.verbs.sweeping.axes import Axis, axes_of, axes_of_file, axes_of_texts, cell, points_of


def test_an_axis_is_a_key_with_values_in_toml_or_bare_words():
    assert axes_of_texts(["kernel.stages=3,4,5", "machine = h200, a100", 'problem.layout_a="row"']) == (
        Axis("kernel.stages", ({"kernel.stages": 3}, {"kernel.stages": 4}, {"kernel.stages": 5})),
        Axis("machine", ({"machine": "h200"}, {"machine": "a100"})),
        Axis("problem.layout_a", ({"problem.layout_a": "row"},)),
    )


def test_commas_within_brackets_and_quotes_split_nothing():
    (tiles,) = axes_of_texts(["kernel.threadblock=[128, 128, 32],[64, 64, 64]"])
    (words,) = axes_of_texts(['kernel.shared.a="Swizzle<3,3,3>",crosswise'])
    (tables,) = axes_of_texts(['problem.dtype={ab = "f16", accumulator = "f32"},{ab = "bf16"}'])

    assert [one["kernel.threadblock"] for one in tiles.settings] == [[128, 128, 32], [64, 64, 64]]
    assert [one["kernel.shared.a"] for one in words.settings] == ["Swizzle<3,3,3>", "crosswise"]
    assert [one["problem.dtype"]["ab"] for one in tables.settings] == ["f16", "bf16"]


def test_the_last_axis_varies_fastest():
    axes = axes_of({"kernel.stages": [3, 4], "problem.k": [128, 256]}, "test")

    assert points_of(axes) == [
        {"kernel.stages": 3, "problem.k": 128},
        {"kernel.stages": 3, "problem.k": 256},
        {"kernel.stages": 4, "problem.k": 128},
        {"kernel.stages": 4, "problem.k": 256},
    ]


def test_figures_of_the_machine_may_be_written_as_tables(tmp_path):
    file = tmp_path / "axes.toml"
    file.write_text(
        "machine.clock_mhz = [1000, 1980]\n[[chip]]\nmachine = { l2 = { bytes = 1048576 }, sms = 9 }\n"
        '[[chip]]\n"machine.l2.bytes" = 2097152\n"machine.sms" = 8\n'
    )

    plain, together = axes_of_file(file)

    assert plain.settings == ({"machine.clock_mhz": 1000}, {"machine.clock_mhz": 1980})
    assert together.settings[0] == {"machine.l2.bytes": 1048576, "machine.sms": 9}


def test_a_file_has_keys_and_axes_of_keys_that_vary_together(tmp_path):
    path = tmp_path / "axes.toml"
    path.write_text(
        "kernel.stages = [3, 4]\n"
        "[[tile]]\nkernel.threadblock = [128, 128, 32]\nkernel.warp = [64, 64, 32]\n"
        "[[tile]]\nkernel.threadblock = [64, 64, 32]\nkernel.warp = [32, 32, 32]\n"
    )
    stages, tile = axes_of_file(path)

    assert stages.keys == ("kernel.stages",)
    assert tile.keys == ("kernel.threadblock", "kernel.warp")
    assert len(points_of((stages, tile))) == 4
    assert points_of((stages, tile))[1] == {
        "kernel.stages": 3,
        "kernel.threadblock": [64, 64, 32],
        "kernel.warp": [32, 32, 32],
    }


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ([], "a sweep needs an axis: --over KEY=VALUE,VALUE,... (--over)"),
        (["kernel.stages"], "--over must be KEY=VALUE,VALUE,..., got 'kernel.stages'"),
        (["kernel.stages="], "--over must be KEY=VALUE,VALUE,..., got 'kernel.stages='"),
        (["kernel.stages=3,3"], "kernel.stages must have no value twice (--over)"),
        (["kernel.stages=3", "kernel.stages=4"], "--over names kernel.stages twice"),
        (["stages=3,4"], "stages is no key of a scenario, so its values must be tables of keys (--over)"),
    ],
)
def test_a_wrong_axis_is_refused(texts, message):
    with pytest.raises(BadInput) as caught:
        axes_of_texts(texts)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("over", "message"),
    [
        ({"kernel.stages": 3}, "kernel.stages must have a list of values, at least one, got 3 (test)"),
        ({"kernel.stages": []}, "kernel.stages must have a list of values, at least one, got [] (test)"),
        (
            {"tile": [{"kernel.stages": 3}], "kernel.stages": [4]},
            "kernel.stages must stand on one axis, got tile and kernel.stages (test)",
        ),
        ({"tile": [{"kernel.stages": 3}, {"problem.k": 3}]}, "every table of tile must set the same keys (test)"),
    ],
)
def test_a_wrong_mapping_is_refused(over, message):
    with pytest.raises(BadInput) as caught:
        axes_of(over, "test")
    assert str(caught.value) == message


def test_a_file_that_is_not_there_or_not_toml_is_refused(tmp_path):
    with pytest.raises(BadInput, match=r"^--axes must be a readable file, got "):
        axes_of_file(tmp_path / "absent.toml")
    (tmp_path / "bad.toml").write_text("kernel.stages = [3,")
    with pytest.raises(BadInput, match=r"^--axes must be TOML: "):
        axes_of_file(tmp_path / "bad.toml")


def test_a_cell_of_the_table_holds_a_scalar():
    scalars = [3, 0.5, "row", True]
    assert [cell(value) for value in scalars] == scalars
    assert cell([128, 128, 32]) == "[128, 128, 32]"
    assert cell({"ab": "f16"}) == '{ ab = "f16" }'
