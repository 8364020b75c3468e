"""The compiled streams that come with gpusim: every one is found without a compiler, from a wheel as from the tree."""

import json
import subprocess
import sys
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from gpusim.cuda.specialise import included
from gpusim.errors import BadInput, CannotRun
from gpusim.families.gemm.specialise import specialise
from gpusim.families.registry import load_scenario
from gpusim.lower.shipped import INDEX, SHIPPED, find_stream, load_index, save_index
from gpusim.scenario.catalogue import find_scenario

ROOT = Path(__file__).resolve().parents[3]

RESOLVE = """
import sys
from pathlib import Path
import gpusim
from gpusim.element_types import is_emulated
from gpusim.families.registry import family_of
from gpusim.lower.compiled import CompilableKernel
from gpusim.lower.shipped import INDEX, find_stream
from gpusim.machine.load import load_machine
from gpusim.lab.ship_streams import scenarios_with_streams

assert Path(gpusim.__file__).is_relative_to(sys.argv[1]), gpusim.__file__
assert INDEX.is_relative_to(sys.argv[1])
for stem, scenario in scenarios_with_streams():
    machine = load_machine(scenario.machine)
    target = machine.compute_capability
    for kernel in family_of(scenario).timing.timed_kernels(scenario, machine):
        if not isinstance(kernel, CompilableKernel) or (kernel.mma and is_emulated(kernel.mma.ab, target)):
            continue
        for slice_ in range(len(kernel.slice_blocks)):
            found = find_stream(kernel.specialisation, target, slice_)
            print(found.file if found else f"MISSING {stem} {kernel.specialisation.entry} slice {slice_}")
"""


@pytest.mark.slow
def test_an_installed_wheel_resolves_every_shipped_and_recorded_stream(tmp_path):
    """The wheel is built and unpacked, and nothing of the source tree is on the path; no compiler is asked."""
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(tmp_path), str(ROOT)]
    subprocess.run(build, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    installed = tmp_path / "installed"
    zipfile.ZipFile(wheel).extractall(installed)

    told = subprocess.run(
        [sys.executable, "-c", RESOLVE, str(installed)],
        check=True,
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={"PYTHONPATH": str(installed), "PATH": ""},
    ).stdout.splitlines()

    assert [line for line in told if line.startswith("MISSING")] == []
    assert set(told) == {row.file for row in load_index(INDEX)}
    assert all((installed / "gpusim/lower/streams" / file).is_file() for file in told)


def test_the_index_and_the_folder_hold_the_same_streams():
    rows = load_index(INDEX)

    assert sorted(row.file for row in rows) == sorted(
        path.relative_to(SHIPPED).as_posix() for path in SHIPPED.rglob("*.json.gz")
    )
    assert len({row.key for row in rows}) == len(rows)


def test_a_stream_is_named_after_its_machine_scenario_kernel_and_slice():
    files = {row.file for row in load_index(INDEX)}

    assert {
        "h200/gemm_4096.json.gz",
        "t4/turing_int4_conv.json.gz",
        "h200/gemm_split_k_parallel.slice0.json.gz",
        "h200/gemm_split_k_parallel.reduction.json.gz",
    } <= files


def test_a_stream_of_other_options_another_target_slice_or_source_is_not_the_kernels(tmp_path):
    own = specialise(load_scenario(find_scenario("gemm_4096")))
    folder = tmp_path / "kernels"
    folder.mkdir()
    for path in included(own.source, own.include, own.options):
        target = folder / path.relative_to(own.include)
        target.write_bytes(path.read_bytes())
    elsewhere = replace(own, source=folder / "kernel.cu", include=folder)

    assert find_stream(own, 90, 0) is not None
    assert find_stream(elsewhere, 90, 0) == find_stream(own, 90, 0)
    assert find_stream(replace(own, options=(*own.options, "-G")), 90, 0) is None
    assert find_stream(own, 80, 0) is None
    assert find_stream(own, 90, 1) is None

    (folder / "ptx.cuh").write_text("// another source\n")
    changed = tmp_path / "changed"
    folder.rename(changed)
    assert find_stream(replace(own, source=changed / "kernel.cu", include=changed), 90, 0) is None


def test_the_sources_of_a_kernel_are_what_it_includes_directly_or_through_another():
    own = specialise(load_scenario(find_scenario("gemm_4096")))

    names = {path.name for path in included(own.source, own.include, own.options)}

    assert {"kernel.cu", "multistage.cuh", "mainloop.cuh", "gemm_iterators.cuh", "platform.cuh"} <= names
    assert "reduction.cuh" not in names
    assert not any(path.parent.name == "attention" for path in included(own.source, own.include, own.options))


def test_a_header_that_is_missing_is_named(tmp_path):
    (tmp_path / "kernel.cu").write_text('#include "absent.cuh"\n')

    with pytest.raises(CannotRun, match=r"kernel\.cu: no .*absent\.cuh to include; reinstall gpusim$"):
        included(tmp_path / "kernel.cu", tmp_path, ())


def test_a_user_s_source_is_read_each_time_with_the_headers_that_lie_by_it(tmp_path):
    """Headers include each other; one is found through -I, one is the compiler's; a comment is no UTF-8."""
    for folder in ("src/deep", "other"):
        (tmp_path / folder).mkdir(parents=True)
    source, far = tmp_path / "src" / "mine.cu", tmp_path / "other" / "far.h"
    source.write_bytes(b'#include "deep/a.h"\n#include "far.h"\n#include "cuda_runtime.h"\n// \xe4\n')
    (source.parent / "deep" / "a.h").write_text('#include "b.h"\n')
    (source.parent / "deep" / "b.h").write_text('#include "../deep/a.h"\n')
    far.write_text("// 1\n")
    own = specialise(load_scenario(find_scenario("gemm_4096")))
    mine = replace(own, source=source, include=source.parent, options=("-DFAST", f"-I{far.parent}"))

    found = {path.name for path in included(source, source.parent, mine.options, complete=False)}
    assert found == {"mine.cu", "a.h", "b.h", "far.h"}
    before = mine.digest
    assert mine.digest == before
    far.write_text("// 2\n")
    assert mine.digest != before


def test_an_index_is_equal_when_read_back(tmp_path):
    rows = load_index(INDEX)
    save_index(tmp_path / "index.json", reversed(rows))

    assert load_index(tmp_path / "index.json") == rows
    assert (tmp_path / "index.json").read_bytes() == INDEX.read_bytes()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("no json", r"index\.json: not a readable index of streams "),
        (json.dumps({"schema": "other"}), r"index\.json: schema must be 'gpusim\.stream_index/1', got 'other'$"),
        (
            json.dumps({"schema": "gpusim.stream_index/1"}),
            r"index\.json: not a readable index of streams \('streams'\)$",
        ),
    ],
    ids=["damaged", "schema", "rows"],
)
def test_a_file_that_is_no_index_is_refused(tmp_path, text, message):
    (tmp_path / "index.json").write_text(text)

    with pytest.raises(BadInput, match=message):
        load_index(tmp_path / "index.json")
