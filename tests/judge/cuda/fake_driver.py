"""A CUDA driver in host memory, so that the real hosts of both sides run in one process without a GPU.

Streams are queues that go on as far as the words they wait for allow. Work of PyTorch runs at once, except while a
graph is captured: then it is recorded and done again at each replay; and while the default stream waits: then it is
done in its turn. Memory is shared through real descriptors.
"""

import ctypes
import itertools
import json
import mmap
import os
import random
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes
from torch.utils._pytree import tree_leaves

from hone.judge.device.cuda import driver
from hone.judge.device.cuda.driver import CudaError
from hone.judge.runner import RunnerTimeoutError

Step = Callable[[], bool]
"""Does a piece of work; false when it has to wait."""

INVALIDATED = 901
NOT_PERMITTED = "operation not permitted when stream is capturing"


class FakeDriver:
    """Everything of `hone.judge.device.cuda.driver` that hosts call; `process` says whose default stream is meant."""

    def __init__(self) -> None:
        self.process = ""
        self._currents: dict[str, tuple[str, int] | None] = {}
        self.free_bytes, self.total_bytes = 64 << 20, 80 << 30
        self.rights: list[bool] = []
        """Of each import, whether it may be written to."""
        self._numbers = itertools.count(1000)
        self._memory: dict[int, mmap.mmap] = {}
        self._queues: dict[tuple[str, int], deque[Step]] = {}
        self._captures: dict[tuple[str, int], list[Step]] = {}
        self._broken: set[tuple[str, int]] = set()
        self._graphs: dict[int, list[Step]] = {}
        self._happened: dict[int, float] = {}
        self.blocked = False
        """A process has waited for work that waits itself: the judge must have let it go on."""

    def install(self, patch: Any) -> None:
        """Take the driver's place."""
        for name in vars(driver):
            if hasattr(FakeDriver, name) and not name.startswith("_"):
                patch.setattr(driver, name, getattr(self, name))

    @property
    def current(self) -> tuple[str, int] | None:
        """PyTorch's current stream in the process at hand, where that is not the default one."""
        return self._currents.get(self.process)

    @current.setter
    def current(self, stream: tuple[str, int] | None) -> None:
        self._currents[self.process] = stream

    # ------------------------------------------------------------------------------------------------ memory

    def open_context(self) -> None: ...

    def allocate(self, nbytes: int) -> tuple[int, int]:
        descriptor = os.memfd_create("device")
        os.ftruncate(descriptor, nbytes)
        return self._map(descriptor, nbytes), descriptor

    def allocate_private(self, nbytes: int) -> int:
        return self._map(-1, nbytes)

    def free_private(self, address: int) -> None:
        del self._memory[address]

    def import_memory(self, descriptor: int, nbytes: int, *, writable: bool) -> int:
        assert os.fstat(descriptor).st_size == nbytes, "memory is mapped with another size than it was made with"
        self.rights.append(writable)
        return self._map(descriptor, nbytes)

    def _map(self, descriptor: int, nbytes: int) -> int:
        memory = mmap.mmap(descriptor, nbytes)
        address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
        self._memory[address] = memory
        return address

    # --------------------------------------------------------------------------------------------- streams

    def new_stream(self) -> ctypes.c_void_p:
        number = next(self._numbers)
        self._queues[self.process, number] = deque()
        return ctypes.c_void_p(number)

    def new_event(self) -> ctypes.c_void_p:
        return ctypes.c_void_p(next(self._numbers))

    def _key(self, stream: Any) -> tuple[str, int]:
        number = getattr(stream, "value", stream) or 0
        known = [key for key in (*self._queues, *self._captures) if key[1] == number and number]
        return known[0] if known else (self.process, number)

    def enqueue(self, stream: Any, step: Step) -> None:
        """Put work on a stream, or into the graph that it is captured for."""
        key = self._key(stream)
        if key in self._broken:
            raise CudaError(INVALIDATED, "a call", "operation failed due to a previous error during capture")
        if key in self._captures:
            self._captures[key].append(step)
            return
        self._queues.setdefault(key, deque()).append(step)
        self.pump()

    def pump(self) -> None:
        """Let all streams go on as far as they can."""
        moved = True
        while moved:
            moved = False
            for queue in list(self._queues.values()):
                while queue and queue[0]():
                    queue.popleft()
                    moved = True

    def waits(self, process: str) -> bool:
        """Whether work on a process's default stream has not been done yet."""
        return bool(self._queues.get((process, 0)))

    def wait_in_vain(self, process: str) -> None:
        """A call that comes back only when somebody has opened the gates, which is done here."""
        self.blocked = True
        queue = self._queues[process, 0]
        while queue:
            step = queue.popleft()
            step()

    def synchronize(self) -> None:
        self.pump()
        if any(key[0] == self.process for key in self._captures):
            raise CudaError(900, "cuCtxSynchronize", NOT_PERMITTED)
        waiting = [key for key, queue in self._queues.items() if queue and key[0] == self.process]
        assert not waiting, f"{self.process} would wait for ever on {waiting}"

    def record(self, event: ctypes.c_void_p, stream: Any) -> None:
        assert self.current is None, "PyTorch works on another stream than the one that is timed"
        self.enqueue(stream, lambda: self._happens(event.value or 0))

    def _happens(self, event: int) -> bool:
        self._happened[event] = time.perf_counter()
        return True

    def elapsed_ms(self, start: ctypes.c_void_p, end: ctypes.c_void_p) -> float:
        return (self._happened[end.value or 0] - self._happened[start.value or 0]) * 1e3

    def wait_for_word(self, stream: Any, address: int, value: int) -> None:
        self.enqueue(stream, lambda: word(address).value >= value)

    def set_word_after(self, stream: Any, address: int, value: int) -> None:
        self.fill_words(stream, address, value, 1)

    def fill_words(self, stream: Any, address: int, value: int, count: int) -> None:
        def fill() -> bool:
            for index in range(count):
                word(address + 4 * index).value = value
            return True

        self.enqueue(stream, fill)

    def read_word(self, stream: Any, address: int) -> int:
        self.pump()
        return word(address).value

    # ---------------------------------------------------------------------------------------------- graphs

    def begin_capture(self, stream: Any) -> None:
        key = self._key(stream)
        assert key not in self._captures, "the stream is captured already"
        self._captures[key] = []

    def break_capture(self) -> None:
        """What a call does that cannot be captured, to all graphs that are being captured."""
        self._broken |= set(self._captures)

    def count_captured(self, stream: Any) -> int:
        return len(self._captures[self._key(stream)])

    def captured_steps(self, stream: Any) -> tuple[int, bool]:
        return self.count_captured(stream), True

    def end_capture(self, stream: Any) -> ctypes.c_void_p:
        key = self._key(stream)
        steps = self._captures.pop(key)
        if key in self._broken:
            self._broken.remove(key)
            raise CudaError(INVALIDATED, "cuStreamEndCapture", "operation failed due to a previous error")
        number = next(self._numbers)
        self._graphs[number] = steps
        return ctypes.c_void_p(number)

    def launch_graph(self, executable: ctypes.c_void_p, stream: Any) -> None:
        for step in self._graphs[executable.value or 0]:
            self.enqueue(stream, step)

    def destroy_graph(self, executable: ctypes.c_void_p) -> None:
        del self._graphs[executable.value or 0]


def word(address: int) -> ctypes.c_uint32:
    """A 32-bit word of device memory."""
    return ctypes.c_uint32.from_address(address)


# ---------------------------------------------------------------------------------------------------- PyTorch


def brings_a_number_to_the_host(func: Any) -> bool:
    return "_local_scalar_dense" in str(func) or "nonzero" in str(func)


def doing_again(func: Any, args: Any, kwargs: Any, found: Any, chances: Any = None) -> Step:
    """Does an operator on what its arguments are by then; `chances`: with the random numbers that it had."""

    def again() -> bool:
        with _disable_current_modes(), torch.no_grad():
            others = None if chances is None else set_chance(chances)
            for old, new in zip(tree_leaves(found), tree_leaves(func(*args, **kwargs)), strict=True):
                if isinstance(old, torch.Tensor) and old.data_ptr() != new.data_ptr():
                    old.copy_(new)
            if others is not None:
                set_chance(others)
        return True

    return again


class Recorder(TorchDispatchMode):
    """Hands on operators and remembers how to do them again."""

    def __init__(self, device: FakeDriver, stream: Any) -> None:
        super().__init__()
        self._device, self._stream = device, stream

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if brings_a_number_to_the_host(func):
            self._device.break_capture()
            raise RuntimeError(f"CUDA error: {NOT_PERMITTED}")
        kwargs = kwargs or {}
        found = func(*args, **kwargs)
        self._device.enqueue(self._stream, doing_again(func, args, kwargs, found))
        return found


class DefaultStream(TorchDispatchMode):
    """Operators of a process take their turn behind what its default stream waits for."""

    def __init__(self, device: FakeDriver) -> None:
        super().__init__()
        self._device = device

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        device, kwargs = self._device, kwargs or {}
        if device.current is not None or not device.waits(device.process):
            return func(*args, **kwargs)
        if brings_a_number_to_the_host(func):
            device.wait_in_vain(device.process)
            return func(*args, **kwargs)
        chances = chance()
        found = func(*args, **kwargs)
        device.enqueue(None, doing_again(func, args, kwargs, found, chances))
        return found


class FakeCuda:
    """`torch.cuda` as far as hosts use it."""

    def __init__(self, device: FakeDriver) -> None:
        self._device = device
        self.CUDAGraph = lambda: SimpleNamespace(executable=None, replay=None, reset=lambda: None)

    def init(self) -> None: ...

    def empty_cache(self) -> None: ...

    def mem_get_info(self) -> tuple[int, int]:
        return self._device.free_bytes, self._device.total_bytes

    def get_device_properties(self, _: int) -> Any:
        return SimpleNamespace(
            memory_clock_rate=2_619_000, memory_bus_width=5120, multi_processor_count=132, clock_rate=1_980_000,
            L2_cache_size=50 << 20, name="NVIDIA H100 80GB HBM3", major=9, minor=0,
        )  # fmt: skip

    def current_stream(self) -> Any:
        current = self._device.current
        return SimpleNamespace(cuda_stream=current[1] if current else 0, key=current)

    def set_stream(self, stream: Any) -> None:
        self._device.current = stream.key

    @contextmanager
    def graph(self, graph: Any) -> Iterator[None]:
        """As in PyTorch, what fails leaves the stream of the capture the current one."""
        device, before, stream = self._device, self._device.current, self._device.new_stream()
        device.current = (device.process, stream.value or 0)
        device.begin_capture(stream)
        try:
            with Recorder(device, stream):
                yield
        finally:
            executable = device.end_capture(stream)
            device.current = before
        graph.replay = lambda: device.launch_graph(executable, None)


class FakeTorch:
    """PyTorch with one more device, `cuda`, which is the host's memory."""

    def __init__(self, device: FakeDriver) -> None:
        self.cuda = FakeCuda(device)

    def __getattr__(self, name: str) -> Any:
        return getattr(torch, name)

    def device(self, _: str) -> torch.device:
        return torch.device("cpu")

    def as_tensor(self, memory: Any, device: str) -> torch.Tensor:
        told = memory.__cuda_array_interface__
        kept = (ctypes.c_ubyte * told["shape"][0]).from_address(told["data"][0])
        return torch.frombuffer(kept, dtype=torch.uint8)

    def zeros(self, *shape: int, device: str) -> torch.Tensor:
        return torch.zeros(*shape)

    def ones(self, *shape: int, device: str) -> torch.Tensor:
        return torch.ones(*shape)

    def empty(self, *shape: int, dtype: torch.dtype, device: str) -> torch.Tensor:
        return torch.empty(*shape, dtype=dtype)

    def empty_strided(self, shape: Any, stride: Any, *, dtype: torch.dtype, device: str) -> torch.Tensor:
        return torch.empty_strided(shape, stride, dtype=dtype)


# --------------------------------------------------------------------------------------------- the two processes


def chance() -> Any:
    """The state of all generators, of which each process has its own."""
    return torch.get_rng_state(), random.getstate(), np.random.get_state()


def set_chance(state: Any) -> Any:
    """Set all generators; the state that they had."""
    before = chance()
    torch.set_rng_state(state[0])
    random.setstate(state[1])
    np.random.set_state(state[2])
    return before


class HostRunner:
    """`Runner` and zygote in one, around a real host in this process; messages pass through JSON as on the wire."""

    confinement = ("memory_limit",)
    alive = True

    def __init__(self, device: FakeDriver, make: Callable[[], Any]) -> None:
        self._device, self._make = device, make
        self._answer: dict[str, Any] = {}
        self._chance = chance()

    def spawn(self, role: str, arenas: Any, confinement: Any) -> "HostRunner":
        self.role, self.host = role, self._make()
        return self

    def ask(self, message: dict[str, Any], timeout_s: float, limit: int = 0) -> dict[str, Any]:
        self._device.process = self.role
        descriptors = message.pop("descriptors", None)
        received = json.loads(json.dumps(message))
        received |= {} if descriptors is None else {"descriptors": descriptors}
        others = set_chance(self._chance)
        try:
            with DefaultStream(self._device):
                found = self.host.act(received)
        finally:
            self._chance = set_chance(others)
        answer: dict[str, Any] = json.loads(json.dumps(found))
        return answer

    def begin(self, message: dict[str, Any], timeout_s: float) -> None:
        self._answer = self.ask(message, timeout_s)

    def finish(self, timeout_s: float, limit: int = 0) -> dict[str, Any]:
        if self._device.blocked:
            self._device.blocked = False
            raise RunnerTimeoutError
        return self._answer

    def time_run(self, message: dict[str, Any], timeout_s: float) -> tuple[int, dict[str, Any]]:
        started_ns = time.perf_counter_ns()
        answer = self.ask({**message, "do": "run", "nonce": "abc"}, timeout_s)
        assert answer.get("done") == "abc" or "error" in answer
        return time.perf_counter_ns() - started_ns, answer

    def freeze(self) -> None: ...

    def take_descriptors(self, count: int, timeout_s: float) -> list[int]:
        found = [os.dup(descriptor) for descriptor in self.host.descriptors()]
        assert len(found) == count
        return found

    def give_descriptors(self, message: dict[str, Any], descriptors: list[int], timeout_s: float) -> dict[str, Any]:
        return self.ask(message | {"descriptors": [os.dup(one) for one in descriptors]}, timeout_s)

    def end(self) -> None:
        self.alive = False
