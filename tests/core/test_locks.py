"""A dead run's lock goes, a living run's stays; a job waits for another that still writes its output."""

import os
import platform
import re
import signal
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from hone.core.locks import OUTPUT_LOCKS, forget_dead_runs, only_writer
from hone.core.script import reported

OUTPUT, LOG = "results/training/first.json", "results/logs/first.log"
JOB = f"""
import os, sys, time
from pathlib import Path
from hone.core.script import reported

with reported(["{LOG}"], ["{OUTPUT}"]):
    print(os.getpid(), flush=True)
    while not Path("finish").exists():
        time.sleep(0.02)
    with Path("written").open("a") as written:
        written.write(f"{{sys.argv[1]}} ")
"""
RUN = """
import subprocess, sys
subprocess.run([sys.executable, "-c", *sys.argv[1:]])
"""


def stale(folder):
    (folder / "locks").mkdir(parents=True, exist_ok=True)
    lock = folder / "locks/0.output.lock"
    lock.write_text("results/summary.md")
    return lock


def test_a_dead_runs_lock_is_removed(tmp_path):
    lock = stale(tmp_path / ".snakemake")
    held = forget_dead_runs(tmp_path / ".snakemake")
    assert held is not None
    assert not lock.exists()
    held.close()


def test_a_living_runs_lock_stays(tmp_path):
    with forget_dead_runs(tmp_path) as held:
        lock = stale(tmp_path)
        assert forget_dead_runs(tmp_path) is None
        assert lock.exists()
        assert not held.closed


def test_a_folder_that_cannot_be_made_is_left_to_snakemake(tmp_path):
    (tmp_path / "file").write_text("")
    assert forget_dead_runs(tmp_path / "file/.snakemake") is None


@contextmanager
def started(*command):
    process = subprocess.Popen(
        [sys.executable, "-c", *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    with process:
        try:
            yield process
        finally:
            process.kill()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2] / "src"))
    Path(LOG).parent.mkdir(parents=True)
    return tmp_path


@pytest.fixture
def orphan(folder):
    """Process of a job whose run was killed; it holds the output's lock."""
    with started(RUN, JOB, "first") as run:
        process = int(run.stdout.readline())
        run.kill()
        run.wait()
        try:
            yield process
        finally:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)


def test_a_job_waits_for_one_that_outlived_its_run(orphan):
    with started(JOB, "second") as second:
        said = second.stderr.readline() + second.stderr.readline()
        assert said.startswith(f"{OUTPUT}: process {orphan} on {platform.node()}, ")
        assert f"`kill {orphan}`" in said
        assert Path(LOG).read_text().endswith(said)
        time.sleep(0.2)
        assert second.poll() is None
        Path("finish").touch()
        assert second.wait(timeout=200) == 0
    assert Path("written").read_text() == "first second "
    assert Path(LOG).read_text() == f"on {platform.node()}\n"
    assert not list(OUTPUT_LOCKS.iterdir())


def test_a_job_starts_when_that_one_is_killed(orphan):
    with started(JOB, "second") as second:
        (process,) = re.findall(r"`kill (\d+)`", second.stderr.readline() + second.stderr.readline())
        os.kill(int(process), signal.SIGKILL)
        assert int(second.stdout.readline()) == second.pid
        Path("finish").touch()
        assert second.wait(timeout=200) == 0
    assert Path("written").read_text() == "second "
    assert not list(OUTPUT_LOCKS.iterdir())


def test_jobs_with_other_outputs_do_not_wait(orphan, capsys):
    with reported([], ["results/training/second.json"]):
        pass
    assert not capsys.readouterr().err


def test_a_lock_file_that_a_killed_job_left_holds_nobody_up(folder):
    said = []
    with only_writer(OUTPUT, said.append):
        (lock,) = OUTPUT_LOCKS.iterdir()
        content = lock.read_text()
    lock.write_text(content)
    with only_writer(OUTPUT, said.append):
        assert lock.read_text() == f"{os.getpid()} {platform.node()}"
    assert not said
    assert not lock.exists()


def test_a_failed_job_leaves_no_lock(folder):
    with pytest.raises(ZeroDivisionError), reported([LOG], [OUTPUT]):
        raise ZeroDivisionError
    assert not list(OUTPUT_LOCKS.iterdir())


def test_results_deleted_meanwhile_are_no_error(folder):
    with only_writer(OUTPUT, print):
        (lock,) = OUTPUT_LOCKS.iterdir()
        lock.unlink()
        OUTPUT_LOCKS.rmdir()


def test_where_no_lock_can_be_made_the_job_runs(tmp_path):
    (tmp_path / "file").write_text("")
    with only_writer(OUTPUT, print, tmp_path / "file/locks"):
        pass


def test_every_script_says_what_it_writes():
    for script in Path(__file__).parents[2].glob("workflow/scripts/*.py"):
        assert "with reported(snakemake.log, snakemake.output)" in script.read_text(), script
