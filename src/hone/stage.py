"""What every workflow script shares: an expected failure ends as one clear message, in the log and on the terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from hone.errors import HoneError


@contextmanager
def reported(logs: Iterable[str]) -> Iterator[None]:
    """Print a HoneError without a traceback, write it to the rule's log files, and exit with status 1."""
    try:
        yield
    except HoneError as error:
        message = f"error: {error}\n"
        sys.stderr.write(message)
        for log in logs:
            with suppress(OSError):  # a full disk is perhaps what the message is about
                Path(log).write_text(message, encoding="utf-8")
        raise SystemExit(1) from None
