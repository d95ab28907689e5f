import errno
import json
import os
import signal
import threading
from pathlib import Path

import pytest

from hone.config.llm import Price
from hone.config.settings import Paths
from hone.core.errors import (
    MachineError,
    PendingAnswersError,
    ProviderError,
    RecordError,
    SpendingLimitError,
)
from hone.llm.batch import import_answers, requests_file
from hone.llm.ledger import Ledger, describe
from hone.llm.live import ask_all
from hone.records import Sampling
from tests.llm.cost import total_cost_usd

from . import campaign
from .campaign import MODEL, WAITS, answer_prompts, ask, prompts, settings
from .server import FakeServer
from .test_batch import outputs, write

FREE = Price(input_usd_per_mtok=0.0, output_usd_per_mtok=0.0)


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "ledger"


def test_answers_are_sorted_and_in_their_place(folder):
    with FakeServer() as server:
        answers = ask(server.url, folder, 23)
    places = [(answer.definition, answer.sample) for answer in answers]
    assert places == sorted(places)
    asked = {(prompt.definition, sample) for prompt in prompts(23) for sample in prompt.samples}
    assert set(places) == asked
    digests = {prompt.definition: prompt.digest for prompt in prompts(23)}
    for answer in answers:
        assert answer.prompt_digest == digests[answer.definition]
        assert answer.completion.request.sample == answer.sample
        assert answer.completion.response == f"to {answer.completion.key}"
        assert answer.completion.model_returned == "toy-2025-01-01"


def test_nothing_is_asked_twice_whatever_the_experiment_is_called(folder):
    with FakeServer() as server:
        first = ask(server.url, folder, 10)
        renamed = [prompt.model_copy(update={"experiment": "other", "definition": "z"}) for prompt in prompts(10)]
        again = answer_prompts(
            renamed + renamed,
            model=MODEL,
            sampling=Sampling(temperature=1.0, max_tokens=200),
            llm=settings(server.url, mode="replay"),
            paths=Paths(ledger=str(folder)),
        )
        assert len(server.books.sent) == 10
    assert {answer.completion.key for answer in again} == {answer.completion.key for answer in first}
    assert len(again) == 20


def test_no_more_requests_are_in_flight_than_the_config_says(folder):
    with FakeServer(delay_s=0.05) as server:
        ask(server.url, folder, 20, concurrency=3)
        assert 1 < server.books.most_in_flight <= 3


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ("429", "HTTP 429: slow down"),
        ("500", "HTTP 500: injected 500"),
        ("503", "HTTP 503"),
        ("408", "HTTP 408"),
        ("409", "HTTP 409"),
        ("stall", "timeout"),
        ("reset", "connection"),
        ("reset_after_billing", "connection"),
        ("malformed", "malformed body"),
        ("cut_json", "malformed body"),
        ("not_utf8", "malformed body"),
        ("truncated", "connection"),
        ("no_choices", "no choices"),
    ],
)
def test_a_passing_fault_is_retried_and_recorded(folder, fault, reason):
    with FakeServer(script=[fault], stall_s=1.0) as server:
        (answer,) = ask(server.url, folder, 1, timeout_s=0.2)
        assert len(server.books.sent) == 2
    (failed,) = answer.completion.failed_attempts
    assert reason in failed.reason


def test_an_answer_without_token_counts_is_kept_and_the_limit_counts_its_most(folder):
    with FakeServer(script=["no_usage"]) as server:
        (answer,) = ask(server.url, folder, 1)
        assert len(server.books.sent) == 1, "an answer that may be paid for was thrown away and asked again"
    completion = answer.completion
    assert (completion.usage, completion.known_cost_usd, completion.failed_attempts) == (None, None, ())
    assert completion.cost_usd > 200 * 8.0 / 1e6, "at most: all of max_tokens, and the prompt"
    assert "tokens not counted" in completion.price_source
    spent = json.loads((folder / "spending.json").read_text())["spent_usd"]
    assert spent == completion.cost_usd
    assert "counted no tokens of 1 calls" in describe(Ledger(folder).entries())[-1]


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("400", "sampling parameter"),
        ("401", "check the key"),
        ("403", "may not use"),
        ("404", "base URL"),
        ("422", "parameter"),
        ("400:no_db_connection", "check the key"),
        ("429:insufficient_quota", "no credit"),
    ],
)
def test_a_lasting_fault_is_never_retried(folder, fault, words):
    with FakeServer(script=[fault]) as server:
        with pytest.raises(ProviderError, match="injected") as error:
            ask(server.url, folder, 1)
        assert len(server.books.sent) == 1
    assert words in error.value.remedy


@pytest.mark.parametrize("code", ["content_filter", "context_length_exceeded"])
def test_a_refused_prompt_is_unanswered_and_the_rest_goes_on(folder, capsys, code):
    with FakeServer(script=["ok", f"400:{code}"]) as server:
        answers = ask(server.url, folder, 10, concurrency=1)
        (unanswered,) = (answer.completion for answer in answers if answer.completion.refusal)
        assert len(answers) == len(server.books.sent) == 10
        assert ask(server.url, folder, 10) == answers, "it is kept, like any other answer"
        assert len(server.books.sent) == 10
    assert unanswered.refusal == f"HTTP 400: injected {code}"
    assert (unanswered.response, unanswered.finish_reason, unanswered.usage) == ("", "refused", None)
    assert 0 < unanswered.cost_usd < 200 * 8.0 / 1e6, "some servers bill the prompt, none the output"
    said = capsys.readouterr().err
    assert f"counts as unanswered: HTTP 400: injected {code}" in said
    assert str(Ledger(folder).path(unanswered.key)) in said


def test_a_server_that_is_down_is_said_at_once(folder, capsys):
    with FakeServer() as server:
        url = server.url
    with pytest.raises(ProviderError, match="no answer after 3 tries"):
        ask(url, folder, 1, max_attempts=3)
    (note,) = capsys.readouterr().err.splitlines()
    assert f"toy at {url}: connection: " in note
    assert "is the server running there?" in note


def test_a_limit_per_minute_without_retry_after_is_waited_for(folder):
    with FakeServer(script=["429"] * 12, retry_after_ms=None) as server:
        (answer,) = ask(server.url, folder, 1, max_attempts=3)
        assert len(server.books.sent) == 13
    assert len(answer.completion.failed_attempts) == 12


def test_one_failure_keeps_what_the_others_answered(folder):
    """The refused request ends the run; those in flight are finished and kept, the rest is never sent."""
    with FakeServer(script=["ok", "ok", "401"], delay_s=0.05) as server:
        with pytest.raises(ProviderError, match="401"):
            ask(server.url, folder, 40, concurrency=4)
        billed = set(server.books.billed)
        assert len(server.books.sent) < 40
    assert {entry.key for entry in Ledger(folder).entries()} == billed


@pytest.fixture
def interruptible():
    """SIGINT raises KeyboardInterrupt also where the tests were started in the background, which ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_ctrl_c_keeps_what_is_in_flight(folder, monkeypatch):
    """SIGINT arrives while requests are at the server."""
    with FakeServer(delay_s=0.3) as server:
        timer = threading.Timer(0.15, os.kill, (os.getpid(), signal.SIGINT))
        real = campaign.FakeServer.choose_fault

        def start_timer(self, key):
            if not timer.is_alive() and not timer.finished.is_set():
                timer.start()
            return real(self, key)

        monkeypatch.setattr(FakeServer, "choose_fault", start_timer)
        with pytest.raises(KeyboardInterrupt):
            ask(server.url, folder, 60, concurrency=4, timeout_s=10.0)
        billed = set(server.books.billed)
    assert 0 < len(billed) < 60
    assert {entry.key for entry in Ledger(folder).entries()} == billed


def test_a_missing_key_is_found_before_anything_is_sent(folder, monkeypatch):
    monkeypatch.delenv("FAKE_API_KEY")
    with FakeServer() as server:
        with pytest.raises(ProviderError, match="FAKE_API_KEY is not set"):
            ask(server.url, folder, 5)
        assert not server.books.sent


def test_a_missing_price_is_found_before_anything_is_sent(folder):
    with FakeServer() as server:
        for mode in ("live", "export"):
            with pytest.raises(ProviderError, match="has no price"):
                ask(server.url, folder, 5, prices={}, mode=mode)
        assert not server.books.sent


def test_the_key_never_appears_in_a_message(folder, monkeypatch):
    monkeypatch.setenv("FAKE_API_KEY", "injected")
    with FakeServer(script=["401"]) as server, pytest.raises(ProviderError) as error:
        ask(server.url, folder, 1)
    assert "injected" not in str(error.value)


def test_the_default_limit_spends_nothing(folder):
    with FakeServer() as server:
        with pytest.raises(SpendingLimitError, match="its default"):
            ask(server.url, folder, 5, spending_limit_usd=0.0)
        assert not server.books.sent
        assert len(ask(server.url, folder, 5, spending_limit_usd=0.0, prices={MODEL: FREE})) == 5


def test_the_limit_holds_and_what_was_answered_is_kept(folder):
    limit_usd = 0.01
    with FakeServer() as server:
        with pytest.raises(SpendingLimitError):
            ask(server.url, folder, 60, spending_limit_usd=limit_usd)
        ledger = Ledger(folder)
        assert 0 < total_cost_usd(ledger) <= limit_usd
        assert {entry.key for entry in ledger.entries()} == set(server.books.billed)
        assert len(ask(server.url, folder, 60)) == 60
        assert len(server.books.sent) == 60, "what was answered under the limit is not asked again"


def test_a_damaged_entry_stops_the_run_before_anything_is_sent(folder):
    with FakeServer() as server:
        first = ask(server.url, folder, 3)
        path = Ledger(folder).path(first[1].completion.key)
        path.write_text(path.read_text()[:50])
        with pytest.raises(RecordError, match="hone ledger --check") as error:
            ask(server.url, folder, 10)
        assert len(server.books.sent) == 3
    assert error.value.where == str(path)


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS])
def test_a_disk_that_cannot_take_the_answer_is_found_before_anything_is_sent(folder, monkeypatch, number):
    def fail(*_args):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "posix_fallocate", fail)
    with FakeServer() as server:
        with pytest.raises(MachineError, match="cannot write"):
            ask(server.url, folder, 5)
        assert not server.books.sent


def test_another_port_of_a_service_asks_nothing_again(folder):
    with FakeServer() as first, FakeServer() as second:
        answers = ask(first.url, folder, 5)
        assert ask(second.url, folder, 5) == answers
        assert not second.books.sent


def repeated(url, folder, **changes):
    """The same prompt in three turns; the numbers are those of its repeats."""
    asked = [prompts(1)[0].model_copy(update={"turn": turn, "repeat": turn}) for turn in range(3)]
    sampling = Sampling(temperature=1.0, max_tokens=200)
    paths = Paths(ledger=str(folder))
    return answer_prompts(asked, model=MODEL, sampling=sampling, llm=settings(url, **changes), paths=paths, waits=WAITS)


def test_each_turn_with_the_same_prompt_has_an_answer_of_its_own(folder):
    with FakeServer() as server:
        answers = repeated(server.url, folder)
        assert len(server.books.sent) == 3
        assert repeated(server.url, folder, mode="replay") == answers
    assert len({answer.completion.response for answer in answers}) == 3


def test_a_ledger_with_one_answer_for_all_turns_is_replayed_and_said(folder, capsys):
    with FakeServer() as server:
        (first,) = ask(server.url, folder, 1)
        answers = repeated(server.url, folder, mode="replay")
        assert len(server.books.sent) == 1
    assert {answer.completion.key for answer in answers} == {first.completion.key}
    assert "2 repeated prompts" in capsys.readouterr().err


def test_replay_names_what_is_missing(folder):
    with FakeServer() as server:
        ask(server.url, folder, 5)
        with pytest.raises(ProviderError, match="7 answers are not in the ledger") as error:
            ask(server.url, folder, 12, mode="replay")
        assert len(server.books.sent) == 5
    assert "toy/level1/1, role engineer, turn 0, sample 0" in str(error.value)
    assert "and 2 more" in str(error.value)
    assert "llm.mode: live" in error.value.remedy


def test_export_and_import_lead_to_the_same_answers(folder, tmp_path, monkeypatch):
    monkeypatch.delenv("FAKE_API_KEY")
    batch_file = tmp_path / "pending.jsonl"

    def stage(mode):
        return answer_prompts(
            prompts(12),
            model=MODEL,
            sampling=Sampling(),
            llm=settings("http://127.0.0.1:9/v1", mode=mode),
            paths=Paths(ledger=str(folder)),
            batch_file=batch_file,
        )

    with pytest.raises(PendingAnswersError, match="12 requests wait") as error:
        stage("export")
    assert str(batch_file) in str(error.value)
    assert "hone import" in error.value.remedy
    out = write(tmp_path / "out.jsonl", outputs(batch_file)[:7])
    prices = {MODEL: campaign.PRICE}
    assert import_answers([out], [requests_file(batch_file)], Ledger(folder), prices).imported == 7
    with pytest.raises(PendingAnswersError, match="5 requests wait"):
        stage("export")
    out = write(tmp_path / "rest.jsonl", outputs(batch_file))
    assert import_answers([out], [requests_file(batch_file)], Ledger(folder), prices).imported == 5
    assert stage("export") == stage("replay")
    assert len(stage("export")) == 12


def test_a_file_system_error_while_keeping_ends_the_run_with_a_rescue(folder, monkeypatch, capsys):
    real = os.fsync

    def fail(descriptor):
        if Path(f"/proc/self/fd/{descriptor}").readlink().suffix == ".partial":
            raise OSError(errno.ENOSPC, "No space left on device")
        real(descriptor)

    monkeypatch.setattr(os, "fsync", fail)
    with FakeServer() as server:
        with pytest.raises(MachineError, match="paid for"):
            ask(server.url, folder, 1)
        (key,) = server.books.billed
    assert f"to {key}" in capsys.readouterr().err


def test_asking_for_nothing_is_no_error(tmp_path):
    ledger = Ledger(tmp_path / "ledger")
    assert ask_all({}, None, ledger, settings("http://127.0.0.1:9/v1"), waits=WAITS) == {}
