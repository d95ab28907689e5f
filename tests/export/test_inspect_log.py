"""Inspect's logs: its own library opens them, and the records come back unchanged."""

from dataclasses import replace

import pytest

from hone.export.inspect_log import SCORER, export_logs, read_back
from hone.records import Status
from tests.analysis.rounds import big_kit
from tests.site.world import HOSTILE, Answers, site_run, small

log_api = pytest.importorskip("inspect_ai.log", reason="the extra `export` is not installed")
pytestmark = pytest.mark.filterwarnings("default")  # Inspect's own


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    world = small()
    site = site_run(world.settings, world.records())
    return site, export_logs(site, tmp_path_factory.mktemp("logs"), "made-up")


def texts(records):
    return sorted(record.model_dump_json() for record in records)


def test_the_records_come_back_unchanged(exported):
    site, paths = exported
    found = [read_back(path) for path in paths]
    for name in ("candidates", "traces", "answers"):
        assert texts(record for log in found for record in log[name]) == texts(getattr(site.run.records, name))


def test_rounds_come_back_with_all_roles(tmp_path):
    kit = big_kit()
    site = site_run(kit.settings, kit.records())
    found = [read_back(path) for path in export_logs(site, tmp_path, "rounds")]
    records = site.run.records
    for name, originals in (("candidates", records.candidates), ("answers", records.answers)):
        assert texts(record for log in found for record in log[name]) == texts(originals)
    assert len(found) == 3


def test_there_is_a_log_for_each_model_and_a_sample_for_each_problem(exported):
    logs = {log.eval.model: log for log in map(log_api.read_eval_log, map(str, exported[1]))}
    assert logs.keys() == {"recorded/demo", "openai/o4-mini"}
    for log in logs.values():
        assert log.status == "success"
        assert log.eval.task == "made-up/one"
        assert [sample.id for sample in log.samples] == [f"mini/level1/{number}_problem" for number in (1, 2, 3)]


def test_turns_are_messages_in_order_and_model_text_is_kept(exported):
    log = log_api.read_eval_log(str(exported[1][0]))
    messages = log.samples[2].messages
    assert [message.role for message in messages] == ["user", "assistant", "user", "assistant"]
    assert {message.text for message in messages} == {HOSTILE}
    assert [message.metadata["turn"] for message in messages] == [0, 0, 1, 1]


def test_an_answer_without_a_verdict_is_an_error_and_never_a_score(exported):
    log = next(log for log in map(log_api.read_eval_log, map(str, exported[1])) if log.eval.model == "recorded/demo")
    lost = log.samples[2]
    assert lost.scores is None
    assert lost.error.message.startswith("machine_error")
    assert (log.results.total_samples, log.results.completed_samples) == (3, 2)
    assert log.results.scores[0].unscored_samples == 1


def test_scores_say_correct_with_the_speedup_that_was_measured(exported):
    log = log_api.read_eval_log(str(exported[1][0]))
    score = log.samples[0].scores[SCORER]
    assert score.value == "C"
    assert score.metadata["turn"] == 1  # the faster one
    assert score.metadata["speedup_torch_eager"] == pytest.approx(2.0)
    assert log.samples[1].scores[SCORER].metadata["findings"] == "below_floor"


def test_a_repeated_answer_is_an_epoch(tmp_path):
    world = Answers(models=["openai/o4-mini"], problems=1, samples=3)
    for sample, outcome in enumerate((2.0, Status.WRONG_VALUE, 1.0)):
        world.add("openai/o4-mini", 1, outcome, sample=sample)
    (path,) = export_logs(site_run(world.settings, world.records()), tmp_path, "x")
    log = log_api.read_eval_log(str(path))
    assert [(sample.epoch, sample.scores[SCORER].value) for sample in log.samples] == [(1, "C"), (2, "I"), (3, "C")]
    assert log.eval.config.epochs == 3
    assert log.results.scores[0].metrics["accuracy"].value == pytest.approx(2 / 3)


def test_tokens_and_dollars_are_those_of_the_answers(exported):
    log = log_api.read_eval_log(str(exported[1][0]))
    (usage,) = log.stats.model_usage.values()
    assert (usage.input_tokens, usage.output_tokens, usage.total_tokens) == (600, 120, 720)
    assert usage.total_cost == pytest.approx(0.06)


def test_a_sample_whose_tokens_nobody_counted_has_no_sum(tmp_path):
    world = Answers(models=["openai/o4-mini"], problems=2)
    for problem in (1, 2):
        world.add("openai/o4-mini", problem, 2.0)
    records = world.records()
    first, *rest = records.answers
    unknown = first.model_copy(update={"completion": first.completion.model_copy(update={"usage": None})})
    (path,) = export_logs(site_run(world.settings, replace(records, answers=[unknown, *rest])), tmp_path, "x")
    assert [bool(sample.model_usage) for sample in log_api.read_eval_log(str(path)).samples] == [False, True]
