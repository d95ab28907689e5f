"""Every study is a command, a mistake in one is a single message, and the README names them all."""

import re
import sys
from pathlib import Path

import pytest
from typer.main import get_command

from hone.cli.options import run_app
from studies.__main__ import app

README = Path("studies/README.md").read_text()


def test_the_readme_names_every_study_and_no_other():
    rows = re.findall(r"^\| `([a-z-]+)` \|", README, re.MULTILINE)
    assert sorted(rows) == sorted(get_command(app).commands)


def test_a_mistake_is_one_message(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["studies", "kills", "none.cu"])
    with pytest.raises(SystemExit, match="1"):
        run_app(app)
    assert capsys.readouterr().err.startswith("error: none.cu: names no kernel")
