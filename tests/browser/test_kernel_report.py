"""The report on a kernel of one's own in a real browser: its machine code is opened, sorted and read by keyboard."""

import pytest
from own.build import cubin_of
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from gpusim.cli import main

pytestmark = pytest.mark.browser

AXE_RUN = "const done = arguments[0]; axe.run(document).then((found) => done(found), (error) => done(String(error)));"
ARGUMENTS = ("in=f32[64,64]", "out=f32[64,64]", "rows=64", "columns=64")


@pytest.fixture(scope="module")
def kernel_report(tmp_path_factory):
    """The report on a transpose whose loads from shared memory conflict."""
    folder = tmp_path_factory.mktemp("kernel")
    cubin = folder / "transpose_tile.cubin"
    cubin.write_bytes(cubin_of("transpose_tile", 80))
    launch = ("--machine", "a100", "--grid", "2,2", "--block", "32,8")
    given = [part for one in ARGUMENTS for part in ("--arg", one)]
    assert main(["run", str(cubin), *launch, *given, "--out", str(folder / "run")]) == 0
    assert main(["report", str(folder / "run"), "--out", str(folder / "kernel.html")]) == 0
    return folder / "kernel.html"


def first_button(driver):
    return driver.find_element(By.CSS_SELECTOR, "tr.instruction button")


def test_it_asks_for_nothing_and_has_every_section(kernel_report, open_page):
    driver = open_page(kernel_report)

    assert driver.execute_script("return performance.getEntriesByType('resource').length;") == 0
    assert driver.get_log("browser") == []
    sections = [one.text for one in driver.find_elements(By.CSS_SELECTOR, "nav a")]
    assert sections == ["Verdict", "Machine code", "Stalls", "Provenance"]


def test_an_instruction_opens_to_its_reasons_and_closes_again(kernel_report, open_page):
    driver = open_page(kernel_report)
    button = first_button(driver)
    reasons = driver.find_element(By.ID, button.get_attribute("aria-controls"))
    assert not reasons.is_displayed()

    button.send_keys(Keys.ENTER)
    assert reasons.is_displayed()
    assert button.get_attribute("aria-expanded") == "true"
    assert "no_instruction" in reasons.text

    button.click()
    assert not reasons.is_displayed()


def test_the_hottest_instruction_has_the_longest_bar(kernel_report, open_page):
    driver = open_page(kernel_report)
    bars = driver.find_elements(By.CSS_SELECTOR, "tr.instruction .heat .bar")
    stalled = [int(one.text.replace(",", "")) for one in driver.find_elements(By.CSS_SELECTOR, ".heat .figure")]
    widths = [bar.size["width"] for bar in bars]

    assert widths[stalled.index(max(stalled))] == max(widths) > 0


@pytest.mark.parametrize("view", [{}, {"dark": True}, {"phone": True}], ids=["light", "dark", "phone"])
def test_axe_finds_nothing(kernel_report, open_page, axe, view):
    driver = open_page(kernel_report, **view)
    first_button(driver).click()
    driver.execute_script(axe)

    found = driver.execute_async_script(AXE_RUN)

    assert {one["id"]: [node["html"][:90] for node in one["nodes"]] for one in found["violations"]} == {}


def test_the_page_is_no_wider_than_a_phone(kernel_report, open_page):
    extents = open_page(kernel_report, phone=True).execute_cdp_cmd("Page.getLayoutMetrics", {})

    assert extents["cssContentSize"]["width"] <= extents["cssLayoutViewport"]["clientWidth"]
