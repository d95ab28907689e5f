"""Every table and figure has its place in the rules, and its caption."""

import re

from docutils.core import publish_parts

from hone.analysis.stage import FIGURE_NAMES, TABLE_NAMES
from tests.workflow.conftest import ROOT

FOLDER = ROOT / "workflow/report"


def listed(name):
    """A list of names in paper.smk."""
    text = re.search(rf"^{name} = \[(.*?)\]", (ROOT / "workflow/rules/paper.smk").read_text(), re.DOTALL | re.MULTILINE)
    return re.findall(r'"(\w+)"', text.group(1))


def test_the_rules_list_every_table_and_figure():
    assert sorted(listed("TABLES")) == sorted(TABLE_NAMES)
    assert sorted(listed("FIGURES")) == sorted(FIGURE_NAMES)


def test_each_has_a_caption_and_there_are_no_others():
    assert {file.stem for file in FOLDER.glob("*.rst")} == {*TABLE_NAMES, *FIGURE_NAMES}


def test_captions_are_valid():
    for file in FOLDER.glob("*.rst"):
        assert publish_parts(file.read_text(), writer="html", settings_overrides={"halt_level": 2})["body"], file
