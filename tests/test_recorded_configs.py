"""Committed transcripts: every answer that a committed config replays is there, so that it runs to its end."""

import json
from pathlib import Path

import pytest
import yaml

from hone.config.experiments import ASTRA, UNPROMPTED
from hone.config.settings import load

ROOT = Path(__file__).parents[1]
TRANSCRIPTS = ROOT / "resources" / "recorded"
CONFIGS = {
    path.name: load(yaml.safe_load(path.read_text()), path.name) for path in sorted((ROOT / "config").glob("*.yaml"))
}
REPLAYED = [
    (config, name)
    for config, settings in CONFIGS.items()
    for name, item in settings.experiments.items()
    if item.method not in UNPROMPTED and all(model.startswith("recorded/") for model in item.models)
]


def places(item):
    """Role, turn and sample of every answer that a problem or a kernel's rounds need."""
    if item.method not in ASTRA:
        return {("coder", turn, sample) for turn in range(item.turns) for sample in range(item.samples)}
    rounds, samples = range(1, item.turns), range(item.samples)
    if item.method == "astra_single":
        return {("single", 0, 0), *(("single", turn, sample) for turn in rounds for sample in samples)}
    before = {(role, turn, 0) for role in ("profiling", "planning") for turn in rounds}
    return {("testing", 0, 0), *before, *(("coding", turn, sample) for turn in rounds for sample in samples)}


def answered(model, source):
    """`level1/2` of a source -> role, turn and sample of its answers."""
    found = {}
    for line in (TRANSCRIPTS / f"{model.removeprefix('recorded/')}.jsonl").read_text().splitlines():
        row = json.loads(line)
        of, level, title = row["definition"].split("/")
        if of == source and row["response"]:
            found.setdefault(f"{level}/{title.partition('_')[0]}", set()).add((row["role"], row["turn"], row["sample"]))
    return found


@pytest.mark.parametrize(("config", "experiment"), REPLAYED)
def test_every_answer_is_there(config, experiment):
    settings = CONFIGS[config]
    item = settings.experiments[experiment]
    levels = settings.sources[item.source].levels
    problems = [
        f"level{level}/{number}"
        for level, count in levels.items()
        for number in range(1, count + 1)
        if item.selects(level, number)
    ]
    for model in item.models:
        found = answered(model, item.source)
        missing = {problem: places(item) - found.get(problem, set()) for problem in problems}
        assert not any(missing.values()), missing


def test_there_is_something_to_check():
    configs = {config for config, _ in REPLAYED}
    assert {"config.yaml", "miniature.yaml", "h200_astra.yaml"} <= configs
