"""KernelBench's own loop beside the judge's clock: what it does, and that it is never credited."""

import pytest

from hone.judge.device.cuda import driver
from hone.judge.device.cuda import events as batches
from hone.judge.device.cuda.events import PUBLISHED_WARMUPS, Clock
from hone.judge.protocols.kernelbench import LEAST_TRIALS, MOST_TRIALS, PILOT_TRIALS, measure_as_published
from hone.judge.verdict import Verdict
from hone.records import Status

from .fakes import PUBLISHED_MS, Honest
from .rigs import NORMAL, SCALE

VERSIONS = pytest.mark.parametrize("version", ["v0", "main"])


def published(made, version="v0"):
    return measure_as_published(made.reference, made.subject, [{}], ["torch_eager"], version)


def trials_of(made):
    """Of the solution's process: (trials, whether the cache is flushed) each time."""
    told = [message for message in made.channel.messages if message.get("as_published")]
    return [(message["trials"], message["flush"]) for message in told]


@VERSIONS
def test_both_sides_pay_for_their_launches(bench, version):
    made = bench(run_ms=0.1)
    made.ground.run_ms = 0.2
    found = published(made, version)
    assert (found.version, found.trials) == (version, MOST_TRIALS)
    assert found.solution_ms == pytest.approx(0.1 + PUBLISHED_MS)
    assert found.baselines_ms == {"torch_eager": pytest.approx(0.2 + PUBLISHED_MS)}
    assert found.solution_wall_ms >= found.solution_ms
    assert trials_of(made) == [(PILOT_TRIALS, version == "main"), (MOST_TRIALS, version == "main")]


@pytest.mark.parametrize(
    ("run_ms", "trials"), [(0.1, MOST_TRIALS), (20.0, 12), (99.0, LEAST_TRIALS), (500.0, PILOT_TRIALS)]
)
def test_a_sides_trials_take_a_quarter_of_a_second_and_a_long_call_is_made_once(bench, run_ms, trials):
    assert published(bench(run_ms=run_ms)).trials == trials


def test_a_baseline_is_timed_once_for_all_solutions(bench):
    made = bench()
    first = published(made)
    made.ground.run_ms = 7.0
    assert published(made).baselines_ms == first.baselines_ms
    assert made.ground.published == [PILOT_TRIALS, MOST_TRIALS]


def test_a_false_claim_stands_beside_what_the_judge_saw(bench):
    class Half(Honest):
        def claim(self, true_ms):
            return true_ms / 2

    found = published(bench(Half, run_ms=1.0))
    assert found.solution_ms == pytest.approx((1.0 + PUBLISHED_MS) / 2)
    assert found.solution_wall_ms > 1.0


@pytest.mark.parametrize("claim", [None, -1.0, float("nan")])
def test_a_claim_that_is_no_time_is_interference(bench, claim):
    class Garbled(Honest):
        def claim(self, true_ms):
            return claim

    with pytest.raises(Verdict) as caught:
        published(bench(Garbled))
    assert caught.value.status is Status.RUNTIME_ERROR


@pytest.mark.parametrize(("flush", "trials"), [(False, 5), (True, 5)])
def test_the_loop_is_that_of_the_version(fake_driver, monkeypatch, flush, trials):
    """Warm-up calls, then a pair of events around each; `main` also writes over the cache and drops the first trial."""
    events, ticks = [], iter(range(1000))
    monkeypatch.setattr(driver, "record", lambda event, stream: events.append("event"))
    monkeypatch.setattr(driver, "fill_words", lambda stream, address, value, count: events.append(("flush", count)))
    monkeypatch.setattr(driver, "elapsed_ms", lambda start, end: float(next(ticks)))
    found = Clock(None).published_ms(lambda: events.append("call"), trials, flush=flush)
    flushed = [("flush", batches.PUBLISHED_FLUSH_BYTES // 4)] * flush
    assert events == ["call"] * PUBLISHED_WARMUPS + [*flushed, "event", "call", "event"] * (trials + flush)
    assert found == pytest.approx(2.0 + flush)  # the mean of 0 .. 4, or of 1 .. 5


@VERSIONS
def test_real_hosts_answer(rig, version):
    made = rig(SCALE, "return self.weight / (1 + torch.exp(-x))", init=NORMAL)
    memory = len(made.device._memory)
    found = published(made, version)
    assert found.solution_wall_ms >= found.solution_ms > 0
    assert found.baselines_ms["torch_eager"] > 0
    assert len(made.device._memory) == memory  # what was written over the cache with is given back
    assert made.examine().errors.wrong_fraction == 0.0
