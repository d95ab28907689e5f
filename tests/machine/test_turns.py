"""Turns of judges that share a GPU, by threads: locks belong to open files, not to processes."""

import contextlib
import os
import threading
import time

import pytest

from hone.core.errors import MachineError
from hone.machine import gpus
from hone.machine.gpus import Gpu, held_gpu, seats, shared_gpu
from hone.machine.turns import Crowd, Turns

LARGE, SMALL = 140 << 30, 24 << 30


@pytest.fixture
def judge(tmp_path):
    """Makes judges of one GPU."""
    names = [f"{crowd}-{kind}" for crowd in ("gpu", "opening", "memory") for kind in ("queue", "floor")]
    for name in names:
        (tmp_path / name).touch()
    made = []

    def new():
        files = [os.open(tmp_path / name, os.O_RDONLY) for name in names]
        made.append(Turns(*(Crowd(*files[at : at + 2]) for at in (0, 2, 4))))
        return made[-1]

    yield new
    for turns in made:
        turns.close()


@pytest.fixture
def machine(monkeypatch, tmp_path):
    """Sets the memory of the GPUs that there are."""
    monkeypatch.setattr(gpus, "LOCKS", tmp_path)

    def found(*memory):
        known = tuple(Gpu(f"GPU-{at}", "", "", size, "9.0") for at, size in enumerate(memory))
        monkeypatch.setattr(gpus, "visible_gpus", lambda: known)

    return found


class Block:
    """A block in a thread that stays in its turn until it is told to end."""

    def __init__(self, turn):
        self._turn, self._inside, self._end = turn, threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self):
        with self._turn():
            self._inside.set()
            self._end.wait(30)

    def has_begun(self, within_s=0.2):
        return self._inside.wait(within_s)

    def end(self):
        self._end.set()
        self._thread.join(30)


def test_many_work_at_a_time(judge):
    blocks = [Block(judge().working) for _ in range(3)]
    assert all(block.has_begun(10) for block in blocks)
    for block in blocks:
        block.end()


@pytest.mark.parametrize("others", ["working", "measuring"])
def test_who_measures_is_alone(judge, others):
    measuring = Block(judge().measuring)
    assert measuring.has_begun(10)
    other = Block(getattr(judge(), others))
    assert not other.has_begun()
    measuring.end()
    assert other.has_begun(10)
    other.end()


def test_measuring_waits_for_those_who_work_and_not_for_those_who_come_later(judge):
    first = Block(judge().working)
    assert first.has_begun(10)
    measuring = Block(judge().measuring)
    assert not measuring.has_begun()
    late = Block(judge().working)
    assert not late.has_begun()  # it would keep the measuring one waiting
    first.end()
    assert measuring.has_begun(10) and not late.has_begun()
    measuring.end()
    assert late.has_begun(10)
    late.end()


def test_a_turn_inside_a_turn_changes_nothing(judge):
    mine = judge()
    with mine.measuring():
        with mine.working(), mine.measuring():
            pass
        other = Block(judge().working)
        assert not other.has_begun()
    assert other.has_begun(10)
    other.end()
    with mine.working(), mine.working():
        pass
    with mine.working(), pytest.raises(AssertionError, match="for ever"), mine.measuring():
        pass


def all_end(steps, judges):
    """Whether `steps(number, judge)` come to an end, all at the same time in threads."""
    threads = [threading.Thread(target=steps, args=pair, daemon=True) for pair in enumerate(judges)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    return not any(thread.is_alive() for thread in threads)


@contextlib.contextmanager
def taking_times(judge):
    with judge.measuring(), judge.quiet():
        yield


def test_processes_open_the_gpu_beside_one_that_measures_and_not_while_it_takes_times(judge):
    measuring = judge()
    with measuring.measuring():
        first = Block(judge().opening)
        assert first.has_begun(10)
        times = Block(measuring.quiet)
        assert not times.has_begun()  # until the first one has opened it
        second = Block(judge().opening)
        assert not second.has_begun()  # or one after the other could keep it waiting
        first.end()
        assert times.has_begun(10) and not second.has_begun()
        times.end()
        assert second.has_begun(10)
        second.end()


def test_nobody_waits_for_the_gpu_and_for_somebody_who_waits_for_it(judge):
    """However judges open it, work and take times."""
    steps = [lambda mine: mine.opening(), lambda mine: mine.working(), taking_times]

    def busy(at, mine):
        for step in range(30):
            with steps[(at + step) % len(steps)](mine):
                time.sleep(0.001)

    assert all_end(busy, [judge() for _ in range(4)])


def test_within_a_turn_of_its_own_a_judge_opens_the_gpu_at_once(judge):
    mine, other = judge(), judge()
    with taking_times(mine), mine.opening(), mine.quiet():
        block = Block(other.opening)
        assert not block.has_begun()
    assert block.has_begun(10)
    block.end()


def test_who_needs_all_memory_waits_for_those_who_keep_some_and_not_for_those_who_come_later(judge):
    first, second, late = judge(), judge(), judge()
    first.keep_memory()
    second.keep_memory()
    assert not first.memory_wanted
    needing = Block(judge().all_memory)
    assert not needing.has_begun() and first.memory_wanted and second.memory_wanted
    keeping = threading.Thread(target=late.keep_memory, daemon=True)
    keeping.start()
    first.give_memory_back()
    assert not first.memory_wanted and not needing.has_begun()
    second.give_memory_back()
    assert needing.has_begun(10) and keeping.is_alive()
    needing.end()
    keeping.join(30)
    assert not keeping.is_alive() and not late.memory_wanted


def test_memory_can_be_kept_and_given_back_by_who_has_it_all(judge):
    mine, other = judge(), judge()
    with mine.all_memory(), mine.measuring():
        mine.keep_memory()
        mine.give_memory_back()
        block = Block(other.all_memory)
        assert not block.has_begun()
    assert block.has_begun(10)
    block.end()


def test_nobody_waits_for_memory_with_a_turn_or_with_memory(judge):
    mine = judge()
    with mine.working(), pytest.raises(AssertionError, match="this turn"):
        mine.keep_memory()
    mine.keep_memory()
    with pytest.raises(AssertionError, match="itself"), mine.all_memory():
        pass
    mine.close()  # a judge that dies keeps nothing
    with judge().all_memory():
        pass


def test_judges_that_keep_memory_and_need_it_all_never_wait_for_each_other(judge):
    """As a bench does: give way if asked, keep, work, measure; now and then give back and need all."""

    def judging(at, mine):
        for step in range(20):
            if mine.memory_wanted:
                mine.give_memory_back()
            mine.keep_memory()
            with mine.working():
                time.sleep(0.001)
            with taking_times(mine):
                time.sleep(0.001)
            if (at + step) % 4 == 0:
                mine.give_memory_back()
                with mine.all_memory(), taking_times(mine):
                    time.sleep(0.001)
        mine.give_memory_back()

    assert all_end(judging, [judge() for _ in range(4)])


def test_a_turn_ends_with_an_error_and_with_its_judge(judge):
    mine, gone = judge(), judge()
    with pytest.raises(KeyError), mine.measuring():
        raise KeyError
    gone.measuring().__enter__()
    gone.close()
    with mine.measuring():
        pass


def test_only_waiting_is_counted(judge):
    mine = judge()
    with mine.working():
        time.sleep(0.05)
    assert mine.waited_s < 0.05
    other = Block(judge().measuring)
    assert other.has_begun(10)
    threading.Timer(0.2, other.end).start()
    with mine.working():
        assert mine.waited_s > 0.1


def test_alone_on_a_gpu_nobody_waits():
    turns = Turns()
    assert not turns.shared
    with turns.working(), turns.working():
        pass
    turns.keep_memory()
    assert not turns.memory_wanted
    with turns.all_memory(), turns.measuring(), turns.quiet(), turns.opening():
        assert turns.waited_s == 0


def test_a_judge_knows_when_it_has_the_gpu_to_itself(judge):
    mine = judge()
    with mine.measuring():
        assert not mine.shared
    with mine.working():
        assert mine.shared


# ------------------------------------------------------------------------------------------------------- seats


@pytest.mark.parametrize(
    ("memory", "wanted"), [(8 << 30, 1), (SMALL, 1), (64 << 30, 2), (80 << 30, 3), (LARGE, 3), (1 << 40, 3)]
)
def test_seats_go_by_memory(memory, wanted):
    assert seats(Gpu("", "", "", memory, "9.0")) == wanted


def test_judges_spread_over_gpus_before_they_share_one(machine):
    machine(LARGE, SMALL)
    with contextlib.ExitStack() as stack:
        taken = [stack.enter_context(shared_gpu(0.0)) for _ in range(4)]
        assert [gpu.uuid for gpu, _ in taken] == ["GPU-0", "GPU-1", "GPU-0", "GPU-0"]
        assert [turns.shared for _, turns in taken] == [True, False, True, True]
        with pytest.raises(MachineError, match="no GPU became free"):
            stack.enter_context(shared_gpu(0.0))
    with shared_gpu(0.0) as (gpu, _):
        assert gpu.uuid == "GPU-0"


def test_who_holds_a_gpu_alone_has_no_judge_beside(machine):
    machine(LARGE)
    with held_gpu(0.0), pytest.raises(MachineError, match="no GPU became free"), shared_gpu(0.0):
        pass
    with shared_gpu(0.0), pytest.raises(MachineError, match="no GPU became free"), held_gpu(0.0):
        pass
    with shared_gpu(0.0), shared_gpu(0.0):
        pass


def test_judges_of_one_gpu_take_the_same_turns(machine):
    machine(LARGE)
    with shared_gpu(0.0) as (_, one), shared_gpu(0.0) as (_, two), one.measuring():
        other = Block(two.working)
        assert not other.has_begun()
        one.close()
        assert other.has_begun(10)
        other.end()
