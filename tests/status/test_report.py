"""Every table and figure has its place and its words in `snakemake --report`."""

import re

import pytest
from docutils.core import publish_parts
from jinja2 import Environment, StrictUndefined

from hone.analysis.stage import FIGURE_NAMES, TABLE_NAMES
from tests.workflow.conftest import ROOT

FOLDER = ROOT / "workflow/report"
OTHERS = {"workflow", "summary", "trajectory"}


def listed(name):
    """A list of names in paper.smk."""
    text = re.search(rf"^{name} = \[(.*?)\]", (ROOT / "workflow/rules/paper.smk").read_text(), re.DOTALL | re.MULTILINE)
    return re.findall(r'"(\w+)"', text.group(1))


def test_the_rules_list_every_table_and_figure():
    assert sorted(listed("TABLES")) == sorted(TABLE_NAMES)
    assert sorted(listed("FIGURES")) == sorted(FIGURE_NAMES)


def test_each_has_a_caption_and_there_are_no_others():
    assert {file.stem for file in FOLDER.glob("*.rst")} == {*TABLE_NAMES, *FIGURE_NAMES, *OTHERS}


@pytest.mark.parametrize("experiments", [{"one": {}}, {"one": {}, "two": {}}])
def test_captions_are_valid(experiments):
    context = {"snakemake": type("Snakemake", (), {"config": {"experiments": experiments}})}
    for file in FOLDER.glob("*.rst"):
        text = Environment(undefined=StrictUndefined, autoescape=False).from_string(file.read_text()).render(context)
        assert publish_parts(text, writer="html", settings_overrides={"halt_level": 2})["body"], file
