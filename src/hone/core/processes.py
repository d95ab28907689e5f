"""Processes that lead a group of their own (`start_new_session=True`), so that what they start ends with them."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess


def status_within(process: subprocess.Popen[bytes], timeout_s: float) -> int | None:
    """Exit status of a process, None where it ran out of time; its whole group is gone afterwards."""
    try:
        return process.wait(timeout_s)
    except subprocess.TimeoutExpired:
        return None
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def ending_within(process: subprocess.Popen[bytes], timeout_s: float) -> str:
    """As `status_within`, in words: empty where all was well."""
    status = status_within(process, timeout_s)
    if status is None:
        return f"stopped after {timeout_s:g} s"
    return f"ended with status {status}" if status else ""
