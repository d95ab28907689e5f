"""A session of the GPU judge whose processes are real hosts in this one, on a driver that is a fake."""

import functools

from hone.judge.child.cuda.candidate import CandidateHost
from hone.judge.child.cuda.native import NativeHost
from hone.judge.child.cuda.reference import ReferenceHost
from hone.judge.device.cuda.bench import CudaBench
from hone.judge.device.cuda.kept import Kept
from hone.judge.session import Session
from hone.machine.turns import Turns

from .fake_driver import HostRunner
from .fakes import GPU


class FakeZygote:
    """Starts real hosts in this process, each with streams of its own."""

    def __init__(self, device):
        self.device, self.runners = device, []

    def spawn(self, role, arenas, confinement):
        kinds = {"cuda_reference": ReferenceHost, "cuda_native": NativeHost, "cuda_candidate": CandidateHost}
        self.runners.append(HostRunner(self.device, kinds[role]).spawn(f"{role} {len(self.runners)}", {}, confinement))
        return self.runners[-1]

    def close(self): ...


def fake_session(zygote, protocol, baselines):
    """As if entered: the zygote and a GPU are there."""
    session = Session(protocol, baselines)
    bench = session._bench
    assert isinstance(bench, CudaBench)
    bench._torch = bench._plain = zygote
    bench._gpu, bench._shortfall._warned = GPU, True
    bench._kept = Kept(zygote, GPU.uuid, protocol, baselines, functools.partial(bench._subject, scratch=None), Turns())
    return session
