"""The judge is killed, and the same command completes with the same verdicts."""

import os
import subprocess
import sys
import time

import pytest

from hone.core.scratch import ScratchFolder
from hone.records import ErrorFigures, Performance, Status, Timing
from studies.judge.kills import COLUMNS, Judgement, differences, failures, kills
from studies.processes import GpuWatch, descendants, orphans_come_here, wait_until_gone


def test_scratch_folders_are_counted_and_lock_files_are_not(tmp_path, monkeypatch):
    place = tmp_path / "tmp"
    (place / "hone-compilers-0-01234567").mkdir(parents=True)
    monkeypatch.setattr("tempfile.tempdir", str(place))
    found = Judgement(lambda store, output: [], tmp_path)
    assert found.temporary_files() == 0
    with ScratchFolder("judge"):
        assert found.temporary_files() == 1


@pytest.mark.slow
def test_killed_runs_complete_with_the_same_verdicts(place):
    files = [place.kernel("honest.cpp"), place.kernel("change_weight.cpp")]
    rows = list(
        kills(files, place.config, place.definitions, times=3, seed=1, scratch=place.folder / "runs", grace_s=30)
    )
    assert [row["kill"] for row in rows] == [0, 1, 2]
    for row in rows:
        assert set(row) == set(COLUMNS)
        assert row["killed"] and row["traces_equal"], row["differences"]
        assert row["left_processes"] == row["left_files"] == 0
        assert 0 <= row["traces_kept"] <= len(files)


def test_a_mistake_is_told_before_anything_is_killed(place, command):
    file = place.kernel("honest.cpp", definition="hand/level1/7_none")
    result = command("kills", file, *place.options)
    assert "no definition" in str(result.exception)


def test_an_orphan_is_found_and_buried():
    code = "import subprocess; subprocess.Popen(['sleep', '60'], start_new_session=True)"
    with orphans_come_here():
        before = descendants(os.getpid())
        subprocess.run([sys.executable, "-c", code], check=True)
        (orphan,) = descendants(os.getpid()) - before
        assert wait_until_gone(before, 0.2)[0] == 1
        os.kill(orphan, 9)
        assert wait_until_gone(before, 10)[0] == 0
    with pytest.raises(ProcessLookupError):
        os.kill(orphan, 0)


def test_a_process_without_gpu_holds_none():
    with subprocess.Popen(["sleep", "0.3"]) as process, GpuWatch(process.pid) as watch:
        time.sleep(0.2)
    assert watch.held_s is None


@pytest.fixture
def timed(trace):
    figures = ErrorFigures(max_abs_error=1e-6, max_rel_error=1e-6, wrong_fraction=0.0)
    performance = Performance(solution=Timing(samples_ms=(1.0,)), baselines={"torch_eager": Timing(samples_ms=(2.0,))})
    return trace.model_copy(update={"errors": figures, "performance": performance})


def test_times_and_hosts_and_figures_are_no_difference(timed):
    slower = Performance(solution=Timing(samples_ms=(3.0,)), baselines={})
    other = {
        "performance": slower, "judged_at": "2027-01-01T00:00:00Z", "phase_s": {"load": 9.0}, "detail": "seed 7",
        "environment": timed.environment.model_copy(update={"host": "elsewhere"}),
        "errors": ErrorFigures(max_abs_error=2e-6, max_rel_error=3e-6, wrong_fraction=0.0),
    }  # fmt: skip
    assert differences([timed], [timed.model_copy(update=other)]) == []


@pytest.mark.parametrize(
    "change",
    [
        {"status": Status.TIMEOUT},
        {"workload": "other"},
        {"performance": None},
        {"errors": ErrorFigures(max_abs_error=1.0, max_rel_error=1.0, wrong_fraction=0.5)},
    ],
)
def test_another_verdict_is_a_difference(timed, change):
    assert differences([timed], [timed.model_copy(update=change)])


def test_a_missing_trace_and_another_device_are_differences(timed):
    device = timed.environment.model_copy(update={"device": "other"})
    assert differences([timed], [])
    assert differences([timed], [timed.model_copy(update={"environment": device})])


def test_whatever_is_left_behind_fails_the_study():
    good = {"kill": 0, "killed": True, "traces_equal": True, "left_processes": 0, "left_files": 0}
    assert not failures([good])
    for wrong in ({"killed": False}, {"traces_equal": False}, {"left_processes": 1}, {"left_files": 2}):
        assert len(failures([{**good, **wrong}])) == 1
