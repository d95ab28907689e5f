"""The `load_inline` calls of a module, learnt by running it in a confined process without a GPU."""

from __future__ import annotations

import functools
import importlib.metadata
import importlib.util
import json
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from hone.compile.compiler import scratch_folder, watch
from hone.compile.extension_call import Call, call_of
from hone.compile.slots import compiler_slot
from hone.core.code import stage_digest
from hone.core.errors import MachineError
from hone.core.store import Store
from hone.machine.confinement import clean_environment
from hone.machine.hardware import GPU
from hone.records import ModuleCalls, Solution, digest

PROBE = Path(__file__).with_name("extension_probe.py")
TIMEOUT_S = 60.0
MEMORY_BYTES = 4 * 1024**3
MOST_BYTES = 4 * 1024**2
MOST_CALLS = 16
RUN_BY = ("compile.extension_probe", "compile.recording")
"""What runs a module and reads what it says."""


@dataclass
class Recording:
    """What a module did; claims of untrusted code."""

    calls: list[Call] = field(default_factory=list)
    """Different ones, in order."""
    failures: list[str] = field(default_factory=list)
    """What calls raised that never reach a compiler: arguments that PyTorch does not take, files that are not there."""
    refusal: str = ""
    """Why its calls cannot be built: too many or too large."""
    remark: str = ""
    """What its own code raised."""
    confinement: tuple[str, ...] = ()
    """The parts that held the process, named as in `hone.machine.confinement`."""
    whole: bool = False
    """It made calls, and neither the module nor its constructor raised or was stopped: elsewhere it does the same."""
    timed_out: bool = False
    """It did not come to the end of the module; a constructor that does not end is left to the judge."""
    seconds: float = 0.0
    """What it took, without waiting for a core."""


def known_or_recorded_calls(
    solution: Solution, reference: str, timeout_s: float, gpu: GPU, refused: Mapping[str, str], store: Store
) -> Recording:
    """As `record_calls`, which a module that came to its end meets once: then the store has its calls.

    What it raises, and a run that is stopped, may be this machine's doing, and is tried again.
    """
    key = _store_key(solution, reference, gpu, refused)
    if known := store.calls(key):
        return Recording([call_of(**call) for call in known.calls], whole=True, seconds=known.seconds)
    recording = record_calls(solution, reference, timeout_s, gpu, refused)
    if recording.whole:
        calls = tuple(call.message() for call in recording.calls)
        store.keep_calls(key, ModuleCalls(calls=calls, seconds=recording.seconds))
    return recording


def _store_key(solution: Solution, reference: str, gpu: GPU, refused: Mapping[str, str]) -> str:
    """Of all that decides which calls a module makes. They may name folders of PyTorch's and Python's."""
    module = [solution.source, solution.entry_point, reference, gpu.model_dump(mode="json"), dict(refused)]
    torch = importlib.util.find_spec("torch")
    python = [sys.version, sys.prefix, (torch and torch.origin) or "", *_packages()]
    return digest(["calls", module, python, *map(stage_digest, RUN_BY)])


@functools.cache
def _packages() -> list[str]:
    """What a module may import, or may do without where it is not there."""
    return sorted({f"{item.name} {item.version}" for item in importlib.metadata.distributions()})


def record_calls(
    solution: Solution, reference: str, timeout_s: float, gpu: GPU, refused: Mapping[str, str] | None = None
) -> Recording:
    """Run the module, then `ModelNew` with the reference's arguments; raises MachineError when Python cannot start.

    `gpu`: which one it finds there. `refused`: keys of calls that are known not to build, which raise there what
    PyTorch would -> the compiler's words.
    """
    request = json.dumps(
        {
            "source": solution.source,
            "entry_point": solution.entry_point,
            "reference": reference,
            "gpu": gpu.model_dump(mode="json"),
            "refused": dict(refused or {}),
        }
    )
    with scratch_folder() as scratch, compiler_slot():
        stdin = Path(scratch) / "request.json"
        stdin.write_text(request, encoding="utf-8")
        started = time.monotonic()
        environment = {**clean_environment(1, Path(scratch)), "CUDA_VISIBLE_DEVICES": ""}
        with stdin.open("rb") as handle:
            try:
                process = subprocess.Popen(
                    [sys.executable, "-P", str(PROBE), str(MEMORY_BYTES)], cwd=scratch, env=environment,
                    stdin=handle, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True,
                )  # fmt: skip
            except OSError as error:
                raise MachineError(f"cannot start Python: {error}", where=sys.executable) from None
            said, timed_out = watch(process, min(timeout_s, TIMEOUT_S), MOST_BYTES)
        seconds = time.monotonic() - started
    return replace(_read(said, timed_out), seconds=seconds)


def _read(said: bytes, timed_out: bool) -> Recording:
    """Whatever is not a well-formed line counts as the end of what the module has to say."""
    recording, phase, calls, unmade = Recording(), "", dict[Call, None](), False
    if len(said) >= MOST_BYTES:
        recording.refusal = f"error: the sources of its load_inline calls take more than {MOST_BYTES} bytes"
    for line in said.split(b"\n"):
        try:
            message = json.loads(line)
            if "call" in message:
                calls[call_of(**message["call"])] = None
            if "failed" in message and len(recording.failures) < MOST_CALLS:
                recording.failures.append(str(message["failed"])[:2_000])
            phase = str(message.get("phase", phase))
            unmade = unmade or "unmade" in message
            recording.confinement = recording.confinement or tuple(map(str, message.get("confinement", ())))
            recording.remark = str(message.get("error", recording.remark))[:2_000]
        except (ValueError, TypeError, AttributeError, RecursionError):
            break
    recording.calls = list(calls)
    if len(calls) > MOST_CALLS and not recording.refusal:
        recording.refusal = (
            f"error: the module makes {len(calls)} different load_inline calls, at most {MOST_CALLS} are built"
        )
    recording.timed_out = timed_out and phase not in ("model", "end")
    raised = unmade or recording.remark or recording.failures or recording.refusal
    recording.whole = bool(calls) and phase == "end" and not timed_out and not raised
    if not phase and not timed_out:
        raise MachineError("the process that records load_inline calls did not start", where=str(PROBE))
    return recording
