import time

import pytest
import torch

from hone.gnn.batch import Batch
from hone.gnn.observer import NullObserver, SpanObserver, gaps
from hone.records import Span


def span(batch, start_s, duration_s, stage="train"):
    return Span(batch=batch, stage=stage, lane="main", start_s=start_s, duration_s=duration_s)


def test_the_loop_is_blocked_between_its_steps_and_before_the_first():
    steps = [span(0, 2.0, 1.0), span(1, 3.0, 1.0), span(2, 6.5, 0.5), span(0, 0.0, 2.0, "prepare")]
    found = {item.batch: (item.start_s, item.duration_s) for item in gaps(steps)}
    assert found == {0: (0.0, 2.0), 1: (3.0, 0.0), 2: (4.0, 2.5)}


def test_steps_and_gaps_fill_the_time_until_the_last_step():
    observer = SpanObserver(torch.device("cpu"))
    observer.begin_epoch()
    for index in range(3):
        time.sleep(0.002)
        with observer.on_device("train", index, "main"):
            time.sleep(0.001)
    observer.end_epoch()
    last = max(item.start_s + item.duration_s for item in observer.spans)
    assert observer.total_s("train") + observer.total_s("blocked") == pytest.approx(last)
    assert observer.total_s("train") >= 0.003
    assert observer.total_s("blocked") >= 0.006
    assert [item.start_s for item in observer.spans] == sorted(item.start_s for item in observer.spans)


def test_a_workers_own_clock_is_the_observers():
    observer = SpanObserver(torch.device("cpu"))
    before_s = time.perf_counter()
    observer.begin_epoch()
    begun_s = time.perf_counter()
    batch = Batch(3, 0, torch.zeros(0), 0, (), worker=1, prepared_s=(begun_s, begun_s + 0.25))
    observer.prepared(batch)
    observer.end_epoch()
    (found,) = observer.spans
    assert (found.batch, found.stage, found.lane) == (3, "prepare", "worker1")
    assert found.duration_s == pytest.approx(0.25)
    assert 0 <= found.start_s <= begun_s - before_s


def test_an_epoch_forgets_the_one_before():
    observer = SpanObserver(torch.device("cpu"))
    for index in range(2):
        observer.begin_epoch()
        with observer.on_host("prepare", index, "main"):
            pass
        observer.end_epoch()
    assert [item.batch for item in observer.spans] == [1]


def test_the_null_observer_lets_everything_through():
    observer = NullObserver()
    observer.begin_epoch()
    with observer.on_host("prepare", 0, "main"), observer.on_device("train", 0, "main"):
        pass
    observer.prepared(Batch(0, 0, torch.zeros(0), 0, ()))
    observer.end_epoch()
