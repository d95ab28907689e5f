"""The explorer in a real browser, from a disk and from a server: what readers do, and what a hostile answer tries."""

import itertools
import re
import threading
from pathlib import Path

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select

from hone.site.serve import server
from hone.site.writer import PAGES
from tests.site.browser import chromium
from tests.site.test_stages import decoded
from tests.site.world import HOSTILE, many

pytestmark = pytest.mark.slow  # installs a browser where there is none, and makes 2,000 answers
CONTRAST = Path(__file__).with_name("contrast.js")


@pytest.fixture(scope="module")
def browser():
    with chromium() as started:
        yield started


@pytest.fixture(params=["disk", "server"])
def base(request, site):
    """The address of the small site."""
    if request.param == "disk":
        yield f"{site.as_uri()}/"
        return
    with server(site) as served:
        threading.Thread(target=served.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{served.server_address[1]}/"
        served.shutdown()


@pytest.fixture
def rows(data):
    return [{**row, "page": data(f"answers/{row['id']}")} for row in decoded(data("answers"))]


def page_of(rows, **wanted):
    return next(row["id"] for row in rows if all(row["page"][name] == value for name, value in wanted.items()))


@pytest.mark.parametrize("page", PAGES)
def test_every_page_opens_without_a_complaint(browser, base, page, rows, data):
    first = {"answer": rows[0]["id"], "problem": data("problems")[0]["id"], "trajectory": data("trajectories")[0]["id"]}
    browser.problems()
    browser.open(f"{base}{page}.html" + (f"#id={first[page]}" if page in first else ""))
    plots = browser.all(".plot")
    browser.until(lambda: all(plot.get_attribute("data-drawn") for plot in plots))
    assert browser.problems() == []
    assert not browser.all("main [role=alert]")
    assert len(browser.all("h1")) == 1


def test_from_the_leaderboard_to_an_answer_in_three_clicks(browser, base):
    browser.open(f"{base}index.html")
    browser.click(browser.driver.find_element(By.LINK_TEXT, "Leaderboard"))
    cell = browser.one(".board .score")
    label = re.search(r"of (\d+) problems", cell.get_attribute("aria-label"))
    browser.click(cell)
    assert "#experiment=one&model=" in browser.driver.current_url
    assert f"{2 * int(label[1])} of 12 answers" in browser.text
    browser.click(browser.one("table.data tbody a"))
    assert "/answer.html#id=" in browser.driver.current_url
    for part in ("Source", "Verdict", "Timing", "Prompt and reply", "Build", "Judge it again", "Records"):
        assert part in browser.text


def test_a_filter_stands_in_the_address_and_the_back_button_undoes_it(browser, base):
    browser.open(f"{base}answers.html")
    assert "12 of 12 answers" in browser.text
    Select(browser.one("#filter-category")).select_by_value("compiler")
    browser.wait_ready(1)
    assert "2 of 12 answers" in browser.text
    assert browser.driver.current_url.endswith("#category=compiler")
    shared = browser.driver.current_url
    browser.driver.back()
    browser.wait_ready(2)
    assert "12 of 12 answers" in browser.text
    assert Select(browser.one("#filter-category")).first_selected_option.text == "all"
    browser.open(shared)
    assert "2 of 12 answers" in browser.text


def test_the_threshold_is_chosen_by_keys_and_changes_the_shares(browser, base):
    browser.open(f"{base}leaderboard.html#p=0")
    before = [cell.text for cell in browser.all(".score strong")]
    slider = browser.one("#p")
    drawn = 1
    while "p=2" not in browser.driver.current_url:
        slider.send_keys(Keys.ARROW_RIGHT)
        browser.wait_ready(drawn)
        drawn += 1
        slider = browser.one("#p")
    after = [cell.text for cell in browser.all(".score strong")]
    assert before != after
    assert browser.run("return document.activeElement.id") == "p"


def test_a_difference_shows_both_turns(browser, base, rows):
    browser.open(f"{base}answer.html#id={page_of(rows, turn=1, status='passed')}")
    lines = [line.text for line in browser.all(".difference .delete code, .difference .insert code")]
    assert "y[0] = x[0];" in "".join(lines)
    assert "y[0] = x[1];" in "".join(lines)
    browser.click(browser.one("#view-unified"))
    assert "view=unified" in browser.driver.current_url
    assert not browser.all(".difference.wide")
    browser.click(browser.one("#view-source"))
    assert not browser.all(".difference")
    assert "launch(const float* x" in browser.one(".source").text


def test_a_hostile_answer_is_text(browser, base, rows):
    browser.problems()
    hostile = page_of(rows, status="passed", turn=1, definition="mini/level1/3_problem")
    browser.open(f"{base}answer.html#id={hostile}&view=source")
    for box in browser.all("details"):
        browser.run("arguments[0].open = true", box)
    browser.until(lambda: len(browser.all("#talk pre")) >= 2)
    shown = [browser.run("return arguments[0].textContent", box) for box in browser.all("#talk pre")]
    assert shown == [HOSTILE, HOSTILE]
    assert browser.run("return document.querySelector('#build pre').textContent") == HOSTILE
    source = browser.run(
        "return [...document.querySelectorAll('.source .line')].map((line) => line.textContent).join('\\n')"
    )
    assert f"// {HOSTILE}" in source
    assert not browser.all("main img, main script, main a[href^=javascript]")
    assert "owned" not in browser.driver.title
    assert browser.problems() == []


def test_a_script_in_the_page_would_not_run(browser, base):
    browser.open(f"{base}index.html")
    browser.run(
        "const made = document.createElement('script'); made.textContent = 'window.injected = 1'; "
        "document.body.append(made)"
    )
    assert browser.run("return window.injected === undefined")
    assert any("Content Security Policy" in text for text in browser.problems())


def test_dark_and_light_by_the_system_and_by_the_switch(browser, base):
    emulate = {"features": [{"name": "prefers-color-scheme", "value": "dark"}]}
    browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", emulate)
    browser.open(f"{base}leaderboard.html")
    browser.run("try { localStorage.removeItem('hone-theme') } catch {}")
    browser.open(f"{base}leaderboard.html")
    theme = "return [document.documentElement.dataset.theme, getComputedStyle(document.body).backgroundColor]"
    dark = browser.run(theme)
    browser.one("#theme").click()
    light = browser.run(theme)
    browser.run("try { localStorage.removeItem('hone-theme') } catch {}")
    browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    assert (dark[0], light[0]) == ("dark", "light")
    assert dark[1] != light[1]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_text_can_be_read_in_both_themes(browser, base, theme, rows):
    emulate = {"features": [{"name": "prefers-color-scheme", "value": theme}]}
    browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", emulate)
    faint = {}
    shown = f"answer.html#id={page_of(rows, turn=1, status='passed')}"
    for page in (
        "index.html",
        "leaderboard.html",
        "answers.html",
        shown,
        "compare.html",
        "tables.html",
        "problems.html",
    ):
        browser.open(f"{base}{page}")
        faint[page] = browser.run(CONTRAST.read_text())
    browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    assert {page: found for page, found in faint.items() if found} == {}


def test_a_key_reaches_everything_and_controls_have_names(browser, base, rows):
    for page in ("leaderboard.html", "answers.html", f"answer.html#id={rows[1]['id']}", "compare.html"):
        browser.open(f"{base}{page}")
        nameless = browser.run(
            "return [...document.querySelectorAll('a, button, select, input')].filter((item) => "
            "!(item.textContent.trim() || item.getAttribute('aria-label') || item.labels?.length || item.title)).length"
        )
        assert nameless == 0
        browser.one("body").send_keys(Keys.TAB)
        assert browser.run("return document.activeElement.id") == "skip"
        heads = browser.run(
            "return [...document.querySelectorAll('h1, h2, h3, h4')].map((head) => Number(head.tagName[1]))"
        )
        assert all(after <= before + 1 for before, after in itertools.pairwise(heads))


@pytest.mark.parametrize("width", [420, 1400])
def test_no_page_is_wider_than_the_window(browser, base, width, rows):
    metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
    browser.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    wide = []
    for page in (
        *(f"{name}.html" for name in PAGES if name not in ("answer", "problem", "trajectory")),
        f"answer.html#id={rows[1]['id']}",
    ):
        browser.open(f"{base}{page}")
        if browser.run("return document.documentElement.scrollWidth") > width:
            wide.append(page)
    browser.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    assert wide == []


@pytest.fixture(scope="module")
def crowd(tmp_path_factory):
    return many(problems=5).make(tmp_path_factory.mktemp("many"))


def test_two_hundred_answers_can_be_filtered(browser, crowd):
    browser.open(f"{crowd.as_uri()}/answers.html")
    assert "200 of 200 answers" in browser.text
    change = (
        "const [name, value, done] = arguments; const before = document.body.dataset.ready; "
        "const box = document.getElementById(name); box.value = value; box.dispatchEvent(new Event('change')); "
        "const look = () => (document.body.dataset.ready === before ? setTimeout(look, 1) : done()); look();"
    )
    browser.driver.execute_async_script(change, "filter-model", "openai/model-3")
    assert "20 of 200 answers" in browser.text


def test_pages_of_many_answers_stay_small(crowd):
    """At 500 bytes an answer, 2,000 of them open at once: docs/explorer.md."""
    assert (crowd / "data/answers.js").stat().st_size < 200 * 500 + 10_000
    assert all((crowd / f"{page}.html").stat().st_size < 1_000_000 for page in PAGES)
