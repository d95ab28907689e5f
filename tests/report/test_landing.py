"""The report's first page says what was run and what came out, in reStructuredText that docutils takes."""

import docutils.core
import pytest

from hone.preflight.references import read_checked
from hone.report.landing import findings, write_landing
from tests.workflow.conftest import ROOT

SUMMARY = """# Results

- 3 of 4 kernels `softmax` are right ([log](log.md)).
- None is fast. ([table](tables/a.md))

## Tables

- more
"""


@pytest.fixture
def settings(monkeypatch):
    monkeypatch.chdir(ROOT)
    return read_checked(ROOT / "config/config.yaml")


def test_findings_are_what_stands_before_the_first_list():
    assert findings(SUMMARY) == ["- 3 of 4 kernels ``softmax`` are right (log).", "- None is fast."]
    assert findings("# Results\n\n## Tables\n\n- more\n") == []


def test_every_experiment_and_training_is_named(settings, tmp_path):
    write_landing(settings, ["a.yaml"], SUMMARY, tmp_path / "landing.rst")
    text = (tmp_path / "landing.rst").read_text()
    for name in (*settings.experiments, *settings.trainings):
        assert f"**{name}**" in text
    assert "``a.yaml``" in text
    assert "- None is fast." in text
    assert "no model's results" in text  # the default config replays recordings


def test_the_page_is_restructured_text(settings, tmp_path):
    write_landing(settings, ["a.yaml"], SUMMARY, tmp_path / "landing.rst")
    strict = {"halt_level": 2, "report_level": 5}
    docutils.core.publish_string((tmp_path / "landing.rst").read_text(), settings_overrides=strict)
