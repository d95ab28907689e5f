"""What every workflow script shares: an expected failure ends as one clear message, in the log and on the terminal."""

from __future__ import annotations

import platform
import sys
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from hone.errors import HoneError


@contextmanager
def reported(logs: Collection[str]) -> Iterator[None]:
    """Print a HoneError without a traceback, write it to the rule's log files, and exit with status 1.

    Until then a log names its machine: Snakemake shows the cluster's message on a killed job behind a log that has a
    line, and nothing behind an empty one.
    """
    _write(logs, f"on {platform.node()}\n")
    try:
        yield
    except HoneError as error:
        message = f"error: {error}\n"
        sys.stderr.write(message)
        _write(logs, message)
        raise SystemExit(1) from None


def _write(logs: Collection[str], text: str) -> None:
    for log in logs:
        with suppress(OSError):  # a full disk is perhaps what the message is about
            Path(log).write_text(text, encoding="utf-8")
