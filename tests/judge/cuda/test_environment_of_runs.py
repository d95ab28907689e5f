"""What solutions are built and run in: on the CPU first, in the mode and precision of the protocol, within limits."""

from types import SimpleNamespace

import pytest
import torch

from hone.judge.child import models
from hone.judge.device.cuda.models import allow_tf32
from hone.judge.runner import RunnerTimeoutError
from hone.judge.verdict import Verdict
from hone.records import Protocol, Status

from ..conftest import tensor
from .rigs import OUT, STRICT, problem

# ------------------------------------------------------------------------------------------------- building models


class Watched(torch.nn.Module):
    """Notes what happens to it, and what it was built from."""

    def __init__(self, *given, **named):
        super().__init__()
        self.given, self.named = given, named
        self.weight = torch.nn.Parameter(torch.Tensor(3).normal_())
        self.seen = [f"built on {self.weight.device}"]

    def to(self, dtype):
        self.seen.append(f"to {dtype}")
        return super().to(dtype)

    def cuda(self):
        self.seen.append("moved")
        return self


@pytest.fixture
def moved(monkeypatch):
    """Tensors that were moved to the GPU."""
    found = []
    monkeypatch.setattr(torch.Tensor, "cuda", lambda self: found.append(self) or self)
    return found


@pytest.mark.parametrize("on_gpu", [True, False])
def test_a_model_is_built_on_the_cpu_then_cast_then_moved(moved, on_gpu):
    reference = SimpleNamespace(get_init_inputs=lambda: [7, torch.arange(3)])
    built = models.build_model(reference, Watched, 5, "float16", on_gpu=on_gpu)
    assert built.seen == ["built on cpu", "to torch.float16", *["moved"] * on_gpu]
    assert [item.tolist() for item in moved] == [[0, 1, 2]] * on_gpu  # before the constructor gets it
    assert (built.given[0], built.given[1].tolist(), built.training) == (7, [0, 1, 2], True)
    torch.manual_seed(5)
    assert torch.equal(built.weight, torch.Tensor(3).normal_().half())


def test_arguments_by_name_are_moved_too(moved):
    reference = SimpleNamespace(get_init_inputs=lambda: {"size": 7, "index": torch.arange(3)})
    built = models.build_model(reference, Watched, 5, "float32", on_gpu=True)
    assert (list(built.named), built.named["size"], len(moved)) == (["size", "index"], 7, 1)


LEGACY = "self.weight = nn.Parameter(torch.Tensor({size}).normal_())"


def test_weights_of_legacy_constructors_are_the_references(rig):
    item = problem(
        "legacy", "return torch.sigmoid(x) * self.weight", OUT, parameters=(tensor("weight", "columns"),),
        init=LEGACY.format(size="COLUMNS"),
    )  # fmt: skip
    made = rig(item, "return self.weight / (1 + torch.exp(-x))", init=LEGACY.format(size=5))
    assert torch.equal(made.host._model.weight, made.ground._parameters.sets[0]["weight"])
    assert made.examine().errors.wrong_fraction == 0.0


DROPS = problem("drops", "return F.dropout(x, 0.5, self.training)", OUT)


@pytest.mark.parametrize(("mode", "wrong"), [("eval", False), ("train", True)])
def test_both_sides_are_in_the_protocols_mode(rig, mode, wrong):
    """What drops nothing is right in `eval`, and wrong in training mode."""
    made = rig(DROPS, "return x + 0", protocol=STRICT.model_copy(update={"model_mode": mode}))
    assert made.host._model.training == made.reference.random == wrong
    if not wrong:
        assert made.examine().errors.wrong_fraction == 0.0
        return
    with pytest.raises(Verdict) as caught:
        made.examine()
    assert caught.value.status is Status.WRONG_VALUE


# ------------------------------------------------------------------------------------------------- precision flags


@pytest.mark.parametrize("before", [(False, True), (True, False)])
@pytest.mark.parametrize(("setting", "after"), [("on", (True, True)), ("off", (False, False)), ("default", None)])
def test_tf32_is_on_off_or_as_pytorch_has_it(monkeypatch, before, setting, after):
    matmul, cudnn = torch.backends.cuda.matmul, torch.backends.cudnn
    kept = matmul.allow_tf32, cudnn.allow_tf32
    try:
        matmul.allow_tf32, cudnn.allow_tf32 = before
        allow_tf32(setting)
        assert (matmul.allow_tf32, cudnn.allow_tf32) == (after or before)
    finally:
        matmul.allow_tf32, cudnn.allow_tf32 = kept


@pytest.mark.parametrize("setting", ["off", "default", "on"])
def test_all_processes_are_told_the_setting(bench, setting):
    protocol = Protocol(name="x", device="cuda", correctness_trials=1, tf32=setting)
    made = bench(protocol=protocol)
    sent = [*made.channel.messages, *made.ground_messages]
    told = [message["tf32"] for message in sent if message.get("do") == "warm"]
    assert told == [setting] * 2


def test_yamls_off_and_on_are_words():
    assert [Protocol(name="x", tf32=value).tf32 for value in (False, True, "default")] == ["off", "on", "default"]


@pytest.mark.parametrize(("setting", "share"), [("off", 3), ("default", 1), ("on", 1)])
def test_without_tf32_three_products_of_16_bits_make_one(bench, setting, share):
    made = bench(flops=10**9, protocol=bench_protocol(setting))
    assert made.measure().floor_ms == pytest.approx(10**9 / (1e6 / share) / 1e6)


def bench_protocol(setting):
    return Protocol(name="x", device="cuda", timing_runs=3, correctness_trials=1, tf32=setting)


# ------------------------------------------------------------------------------------------------- the first run


def limits(made, monkeypatch):
    """Seconds that each batch in the stream may take."""
    found, time_run = [], made.channel.time_run
    monkeypatch.setattr(
        made.channel, "time_run", lambda message, timeout_s: found.append(timeout_s) or time_run(message, timeout_s)
    )
    return found


def one_run(made):
    made.subject.prepare(1, [{}])
    made.subject.run(1, made.reference)


def test_a_processs_first_run_has_a_limit_of_its_own(bench, monkeypatch):
    made = bench()
    found = limits(made, monkeypatch)
    for _ in range(3):
        one_run(made)
    assert found == [made.protocol.first_run_timeout_s, made.protocol.run_timeout_s, made.protocol.run_timeout_s]


def test_a_limit_of_runs_that_is_longer_is_that_of_the_first_too(bench, monkeypatch):
    protocol = Protocol(name="x", device="cuda", run_timeout_s=90.0)
    made = bench(protocol=protocol)
    found = limits(made, monkeypatch)
    one_run(made)
    assert found == [90.0]


def test_a_timeout_says_whether_it_was_the_first_run(bench, monkeypatch):
    def silent(message, timeout_s):
        raise RunnerTimeoutError

    made = bench()
    monkeypatch.setattr(made.channel, "time_run", silent)
    with pytest.raises(Verdict, match="its first run took over 60 s") as caught:
        one_run(made)
    assert caught.value.status is Status.TIMEOUT
    made = bench()
    one_run(made)
    monkeypatch.setattr(made.channel, "time_run", silent)
    with pytest.raises(Verdict, match="running took over 3 s"):
        one_run(made)
