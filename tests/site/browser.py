"""A real Chromium without a window; Debian's packages are installed where they are missing."""

import shutil
import subprocess
from contextlib import contextmanager

from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

PACKAGES = ("chromium", "chromium-driver")


def install():
    """Needs root on Debian or Ubuntu where Chromium is not there yet."""
    if shutil.which("chromium") and shutil.which("chromedriver"):
        return
    for command in (["apt-get", "update"], ["apt-get", "install", "--yes", "--no-install-recommends", *PACKAGES]):
        subprocess.run(command, check=True, capture_output=True, timeout=600)


@contextmanager
def chromium():
    install()
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium")
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    options.add_argument("--window-size=1400,1000")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(shutil.which("chromedriver")))
    try:
        yield Browser(driver)
    finally:
        driver.quit()


class Browser:
    """What tests do with a page."""

    def __init__(self, driver):
        self.driver = driver

    def open(self, address):
        """A page, once it is drawn."""
        self.driver.get("about:blank")
        self.driver.get(address)
        self.wait_ready()

    def wait_ready(self, after=0):
        """Until the page is drawn more than `after` times; the first page is as soon as it is loaded."""
        ready = (
            "return document.body.dataset.page === 'index' || Number(document.body.dataset.ready || 0) > arguments[0]"
        )
        self.until(lambda: self.run(ready, after))

    def until(self, found, seconds=10):
        return WebDriverWait(self.driver, seconds, 0.02).until(lambda _: found())

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def all(self, selector):
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def one(self, selector):
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def click(self, element):
        """Follow a link or press a button, and wait for what it leads to."""
        count = "return Number(document.body.dataset.ready || 0)"
        drawn = int(self.run(count))
        before = self.driver.current_url.partition("#")[0]
        element.click()
        self.until(lambda: self.driver.current_url.partition("#")[0] != before or self.run(count) > drawn)
        self.wait_ready()

    @property
    def text(self):
        return self.one("main").text

    def problems(self):
        """What the browser complained of since the last look."""
        return [entry["message"] for entry in self.driver.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")]
