"""Tensors as CSV files: which there are, how their lines are ordered, and that reading them gives the values back."""

import csv

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusim.errors import CannotRun
from gpusim.families.registry import parse_scenario
from gpusim.numerics.elements import decode, round_to
from gpusim.numerics.reference import reference
from gpusim.numerics.tensor_csv import TensorTable, save_tensors, tensor_names
from gpusim.numerics.tensors import make_tensors
from gpusim.scenario.product import Axes

INT4 = "turing_int4_conv"
SMALL = ("--set", "problem.h=3", "--set", "problem.w=4", "--set", "problem.k=8")


def scenario(**problem):
    kernel = {"threadblock": [64, 64, 32], "warp": [32, 32, 32], "stages": 3}
    dtype = {"ab": "f16", "accumulator": "f32", "output": "f32"}
    return parse_scenario({"machine": "h200", "problem": {"dtype": dtype} | problem, "kernel": kernel}, "x.toml")


def read(path):
    header, *lines = list(csv.reader(path.read_text(encoding="utf-8").splitlines()))
    return header, np.array([[float(cell) for cell in line] for line in lines])


def written(one, folder):
    """Inputs and reference of a scenario, saved with the reference as its output."""
    tensors = make_tensors(one, 3)
    expected = reference(one, tensors)
    files = save_tensors(one, tensors, expected.value, expected.value, folder)
    return tensors, expected, {file.stem: read(file) for file in files}


def test_a_gemm_s_matrices_multiply_to_its_output(tmp_path):
    one = scenario(kind="gemm", m=5, n=4, k=24, lda=32, beta=0.5)

    tensors, expected, tables = written(one, tmp_path)

    assert tuple(tables) == tensor_names(one, reference=True) == ("a", "b", "source", "output", "reference")
    assert tables["a"][0] == ["m", *(f"k{k}" for k in range(24))]
    assert tables["b"][0] == ["k", *(f"n{n}" for n in range(4))]
    a, b, source = (tables[name][1][:, 1:] for name in ("a", "b", "source"))
    assert np.array_equal(tables["a"][1][:, 0], np.arange(5))
    assert np.array_equal(a, one.problem.operand_views[0].of(tensors.a))
    assert np.allclose(a @ b + 0.5 * source, expected.value, rtol=1e-12)


def test_a_convolution_has_a_line_for_each_pixel_and_filter_position(tmp_path):
    one = scenario(kind="conv2d_fprop", n=2, h=3, w=4, c=8, k=4, r=2, s=1)

    tensors, expected, tables = written(one, tmp_path)

    assert tables["activation"][0][:4] == ["n", "h", "w", "c0"]
    assert tables["filter"][0][:4] == ["k", "r", "s", "c0"]
    assert tables["output"][0] == ["n", "p", "q", "k0", "k1", "k2", "k3"]
    lines = tables["activation"][1]
    assert [tuple(line[:3]) for line in lines[:5]] == [(0, 0, 0), (0, 0, 1), (0, 0, 2), (0, 0, 3), (0, 1, 0)]
    activation = np.zeros((2, 3, 4, 8))
    for line in lines:
        activation[tuple(line[:3].astype(int))] = line[3:]
    assert np.array_equal(activation.reshape(-1), tensors.a)
    assert np.array_equal(tables["reference"][1][:, 3:], expected.value)


@given(element=st.sampled_from(("f16", "bf16", "tf32", "f32")), value=st.floats(-60000, 60000))
def test_a_number_read_back_is_the_value(element, value):
    stored = round_to(np.array([[value]]), element)
    line = list(TensorTable(Axes("t", (("m", 1),), "n"), stored, whole=False).lines())[1]

    assert float(line.split(",")[1]) == stored[0, 0]


def test_a_folder_that_cannot_be_made_is_one_line(tmp_path):
    one = scenario(kind="gemm", m=4, n=4, k=8)
    (tmp_path / "file").write_text("")

    with pytest.raises(CannotRun, match="file"):
        written(one, tmp_path / "file" / "folder")


# --- on the command line ---


def test_the_int4_convolution_s_tensors_are_integers_of_4_bits(gpusim, tmp_path):
    answer = gpusim("verify", INT4, *SMALL, "--save-tensors", tmp_path / "t", "--reference-check")

    assert answer.code == 0
    assert "tensors written to" in answer.err
    tables = {path.stem: read(path)[1] for path in sorted((tmp_path / "t").iterdir())}
    assert sorted(tables) == ["activation", "filter", "output", "reference"]
    assert tables["activation"].shape == (3 * 4, 3 + 32)
    assert tables["filter"].shape == (8 * 3 * 3, 3 + 32)
    assert tables["output"].shape == (3 * 4, 3 + 8)
    for name in ("activation", "filter", "output"):
        values = tables[name][:, 3:]
        assert values.min() == -8
        assert values.max() == 7
        assert np.array_equal(values, np.rint(values))
    assert np.array_equal(tables["output"], tables["reference"])


def test_the_output_is_the_convolution_of_the_files_clamped_to_4_bits(gpusim, tmp_path):
    """3 x 3 filters over a padded 3 x 4 image, computed from the CSV files alone."""
    gpusim("verify", INT4, *SMALL, "--save-tensors", tmp_path / "t", "--no-reference-check")

    image = read(tmp_path / "t" / "activation.csv")[1][:, 3:].reshape(3, 4, 32)
    filters = read(tmp_path / "t" / "filter.csv")[1][:, 3:].reshape(8, 3, 3, 32)
    padded = np.pad(image, ((1, 1), (1, 1), (0, 0)))
    sums = sum(padded[r : r + 3, s : s + 4] @ filters[:, r, s].T for r in range(3) for s in range(3))
    output = read(tmp_path / "t" / "output.csv")[1][:, 3:].reshape(3, 4, 8)

    assert np.array_equal(output, np.clip(sums, -8, 7))
    assert not (tmp_path / "t" / "reference.csv").exists()


def test_tensors_are_never_overwritten(gpusim, tmp_path):
    (tmp_path / "filter.csv").write_text("mine")

    answer = gpusim("verify", INT4, *SMALL, "--save-tensors", tmp_path)

    assert (answer.code, answer.out) == (2, "")
    assert answer.err == (
        f"gpusim: {tmp_path / 'filter.csv'}: is there already, and gpusim has not made it; "
        "--force replaces only what gpusim has made\n"
    )
    assert (tmp_path / "filter.csv").read_text() == "mine"


def test_tensors_are_replaced_by_force(gpusim, tmp_path):
    asked = ("verify", INT4, *SMALL, "--save-tensors", tmp_path)
    gpusim(*asked)
    before = (tmp_path / "filter.csv").read_text()

    assert gpusim(*asked, "--seed", "1", "--force").code == 0
    assert (tmp_path / "filter.csv").read_text() != before


def test_tensors_go_to_a_folder(gpusim, tmp_path):
    file = tmp_path / "file"
    file.write_text("")

    assert gpusim("verify", INT4, *SMALL, "--save-tensors", file).err == (
        f"gpusim: {file}: is a file; tensors are written to a folder\n"
    )


def test_without_a_reference_only_hazards_are_looked_for(gpusim):
    answer = gpusim("verify", INT4, *SMALL, "--no-reference-check")

    assert answer.code == 0
    assert (
        answer.out == "elements   96, not compared with a reference (seed 0)\nhazards    none\npassed     no hazard\n"
    )


def test_the_int4_convolution_runs_on_a_t4_and_is_compared_with_the_reference(gpusim, tmp_path):
    arguments = ("run", INT4, *SMALL, "--no-figures", "--out", tmp_path / "run", "--seed", "7")
    answer = gpusim(*arguments, "--reference-check", "--save-tensors", tmp_path / "t")

    assert answer.code == 0
    assert "elements   96, 0 beyond their bound (seed 7)" in answer.out
    assert (tmp_path / "t" / "output.csv").is_file()
    assert (tmp_path / "run" / "result.json").is_file()


def test_several_scenarios_have_a_folder_of_tensors_each(gpusim, tmp_path):
    gpusim("run", INT4, INT4, *SMALL, "--no-figures", "--out", tmp_path / "runs", "--save-tensors", tmp_path / "t")

    assert [path.name for path in (tmp_path / "t").iterdir()] == [INT4]


def test_decoding_of_stored_integers_is_what_the_file_shows(tmp_path):
    one = scenario(kind="gemm", m=4, n=4, k=8)
    tensors, _, tables = written(one, tmp_path)

    assert np.array_equal(tables["a"][1][:, 1:], one.problem.operand_views[0].of(decode(tensors.a, "f16")))
    assert one.problem.output_view.columns == tables["output"][1].shape[1] - 1


def test_tensors_too_large_to_write_are_refused_before_anything_is_computed(gpusim, tmp_path):
    """65536 x 65536 x 8192 of f16: 2 * 2^29 + 2^32 elements of 14 bytes, 70 GiB; with the reference 2^32 more, 126."""
    large = [word for extent in ("m=65536", "n=65536", "k=8192") for word in ("--set", f"problem.{extent}")]
    for command, size in (("run", 70), ("verify", 126)):
        answer = gpusim(command, "gemm_4096", *large, "--save-tensors", tmp_path / "t")
        assert answer.code == 2
        assert answer.err.strip().endswith(
            f"tensors must be small enough to take at most 8 GiB as text, not {size} GiB"
        )
        assert not (tmp_path / "t").exists()
    answer = gpusim("run", "gemm_4096", *large, "--reference-check", "--out", tmp_path / "run")

    assert answer.code == 2
    assert answer.err == "gpusim: problem must be small enough to be executed in 8 GiB of memory, not in 200 GiB\n"
    assert not (tmp_path / "run").exists()
