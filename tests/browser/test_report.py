"""The report in a real browser: it asks for nothing, and is zoomed, clicked, filtered and read by keyboard."""

import base64
import re
from pathlib import Path

import pytest
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

pytestmark = pytest.mark.browser

PICTURES = Path(__file__).parents[2] / "build" / "browser"

MISSING = "\N{EN DASH}"

FEWEST_FRAMES = 30
"""Frames a second while 100,000 spans are zoomed, in software rendering."""

ZOOMING = """
const done = arguments[0], timeline = window.gpusimTimeline, paint = timeline.paint.bind(timeline);
let frames = 0, painting = 0, begun = 0;
timeline.paint = () => { const from = performance.now(); paint(); painting += performance.now() - from; };
function frame(now) {
  if (!begun) { begun = now; painting = 0; frames = -1; }
  frames += 1;
  timeline.zoom(frames % 80 < 40 ? 0.9 : 1 / 0.9, timeline.last / 3);
  if (now - begun < 3000) requestAnimationFrame(frame);
  else done({ frames_per_second: (1000 * frames) / (now - begun), ms_per_paint: painting / frames });
}
requestAnimationFrame(frame);
"""

AXE_RUN = "const done = arguments[0]; axe.run(document).then((found) => done(found), (error) => done(String(error)));"

FORBIDDEN_REQUEST = """
const done = arguments[0];
document.addEventListener("securitypolicyviolation", (event) => done(event.effectiveDirective));
fetch("http://127.0.0.1:9/").catch(() => {});
"""


def view(driver):
    return driver.execute_script("const { begin, end } = window.gpusimTimeline.view; return [begin, end];")


def canvas(driver):
    found = driver.find_element(By.ID, "timeline-canvas")
    driver.execute_script("arguments[0].scrollIntoView({ block: 'center' });", found)
    return found


def button(driver, text):
    return driver.find_element(By.XPATH, f"//button[text()='{text}']")


def status(driver):
    return driver.find_element(By.ID, "timeline-status").text


def track_place(driver, name):
    """Where the middle of the longest span of a track lies, in pixels from the canvas's middle."""
    return driver.execute_script(
        """const t = window.gpusimTimeline, track = t.tracks.find((one) => one.name.startsWith(arguments[0]));
        let at = 0;
        for (let i = 1; i < track.count; i += 1)
          if (track.end[i] - track.begin[i] > track.end[at] - track.begin[at]) at = i;
        const middle = (track.begin[at] + track.end[at]) / 2, width = t.wide - t.gutter - 8;
        const x = t.gutter + (middle - t.view.begin) / (t.view.end - t.view.begin) * width;
        return [Math.round(x - t.wide / 2), Math.round(track.y + track.height / 2 - t.height / 2)];""",
        name,
    )


@pytest.mark.parametrize("name", ["conflicts", "pair", "attention"])
def test_a_report_is_under_2_mb_and_asks_for_nothing(reports, open_page, name):
    driver = open_page(reports[name])
    requests = driver.execute_script("return performance.getEntriesByType('resource').map((entry) => entry.name);")

    assert reports[name].stat().st_size < 2_000_000
    assert requests == []
    assert driver.get_log("browser") == []


def test_the_policy_stops_a_request(reports, open_page):
    assert open_page(reports["conflicts"]).execute_async_script(FORBIDDEN_REQUEST) == "connect-src"


def test_every_section_is_there(reports, open_page):
    driver = open_page(reports["pair"])
    sections = [one.text for one in driver.find_elements(By.CSS_SELECTOR, "nav a")]

    assert sections == [
        *("Verdict", "What differs", "Timeline", "Shared-memory banks", "Stalls", "Roofline"),
        *("What that did", "Counters", "Provenance"),
    ]


def test_buttons_zoom_and_pan(reports, open_page):
    driver = open_page(reports["conflicts"])
    _, last = view(driver)
    for name in ("+ zoom in", "+ zoom in", "later →"):
        button(driver, name).click()
    begin, end = view(driver)

    assert end - begin == pytest.approx(last / 4)
    assert begin == pytest.approx(last * (3 / 8 + 1 / 16))
    button(driver, "show all").click()
    assert view(driver) == [0, last]


def test_the_wheel_zooms_about_the_pointer_and_dragging_pans(reports, open_page):
    driver = open_page(reports["conflicts"])
    _, last = view(driver)
    found = canvas(driver)
    driver.execute_script(
        "arguments[0].dispatchEvent(new WheelEvent('wheel', { deltaY: -240, ctrlKey: true, cancelable: true, "
        "clientX: arguments[0].getBoundingClientRect().left + 640 }));",
        found,
    )
    begin, end = view(driver)
    assert end - begin < 0.8 * last

    ActionChains(driver).move_to_element(found).click_and_hold().move_by_offset(-100, 0).release().perform()
    assert view(driver)[0] > begin
    assert view(driver)[1] - view(driver)[0] == pytest.approx(end - begin)


def test_the_keyboard_zooms_pans_and_reads_spans_out(reports, open_page):
    driver = open_page(reports["conflicts"])
    found = canvas(driver)
    _, last = view(driver)
    found.send_keys("+", "+", Keys.ARROW_RIGHT)
    begin, end = view(driver)
    assert begin > 0
    assert end - begin < last

    found.send_keys(Keys.ARROW_DOWN)
    first = status(driver)
    found.send_keys(".")
    assert re.search(r"stage 0: .*k tile \d+.*cycles, from", first)
    assert status(driver) != first
    span = [int(text.replace(",", "")) for text in re.search(r"from ([\d,]+) to ([\d,]+)", status(driver)).groups()]
    found.send_keys(Keys.ENTER)
    assert view(driver) == pytest.approx([2 * span[0] - span[1], 2 * span[1] - span[0]])
    found.send_keys(Keys.HOME)
    assert view(driver) == [0, last]


def test_hovering_tells_operation_stage_stall_and_sass(reports, open_page):
    driver = open_page(reports["conflicts"])
    found = canvas(driver)
    for name, said in (
        ("stage 0", r"k tile \d+, stage 0\.\s"),
        ("fragment loads", r"ldmatrix, k tile.*SASS of the mainloop: LDSM"),
        ("warp 1", r"\w+: .*(Before it issues|Issues): [A-Z@]"),
    ):
        ActionChains(driver).move_to_element_with_offset(found, *track_place(driver, name)).perform()
        tip = driver.find_element(By.ID, "tip")
        assert tip.is_displayed()
        assert re.search(said, tip.text, re.DOTALL), tip.text


def test_a_filter_hides_a_reason(reports, open_page):
    driver = open_page(reports["conflicts"])
    shown = "return window.gpusimTimeline.looks.stall.filter((one) => one !== null).length;"
    before = driver.execute_script(shown)
    driver.find_element(By.CSS_SELECTOR, "label[data-word=barrier] input").click()

    assert driver.execute_script(shown) == before - 1
    driver.find_element(By.CSS_SELECTOR, "label[data-word=barrier] input").send_keys(" ")
    assert driver.execute_script(shown) == before


def test_a_bank_that_is_clicked_tells_its_lanes_and_addresses(reports, open_page):
    driver = open_page(reports["conflicts"])
    first = driver.find_element(By.CSS_SELECTOR, ".access")
    late = first.find_elements(By.CSS_SELECTOR, ".late .cell")[0]
    driver.execute_script("arguments[0].scrollIntoView({ block: 'center' });", late)
    late.click()
    answer = first.find_element(By.CSS_SELECTOR, ".answer").text

    assert "late wavefront 1 of phase 0" in answer
    assert re.search(r"lane 1: byte address [\d,]+ \(0x[0-9a-f]+\), word [\d,]+, bank \d+", answer)
    assert "also serves, in other wavefronts, lane 0" in answer
    assert late.get_attribute("aria-selected") == "true"


def test_the_bank_map_is_walked_by_keyboard(reports, open_page):
    driver = open_page(reports["conflicts"])
    first = driver.find_element(By.CSS_SELECTOR, ".access")
    start = first.find_element(By.CSS_SELECTOR, ".cell[tabindex='0']")
    start.send_keys(Keys.ARROW_DOWN)
    now = driver.switch_to.active_element
    assert now.get_attribute("aria-label").startswith("Conflict: lane 1,")
    now.send_keys(Keys.ENTER)
    assert "lane 1: byte address" in first.find_element(By.CSS_SELECTOR, ".answer").text


def test_a_table_is_filtered_and_sorted(reports, open_page):
    driver = open_page(reports["pair"])
    driver.find_element(By.ID, "counters-table-filter").send_keys("dram")
    rows = driver.find_elements(By.CSS_SELECTOR, "#counters-table tbody th")
    assert rows
    assert all("dram" in row.text for row in rows)

    column = driver.find_elements(By.CSS_SELECTOR, "#what-that-did-table thead button")[-1]
    driver.execute_script("arguments[0].click(); arguments[0].click();", column)
    ratios = driver.execute_script(
        "return [...document.querySelectorAll('#what-that-did-table tbody tr')]"
        ".map((row) => row.lastChild.textContent);"
    )
    figures = [float(text.replace(",", "")) for text in ratios if text != MISSING]
    assert figures == sorted(figures, reverse=True)


def test_runs_of_a_pair_share_one_axis(reports, open_page):
    driver = open_page(reports["pair"])
    ends = driver.execute_script(
        "const t = window.gpusimTimeline;"
        "return [t.last, t.tracks.map((track) => [track.run, track.end[track.count - 1]])];"
    )

    assert {run for run, _ in ends[1]} == {0, 1}
    assert ends[0] == max(end for _, end in ends[1])


@pytest.fixture(params=[{}, {"dark": True}, {"phone": True}], ids=["light", "dark", "phone"])
def view_of(request):
    return request.param


@pytest.fixture(params=["pair", "attention"])
def shown(request, reports, open_page, view_of):
    return open_page(reports[request.param], **view_of)


def test_axe_finds_nothing_serious(shown, axe, note):
    driver = shown
    driver.execute_script(axe)
    found = driver.execute_async_script(AXE_RUN)
    worst = {one["id"]: [one["impact"], *(node["html"][:90] for node in one["nodes"])] for one in found["violations"]}
    note(passes=len(found["passes"]), violations=worst, version=found["testEngine"]["version"])

    assert worst == {}


def test_a_page_is_no_wider_than_its_window(reports, open_page, view_of):
    driver = open_page(reports["pair"], **view_of)
    extents = driver.execute_cdp_cmd("Page.getLayoutMetrics", {})
    clip = {"x": 0, "y": 0, **{side: extents["cssContentSize"][side] for side in ("width", "height")}, "scale": 1}
    picture = driver.execute_cdp_cmd("Page.captureScreenshot", {"captureBeyondViewport": True, "clip": clip})
    PICTURES.mkdir(parents=True, exist_ok=True)
    name = "-".join(view_of) or "light"
    (PICTURES / f"pair-{name}.png").write_bytes(base64.b64decode(picture["data"]))

    assert extents["cssContentSize"]["width"] <= extents["cssLayoutViewport"]["clientWidth"]


def test_100000_spans_are_zoomed_at_30_frames_a_second(crowded, open_page, note):
    driver = open_page(crowded)
    canvas(driver)
    measured = driver.execute_async_script(ZOOMING)
    note(**measured, bytes=crowded.stat().st_size)

    assert measured["frames_per_second"] >= FEWEST_FRAMES
