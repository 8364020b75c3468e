"""Reading what ncu writes, and what is said when ncu is missing or refuses."""

import stat

import pytest

from gpusim.errors import BadInput, CannotRun
from gpusim.gpu import ncu
from gpusim.gpu.ncu import KernelCounters, existing, parse_csv, read_report

RAW = """==PROF== Connected to process 4242 (/usr/bin/python3.12)
some line of the program
==PROF== Disconnected from process 4242
"ID","Process ID","Kernel Name","Block Size","Grid Size","dram__bytes_read.sum","gpu__time.sum","sm__active.max"
"","","","","","Mbyte","usecond","cycle"
"0","4242","copies_cg_16_plain_1","(32, 1, 1)","(1, 1, 1)","1.5","2.50","12,345"
"1","4242","void f<int, 4>(T1 *)","(128, 2, 1)","(8, 4, 2)","n/a","3","7"
==WARNING== one more line
"""

DETAILS = """"ID","Kernel Name","Block Size","Grid Size","Section Name","Metric Name","Metric Unit","Metric Value"
"0","kernel","(32, 1, 1)","(1, 1, 1)","Command line profiler metrics","smsp__inst_executed.sum","inst","1,024"
"0","kernel","(32, 1, 1)","(1, 1, 1)","Command line profiler metrics","dram__bytes_read.sum","Kbyte","2"
"1","kernel","(32, 1, 1)","(1, 1, 1)","Command line profiler metrics","smsp__inst_executed.sum","inst","8"
"""


def test_the_raw_page_is_read_in_base_units_whatever_stands_around_it():
    first, second = parse_csv(RAW, "x.csv")

    assert first == KernelCounters(
        "copies_cg_16_plain_1",
        (1, 1, 1),
        (32, 1, 1),
        {"dram__bytes_read.sum": 1.5e6, "gpu__time.sum": 2500.0, "sm__active.max": 12345.0},
    )
    assert second.name == "void f<int, 4>(T1 *)"
    assert (second.grid, second.block) == ((8, 4, 2), (128, 2, 1))
    assert "dram__bytes_read.sum" not in second.metrics


def test_the_details_page_is_read_launch_by_launch():
    first, second = parse_csv(DETAILS, "x.csv")
    assert first.metrics == {"smsp__inst_executed.sum": 1024.0, "dram__bytes_read.sum": 2000.0}
    assert second.metrics == {"smsp__inst_executed.sum": 8.0}


def test_a_users_csv_is_read_from_its_file(tmp_path):
    path = tmp_path / "profile.csv"
    path.write_text("\ufeff" + RAW)
    assert len(read_report(path)) == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\n1,2\n", 'x.csv: is not CSV that ncu writes: no line starts with "ID"'),
        ('"ID","Time"\n"0","1"\n', 'x.csv: ncu\'s CSV must have a column "Kernel Name", got ID, Time'),
        (RAW.replace('"12,345"', '"1","2"'), "x.csv: a row has 9 columns, the header 8"),
        (
            RAW.replace("(8, 4, 2)", f"({'9' * 5000}, 4, 2)"),
            f'x.csv: Grid Size must be three numbers, got "({"9" * 59}"',
        ),
        (RAW.replace("(8, 4, 2)", "8"), 'x.csv: Grid Size must be three numbers, got "8"'),
    ],
    ids=["other CSV", "no kernel", "ragged", "grid of many digits", "grid"],
)
def test_other_text_is_refused(text, message):
    with pytest.raises(BadInput) as raised:
        parse_csv(text, "x.csv")
    assert str(raised.value).startswith(message)


def test_a_missing_file_is_named(tmp_path):
    for name in ("x.csv", "x.ncu-rep"):
        with pytest.raises(CannotRun, match=name):
            read_report(tmp_path / name)


def test_metrics_the_gpu_lacks_are_parted_from_the_others():
    available = frozenset({"sm__cycles_elapsed", "lts__t_sectors"})
    wanted = ["sm__cycles_elapsed.max", "l2__none.sum", "sm__sass_inst_executed.sum"]
    assert existing(wanted, available) == (["sm__cycles_elapsed.max", "sm__sass_inst_executed.sum"], ["l2__none.sum"])
    assert existing(wanted, frozenset()) == (wanted, [])


class TestTheProgram:
    """
    A shell script stands in for ncu.
    """

    @pytest.fixture
    def script(self, tmp_path, monkeypatch):
        monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")

        def install(body):
            path = tmp_path / "ncu"
            path.write_text(f"#!/bin/sh\n{body}\n")
            path.chmod(path.stat().st_mode | stat.S_IXUSR)

        return install

    def test_none_says_what_to_install(self, monkeypatch):
        monkeypatch.setenv("PATH", "")
        with pytest.raises(CannotRun, match="ncu is not on the PATH: install Nsight Compute"):
            ncu.profile(["true"], ["sm__cycles_elapsed.max"])

    def test_a_refusal_names_the_permission(self, script):
        script('echo "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission" >&2; exit 1')
        with pytest.raises(CannotRun, match="NVreg_RestrictProfilingToAdminUsers=0"):
            ncu.profile(["true"], ["sm__cycles_elapsed.max"])

    def test_another_failure_shows_its_last_lines(self, script):
        script('echo "something else" >&2; exit 9')
        with pytest.raises(CannotRun, match=r"ncu ended with 9: something else"):
            ncu.profile(["true"], ["sm__cycles_elapsed.max"])

    def test_a_metric_it_does_not_know_is_left_out(self, script, tmp_path):
        (tmp_path / "raw.csv").write_text(RAW)
        script(
            'case "$*" in *lost__metric*) echo "==ERROR== Failed to find metric lost__metric.sum"; exit 1;; esac\n'
            f'while [ "$1" != --log-file ]; do shift; done; cp {tmp_path}/raw.csv "$2"'
        )
        launches, dropped = ncu.profile(["true"], ["sm__cycles_elapsed.max", "lost__metric.sum"], kernels="^copies_")
        assert dropped == ["lost__metric.sum"]
        assert [launch.name for launch in launches] == ["copies_cg_16_plain_1", "void f<int, 4>(T1 *)"]

    def test_its_list_of_metrics_is_read_by_base_name(self, script):
        script('echo "Device NVIDIA H200 (GH100)"; echo "sm__cycles_elapsed    Counter  cycle  # of cycles"')
        assert ncu.available_metrics() == {"sm__cycles_elapsed"}

    def test_a_report_is_imported_by_ncu(self, script, tmp_path):
        (tmp_path / "raw.csv").write_text(RAW)
        (tmp_path / "x.ncu-rep").write_bytes(b"NVR\0")
        script(f"cat {tmp_path}/raw.csv")
        assert len(read_report(tmp_path / "x.ncu-rep")) == 2

    def test_bytes_that_are_no_utf_8_do_not_stop_it(self, script, tmp_path):
        (tmp_path / "raw.csv").write_bytes(RAW.encode().replace(b"copies_cg", b"copies\xff"))
        (tmp_path / "x.ncu-rep").write_bytes(b"NVR\0")
        script(f"cat {tmp_path}/raw.csv")
        first, _ = read_report(tmp_path / "x.ncu-rep")
        assert first.name == "copies\N{REPLACEMENT CHARACTER}_16_plain_1"
