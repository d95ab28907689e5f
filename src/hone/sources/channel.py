"""Reading lines from a child process with a limit of time for each, and ending it for good."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import time
from pathlib import Path
from types import TracebackType
from typing import Self


class Replies:
    """Lines of a child's standard output; on exit the child and everything that it started are killed.

    The child must have been started in a session of its own, with `stdout=PIPE` and its standard error in a file.
    """

    def __init__(self, process: subprocess.Popen[bytes], errors: Path) -> None:
        assert process.stdout is not None
        self._errors = errors
        self._process = process
        self._descriptor = process.stdout.fileno()
        self._buffer = b""
        self._timed_out = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._kill()
        assert self._process.stdout is not None
        self._process.stdout.close()

    def read(self, timeout_s: float) -> bytes | None:
        """The next line, or None when the child has closed its output or the time is over."""
        deadline = time.monotonic() + timeout_s
        while b"\n" not in self._buffer:
            ready, _, _ = select.select([self._descriptor], [], [], max(0.0, deadline - time.monotonic()))
            if not ready:
                self._timed_out = True
                return None
            chunk = os.read(self._descriptor, 1 << 16)
            if not chunk:
                return None
            self._buffer += chunk
        line, self._buffer = self._buffer.split(b"\n", 1)
        return line

    def ending(self, timeout_s: float) -> str:
        """One sentence on why there was no further line within `timeout_s`; ends the child."""
        if self._timed_out:
            self._kill()
            return f"took longer than {timeout_s:g} s"
        try:
            code = self._process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self._kill()
            return "closed its channel"
        said = self._errors.read_text("utf-8", "replace").strip().splitlines() or ["it said nothing"]
        how = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
        return f"the process ended with {how}: {said[-1]}"[:500]

    def _kill(self) -> None:
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
