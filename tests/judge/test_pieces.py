"""The parts that need no process: layouts, arenas, comparison, messages, plans, confinement in a fork."""

import math
import os
import socket
import threading

import numpy as np
import pytest

from hone.judge.counts import Tally
from hone.judge.device.cpu.arena import Arena
from hone.judge.device.cpu.side import Subject
from hone.judge.gold import gold_solution
from hone.judge.layout import ALIGNMENT, Layout, Slot
from hone.judge.needs import cpu_only, lacking
from hone.judge.plan import make_plan
from hone.judge.runner import Runner, RunnerEndedError, RunnerForgedError, RunnerStuckError, RunnerTimeoutError
from hone.judge.verdict import Verdict
from hone.judge.wire import Channel, ClosedError, GarbledError, SilentError
from hone.records import Status, Tolerance

from .conftest import QUICK, scale_definition, workload_of

CLOSE = Tolerance(atol=1e-3, rtol=1e-3)


def tally(dtype, expected, got, tolerance=CLOSE):
    expected, got = np.asarray(expected), np.asarray(got)
    found = Tally()
    found.add(
        Slot("out", dtype, expected.shape, 0),
        expected.reshape(-1).view(np.uint8),
        got.reshape(-1).view(np.uint8),
        tolerance,
    )
    return found


def floats(*values):
    return np.array(values, dtype=np.float32)


@pytest.mark.parametrize(
    ("expected", "got", "wrong"),
    [
        ((1.0, 2.0), (1.0, 2.0), 0),
        ((1000.0,), (1000.9,), 0),
        ((1000.0,), (1001.1,), 1),
        ((0.0,), (0.0009,), 0),
        ((math.nan,), (math.nan,), 0),
        ((math.nan, 1.0), (1.0, math.nan), 2),
        ((math.inf, -math.inf), (math.inf, -math.inf), 0),
        ((math.inf,), (-math.inf,), 1),
        ((math.inf,), (3e38,), 1),
        ((1.0,), (math.inf,), 1),
    ],
)
def test_floats(expected, got, wrong):
    assert tally("float32", floats(*expected), floats(*got)).wrong == wrong


def test_integers_and_booleans_must_be_equal():
    assert tally("int64", np.array([10**9]), np.array([10**9 + 1])).wrong == 1
    assert tally("int64", np.array([2**62 + 1]), np.array([2**62])).wrong == 1
    assert tally("bool", np.array([True]), np.array([2], dtype=np.uint8)).wrong == 1
    assert tally("bool", np.array([True, False]), np.array([True, False])).wrong == 0


def test_half_types():
    ones = floats(1.0, -2.5)
    bfloat = (ones.view(np.uint32) >> 16).astype(np.uint16)
    assert tally("bfloat16", bfloat, bfloat + np.uint16(1), Tolerance(atol=0, rtol=1e-2)).wrong == 0
    assert tally("bfloat16", bfloat, bfloat + np.uint16(1)).wrong == 2
    assert tally("float16", ones.astype(np.float16), (ones + 1).astype(np.float16)).wrong == 2


def test_figures_and_sentence():
    expected = np.arange(6, dtype=np.float32).reshape(2, 3)
    got = expected.copy()
    got[1, 2] = 7.0
    found = tally("float32", expected, got)
    figures = found.figures()
    assert (figures.max_abs_error, figures.wrong_fraction) == (2.0, 1 / 6)
    assert figures.max_rel_error == pytest.approx(0.4)
    assert found.sentence() == "out[1, 2] is 7, expected 5; 1 of 6 elements are outside the tolerance"


def test_layout_keeps_guards_between_tensors():
    layout = Layout.of([("a", "float32", (3,)), ("b", "bool", ()), ("c", "bfloat16", (0, 5)), ("d", "int64", (1024,))])
    ends = [slot.offset + slot.nbytes for slot in layout.slots]
    starts = [slot.offset for slot in layout.slots[1:]] + [layout.nbytes]
    assert all(start - end >= ALIGNMENT for start, end in zip(starts, ends, strict=True))
    assert sum(end - start for start, end in layout.gaps()) + layout.tensor_bytes == layout.nbytes
    assert Layout.read(layout.message()) == layout
    with pytest.raises(KeyError):
        Layout.of([("a", "complex64", (1,))])


def test_arena_notices_writes_outside_and_changed_tensors():
    layout = Layout.of([("a", "float32", (5,)), ("b", "int8", (3,))])
    one, two = Arena(layout), Arena(layout)
    byte = one.poison()
    two.copy_from(one)
    assert one.guards_hold(byte)
    assert two.differing(one) == []
    two.raw(layout.slots[1])[2] ^= 1
    assert two.differing(one) == ["b"]
    os.pwrite(one.fd, b"x", layout.slots[0].offset + layout.slots[0].nbytes)
    assert not one.guards_hold(byte)
    with pytest.raises(PermissionError):
        os.ftruncate(one.fd, 0)
    one.close()
    two.close()


def test_poison_of_floats_is_nan():
    arena = Arena(Layout.of([("a", "float32", (5,))]))
    arena.poison()
    assert np.isnan(arena.raw(arena.layout.slots[0]).view(np.float32)).all()
    arena.close()


def test_channel():
    left, right = socket.socketpair()
    one, two = Channel(left), Channel(right)
    sender = threading.Thread(target=one.send, args=({"text": "x" * 1_000_000},))
    sender.start()
    assert len(two.receive(5, limit=2_000_000)["text"]) == 1_000_000
    sender.join()
    with pytest.raises(SilentError):
        two.receive(0.01)
    one.send({"a": 1})
    assert two.pending()
    assert two.receive(1) == {"a": 1}
    left.sendall(b"\xff\xff\xff\xff")
    with pytest.raises(GarbledError):
        two.receive(1)
    left.sendall(b"\0\0\0\x02[]")
    with pytest.raises(GarbledError):
        two.receive(1)
    one.close()
    with pytest.raises(ClosedError):
        two.receive(1)
    two.close()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"requires": ("no_such_package",)}, "no_such_package"),
        ({"axes": {"rows": 1 << 20, "columns": 1 << 14}}, "GiB"),
    ],
)
def test_what_cannot_be_judged_is_said_with_numbers(changes, words):
    definition = scale_definition().model_copy(update=changes)
    with pytest.raises(Verdict, match=words) as caught:
        make_plan(definition, workload_of(definition), QUICK)
    assert caught.value.status is Status.NOT_JUDGED


def test_other_sizes_are_not_judged():
    definition = scale_definition()
    workload = workload_of(definition).model_copy(update={"axes": {"rows": 1, "columns": 1}})
    with pytest.raises(Verdict, match="sizes"):
        make_plan(definition, workload, QUICK)


def test_gold_is_the_reference_under_the_name_of_solutions():
    definition = scale_definition()
    assert gold_solution(definition).source.startswith(definition.reference.rstrip())
    assert gold_solution(definition).id == gold_solution(definition).id


# ---------------------------------------------------------------------------- what a source needs, who is to blame


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("import triton", "imports triton"),
        ("from triton import jit", "imports triton"),
        ("import triton.language as tl", "imports triton"),
        ("def f():\n    import cupy as cp", "imports cupy"),
        ("from numba import cuda", "imports numba.cuda"),
        ("import numba.cuda", "imports numba.cuda"),
        ("import pycuda.driver", "imports pycuda"),
        ("from torch.utils.cpp_extension import load", "cpp_extension"),
        ("import torch\ntorch.utils.cpp_extension.load()", "cpp_extension"),
        ("x.load_inline()", "uses load_inline"),
        ("import torch\n@torch.compile\ndef f(): ...", "uses torch.compile"),
        ("import torch as t\nf = t.compile(g)", "uses torch.compile"),
        ("from torch import compile", "uses torch.compile"),
        ("# import triton, load_inline, torch.compile\ntext = 'torch.compile, cpp_extension, cupy'", ""),
        ("import tritonish, numba\nimport re\nre.compile('x')\ncupy = 1\nfrom . import triton", ""),
        ("def broken(:", ""),
    ],
)
def test_what_a_source_lacks_is_read_from_its_syntax_tree(source, words):
    found = lacking(source)
    assert bool(found) == bool(words)
    assert words in found


def test_a_missing_gpu_is_claimed_only_after_looking(monkeypatch):
    monkeypatch.setattr("hone.judge.needs.sees_gpu", lambda: True)
    assert cpu_only("compiled for sm_90") == "compiled for sm_90; judge.device is cpu"
    monkeypatch.setattr("hone.judge.needs.sees_gpu", lambda: False)
    assert cpu_only("compiled for sm_90").endswith("is cpu; no GPU on this machine")


@pytest.mark.parametrize(
    ("error", "oom_kills", "status"),
    [
        (RunnerEndedError(None, ""), 0, Status.MACHINE_ERROR),
        (RunnerEndedError(-9, ""), 1, Status.MACHINE_ERROR),
        (RunnerEndedError(-9, ""), 0, Status.RUNTIME_ERROR),
        (RunnerEndedError(-11, ""), 1, Status.RUNTIME_ERROR),
        (RunnerEndedError(-6, "terminate: std::bad_alloc"), 0, Status.OUT_OF_MEMORY),
        (RunnerStuckError(), 0, Status.MACHINE_ERROR),
        (RunnerTimeoutError(), 0, Status.TIMEOUT),
        (RunnerForgedError(), 0, Status.RUNTIME_ERROR),
    ],
)
def test_the_machines_deaths_are_not_the_solutions(monkeypatch, error, oom_kills, status):
    monkeypatch.setattr("hone.judge.sides.oom_kills", lambda: oom_kills)
    accused = Subject.__new__(Subject)
    accused._kills_before, accused._protocol = 0, QUICK
    assert accused._verdict(error, "running").status is status


def test_a_runner_that_ended_says_so_as_often_as_it_is_asked():
    mine, theirs = socket.socketpair()
    ending, report = os.pipe()
    errors, written = os.pipe()
    os.write(report, b'{"code": -9}')
    os.write(written, b"last words")
    runner = Runner(Channel(mine), ending, errors)
    for descriptor in (report, written):
        os.close(descriptor)
    theirs.close()
    for _ in range(2):
        with pytest.raises(RunnerEndedError) as caught:
            runner.ask({"do": "prepare"}, 1.0)
        assert (caught.value.code, caught.value.errors) == (-9, "last words")
    assert (runner.end(), runner.alive) == (-9, False)


def test_a_process_that_cannot_be_stopped_is_stuck(monkeypatch):
    runner = Runner(None, -1, -1)
    monkeypatch.setattr("hone.judge.runner.END_TIMEOUT_S", 0.0)
    monkeypatch.setattr(runner, "_signal", lambda _: None)
    monkeypatch.setattr(runner, "_stopped", lambda: False)
    with pytest.raises(RunnerStuckError):
        runner.freeze()


def test_errors_do_not_tell_where_packages_lie():
    from hone.judge.child.models import describe_error, load_module

    with pytest.raises(RuntimeError) as caught:
        load_module("hone_candidate", "import torch\ntorch.nn.Linear(2, 3)(torch.zeros(5))\n")
    text = describe_error(caught.value, "run")["error"]["text"]
    assert '"…/site-packages/torch/nn/modules/linear.py"' in text
    assert 'File "/' not in text
    assert text.startswith('  File "<hone_candidate>", line 2')
