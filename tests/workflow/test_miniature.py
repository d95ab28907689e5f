"""The miniature's answers: all problems of our own and all recorded first answers to them, wrong ones among them.

The demo's tests run the rest: refinements, existing kernels that are improved, trainings, figures.
"""

import pytest
import yaml

from hone.core.files import read_records
from hone.llm.recorded import RecordedAnswer
from tests.workflow.conftest import ROOT
from tests.workflow.whole import rows, run_whole, unresolved, verdicts

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def miniature(tmp_path_factory):
    config = yaml.safe_load((ROOT / "config/miniature.yaml").read_text())
    experiments = {name: config["experiments"][name] for name in ("one_shot", "sampling", "gold")}
    judge = {**config["judge"], "timing": False}  # the demo takes times
    folder = tmp_path_factory.mktemp("miniature")
    parts = {name: config[name] for name in ("sources", "llm", "baselines")}
    (folder / "answers.yaml").write_text(yaml.safe_dump({**parts, "experiments": experiments, "judge": judge}))
    return run_whole(folder, "answers.yaml", "tables")


def test_every_verdict_is_resolved(miniature):
    assert unresolved(miniature) == []


def test_every_reference_passes_as_its_own_candidate(miniature):
    gold = rows(miniature, "judge_gold")
    assert len(gold) == 12
    assert {row["status"] for row in gold} == {"passed"}


def test_every_planted_flaw_is_found(miniature):
    expected = {
        "wrong values": "wrong_value", "does not compile": "compile_error", "writes to its input": "input_changed",
        "allocates 200 GB": "out_of_memory", "writes out of bounds": "runtime_error", "never ends": "timeout",
        "no code": "no_code", "cut off": "no_code", "slow": "passed",
    }  # fmt: skip
    found = verdicts(miniature, "sampling")
    planted = [row for row in read_records(ROOT / "resources/recorded/miniature.jsonl", RecordedAnswer) if row.planted]
    assert len(planted) >= 10
    for row in planted:
        assert found[row.definition, row.turn, row.sample] == expected[row.planted.split(":")[0]], row.planted


def test_the_recorded_first_prompts_are_todays(miniature):
    """After a prompt edit, record anew."""
    differs = {row["experiment"]: int(row["prompt_differs"]) for row in rows(miniature, "llm_cost")}
    assert (differs["one_shot"], differs["sampling"]) == (0, 0)


def test_wrong_slow_and_broken_answers_are_all_there(miniature):
    wrong = {"compile_error", "wrong_value", "runtime_error", "timeout", "out_of_memory", "input_changed", "no_code"}
    assert set(verdicts(miniature, "sampling").values()) == {"passed", *wrong}
