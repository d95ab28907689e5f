"""Every study is a command, a mistake in one is a single message, and the README names them all."""

import re
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from typer.main import get_command

from hone.cli.options import RUN, in_run, run_app
from studies.__main__ import app

README = Path("studies/README.md").read_text()


def test_the_readme_names_every_study_and_no_other():
    rows = re.findall(r"^\| `([a-z-]+)` \|", README, re.MULTILINE)
    assert sorted(rows) == sorted(get_command(app).commands)


@pytest.mark.parametrize("config", ["config/tuned.yaml", Path("config/tuned.yaml")])
def test_a_path_lies_in_the_folder_of_the_config(config):
    """Some versions of typer hand over what was written, others the path that they made of it."""
    context = SimpleNamespace(resilient_parsing=False, params={"config": config})
    assert in_run(context, RUN / "studies/epoch.csv") == Path("results/tuned/studies/epoch.csv")
    assert in_run(context, Path("here.csv")) == Path("here.csv")


def test_a_mistake_is_one_message(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["studies", "kills", "none.cu"])
    with pytest.raises(SystemExit, match="1"):
        run_app(app)
    assert capsys.readouterr().err.startswith("error: none.cu: names no kernel")
