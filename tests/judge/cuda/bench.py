"""A simulated GPU and the two processes on it, joined as the parent joins real ones."""

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

from hone.judge.device.cuda.plan import MEMORY_SHARE, make_device_plan
from hone.judge.device.cuda.reference import DeviceReference
from hone.judge.device.cuda.side import DeviceSubject
from hone.judge.device.cuda.timing import DeviceTiming
from hone.judge.device.cuda.ways import ALL_MODES
from hone.judge.protocols import hone
from hone.judge.runner import RunnerTimeoutError
from hone.machine.gpus import Clocks
from hone.records import Language, Mode, Performance, Protocol

from ..conftest import scale_definition, solution_of, workload_of
from .fakes import GPU, PROTOCOL, Device, Honest, ReferenceProcess


class FakeRunner:
    """`Runner` and the zygote that would start it, in one."""

    confinement = ("memory_limit",)
    alive = True

    def __init__(self, process: Any, device: Device) -> None:
        self._process = process
        self._device = device
        self._answer: dict[str, Any] = {}
        self.messages: list[dict[str, Any]] = []
        """All that was sent."""

    def spawn(self, role: str, arenas: Any, confinement: Any) -> "FakeRunner":
        self.role, self.asked_for = role, confinement
        return self

    def ask(self, message: dict[str, Any], timeout_s: float, limit: int = 0) -> dict[str, Any]:
        self.begin(message, timeout_s)
        return self.finish(timeout_s)

    def begin(self, message: dict[str, Any], timeout_s: float) -> None:
        self._wake()
        self.messages.append(message)
        self._answer = self._process.act(message)

    def finish(self, timeout_s: float, limit: int = 0) -> dict[str, Any]:
        if self._answer.pop("blocked", False):
            raise RunnerTimeoutError
        return self._answer

    def time_run(self, message: dict[str, Any], timeout_s: float) -> tuple[int, dict[str, Any]]:
        self._wake()
        self.messages.append(message)
        wall_ms, answer = self._process.time(message)
        self.freeze()
        return round(wall_ms * 1e6), answer

    def freeze(self) -> None:
        if isinstance(self._process, Honest):
            self._device.subject_frozen = True

    def take_descriptors(self, count: int, timeout_s: float) -> list[int]:
        return []

    def give_descriptors(self, message: dict[str, Any], descriptors: Any, timeout_s: float) -> dict[str, Any]:
        return self.ask({**message, "do": "map"}, timeout_s)

    def end(self) -> None:
        self.alive = False

    def _wake(self) -> None:
        if isinstance(self._process, Honest):
            self._device.subject_frozen = False


def free_bytes_for(plan: Any, sets: int) -> int:
    """How much GPU memory must be free for just so many sets."""
    return int(sets * (2 * plan.inputs.nbytes + 3 * plan.outputs.nbytes) / MEMORY_SHARE) + 4096


class Bench:
    """A reference and a solution on one simulated GPU, attached to each other and loaded."""

    def __init__(
        self, solution: Callable[..., Honest] = Honest, *, sets: int = 16, protocol: Protocol = PROTOCOL,
        sizes: Any = None, copies: bool = False, run_ms: float = 0.1, **options: Any,
    ) -> None:  # fmt: skip
        item = scale_definition(flops=options.pop("flops", 0))
        plan = make_device_plan(item, workload_of(item), sizes or {})
        self.device = Device(1 if sizes else sets)
        self._begin()
        self.protocol = protocol
        self.ground = ReferenceProcess(self.device, free_bytes=free_bytes_for(plan, sets), **options)
        self.process = solution(self.device, run_ms, copies=copies)
        answering: Any = FakeRunner(self.ground, self.device)
        self.ground_messages = answering.messages
        self.reference = DeviceReference(answering, plan, protocol, gpu=GPU.uuid, compiles=False)
        self.reference.load()
        assert self.reference.sets == self.device.sets
        language = Language.PYTHON if copies else Language.CUDA
        self.device.shown = self.process.shown
        self.channel = FakeRunner(self.process, self.device)
        starter: Any = self.channel
        artifact: Any = None if copies else "launch.so"
        self.subject = DeviceSubject(
            starter, GPU.uuid, protocol, solution_of(item, "", language), artifact=artifact, extensions={}
        )
        self.subject.attach(self.reference)
        self.subject.calibrate(self.reference)
        self.subject.load(plan)

    def _begin(self) -> None:
        """Called as soon as there is a device."""

    def measure(
        self, baselines: Sequence[str] = ("torch_eager",), modes: Sequence[Mode] = ALL_MODES, **kernels: DeviceSubject
    ) -> Performance:  # fmt: skip
        """Times as a session takes them, which finds out what PyTorch's baselines can be before anything else."""
        self.channel.freeze()
        for name in baselines:
            if name not in kernels:
                self.reference.mode(name)
        timing = DeviceTiming(self.reference, self.subject, self.protocol, [{}], kernels, modes, gpu=GPU)
        return hone.measure(timing, baselines, self.protocol)


def clocks(device_of: Callable[[], Device], patch: Any) -> None:
    """Let the parent read the simulated host clock where it times a copy, and NVML's clocks of no GPU."""
    now = SimpleNamespace(perf_counter=lambda: device_of().now_ms / 1e3)
    patch.setattr("hone.judge.device.cuda.side.time", now)
    patch.setattr("hone.judge.device.cuda.timing.clocks", lambda _: Clocks(1980, 2619, ("power cap",)))
