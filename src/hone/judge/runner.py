"""Runners as the parent sees them: started by a zygote, asked with time limits, stopped, killed."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from hone.core.errors import MachineError
from hone.core.scratch import ScratchFolder
from hone.judge.device.cpu.arena import Arena
from hone.judge.wire import SMALL_BYTES, Channel, ClosedError, GarbledError, SilentError, WireError
from hone.machine.confinement import Confinement, clean_environment

START_TIMEOUT_S = 120.0
SPAWN_TIMEOUT_S = 30.0
END_TIMEOUT_S = 5.0
ERROR_BYTES = 65536


class RunnerError(Exception):
    """A runner did not do what it was asked."""


class RunnerTimeoutError(RunnerError):
    """It did not answer in time."""


class RunnerStuckError(RunnerError):
    """It could not be stopped, which is the kernel's doing: no process can refuse SIGSTOP."""


class RunnerEndedError(RunnerError):
    """It ended; `code` is its exit status or, negative, the signal that killed it."""

    def __init__(self, code: int | None, errors: str) -> None:
        self.code = code
        self.errors = errors
        """The beginning of what it wrote to standard error."""
        super().__init__(self.reason)

    @property
    def reason(self) -> str:
        """How it ended, in words."""
        if self.code is None:
            return "ended in an unknown way"
        if self.code >= 0:
            return f"exited with status {self.code}"
        with contextlib.suppress(ValueError):
            return f"killed by {signal.Signals(-self.code).name}"
        return f"killed by signal {-self.code}"


class RunnerForgedError(RunnerError):
    """It sent something that was not asked for."""


class Runner:
    """One process that runs a reference or a solution. It is stopped (SIGSTOP) except while it is asked something."""

    def __init__(self, channel: Channel, ending: int, errors: int) -> None:
        self._channel = channel
        self._ending = ending
        self._errors = errors
        self._process: int | None = None
        self._pid = 0
        self._frozen = False
        self._alive = True
        self._code: int | None = None
        self._errors_text = ""
        self.confinement: tuple[str, ...] = ()

    def greet(self) -> None:
        """Wait until it is confined and ready; nothing foreign has run in it so far, so its word is taken."""
        hello = self.finish(SPAWN_TIMEOUT_S)
        self._pid, self.confinement = int(hello["pid"]), tuple(hello["confinement"])
        self._process = os.pidfd_open(self._pid)

    def ask(self, message: Mapping[str, Any], timeout_s: float, limit: int = SMALL_BYTES) -> dict[str, Any]:
        """Send a message and wait for the answer; raises RunnerError."""
        self.begin(message, timeout_s)
        return self.finish(timeout_s, limit)

    def begin(self, message: Mapping[str, Any], timeout_s: float) -> None:
        """Send a message whose answer `finish` waits for."""
        if not self._alive:
            raise self._ended()
        self.thaw()
        self._send(message, timeout_s)

    def finish(self, timeout_s: float, limit: int = SMALL_BYTES) -> dict[str, Any]:
        """The answer to the message that `begin` sent."""
        try:
            return self._channel.receive(timeout_s, limit)
        except WireError as error:
            raise self._translate(error) from None

    def take_descriptors(self, count: int, timeout_s: float) -> list[int]:
        """Ask for its open files: `hand_over`. The caller closes them."""
        self.begin({"do": "hand_over"}, timeout_s)
        try:
            return self._channel.receive_descriptors(count, timeout_s)
        except WireError as error:
            raise self._translate(error) from None

    def give_descriptors(
        self, message: Mapping[str, Any], descriptors: Sequence[int], timeout_s: float
    ) -> dict[str, Any]:
        """Send a message that is answered by `ready`, then open files; the answer to them."""
        self.ask(message, timeout_s)
        try:
            self._channel.send_descriptors(descriptors)
        except WireError as error:
            raise self._translate(error) from None
        return self.finish(timeout_s)

    def time_run(self, message: Mapping[str, Any], timeout_s: float) -> tuple[int, dict[str, Any]]:
        """Wake it, ask it to run, stop it again: nanoseconds from the question to the answer, and the answer.

        The answer must repeat a fresh nonce, and nothing may have been sent before it was asked for.
        """
        nonce = os.urandom(8).hex()
        question = {**message, "do": "run", "nonce": nonce}
        if self._channel.pending():
            raise RunnerForgedError("it answered before it was asked")
        self.thaw()
        started_ns = time.perf_counter_ns()
        self._send(question, timeout_s)
        answer = self.finish(timeout_s)
        elapsed_ns = time.perf_counter_ns() - started_ns
        if answer.get("done") != nonce and not isinstance(answer.get("error"), dict):
            raise RunnerForgedError("its answer does not belong to the question")
        self.freeze()
        return elapsed_ns, answer

    def freeze(self) -> None:
        """Stop all its threads, and return when they have stopped; raises RunnerStuckError when they do not."""
        if self._frozen:
            return
        self._signal(signal.SIGSTOP)
        deadline = time.monotonic() + END_TIMEOUT_S
        while not self._stopped():
            if time.monotonic() > deadline:
                raise RunnerStuckError("it could not be stopped")
        self._frozen = True

    def thaw(self) -> None:
        """Let it go on."""
        if self._frozen:
            self._frozen = False
            self._signal(signal.SIGCONT)

    def end(self) -> int | None:
        """Kill it and all that it started, if it is not gone yet; its exit status or negative signal.

        Later calls give the same answer.
        """
        if not self._alive:
            return self._code
        self._alive = False
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._process, signal.SIGKILL)
            os.close(self._process)
        self._channel.close()
        readable, _, _ = select.select([self._ending], [], [], END_TIMEOUT_S)
        report = os.read(self._ending, 4096) if readable else b""
        os.close(self._ending)
        self._errors_text = self._read_errors()
        self._code = int(json.loads(report)["code"]) if report else None
        return self._code

    @property
    def alive(self) -> bool:
        """Whether it has not been ended."""
        return self._alive

    def _stopped(self) -> bool:
        """Whether every thread is stopped; raises RunnerEndedError when the process is gone."""
        try:
            tasks = os.listdir(f"/proc/{self._pid}/task")  # noqa: PTH208  the polling loop: as cheap as can be
            states = [_state(f"/proc/{self._pid}/task/{task}/stat") for task in tasks]
        except OSError:
            raise self._ended() from None
        if all(state in "ZX" for state in states):
            raise self._ended()
        return all(state in "TtZX" for state in states)

    def _signal(self, number: signal.Signals) -> None:
        assert self._process is not None
        try:
            signal.pidfd_send_signal(self._process, number)
        except ProcessLookupError:
            raise self._ended() from None

    def _send(self, message: Mapping[str, Any], timeout_s: float) -> None:
        try:
            self._channel.send(message, timeout_s)
        except WireError as error:
            raise self._translate(error) from None

    def _translate(self, error: WireError) -> RunnerError:
        if isinstance(error, SilentError):
            return RunnerTimeoutError()
        if isinstance(error, GarbledError):
            return RunnerForgedError(str(error))
        return self._ended()

    def _ended(self) -> RunnerEndedError:
        """It closed its channel or died: wait shortly for the report of its own end before it is killed."""
        if self._alive:
            select.select([self._ending], [], [], 0.5)
        return RunnerEndedError(self.end(), self._errors_text)

    def _read_errors(self) -> str:
        try:
            text = os.read(self._errors, ERROR_BYTES)
        except BlockingIOError:
            text = b""
        os.close(self._errors)
        return text.decode("utf-8", "replace")


def _state(path: str) -> str:
    with open(path, encoding="ascii", errors="replace") as file:  # noqa: PTH123
        return file.read().rpartition(")")[2].split()[0]


class Zygote:
    """The parent's handle on a process that forks runners; started when first needed, again when it has died."""

    def __init__(self, kind: str, threads: int, cpus: list[int], variables: Mapping[str, str] | None = None) -> None:
        """`kind` is `torch` or `plain`, with `cuda_` before it for a GPU.

        Runners get `threads` threads, stay on `cpus` (anywhere when empty) and have some more environment variables.
        """
        self._variables = dict(variables or {})
        self._kind = kind
        self._threads = threads
        self._cpus = cpus
        self._process: subprocess.Popen[bytes] | None = None
        self._connection: socket.socket | None = None
        self._log: IO[bytes] | None = None
        self._scratch: ScratchFolder | None = None

    def spawn(self, role: str, arenas: Mapping[str, Arena], confinement: Confinement) -> Runner:
        """Fork a runner that maps these arenas; raises MachineError when that does not work twice."""
        try:
            return self._spawn(role, arenas, confinement)
        except (RunnerError, WireError, OSError):
            self.close()
        try:
            return self._spawn(role, arenas, confinement)
        except (RunnerError, WireError, OSError) as error:
            raise MachineError(f"no process to run solutions in: {error or type(error).__name__}") from None

    def start(self) -> None:
        """Start it before it is needed; where that fails, `spawn` tries again and says why."""
        with contextlib.suppress(WireError, OSError):
            self._start()

    def close(self) -> None:
        """End the zygote; its runners die with it."""
        if self._connection is not None:
            self._connection.close()
        if self._process is not None:
            self._process.kill()
            self._process.wait()
        if self._log is not None:
            self._log.close()
        if self._scratch is not None:
            self._scratch.cleanup()
        self._connection = self._process = self._log = self._scratch = None

    def _spawn(self, role: str, arenas: Mapping[str, Arena], confinement: Confinement) -> Runner:
        connection = self._connection or self._start()
        mine, theirs = socket.socketpair()
        ending_read, ending_write = os.pipe2(os.O_CLOEXEC)
        errors_read, errors_write = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        given = [theirs.fileno(), ending_write, errors_write, *(arena.fd for arena in arenas.values())]
        request = {
            "role": role,
            "cpus": self._cpus,
            "confinement": confinement.message(),
            "layouts": {name: arena.layout.message() for name, arena in arenas.items()},
        }
        runner = Runner(Channel(mine), ending_read, errors_read)
        try:
            connection.settimeout(SPAWN_TIMEOUT_S)
            socket.send_fds(connection, [b"+"], given)
            channel = Channel(connection)
            channel.send(request, SPAWN_TIMEOUT_S)
            channel.receive(SPAWN_TIMEOUT_S)
        except (WireError, OSError):
            runner.end()
            raise
        finally:
            theirs.close()
            os.close(ending_write)
            os.close(errors_write)
        try:
            runner.greet()
        except RunnerError:
            runner.end()
            raise
        return runner

    def _start(self) -> socket.socket:
        self._scratch = ScratchFolder("judge")
        self._log = tempfile.TemporaryFile()  # noqa: SIM115  closed in close()
        mine, theirs = socket.socketpair()
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "hone.judge.child.zygote", str(theirs.fileno()), self._kind],
            cwd=self._scratch.name, env=clean_environment(self._threads, Path(self._scratch.name)) | self._variables,
            pass_fds=[theirs.fileno()], start_new_session=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=self._log,
        )  # fmt: skip
        theirs.close()
        self._connection = mine
        try:
            Channel(mine).receive(START_TIMEOUT_S)
        except WireError:
            self._log.seek(0)
            said = self._log.read(20_000).decode("utf-8", "replace").strip().splitlines()
            self.close()
            raise ClosedError(said[-1] if said else "it did not start") from None
        return mine
