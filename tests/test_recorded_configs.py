"""Committed transcripts: each round of each kernel that a committed config replays is there, in every role."""

import json
from pathlib import Path

import pytest
import yaml

from hone.config import ASTRA, load

ROOT = Path(__file__).parents[1]
TRANSCRIPTS = ROOT / "resources" / "recorded"
REPLAYED = [
    (path.name, name)
    for path in sorted((ROOT / "config").glob("*.yaml"))
    for name, item in load(yaml.safe_load(path.read_text()), path.name).experiments.items()
    if item.method in ASTRA and all(model.startswith("recorded/") for model in item.models)
]


def places(method, turns):
    """Role and turn of every answer that a kernel's rounds need."""
    if method == "astra_single":
        return {("single", turn) for turn in range(turns)}
    rounds = {(role, turn) for role in ("profiling", "planning", "coding") for turn in range(1, turns)}
    return {("testing", 0), *rounds}


def answered(model):
    """Title of the definition -> role and turn of its answers."""
    found = {}
    for line in (TRANSCRIPTS / f"{model.removeprefix('recorded/')}.jsonl").read_text().splitlines():
        row = json.loads(line)
        _, level, title = row["definition"].split("/")
        found.setdefault(f"{level}/{title.partition('_')[0]}", set()).add((row["role"], row["turn"]))
    return found


@pytest.mark.parametrize(("config", "experiment"), REPLAYED)
def test_every_answer_that_is_replayed_is_there(config, experiment):
    item = load(yaml.safe_load((ROOT / "config" / config).read_text()), config).experiments[experiment]
    for model in item.models:
        found = answered(model)
        for problem in item.problems or found:
            assert places(item.method, item.turns) <= found[problem]


def test_there_is_something_to_check():
    assert ("h200_astra.yaml", "astra") in REPLAYED
    assert ("config.yaml", "graph_ops") in REPLAYED
