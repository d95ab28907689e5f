"""The GPU of this judge: which one, held by whom, at what clocks. NVML only: no CUDA context in the trusted parent."""

from __future__ import annotations

import contextlib
import fcntl
import functools
import itertools
import os
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from hone.core.errors import MachineError
from hone.machine.turns import Crowd, Turns

T = TypeVar("T")

REMEDY = "judge on a machine with an NVIDIA GPU and driver, or set judge.device: cpu"
SLOWED = {
    0x04: "power cap", 0x08: "hardware slowdown", 0x20: "software thermal", 0x40: "hardware thermal",
    0x80: "hardware power brake", 0x02: "application clocks",
}  # fmt: skip
"""Bits of NVML's clock event reasons that hold clocks down under load."""
POLL_S = 0.5
LOCKS = Path("/tmp")
MOST_SEATS = 3
"""Judges on one GPU: more would mostly wait for each other's measurements."""
SEAT_BYTES = 26 << 30
"""GPU memory that a judge should have, small problems provided: see `hone.judge.device.cuda.bench`."""


@dataclass(frozen=True)
class Gpu:
    """One visible GPU."""

    uuid: str
    name: str
    driver: str
    """Driver and CUDA version."""
    memory_bytes: int
    capability: str
    """Compute capability, such as `9.0`."""


@dataclass(frozen=True)
class Clocks:
    """Clocks at one moment, and what held them down."""

    sm_mhz: int
    memory_mhz: int
    throttled: tuple[str, ...]


@functools.cache
def visible_gpus() -> tuple[Gpu, ...]:
    """GPUs that CUDA_VISIBLE_DEVICES leaves; raises MachineError when there is none."""
    import pynvml  # type: ignore[import-untyped]

    try:
        pynvml.nvmlInit()
        driver = f"{_text(pynvml.nvmlSystemGetDriverVersion())}, CUDA {_cuda(pynvml.nvmlSystemGetCudaDriverVersion())}"
        handles = [pynvml.nvmlDeviceGetHandleByIndex(index) for index in range(pynvml.nvmlDeviceGetCount())]
        gpus = [
            Gpu(
                _text(pynvml.nvmlDeviceGetUUID(handle)),
                _text(pynvml.nvmlDeviceGetName(handle)),
                driver,
                int(pynvml.nvmlDeviceGetMemoryInfo(handle).total),
                "{}.{}".format(*pynvml.nvmlDeviceGetCudaComputeCapability(handle)),
            )
            for handle in handles
        ]
        pynvml.nvmlShutdown()  # or the GPU's device file stays open in a process that only waits for its turn
    except pynvml.NVMLError as error:
        raise MachineError(f"no NVIDIA GPU can be used: {error}", remedy=REMEDY) from None
    chosen = _chosen(gpus, os.environ.get("CUDA_VISIBLE_DEVICES"))
    if not chosen:
        raise MachineError("no NVIDIA GPU is visible", where="CUDA_VISIBLE_DEVICES", remedy=REMEDY)
    return tuple(chosen)


def _chosen(gpus: list[Gpu], wanted: str | None) -> list[Gpu]:
    if wanted is None:
        return gpus
    names = [name.strip() for name in wanted.split(",") if name.strip()]
    by_number = {str(index): gpu for index, gpu in enumerate(gpus)}
    found = [by_number.get(name) or next((gpu for gpu in gpus if gpu.uuid.startswith(name)), None) for name in names]
    # As in CUDA, one that does not exist hides those that follow.
    return [gpu for gpu in itertools.takewhile(lambda gpu: gpu is not None, found) if gpu is not None]


@contextmanager
def held_gpu(wait_s: float = 24 * 3600.0) -> Iterator[Gpu]:
    """Hold one of the visible GPUs alone: no judge of this machine uses it meanwhile.

    Waits for one to become free; raises MachineError after `wait_s`.
    """
    for gpu in _until_free(wait_s, visible_gpus):
        with _locked(f"hone-{gpu.uuid}", fcntl.LOCK_EX) as held:
            if held:
                yield gpu
                return


@contextmanager
def shared_gpu(wait_s: float = 24 * 3600.0) -> Iterator[tuple[Gpu, Turns]]:
    """One of the visible GPUs, with `seats` judges at most, and the turns that they take there.

    GPUs without a judge come first. Waits for a seat; raises MachineError after `wait_s`.
    """
    for gpu, seat in _until_free(wait_s, _all_seats):
        name = f"hone-{gpu.uuid}"
        with _locked(name, fcntl.LOCK_SH) as open_, _locked(f"{name}-seat{seat}", fcntl.LOCK_EX) as mine:
            if open_ and mine:
                crowds = [] if seats(gpu) == 1 else [_crowd(f"{name}{of}") for of in ("", "-opening", "-memory")]
                with closing(Turns(*crowds)) as turns:
                    yield gpu, turns
                return


def _crowd(name: str) -> Crowd:
    return Crowd(_lock_file(f"{name}-queue"), _lock_file(f"{name}-floor"))


def seats(gpu: Gpu) -> int:
    """How many judges may share it, by its memory."""
    return max(1, min(MOST_SEATS, gpu.memory_bytes // SEAT_BYTES))


def _all_seats() -> Iterator[tuple[Gpu, int]]:
    gpus = visible_gpus()
    for seat in range(max(map(seats, gpus))):
        yield from ((gpu, seat) for gpu in gpus if seat < seats(gpu))


def _until_free(wait_s: float, choices: Callable[[], Iterable[T]]) -> Iterator[T]:
    """All choices over and over, with pauses; who has found a free one asks for no more."""
    deadline = time.monotonic() + wait_s
    while True:
        yield from choices()
        if time.monotonic() > deadline:
            raise MachineError(f"no GPU became free in {wait_s:g} s", remedy="wait for the other judges to end")
        time.sleep(POLL_S)


@contextmanager
def _locked(name: str, lock: int) -> Iterator[bool]:
    """Whether the lock file of this name could be locked at once; it is until the end of the block."""
    file = _lock_file(name)
    try:
        fcntl.flock(file, lock | fcntl.LOCK_NB)
        locked = True
    except BlockingIOError:
        locked = False
    try:
        yield locked
    finally:
        os.close(file)


def _lock_file(name: str) -> int:
    """Open for locking; in one place for all users and whatever TMPDIR says, and readable is enough to lock it."""
    path = LOCKS / f"{name}.lock"
    with contextlib.suppress(OSError):  # another user's
        path.touch(mode=0o644)
    try:
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        remedy = "make the file readable, or remove it when no judge runs"
        raise MachineError(f"cannot lock the GPU: {error.strerror}", where=str(path), remedy=remedy) from None


def clocks(uuid: str) -> Clocks:
    """Clocks now; zeros where the driver does not say."""
    import pynvml

    try:
        pynvml.nvmlInit()
        handle = pynvml.nvmlDeviceGetHandleByUUID(uuid)
        reasons = int(pynvml.nvmlDeviceGetCurrentClocksEventReasons(handle))
        return Clocks(
            int(pynvml.nvmlDeviceGetClockInfo(handle, pynvml.NVML_CLOCK_SM)),
            int(pynvml.nvmlDeviceGetClockInfo(handle, pynvml.NVML_CLOCK_MEM)),
            tuple(text for bit, text in SLOWED.items() if reasons & bit),
        )
    except pynvml.NVMLError:
        return Clocks(0, 0, ())


def _cuda(version: int) -> str:
    return f"{version // 1000}.{version % 1000 // 10}"


def _text(value: str | bytes) -> str:
    return value.decode() if isinstance(value, bytes) else value
