"""References and solutions of small problems in the real hosts, joined by shared memory, on a driver that is a fake."""

import os
import sys
from types import SimpleNamespace

import pytest
import torch
import torch.utils.cpp_extension

from hone.judge.child.cuda import candidate as candidate_host
from hone.judge.child.cuda import reference as reference_host_module
from hone.judge.child.cuda import reference_base, reference_checks, yardsticks
from hone.judge.child.cuda.candidate import CandidateHost
from hone.judge.child.cuda.native import NativeHost
from hone.judge.child.cuda.reference import ReferenceHost
from hone.judge.device.cuda import events as batches
from hone.judge.device.cuda import memory, models, timing
from hone.judge.device.cuda.cupti import CuptiMissingError
from hone.judge.device.cuda.plan import make_device_plan
from hone.judge.device.cuda.reference import DeviceReference
from hone.judge.device.cuda.side import DeviceSubject
from hone.judge.device.cuda.timing import DeviceTiming
from hone.judge.device.cuda.trials import DeviceTrials
from hone.judge.findings import Findings
from hone.judge.procedure import Examination
from hone.judge.protocols import hone
from hone.judge.verdict import Verdict
from hone.records import Argument, Language

from ..conftest import definition, solution_of, tensor, workload_of
from .bench import free_bytes_for
from .fake_driver import FakeDriver, FakeTorch, HostRunner
from .fakes import GPU, PROTOCOL

ALL = ("as_given", "signed", "wide", "sparse")
STRICT = PROTOCOL.model_copy(update={"distributions": ALL, "correctness_trials": 4, "timing_runs": 3})
SETS = 4
HEAD = """import random
import torch
from torch import nn
from torch.nn import functional as F
rows, COLUMNS, count, f = 6, 5, 4, 2
"""
INITS = "\ndef get_init_inputs():\n    return []\n"


def problem(
    title, body, outputs, *, inputs=None, parameters=(), init="", given="[torch.randn(rows, COLUMNS)]", **other
):
    """A definition with x (rows, columns), whose forward has this body."""
    inputs = inputs or (tensor("x", "rows", "columns"),)
    names = ", ".join(argument.name for argument in inputs)
    source = f"{HEAD}\n{model('Model', body, names, init)}\ndef get_inputs():\n    return {given}\n{INITS}"
    axes = other.pop("axes", {"rows": 6, "columns": 5})
    return definition(title, source, axes, inputs, outputs, parameters, **other)


def model(name, body, names="x", init=""):
    """Source of a class with this forward; lines of both bodies are divided by semicolons."""
    lines = [f"class {name}(nn.Module):", "    def __init__(self):", "        super().__init__()"]
    lines += [f"        {line.strip()}" for line in init.split(";") if line]
    lines += [f"    def forward(self, {names}):", *(f"        {line.strip()}" for line in body.split(";"))]
    return "\n".join(lines) + "\n"


WEIGHT = "self.weight = nn.Parameter(torch.randn(COLUMNS))"
NORMAL = "self.weight = nn.Parameter(torch.randn(5))"
OUT = (tensor("out", "rows", "columns"),)
SCALE = problem(
    "scale", "return torch.sigmoid(x) * self.weight", OUT, parameters=(tensor("weight", "columns"),), init=WEIGHT
)
IN_PLACE = problem("in_place", "x.mul_(0.5); return x.sum(dim=1)", (tensor("out", "rows"),))
FACTOR = (tensor("x", "rows", "columns"), Argument(name="factor", kind="scalar", dtype="float32"))
NUMBER = problem("number", "return x * factor", OUT, inputs=FACTOR, given="[torch.randn(rows, COLUMNS), 1.5]")
CHANGING = problem(
    "changing", "return x * factor", OUT, inputs=FACTOR, given="[torch.randn(rows, COLUMNS), random.random()]"
)  # fmt: skip
RANDOM = problem("random", "return torch.nn.functional.dropout(x, 0.5, True)", OUT)
GATHER = problem(
    "gather", "return x[index]", (tensor("out", "count", "columns"),),
    inputs=(tensor("x", "rows", "columns"), tensor("index", "count", dtype="int64")),
    given="[torch.randn(rows, COLUMNS), torch.randint(rows, (count,))]", axes={"rows": 6, "columns": 5, "count": 4},
)  # fmt: skip
PAIR = problem(
    "pair", "return x > 0, [x.sum(), (9 * x).int()]",
    (
        tensor("positive", "rows", "columns", dtype="bool"), tensor("sum"),
        tensor("whole", "rows", "columns", dtype="int32"),
    ),
    given="[torch.randn(COLUMNS, rows).T]",
)  # fmt: skip
NAMED = problem(
    "named",
    "return F.relu(x).repeat(1, f)",
    (tensor("out", "rows", "wide"),),
    axes={"rows": 6, "columns": 5, "f": 2, "wide": 10},
)
SYNCHRONIZES = problem("synchronizes", "return x + 1 if x.sum().item() < 1e9 else x", OUT)


class Rig:
    """A reference and a solution of one problem, attached and loaded."""

    def __init__(
        self, device, item, source, *, sets=SETS, sizes=None, workload=None, artifact=None, protocol=STRICT, refused=()
    ):
        """`workload`: another than the problem's own; `sizes`: held-out ones; `refused`: calls with their logs."""
        self.device, self.protocol = device, protocol
        self.plan = make_device_plan(item, workload or workload_of(item), sizes or {})
        device.free_bytes = free_bytes_for(self.plan, sets)
        ground = HostRunner(device, ReferenceHost)
        self.reference = DeviceReference(ground, self.plan, protocol, gpu=GPU.uuid, compiles=False)
        self.reference.load()
        self.ground = ground.host
        language = Language.CUDA if artifact else Language.PYTHON
        runner = HostRunner(device, NativeHost if artifact else CandidateHost)
        solution = solution_of(item, source, language)
        self.subject = DeviceSubject(
            runner, GPU.uuid, protocol, solution, artifact=artifact, extensions={}, refused=refused
        )
        self.host = runner.host
        self.subject.attach(self.reference)
        self.subject.calibrate(self.reference)
        self.subject.load(self.plan)
        self.ask = lambda do, **rest: ground.ask({"do": do, **rest}, 1.0)

    def close(self):
        for descriptor in self.ground._descriptors:
            os.close(descriptor)

    def examine(self, trials=4):
        """Findings of all trials."""
        findings = Findings()
        stand = DeviceTrials(self.reference, self.subject, findings)
        Examination(stand, self.protocol, findings).check(trials)
        self.scalars = stand.scalars
        return findings

    def measure(self, baselines=("torch_eager",)):
        """Times as a session takes them, which finds out what PyTorch's baselines can be before anything else."""
        for name in baselines:
            self.reference.mode(name)
        self.examine()
        self.timing = DeviceTiming(self.reference, self.subject, self.protocol, self.scalars, gpu=GPU)
        return hone.measure(self.timing, baselines, self.protocol)

    def trial(self, distribution="as_given", seed=5):
        """One trial up to where results are compared."""
        self.subject.prepare(7, [self.reference.scalars])
        made = self.reference.trial(seed, 7, distribution, exact=True)
        self.subject.run(1, self.reference)
        self.subject.store()
        return made

    def compare(self, **options):
        return self.reference.compare(**options)

    @property
    def inputs(self):
        return self.ground._inputs.sets

    @property
    def outputs(self):
        return self.ground._outputs.sets


def no_spans():
    raise CuptiMissingError("there is no libcupti")


@pytest.fixture
def fake_driver(monkeypatch):
    """A driver and a PyTorch with one device, in whose memory the real hosts can run."""
    device = FakeDriver()
    device.install(monkeypatch)
    fake = FakeTorch(device)
    modules = (memory, models, reference_base, reference_checks, yardsticks, reference_host_module, candidate_host)
    for module in modules:
        monkeypatch.setattr(module, "torch", fake)
    for module in (reference_base, candidate_host):
        monkeypatch.setattr(module, "silence", lambda: None)
    monkeypatch.setattr(batches, "Spans", no_spans)
    monkeypatch.setattr(timing, "slow_times", lambda samples: False)  # the driver keeps this machine's time
    monkeypatch.setattr("hone.judge.clocks.queued.LAUNCHING_S", 60.0)
    monkeypatch.setattr(reference_base, "FLUSH_BYTES", 1 << 12)
    monkeypatch.setattr(batches, "PUBLISHED_FLUSH_BYTES", 1 << 12)
    monkeypatch.setattr(torch.Tensor, "cuda", lambda self: self)
    monkeypatch.setattr(torch.nn.Module, "cuda", lambda self: self)
    monkeypatch.setattr(torch.utils.cpp_extension, "load_inline", torch.utils.cpp_extension.load_inline)
    monkeypatch.setattr(
        "hone.judge.device.cuda.timing.clocks", lambda _: SimpleNamespace(sm_mhz=0, memory_mhz=0, throttled=())
    )
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    threads = torch.get_num_threads()
    yield device
    torch.set_num_threads(threads)
    for name in ("hone_reference", "hone_candidate"):
        sys.modules.pop(name, None)


@pytest.fixture
def rig(fake_driver):
    """Makes rigs on a fake driver."""
    made = []

    def make(item, body="", *, source="", names="x", init="", **options):
        made.append(Rig(fake_driver, item, source or HEAD + model("ModelNew", body, names, init), **options))
        return made[-1]

    yield make
    for one in made:
        one.close()


def refused(act):
    with pytest.raises(Verdict) as caught:
        act()
    return caught.value


HONEST = {
    "scale": (SCALE, {"body": "return self.weight / (1 + torch.exp(-x))", "init": NORMAL}),
    "in_place": (IN_PLACE, {"body": "x *= 0.5; return x.sum(1)"}),
    "number": (NUMBER, {"body": "return factor * x", "names": "x, factor"}),
    "changing": (CHANGING, {"body": "return factor * x", "names": "x, factor"}),
    "random": (RANDOM, {"body": "return torch.dropout(x, 0.5, True)"}),
    "gather": (GATHER, {"body": "return x.index_select(0, index)", "names": "x, index"}),
    "pair": (PAIR, {"body": "return (x.gt(0), x.sum(), (9 * x).to(torch.int32))"}),
    "synchronizes": (SYNCHRONIZES, {"body": "return 1 + x"}),
}
MODES_OF = {"changing": "stream", "random": "queued"}
"""Of these honest solutions; of all others `graph`."""


def batch(made, sets, *, seed=100, distribution="as_given"):
    """A batch in the stream."""
    made.reference.refresh(seed, 9, sets, distribution)
    made.reference.reveal(0, sets)
    made.subject.prepare(9, [made.reference.scalars] * sets)
    made.subject.run(sets, made.reference)
    made.subject.store()


def expected(seed, sets=SETS, *, together=True):
    """What the problems' `torch.randn(6, 5)` gives for each set, drawn together or each with a seed of its own."""
    if together:
        torch.manual_seed(seed)
        return list(torch.randn(sets, 6, 5))
    found = []
    for index in range(sets):
        torch.manual_seed(seed + index)
        found.append(torch.randn(6, 5))
    return found


def shown(made):
    return [places["x"].clone() for places in made.inputs]


def same(one, other):
    return [bool(torch.equal(mine, theirs)) for mine, theirs in zip(one, other, strict=True)]


def captured(made, sets=SETS):
    made.reference.refresh(1, 9, sets)
    made.reference.reveal(0, sets)
    made.subject.prepare(9, [made.reference.scalars] * sets)
    assert made.subject.capture(sets) == ""


def armed(made, seed, sets=SETS):
    made.subject.prepare(9, [made.reference.scalars] * sets)
    made.subject.arm(made.reference, sets)
    made.reference.refresh(seed, 9, sets)
