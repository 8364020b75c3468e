"""A headless Chromium of the system, reports of real runs to open in it, and axe-core."""

import hashlib
import json
import os
import shutil
from pathlib import Path

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.service import Service

from gpusim.cli import main
from gpusim.report.html.page import page
from gpusim.report.html.tracks import run_tracks
from gpusim.results.timeline import Timeline, WarpSpan

ROOT = Path(__file__).parents[2]
AXE = ROOT / "build" / "axe" / "package" / "axe.min.js"
AXE_SHA256 = "29348999450cdf2849a8e70b7912fc2da85a849da39c0d0d5394f51d4a9ed95c"
SWITCHES = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", "--window-size=1280,900", "--force-device-scale-factor=1"),
)
INSTALL = "is missing; `apt-get install chromium chromium-driver` installs it"

SPANS, WARPS = 100_000, 8


def program(*names):
    found = next((path for path in map(shutil.which, names) if path), None)
    assert found, f"{names[0]} {INSTALL}"
    return found


@pytest.fixture(scope="session")
def driver(tmp_path_factory):
    options = webdriver.ChromeOptions()
    options.binary_location = program("chromium", "chromium-browser", "google-chrome")
    for switch in (*SWITCHES, f"--user-data-dir={tmp_path_factory.mktemp('chromium')}"):
        options.add_argument(switch)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    with webdriver.Chrome(options=options, service=Service(program("chromedriver"))) as driver:
        driver.set_script_timeout(60)
        yield driver


def emulate(driver, *, dark=False, phone=False):
    scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})
    width, height = (390, 844) if phone else (1280, 900)
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": phone}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)


@pytest.fixture
def open_page(driver):
    """The path of a report, to the driver that shows it."""

    def call(path, **view):
        emulate(driver, **view)
        driver.get(path.as_uri())
        driver.get_log("browser")
        return driver

    return call


@pytest.fixture(scope="session")
def runs(tmp_path_factory):
    """Run directories of shipped scenarios by name."""
    folder = tmp_path_factory.mktemp("runs")
    made = {name: folder / name for name in ("conv_s6_row_major", "conv_s6_crosswise", "flash_128x64")}
    for name, directory in made.items():
        assert main(["run", name, "--out", str(directory), "--no-figures"]) == 0
    return made


@pytest.fixture(scope="session")
def reports(runs, tmp_path_factory):
    """Reports by name: one of a pair of layouts, and one of attention."""
    folder = tmp_path_factory.mktemp("reports")
    sides = {
        "pair": [runs["conv_s6_row_major"], runs["conv_s6_crosswise"]],
        "conflicts": [runs["conv_s6_row_major"]],
        "attention": [runs["flash_128x64"]],
    }
    for name, directories in sides.items():
        assert main(["report", *map(str, directories), "--out", str(folder / f"{name}.html")]) == 0
    return {name: folder / f"{name}.html" for name in sides}


@pytest.fixture(scope="session")
def crowded(tmp_path_factory):
    """A report whose timeline has ``SPANS`` spans of ``WARPS`` warps."""
    reasons = ("selected", "wait", "long_scoreboard", "short_scoreboard", "barrier", "math_pipe_throttle")
    spans = []
    for warp in range(WARPS):
        cycle = 0
        for number in range(SPANS // WARPS):
            length = 1 + (number * 7 + warp * 3) % 11
            spans.append(WarpSpan(0, warp, warp % 4, cycle, cycle + length, reasons[(number * 5 + warp) % 6]))
            cycle += length
    words = []
    tracks = [track.packed(words) for track in run_tracks(Timeline(tuple(spans), ()), ())]
    assert sum(track["count"] for track in tracks) == SPANS
    path = tmp_path_factory.mktemp("crowded") / "crowded.html"
    run = {"name": "crowded", "problem": "", "kernel": "", "verdict": "", "trust": "", "command": ""}
    run |= {
        name: [] for name in ("facts", "peaks", "stalls", "banks", "bank_rows", "counters", "hazards", "provenance")
    }
    run |= {"roofline": {"rate": 0}, "figures": {}, "measured": None, "sass": None, "tracks": tracks}
    path.write_text(page({"runs": [run], "words": words, "stall_words": {}, "tables": []}, "crowded"))
    return path


@pytest.fixture(scope="session")
def axe():
    """The script of axe-core, which ``make browser`` fetches from npm."""
    assert AXE.is_file(), f"{AXE.relative_to(ROOT)} is missing; `make browser` fetches it with npm"
    assert hashlib.sha256(AXE.read_bytes()).hexdigest() == AXE_SHA256
    return AXE.read_text(encoding="utf-8")


@pytest.fixture
def note(request):
    """Keep figures that a test measured in build/browser/, and print them."""

    def call(**figures):
        folder = ROOT / "build" / "browser"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{request.node.name}.json").write_text(json.dumps(figures, indent=1) + os.linesep)
        print(request.node.name, figures)  # noqa: T201 # pytest -s shows it

    return call
