"""A folder with a small definition, a quick protocol and kernels that say which definition they are for."""

from pathlib import Path

import pytest

from hone.core.files import write_records
from tests.judge.conftest import scale_definition
from tests.operators.conftest import load, merge, norm, silu, small_store  # noqa: F401  fixtures

EVIL = Path(__file__).parents[1] / "evil"
CONFIG = """
sources: {hand: {kind: local, path: problems, levels: {1: 1}}}
experiments: {gold: {method: gold, source: hand, levels: [1]}}
judge:
  name: quick
  correctness_trials: 2
  warmup_runs: 1
  timing_runs: 3
  timing_seconds: 0.1
  run_timeout_s: 2.0
  memory_limit_gib: 1.0
"""


class Place:
    """Where a study finds everything."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.config = folder / "config.yaml"
        self.definitions = folder / "definitions"
        self.config.write_text(CONFIG)

    def define(self, *definitions):
        write_records(self.definitions / "hand" / "level1.jsonl", definitions)

    def kernel(self, name, definition="hand/level1/1_scale"):
        """A copy of tests/evil/<name> with its definition on top."""
        file = self.folder / name
        file.write_text(f"// definition: {definition}\n" + (EVIL / name).read_text())
        return file

    @property
    def options(self):
        return ["--config", str(self.config), "--definitions", str(self.definitions)]


@pytest.fixture
def place(tmp_path):
    place = Place(tmp_path)
    place.define(scale_definition())
    return place


@pytest.fixture
def command(tmp_path, monkeypatch):
    """Runs `python -m studies …` in the folder; the result has `exit_code`, `output` and `exception`."""
    from typer.testing import CliRunner

    from studies.__main__ import app

    monkeypatch.chdir(tmp_path)
    return lambda *arguments: CliRunner().invoke(app, [str(word) for word in arguments])
