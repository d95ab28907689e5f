import re

import pytest

from hone.config.llm import LLM
from hone.config.settings import Paths, load
from hone.core.errors import ProviderError, RecordError
from hone.core.files import write_records
from hone.llm.answer import answer_prompts
from hone.llm.recorded import RecordedAnswer, read_transcript
from hone.llm.transcript import record
from hone.records import Message, Prompt, Sampling


def prompt(definition="toy/level1/1_a", turn=0, samples=(0, 1), text="Write it."):
    messages = (Message(role="user", content=text),)
    return Prompt(
        experiment="mini", definition=definition, role="engineer", turn=turn, samples=samples, messages=messages
    )


def row(sample=0, definition="toy/level1/1_a", turn=0, **changes):
    values = {
        "definition": definition,
        "role": "engineer",
        "turn": turn,
        "sample": sample,
        "prompt_digest": prompt().digest,
        "response": f"answer {sample}",
        "model_label": "written by hand",
    }
    return RecordedAnswer(**{**values, **changes})


@pytest.fixture
def replay(tmp_path):
    def run(rows, prompts, name="mini"):
        write_records(tmp_path / "recorded" / "mini.jsonl", rows)
        paths = Paths(recorded=str(tmp_path / "recorded"), ledger=str(tmp_path / "ledger"))
        return answer_prompts(prompts, model=f"recorded/{name}", sampling=Sampling(), llm=LLM(), paths=paths)

    return run


def test_answers_come_by_place_free_of_charge_and_without_a_ledger(replay, tmp_path):
    answers = replay([row(1), row(0)], [prompt()])
    assert [answer.completion.response for answer in answers] == ["answer 0", "answer 1"]
    for answer in answers:
        completion = answer.completion
        assert (completion.cost_usd, completion.latency_s, completion.price_source) == (0.0, 0.0, "recorded")
        assert completion.model_returned == "written by hand"
        assert completion.key == completion.request.key
        assert answer.model == "recorded/mini"
        assert not answer.prompt_differs
    assert not (tmp_path / "ledger").exists()


def test_another_prompt_marks_the_answer_and_does_not_stop_it(replay):
    (answer,) = replay([row(0)], [prompt(samples=(0,), text="Write it well.")])
    assert answer.prompt_differs
    assert answer.completion.response == "answer 0"
    assert answer.prompt_digest == prompt(text="Write it well.").digest


def test_a_replay_gives_the_same_bytes_each_time(replay):
    assert replay([row(0), row(1)], [prompt()]) == replay([row(0), row(1)], [prompt()])


def test_a_missing_sample_lists_what_there_is_for_the_problem(replay):
    with pytest.raises(ProviderError, match="turn 0, sample 1") as error:
        replay([row(0), row(0, turn=2)], [prompt()])
    assert "engineer turn 0 samples [0]; engineer turn 2 samples [0]" in error.value.remedy


def test_a_missing_problem_lists_the_problems_as_the_config_takes_them(replay):
    rows = [row(0, definition=f"toy/level{place}") for place in ("2/1_c", "1/10_b", "1/2_a")]
    with pytest.raises(ProviderError) as error:
        replay(rows, [prompt("toy/level1/9_z")])
    (listed,) = re.findall(r"problems: \[(.+)\]", error.value.remedy)
    assert listed.split(", ") == ["level1/2", "level1/10", "level2/1"]
    source = {"kind": "local", "path": "toy", "levels": {1: 10, 2: 1}}
    experiment = {
        "method": "one_shot",
        "source": "toy",
        "levels": [1, 2],
        "models": ["recorded/mini"],
        "problems": listed.split(", "),
    }
    load({"sources": {"toy": source}, "experiments": {"mini": experiment}, "judge": {"name": "test"}})


def test_a_problem_of_another_source_is_no_matter_of_problems(replay):
    with pytest.raises(ProviderError) as error:
        replay([row(0)], [prompt("mine/level1/1_a")])
    assert "problems of toy" in error.value.remedy
    assert "problems:" not in error.value.remedy


def test_an_unknown_transcript_names_the_nearest(replay):
    with pytest.raises(ProviderError, match="did you mean 'mini'"):
        replay([row(0)], [prompt()], name="mimi")


def test_two_rows_in_one_place_are_refused(replay):
    with pytest.raises(RecordError, match="two rows for toy/level1/1_a"):
        replay([row(0), row(0)], [prompt()])


@pytest.mark.parametrize("line", ["{", "[]", '{"definition": "x"}', row(0).model_dump_json()[:-1] + ', "more": 1}'])
def test_a_malformed_row_is_named_by_file_and_line(tmp_path, line):
    path = tmp_path / "mini.jsonl"
    path.write_text(row(0).model_dump_json() + "\n" + line + "\n")
    with pytest.raises(RecordError) as error:
        read_transcript("mini", tmp_path)
    assert error.value.where == f"{path}:2"
    assert "git checkout" in error.value.remedy


def test_a_transcript_made_of_answers_replays_to_the_same_responses(replay):
    rows = [
        row(0, finish_reason="length", response="", usage=None), row(1, response="b"),
        row(2, response="", finish_reason="refused", refusal="HTTP 400: no"),
    ]  # fmt: skip
    answers = replay(rows, [prompt(samples=(0, 1, 2))])
    assert record(reversed(answers)) == rows
    assert replay(record(answers), [prompt(samples=(0, 1, 2))]) == answers
