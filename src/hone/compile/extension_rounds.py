"""Extensions of a Python module, built ahead of time so that no compiler runs where solutions are judged.

A module may go on where a call of its own is refused, and may then make other calls. So its calls are recorded, built,
and recorded again with what is known to be refused, until nothing new is refused. A module that came to its end is not
run again: the store has its calls.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from hone.compile.extension_call import Call, call_key
from hone.compile.extension_screen import hopeless
from hone.compile.extension_sites import literal_calls
from hone.compile.extensions import LOG_CHARACTERS, build_extension, find_tools
from hone.compile.outcome import from_first_error
from hone.compile.recording import MOST_CALLS, Recording, known_or_recorded_calls
from hone.core.store import Store
from hone.machine.hardware import GPU, gpu_here
from hone.records import Build, BuildStatus, Solution, digest

ROUNDS = 4
SIDE_BY_SIDE = 4
"""Calls of one module that are compiled at a time."""
REFUSED_CHARACTERS = 4_000


def mentions_extensions(source: str) -> bool:
    """Whether it is worth a look: a module cannot build anything without these words."""
    return "load_inline" in source or "cpp_extension" in source


def build_with_extensions(
    parsed: Build, solution: Solution, reference: str, store: Store, timeout_s: float, gpu: GPU | None = None
) -> Build:
    """The build of a Python solution that mentions extensions: its calls are recorded, each is compiled.

    INTERPRETED with what was built in `extensions` and what the compiler said of other calls in `refused`; REJECTED for
    calls that cannot be compiled at all (too many); TIMEOUT when the module or a compiler takes longer than
    `timeout_s`. `gpu`: what they are built for, as in `toolchain_for`. MachineError when the machine is at fault.
    """
    gpu = gpu or gpu_here()
    parts, recording, recording_s = _Parts(), Recording(), 0.0
    record = True
    for _ in range(ROUNDS):
        if record:
            recording = known_or_recorded_calls(solution, reference, timeout_s, gpu, parts.refused, store)
            recording_s += recording.seconds
            if stopped := _stopped(recording):
                return parsed.model_copy(update=stopped)
            parts.refused |= {digest([text]): f"error: {text}" for text in recording.failures}
        new = _new_calls(recording, solution.source, parts)
        if not new:
            break
        added = _build_all(new, store, timeout_s, gpu)
        parts.add(new, added)
        if parts.unfinished:
            return parsed.model_copy(update=parts.described(parsed) | parts.unfinished)
        # The module has met refusals that are known without a compiler in this round already.
        record = any(key in parts.refused and not hopeless(new[key]) for key in new)
    log = f"the module raised {recording.remark}" if recording.remark else ""
    update = {"extensions": parts.built, "refused": parts.refused, "log": log, "seconds": recording_s + parts.seconds}
    return parsed.model_copy(update=update | parts.described(parsed))


@dataclass
class _Parts:
    """The calls of one module, as far as they were built; all by key."""

    built: dict[str, str] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)
    unfinished: dict[str, object] = field(default_factory=dict)
    """What becomes of the module's build where a call could neither be built nor refused."""
    seconds: float = 0.0
    """Of all compilers."""
    _last: Build | None = None

    def add(self, calls: Mapping[str, Call], builds: Sequence[Build]) -> None:
        for (key, call), build in zip(calls.items(), builds, strict=True):
            self._last = build
            self.seconds += build.seconds
            if build.artifact is not None:
                self.built[key] = build.artifact
            elif build.status is BuildStatus.REJECTED:
                self.refused[key] = from_first_error(build.log)[:REFUSED_CHARACTERS]
            else:
                log = f"load_inline(name={call.name[:100]!r})\n{build.log}"[:LOG_CHARACTERS]
                self.unfinished = {"status": build.status, "log": log}
                return

    def described(self, parsed: Build) -> dict[str, object]:
        """With what they were built."""
        last = self._last
        if last is None:
            return {}
        toolchain = f"{parsed.toolchain}; {last.toolchain}"
        return {"command": last.command, "toolchain": toolchain, "target": last.target}


def _stopped(recording: Recording) -> dict[str, object]:
    """What becomes of a module whose calls cannot be known."""
    if recording.timed_out:
        log = "the module did not come to its end when it was run to find its load_inline calls"
        return {"status": BuildStatus.TIMEOUT, "log": log}
    if recording.refusal:
        return {"status": BuildStatus.REJECTED, "log": recording.refusal, "command": ("load_inline",)}
    return {}


def _new_calls(recording: Recording, source: str, parts: _Parts) -> dict[str, Call]:
    """Those that were made, then those that stand in the source as literals, by key, without those known."""
    found = {call_key(call): call for call in recording.calls}
    literal = {call_key(call): call for call in literal_calls(source, handlers=bool(parts.refused))}
    for key, call in literal.items():
        if len(found) < MOST_CALLS:
            found.setdefault(key, call)
    return {key: call for key, call in found.items() if key not in parts.built and key not in parts.refused}


def _build_all(calls: Mapping[str, Call], store: Store, timeout_s: float, gpu: GPU) -> list[Build]:
    tools = find_tools(gpu)
    with ThreadPoolExecutor(min(len(calls), SIDE_BY_SIDE)) as pool:
        return list(pool.map(lambda call: build_extension(call, tools, store, timeout_s), calls.values()))
