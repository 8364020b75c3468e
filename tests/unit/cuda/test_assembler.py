"""PTX and LTO-IR made machine code: which tool, what is kept, and what is said where there is none or it refuses."""

import os
import stat
from pathlib import Path

import pytest

from gpusim.cuda import assembler, compiler
from gpusim.cuda.assembler import Assembler, assemble, find_assembler, link
from gpusim.errors import CannotRun

PTXAS = r"""#!/bin/sh
if [ "$1" = --version ]; then echo "Cuda compilation tools, release VERSION, V13.0.88"; exit; fi
printf '%s\n' "$*" >> "$0.calls"
while [ $# -gt 0 ]; do if [ "$1" = -o ]; then printf cubin > "$2"; fi; shift; done
"""
REFUSING = """#!/bin/sh
if [ "$1" = --version ]; then echo "release 13.0, V13.0.88"; exit; fi
echo "ptxas $4, line 9; fatal   : Unsupported .version 9.5; current version is '9.0'" >&2
exit 1
"""
TEXT = b".version 9.0\n.target sm_80\n"


@pytest.fixture(autouse=True)
def bare(tmp_path, monkeypatch):
    """An empty PATH, no libraries, and a cache of its own."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv(compiler.CACHE_VARIABLE, str(tmp_path / "cache"))
    monkeypatch.setattr(assembler, "_ptxas_paths", lambda: sorted(tmp_path.glob("*/ptxas")))
    monkeypatch.setattr(assembler, "_nvjitlink", lambda: iter(()))


@pytest.fixture
def ptxas(tmp_path, monkeypatch):
    """Installs a ptxas of a given text and version."""

    def install(text=PTXAS, version="13.0"):
        path = tmp_path / version / "ptxas"
        path.parent.mkdir()
        path.write_text(text.replace("VERSION", version))
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setenv("PATH", os.pathsep.join([str(tmp_path), "/usr/bin", "/bin"]))
        return path

    return install


class Library:
    """nvJitLink as gpusim calls it; it refuses code that is empty."""

    def __init__(self):
        self.calls = []
        for name in ("Create", "AddData", "Complete", "Destroy"):
            setattr(self, f"nvJitLink{name}", getattr(self, f"_{name.lower()}"))

    def _create(self, _handle, count, options):
        self.calls.append([options[at] for at in range(count)])
        return 0

    def _adddata(self, _handle, kind, data, size, name):
        self.calls.append((kind, data, size.value, name))
        return 0

    def _complete(self, _handle):
        return 0 if self.calls[-1][1] else 3

    def _destroy(self, _handle):
        self.calls.append("destroyed")

    def __getitem__(self, name):
        data = b"error: nothing to link\n" if "ErrorLog" in name else b"linked"

        def size(_handle, out):
            out._obj.value = len(data)  # noqa: SLF001 # what ctypes.byref holds

        def get(_handle, out):
            out.raw = data

        return size if name.endswith("Size") else get


@pytest.fixture
def nvjitlink(monkeypatch):
    """Installs nvJitLink 13.5."""
    library = Library()
    monkeypatch.setattr(assembler, "_nvjitlink", lambda: iter([Assembler("nvJitLink", (13, 5), Path("lib.so"))]))
    monkeypatch.setattr(assembler.ctypes, "CDLL", lambda _path: library)
    return library


def calls_of(path):
    return Path(f"{path}.calls").read_text().splitlines()


def test_the_ptxas_of_the_latest_version_is_taken(ptxas):
    ptxas(version="12.9")
    latest = ptxas(version="13.4")
    ptxas(version="13.0")

    assert find_assembler() == Assembler("ptxas", (13, 4), latest)


def test_nvjitlink_assembles_only_where_no_ptxas_is(ptxas, nvjitlink):
    assert nvjitlink.calls == []
    assert find_assembler().name == "nvJitLink"

    ptxas(version="12.9")

    assert find_assembler().name == "ptxas"


def test_a_missing_assembler_says_what_to_install():
    with pytest.raises(CannotRun, match=r"no assembler of PTX is installed: the CUDA toolkit and Triton have ptxas"):
        find_assembler()
    with pytest.raises(CannotRun, match=r"nvJitLink is not installed: pip install nvidia-nvjitlink brings it"):
        link(b"code", "saxpy", 90)


def test_a_text_is_assembled_once_for_each_target(ptxas):
    path = ptxas()

    first, second, other = assemble(TEXT, "k.ptx", 90), assemble(TEXT, "k.ptx", 90), assemble(TEXT, "k.ptx", 80)

    assert first == second != other
    assert first.read_bytes() == b"cubin"
    assert [line.split()[:2] for line in calls_of(path)] == [["-lineinfo", "-arch=sm_90"], ["-lineinfo", "-arch=sm_80"]]


def test_text_of_one_architecture_is_assembled_for_that_alone(ptxas):
    path = ptxas()

    assemble(b".version 9.0\n.target sm_90a, debug\n", "k.ptx", 90)

    assert "-arch=sm_90a" in calls_of(path)[0]


def test_a_refusal_of_ptxas_shows_its_first_error(ptxas):
    ptxas(REFUSING)

    with pytest.raises(CannotRun, match=r"^ptxas 13\.0 refuses k\.ptx: .*Unsupported \.version 9\.5"):
        assemble(TEXT, "k.ptx", 90)


def test_nvjitlink_links_lto_ir(nvjitlink):
    path = link(b"code", "saxpy", 90)

    assert path.read_bytes() == b"linked"
    assert nvjitlink.calls == [[b"-arch=sm_90", b"-lto", b"-lineinfo"], (3, b"code", 4, b"saxpy"), "destroyed"]
    link(b"code", "saxpy", 90)
    assert len(nvjitlink.calls) == 3


def test_nvjitlink_assembles_ptx(nvjitlink):
    assert assemble(TEXT, "k.ptx", 80).read_bytes() == b"linked"
    assert nvjitlink.calls[:2] == [[b"-arch=sm_80", b"-lineinfo"], (2, TEXT, len(TEXT), b"k.ptx")]


def test_a_refusal_of_nvjitlink_shows_its_first_error(nvjitlink):
    with pytest.raises(CannotRun, match=r"^nvJitLink 13\.5 refuses saxpy: error: nothing to link$"):
        link(b"", "saxpy", 90)
    assert nvjitlink.calls[-1] == "destroyed"
