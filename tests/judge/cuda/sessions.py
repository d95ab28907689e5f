"""A session of the GPU judge whose processes are real hosts in this one, on a driver that is a fake."""

import functools
import os

import pytest

from hone.judge.case import Case
from hone.judge.child.cuda.candidate import CandidateHost
from hone.judge.child.cuda.native import NativeHost
from hone.judge.child.cuda.reference import ReferenceHost
from hone.judge.device.cuda.bench import CudaBench
from hone.judge.device.cuda.kept import Kept
from hone.judge.device.cuda.plan import make_device_plan
from hone.judge.findings import Findings
from hone.judge.session import Session
from hone.machine.turns import Turns
from hone.records import Build, BuildStatus, Language
from hone.sources.gold import gold_solution

from ..conftest import solution_of, workload_of
from .bench import free_bytes_for
from .fake_driver import HostRunner
from .fakes import GPU, PROTOCOL
from .rigs import HEAD, OUT, SETS, model, problem

SIGMOID = problem("sigmoid", "return torch.sigmoid(x)", OUT)
KERNEL = "import ctypes\nLIBRARY = ctypes.CDLL(None)\n"
"""What a module with a kernel of its own may begin with."""


class FakeZygote:
    """Starts real hosts in this process, each with streams of its own."""

    def __init__(self, device):
        self.device, self.runners = device, []

    def spawn(self, role, arenas, confinement):
        kinds = {"cuda_reference": ReferenceHost, "cuda_native": NativeHost, "cuda_candidate": CandidateHost}
        self.runners.append(HostRunner(self.device, kinds[role]).spawn(f"{role} {len(self.runners)}", {}, confinement))
        return self.runners[-1]

    def close(self): ...


def fake_session(zygote, protocol, baselines, turns=None):
    """As if entered: the zygote and a GPU are there."""
    session = Session(protocol, baselines)
    bench = session._bench
    assert isinstance(bench, CudaBench)
    bench._torch = bench._plain = zygote
    bench._gpu, bench._turns, bench._shortfall._warned = GPU, turns or Turns(), True
    bench._kept = Kept(
        zygote, GPU.uuid, protocol, baselines, functools.partial(bench._subject, scratch=None), bench._turns
    )
    return session


@pytest.fixture
def session(fake_driver, tmp_path):
    """Judges bodies of `ModelNew.forward` one after the other, None for the reference; gives the findings of each.

    They are in `found`, too, if a verdict ends it.
    """
    zygotes = []

    def judge(*bodies, item=SIGMOID, protocol=PROTOCOL, init="", head=KERNEL):
        workload = workload_of(item)
        fake_driver.free_bytes = free_bytes_for(make_device_plan(item, workload, {}), SETS)
        zygotes.append(FakeZygote(fake_driver))
        made = fake_session(zygotes[-1], protocol, ("torch_eager",), judge.turns)
        judge.found = found = []
        for body in bodies:
            solution = (
                gold_solution(item)
                if body is None
                else solution_of(item, head + HEAD + model("ModelNew", body, "x", init), Language.PYTHON)
            )
            build = Build(solution=solution.id, status=BuildStatus.INTERPRETED)
            found.append(Findings())
            made.examine(Case(solution, build, item, workload, tmp_path, {}), found[-1])
        made._bench.drop()
        return found

    judge.turns = None
    judge.runners = lambda: zygotes[-1].runners
    judge.roles = lambda: [runner.role.split()[0] for runner in judge.runners()]
    yield judge
    for zygote in zygotes:
        for runner in zygote.runners:
            for descriptor in getattr(runner.host, "_descriptors", ()):
                os.close(descriptor)
