"""The law of all commands that write: without --force nothing is replaced, with it only what gpusim has made."""

import csv
import shutil
from dataclasses import fields
from pathlib import Path

import pytest
from typer.models import OptionInfo

from gpusim.cli import COMMANDS, options_of
from gpusim.errors import BadInput
from gpusim.lab.calibrate import benchmarks
from gpusim.lab.calibrate.runner import write_rows
from gpusim.lab.validation import validate as validation
from gpusim.python.run import read_run
from gpusim.records import record as records
from gpusim.results.marks import is_made_by_gpusim

ROOT = Path(__file__).parents[3]
NAME = "conv_9_k_tiles"
SMALL = ("gemm_ragged", "--set", "problem.m=16", "--set", "problem.n=16", "--set", "problem.k=32")
MEASURED = str(ROOT / "reports" / "measured" / "h200" / "microbench")
PERF = (
    *("check-perf", str(ROOT / "docs" / "examples" / "own-kernels-perf" / "smooth.cubin"), "--machine", "a100"),
    *("--grid", "4", "--block", "512", "--baseline", "perf.toml"),
    *("--arg", "in=f32[2,48,2048]", "--arg", "out=f32[48,2048]", "--arg", "rows=2"),
)
MINE = b"mine\n"
EARLIER = b'{"schema": "gpusim.earlier/1"}\n'
"""What counts as a file that gpusim has made, at any place."""

WRITERS = {
    ("layout", "png"): (["layout", "crosswise", "--png", "map.png"], "map.png"),
    ("plot", "out"): (["plot", "run", "stalls", "--out", "stalls.svg"], "stalls.svg"),
    ("plot", "out", "left out"): (["plot", "run", "stalls"], "run/stalls.png"),
    ("plot", "out", "sweep"): (["plot", "swept", "sweep"], "swept/lines.png"),
    ("trace", "out"): (["trace", "run", "--out", "one.pftrace"], "one.pftrace"),
    ("trace", "out", "left out"): (["trace", "run", "--format", "kanata"], "run/trace.kanata"),
    ("report", "out"): (["report", "run", "--out", "page.html"], "page.html"),
    ("compare", "png"): (["compare", "run", "run", "--png", "both.png"], "both.png"),
    ("check", "overlay"): (["check", NAME, "--recorded", "--overlay", "overlay.png"], "overlay.png"),
    ("validate", "out"): (["validate", "--only", NAME, "--stream", "estimated", "--out", "v"], "v/development.md"),
    ("validate", "out", "data"): (
        ["validate", "--only", NAME, "--stream", "estimated", "--out", "v"],
        "v/development.json",
    ),
    ("run", "out"): (["run", *SMALL, "--out", "run", "--no-figures"], "run/overlap.png"),
    ("run", "save_tensors"): (["run", *SMALL, "--out", "new", "--save-tensors", "t", "--no-figures"], "t/output.csv"),
    ("verify", "save_tensors"): (["verify", *SMALL, "--save-tensors", "t"], "t/a.csv"),
    ("check-perf", "markdown"): ([*PERF, "--markdown", "perf.md"], "perf.md"),
    ("calibrate", "out"): (["calibrate", "--out", "c", "--only", "launch"], "c/launch.csv"),
}
"""(Command, option) that writes a file -> arguments, and the file; a third part tells more files of one option."""

KEEPS = {("run", "out")}
"""Those that take another name where they may not replace something."""

ADDS = {
    ("check", "out"): (["check", NAME, "--recorded", "--out", "answers"], "answers"),
    ("sweep", "out"): (["sweep", NAME, "--over", "kernel.stages=3,4", "--jobs", "1", "--out", "s"], "s/notes.txt"),
    ("check-perf", "baseline"): ([*PERF, "--write-baseline"], "perf.toml"),
    ("calibrate", "machine"): (["calibrate", "--derived-from", MEASURED, "--machine", "mine.toml"], "mine.toml"),
}
"""(Command, option) that adds to what it has begun, and refuses anything else."""

NEVER = {("run", "save")}
"""Those that write files which carry no mark of gpusim, .npy, and so never replace any (``own/test_run.py``)."""

READS = {
    *((command, "run_directory") for command in ("plot", "trace", "stalls")),
    ("report", "run_directories"),
    ("run", "cubin"),
    ("sweep", "axes"),
    ("validate", "cutlass_rows"),
    ("calibrate", "derived_from"),
}

PLACES = ("FOLDER", "DIR", "PNG", "FILE", "TOML", "JSON", "PATH")


def takes_a_path(hint):
    """Whether an option of a command may name a file that is written: it is a path, or its option says so."""
    about = getattr(hint, "__metadata__", (None,))[0]
    named = isinstance(about, OptionInfo) and any(word in (about.metavar or "") for word in PLACES)
    return named or "pathlib.Path" in str(hint)


def test_the_law_knows_every_option_that_takes_a_path():
    """Who adds an option that writes adds a line to ``WRITERS`` or ``ADDS``."""
    found = {
        (command, option.name)
        for command in COMMANDS
        for option in fields(options_of(command))
        if takes_a_path(option.type)
    }

    assert found == {key[:2] for key in WRITERS} | set(ADDS) | NEVER | READS


@pytest.fixture
def here(tmp_path, monkeypatch, finished_run):
    """A folder with a run, a sweep and a record."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(finished_run, "run")
    recorded = records.measured_folder() / "h200" / f"{NAME}.json"
    measured = tmp_path / "measured" / "h200"
    measured.mkdir(parents=True)
    shutil.copy(recorded, measured)
    monkeypatch.setattr(validation, "measured_folder", lambda: tmp_path / "measured")
    monkeypatch.setattr(
        benchmarks,
        "calibrate",
        lambda folder, **_: write_rows(folder / "launch.csv", [{"cycles": 1}], {"GPU": "H200", "gpusim": "0"}) or {},
    )
    return tmp_path


@pytest.mark.parametrize("key", WRITERS, ids=" ".join)
def test_a_file_is_replaced_by_force_alone_and_only_if_gpusim_has_made_it(gpusim, here, key):
    arguments, name = WRITERS[key]
    if "swept" in arguments:
        gpusim("sweep", *SMALL, "--over", "kernel.stages=3,4", "--jobs", "1", "--out", "swept")
    if "check-perf" in arguments:
        gpusim(*PERF, "--write-baseline")
    place = here / name
    place.parent.mkdir(exist_ok=True)

    place.write_bytes(MINE)
    codes = {gpusim(*arguments, *force).code for force in ([], ["--force"])}
    assert codes == ({0, 2} if key in KEEPS else {2})
    assert place.read_bytes() == MINE

    place.write_bytes(EARLIER)
    assert gpusim(*arguments).code == (0 if key in KEEPS else 2)
    assert place.read_bytes() == EARLIER

    answer = gpusim(*arguments, "--force")
    assert (answer.code, "Traceback" in answer.err) == (0, False)
    assert not place.exists() or (place.read_bytes() != EARLIER and is_made_by_gpusim(place))


@pytest.mark.parametrize("key", ADDS, ids=" ".join)
def test_what_is_added_to_holds_answers_of_the_same_kind(gpusim, here, key):
    arguments, name = ADDS[key]
    (here / name).parent.mkdir(exist_ok=True)
    (here / name).write_bytes(MINE)

    assert gpusim(*arguments).is_refusal
    assert (here / name).read_bytes() == MINE


@pytest.mark.parametrize("table", ["points.csv", "points.parquet"])
def test_a_sweep_goes_on_and_never_replaces_a_table_of_someone_elses(gpusim, here, table):
    command = ("sweep", *SMALL, "--over", "kernel.stages=3,4", "--jobs", "1", "--out", "s", "--table", "csv")
    assert gpusim(*command).code == 0
    written = (here / "s" / "points.csv").read_text()
    assert len(list(csv.DictReader(written.splitlines()))) == 2

    assert gpusim(*command).code == 0
    assert (here / "s" / "points.csv").read_text() == written

    (here / "s" / table).write_bytes(MINE)
    assert gpusim(*command).code == 2
    assert (here / "s" / table).read_bytes() == MINE


def test_a_file_that_would_get_its_own_bytes_is_left_as_it_is(gpusim, here):
    before = (here / "run" / "overlap.png").stat()

    assert gpusim("plot", "run", "overlap").code == 0

    after = (here / "run" / "overlap.png").stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_what_python_writes_keeps_the_law(here):
    place, run = here / "one.pftrace", read_run("run")
    for content, replace in ((MINE, False), (MINE, True), (EARLIER, False)):
        place.write_bytes(content)
        with pytest.raises(BadInput, match=r"is there already, .*; replace=True replaces"):
            run.write_trace(place, replace=replace)
        assert place.read_bytes() == content

    run.write_trace(place, replace=True)

    assert place.read_bytes() == (here / "run" / "trace.pftrace").read_bytes()


@pytest.mark.parametrize("path", [*sorted(ROOT.glob("docs/images/*.png")), *ROOT.glob("reports/validation/*.png")])
def test_a_committed_picture_can_be_made_anew(path):
    """``make images`` and ``make reports`` replace them with --force; the picture of the rooms is a program's own."""
    assert is_made_by_gpusim(path) or path.stem == "rooms"
