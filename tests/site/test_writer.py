"""Data as scripts, pages, and libraries out of packages."""

import json
import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hone.core.errors import MachineError
from hone.site.writer import PAGES, POLICY, Writer, as_json, classic_script, finite, package_file
from tests.site.world import HOSTILE

PLAIN = st.none() | st.booleans() | st.integers() | st.text()
JSON = st.recursive(PLAIN, lambda item: st.lists(item) | st.dictionaries(st.text(), item))


@given(JSON)
def test_data_come_back_and_end_no_script(value):
    text = as_json(value)
    assert json.loads(text) == value
    assert text.isascii()
    assert "<" not in text


def test_what_json_does_not_have_is_null():
    assert json.loads(as_json({"a": [1.5, math.nan], "b": -math.inf})) == {"a": [1.5, None], "b": None}
    assert finite((1, "a", True)) == [1, "a", True]


@pytest.mark.parametrize("page", PAGES)
def test_every_page_has_a_policy_and_no_script_of_its_own(site, page):
    text = (site / f"{page}.html").read_text()
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text)[1].replace("&#39;", "'")
    assert policy == POLICY
    assert not re.findall(r"<script(?![^>]* src=)", text)
    assert not re.findall(r"\son\w+=", text)
    assert 'lang="en"' in text
    assert "<main" in text


def test_the_policy_allows_no_network_and_no_script_in_the_page():
    rules = dict(rule.split(" ", 1) for rule in POLICY.split("; "))
    assert rules["default-src"] == "'none'"
    assert "unsafe" not in rules["script-src"]
    assert "http" not in POLICY


def test_pages_load_only_what_the_site_has(site):
    for page in PAGES:
        for name in re.findall(r'(?:src|href)="(?!https?:|#|data:)([^"#]*)', (site / f"{page}.html").read_text()):
            assert (site / name).is_file(), f"{page}.html names {name}"


def test_the_first_page_is_small_and_needs_no_data(site):
    assert (site / "index.html").stat().st_size < 1_000_000
    assert "openai/o4-mini" in (site / "index.html").read_text()


def test_text_of_a_template_is_escaped(tmp_path):
    shown = {"configs": [HOSTILE], "ran": [], "findings": [], "figures": [], "warnings": [], "provenance": {},
             "papers": {}, "tables": [],
             "as_printed": [{"place": HOSTILE, "title": HOSTILE, "link": "papers/x.html"}]}  # fmt: skip
    Writer(tmp_path).pages("run", shown)
    text = (tmp_path / "index.html").read_text()
    assert "owned" in text
    assert "<script>document" not in text
    assert "<img" not in text


def test_a_module_becomes_a_script_with_its_exports():
    made = classic_script("var a=1,b=2;export{a as first,b};\n/* end */", "lib")
    assert made == '(()=>{var a=1,b=2;;window["lib"]={"first":a,"b":b};\n/* end */})();\n'


def test_a_script_without_exports_is_named():
    with pytest.raises(MachineError, match="exports nothing"):
        classic_script("var a=1", "lib")


def test_the_libraries_are_where_the_pins_have_them(site):
    assert 'window["itables"]' in (site / "assets/datatables.js").read_text()
    assert "plotly.js v" in (site / "assets/plotly.js").read_text()[:400]


@pytest.mark.parametrize(("package", "path"), [("no-such-package", "x.js"), ("plotly", "no/such/file.js")])
def test_a_missing_library_says_what_to_install(package, path):
    with pytest.raises(MachineError, match=r"requirements\.lock"):
        package_file(package, path)
