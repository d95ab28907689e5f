"""The pool of compilers that all jobs of a machine share."""

import os
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from hone.compile import compiler as compile_module
from hone.compile import slots
from hone.compile.compiler import run_compiler
from hone.compile.slots import compiler_slot, compilers_at_a_time


@pytest.fixture(autouse=True)
def _own_folder(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(slots, "POLL_S", 0.01)


@pytest.mark.parametrize(("cores", "slurm", "compilers"), [(1, "", 1), (2, "", 2), (16, "", 12), (16, "4", 4)])
def test_a_quarter_of_the_cores_stays_free(monkeypatch, cores, slurm, compilers):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(cores)))
    monkeypatch.setenv("SLURM_CPUS_PER_TASK", slurm)
    assert compilers_at_a_time() == compilers


def test_no_more_hold_a_slot_than_there_are(monkeypatch):
    monkeypatch.setattr(slots, "compilers_at_a_time", lambda: 2)
    inside, most, lock = 0, 0, threading.Lock()

    def hold(_):
        nonlocal inside, most
        with compiler_slot():
            with lock:
                inside += 1
                most = max(most, inside)
            time.sleep(0.03)
            with lock:
                inside -= 1

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(hold, range(12)))
    assert most == 2 and inside == 0


def test_a_process_that_is_killed_gives_its_slot_back(monkeypatch, tmp_path):
    monkeypatch.setattr(slots, "compilers_at_a_time", lambda: 1)
    (lock,) = [slots._folder() / "0"]
    code = f"import fcntl; f = open({str(lock)!r}, 'w'); fcntl.flock(f, 2); print('held', flush=True); input()"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout.readline() == b"held\n"
        with ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(lambda: compiler_slot().__enter__())
            time.sleep(0.1)
            assert not waiting.done()
            holder.kill()
            waiting.result(timeout=100)


def test_waiting_for_a_slot_is_no_time_of_the_compiler(monkeypatch, tmp_path):
    monkeypatch.setattr(slots, "compilers_at_a_time", lambda: 1)
    product = tmp_path / "product"
    with ThreadPoolExecutor(1) as pool:
        with compiler_slot():
            waiting = pool.submit(run_compiler, ["cp", "/dev/null", str(product)], product, 5.0)
            time.sleep(0.5)
        compiled = waiting.result()
    assert compiled.artifact == product and not compiled.timed_out
    assert compiled.seconds < 0.5


def test_every_compiler_holds_a_slot(monkeypatch, tmp_path):
    held = []
    monkeypatch.setattr(compile_module, "compiler_slot", lambda: held.append(1) or compiler_slot())
    run_compiler(["true"], tmp_path / "none", 5.0)
    assert held == [1]
