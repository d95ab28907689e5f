import errno
import fcntl
import os
import threading

import pytest

from hone.core.errors import MachineError, RecordError
from hone.llm.ledger import Ledger, describe
from hone.llm.provider import StoppedError
from hone.records import Completion, digest
from tests.llm.cost import total_cost_usd


@pytest.fixture
def ledger(tmp_path):
    return Ledger(tmp_path / "ledger")


def failing(number):
    def fail(*_args, **_kwargs):
        raise OSError(number, os.strerror(number))

    return fail


def leftovers(ledger):
    return [path for path in ledger.folder.glob("??/*") if path.suffix != ".json"]


def test_an_answer_comes_back_as_it_was_put(ledger, make_completion):
    completion = make_completion(response='tabs\t, quotes ", \0, \U0001f600 and\r\nlines')
    assert ledger.get(completion.key) is None
    assert ledger.put(completion)
    assert ledger.get(completion.key) == completion
    assert list(ledger.entries()) == [completion]
    assert ledger.path(completion.key).parent.name == completion.key[:2]
    assert not leftovers(ledger)


def test_an_answer_under_the_key_of_before_is_found_and_sound(ledger, make_completion, make_request):
    """The key had the service's address."""
    request = make_request()
    old = make_completion(key=digest(request.model_dump(mode="json")))
    assert old.key != request.key
    path = ledger.path(old.key)
    path.parent.mkdir(parents=True)
    path.write_text(old.model_dump_json())
    assert ledger.find(request) == old
    assert ledger.has(request)
    assert ledger.check() == []
    assert ledger.find(make_request(1)) is None
    assert not ledger.has(make_request(1))


def test_the_first_answer_stays(ledger, make_completion):
    assert ledger.put(make_completion(response="first"))
    assert not ledger.put(make_completion(response="second"))
    assert ledger.get(make_completion().key).response == "first"


def test_a_slot_does_not_overwrite_what_appeared_meanwhile(ledger, make_completion):
    first, second = make_completion(response="first"), make_completion(response="second")
    with ledger.slot(second.request) as slot:
        content = first.model_dump_json()
        ledger.path(first.key).write_text(content)
        assert not slot.commit(second)
    assert ledger.get(first.key) == first


def test_costs_add_up(ledger, make_completion):
    assert total_cost_usd(ledger) == 0
    for sample in range(4):
        ledger.put(make_completion(sample))
    assert total_cost_usd(ledger) == 1.0
    assert ledger.count() == 4


@pytest.mark.parametrize("damage", ["cut", "empty", "other key", "not utf-8", "future version"])
def test_a_damaged_entry_is_named_and_never_taken_for_missing(ledger, make_completion, damage):
    completion, other = make_completion(0), make_completion(1)
    ledger.put(completion)
    ledger.put(other)
    path = ledger.path(completion.key)
    content = path.read_bytes()
    path.write_bytes(
        {
            "cut": content[: len(content) // 2],
            "empty": b"",
            "other key": ledger.path(other.key).read_bytes(),
            "not utf-8": b"\xff" + content,
            "future version": content.replace(b'"schema_version":1', b'"schema_version":9'),
        }[damage]
    )
    with pytest.raises(RecordError, match="hone ledger --check") as error:
        ledger.get(completion.key)
    assert str(path) in str(error.value)
    assert [found.where for found in ledger.check()] == [str(path)]


def test_a_sound_ledger_passes_the_check(ledger, make_completion):
    assert ledger.check() == []
    ledger.put(make_completion())
    assert ledger.check() == []


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EDQUOT])
def test_no_slot_without_disk_space(ledger, make_request, monkeypatch, number):
    monkeypatch.setattr(os, "posix_fallocate", failing(number))
    with pytest.raises(MachineError, match="cannot write"), ledger.slot(make_request()):
        pytest.fail("the request would have been sent")
    assert not leftovers(ledger)


def test_a_file_system_that_cannot_set_space_aside_is_used_all_the_same(ledger, make_completion, monkeypatch):
    monkeypatch.setattr(os, "posix_fallocate", failing(errno.EOPNOTSUPP))
    assert ledger.put(make_completion())


def test_a_file_system_without_hard_links_is_used_all_the_same(ledger, make_completion, monkeypatch):
    monkeypatch.setattr(os, "link", failing(errno.EPERM))
    assert ledger.put(make_completion(response="first"))
    assert not ledger.put(make_completion(response="second"))
    assert ledger.get(make_completion().key).response == "first"
    assert not leftovers(ledger)


def test_a_slot_takes_the_space_before_it_is_needed(ledger, make_request):
    with ledger.slot(make_request()):
        (partial,) = leftovers(ledger)
        assert partial.stat().st_blocks * 512 >= 256 * 1024
    assert not leftovers(ledger)


def test_an_answer_that_the_disk_refuses_is_printed(ledger, make_completion, monkeypatch, capsys):
    completion = make_completion(response="precious")
    with pytest.raises(MachineError, match="printed on stderr") as error, ledger.slot(completion.request) as slot:
        monkeypatch.setattr(os, "fsync", failing(errno.ENOSPC))
        slot.commit(completion)
    monkeypatch.undo()
    assert str(ledger.path(completion.key)) in str(error.value)
    rescued = capsys.readouterr().err.split(":\n", 1)[1]
    ledger.path(completion.key).write_text(rescued)
    assert ledger.get(completion.key) == completion == Completion.model_validate_json(rescued)


def test_a_claim_has_one_holder(ledger):
    with ledger.claim("ab" * 32) as held:
        assert held
        assert ledger.claimed("ab" * 32)
        assert not ledger.claimed("cd" * 32)
        with ledger.claim("ab" * 32, wait=False) as second:
            assert not second
        assert ledger.claimed("ab" * 32), "the one that got nothing must not release it"
    assert not ledger.claimed("ab" * 32)


@pytest.mark.parametrize("number", [errno.ENOSYS, errno.EROFS])
def test_a_file_system_without_locks_is_refused(ledger, monkeypatch, number):
    monkeypatch.setattr(fcntl, "flock", failing(number))
    with pytest.raises(MachineError, match=r"lock|write"), ledger.claim("ab" * 32):
        pytest.fail("the request would have been sent")


def test_waiting_for_a_claim_ends_with_the_run(ledger):
    stop, outcome = threading.Event(), []

    def wait():
        try:
            with ledger.claim("ab" * 32, stop):
                outcome.append("held")
        except StoppedError:
            outcome.append("stopped")

    with ledger.claim("ab" * 32):
        thread = threading.Thread(target=wait)
        thread.start()
        stop.set()
        thread.join()
    assert outcome == ["stopped"]


def test_a_claim_goes_to_the_one_who_waits(ledger, make_completion):
    completion, seen = make_completion(), []

    def wait():
        with ledger.claim(completion.key):
            seen.append(ledger.get(completion.key))

    with ledger.claim(completion.key):
        thread = threading.Thread(target=wait)
        thread.start()
        ledger.put(completion)
    thread.join()
    assert seen == [completion]


def test_the_summary_adds_up_by_model(make_completion, make_request):
    other = make_request(provider="openai", model="o4-mini")
    entries = [make_completion(0), make_completion(1), make_completion(key=other.key, request=other)]
    head, *rows = [line.split() for line in describe(entries)]
    assert head == ["model", "calls", "failed", "input", "output", "cost_usd"]
    assert rows == [
        ["openai-api/fake/toy", "2", "0", "20", "40", "0.5000"],
        ["openai/o4-mini", "1", "0", "10", "20", "0.2500"],
        ["all", "3", "0", "30", "60", "0.7500"],
    ]
    assert len(describe([])) == 1
