import json
import subprocess
import sys
import threading

import pytest

from hone.core.errors import RecordError, SpendingLimitError
from hone.llm.ledger import Ledger
from hone.llm.provider import StoppedError
from hone.llm.spending import Budget
from tests.llm.cost import total_cost_usd

GO = threading.Event()


@pytest.fixture
def ledger(tmp_path):
    return Ledger(tmp_path / "ledger")


def reserve(budget, key, usd):
    budget.reserve(key, usd, GO)


def tally(ledger):
    return json.loads((ledger.folder / "spending.json").read_text())


def keep(ledger, budget, completion):
    with ledger.slot(completion.request) as slot:
        return budget.keep(completion, slot)


def test_a_limit_of_zero_lets_only_free_requests_through(ledger):
    budget = Budget(ledger, 0.0)
    reserve(budget, "a", 0.0)
    with pytest.raises(SpendingLimitError, match="its default") as error:
        reserve(budget, "b", 0.01)
    assert error.value.where == "llm.spending_limit_usd"


def test_what_was_kept_counts_at_its_real_cost(ledger, make_completion):
    budget = Budget(ledger, 1.0)
    for sample in range(3):
        completion = make_completion(sample)
        reserve(budget, completion.key, 0.5)
        assert keep(ledger, budget, completion)
    assert tally(ledger) == {"entries": 3, "spent_usd": 0.75, "reserved_usd": {}}
    reserve(budget, "d", 0.25)
    with pytest.raises(SpendingLimitError, match=r"answers cost \$0.7500"):
        reserve(budget, "e", 0.26)


def test_entries_that_came_another_way_count_for_the_next_run(ledger, make_completion):
    keep(ledger, Budget(ledger, 1.0), make_completion(0))
    for sample in range(1, 4):
        ledger.put(make_completion(sample))
    with pytest.raises(SpendingLimitError):
        reserve(Budget(ledger, 1.0), "x", 0.01)


def test_a_released_reservation_is_free_again(ledger):
    budget = Budget(ledger, 1.0)
    reserve(budget, "a", 1.0)
    budget.release("a")
    reserve(budget, "b", 1.0)


def test_a_reservation_of_a_dead_process_blocks_nobody(ledger):
    """Its claim is free, as the kernel leaves it after kill -9."""
    reserve(Budget(ledger, 1.0), "dead", 1.0)
    reserve(Budget(ledger, 1.0), "next", 1.0)
    assert tally(ledger)["reserved_usd"] == {"next": 1.0}


def test_an_answer_whose_process_died_before_counting_it_is_counted(ledger, make_completion):
    completion, running = make_completion(cost_usd=0.9), Budget(ledger, 1.0)
    reserve(running, completion.key, 0.95)
    ledger.put(completion)
    with pytest.raises(SpendingLimitError):
        reserve(running, "next", 0.5)
    with pytest.raises(SpendingLimitError):
        reserve(Budget(ledger, 1.0), "next", 0.5)
    assert total_cost_usd(ledger) == 0.9


def test_a_live_reservation_is_waited_for(ledger, make_completion):
    first, done = make_completion(0, cost_usd=0.1), []
    budget = Budget(ledger, 1.0, poll_s=0.01)

    def second():
        reserve(budget, "second", 0.5)
        done.append(tally(ledger)["spent_usd"])

    with ledger.claim(first.key):
        reserve(budget, first.key, 0.9)
        thread = threading.Thread(target=second)
        thread.start()
        keep(ledger, budget, first)
        thread.join()
    assert done == [0.1]


def test_waiting_ends_with_the_run(ledger):
    budget, stop = Budget(ledger, 1.0), threading.Event()
    with ledger.claim("first"):
        reserve(budget, "first", 0.9)
        stop.set()
        with pytest.raises(StoppedError):
            budget.reserve("second", 0.5, stop)


def test_threads_together_never_reserve_more_than_the_limit(ledger):
    sums = []

    def work(number):
        budget = Budget(ledger, 1.0, poll_s=0.005)
        with ledger.claim(f"key{number}"):
            reserve(budget, f"key{number}", 0.3)
            sums.append(sum(tally(ledger)["reserved_usd"].values()))
            budget.release(f"key{number}")

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(sums) == 8
    assert max(sums) <= 1.0


def test_a_process_that_dies_with_a_reservation_frees_it(ledger):
    code = (
        "import sys, threading, os; from pathlib import Path\n"
        "from hone.llm.ledger import Ledger; from hone.llm.spending import Budget\n"
        "ledger = Ledger(Path(sys.argv[1]))\n"
        "with ledger.claim('child'):\n"
        "    Budget(ledger, 1.0).reserve('child', 1.0, threading.Event())\n"
        "    os.kill(os.getpid(), 9)\n"
    )
    assert subprocess.run([sys.executable, "-c", code, str(ledger.folder)], check=False).returncode == -9
    assert tally(ledger)["reserved_usd"] == {"child": 1.0}
    reserve(Budget(ledger, 1.0), "parent", 1.0)


def test_a_damaged_tally_says_how_it_is_made_again(ledger):
    ledger.folder.mkdir()
    (ledger.folder / "spending.json").write_text('{"entries": 3, "spen')
    with pytest.raises(RecordError, match="computed again"):
        reserve(Budget(ledger, 1.0), "a", 0.1)


def test_a_damaged_entry_stops_the_sum(ledger, make_completion):
    ledger.put(make_completion())
    ledger.path(make_completion().key).write_text("{")
    with pytest.raises(RecordError, match="hone ledger --check"):
        reserve(Budget(ledger, 1.0), "a", 0.1)
