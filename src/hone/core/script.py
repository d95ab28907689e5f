"""What every workflow script shares: an expected failure ends as one clear message, in the log and on the terminal."""

from __future__ import annotations

import errno
import platform
import sys
import traceback
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path

from hone.core.errors import HoneError, PendingAnswersError
from hone.core.files import disk_errors
from hone.core.locks import only_writer

DISK = (errno.ENOSPC, errno.EDQUOT, errno.EROFS)


@contextmanager
def reported(logs: Iterable[str], outputs: Iterable[str] = ()) -> Iterator[None]:
    """Print a HoneError without a traceback, end the rule's log files with it, and exit with status 1; 130 on Ctrl-C.

    While another process is still at work on the same outputs, wait for it.

    The logs hold what the last try said: earlier ones are removed. Any other error goes there with its traceback. They
    begin with the machine's name: Snakemake shows the cluster's message on a killed job behind a log that has a line,
    and nothing behind an empty one.
    """
    files = [Path(log) for log in logs]
    with _turn(outputs, files):
        for file in files:
            with suppress(OSError):
                file.unlink(missing_ok=True)
        _append(files, f"on {platform.node()}\n")
        try:
            with _named_disk():
                yield
        except HoneError as error:
            message = f"{'waiting' if isinstance(error, PendingAnswersError) else 'error'}: {error}\n"
            sys.stderr.write(message)
            _append(files, message)
            raise SystemExit(1) from None
        except KeyboardInterrupt:
            raise SystemExit(130) from None  # as shells have it; a traceback says nothing to who has pressed Ctrl-C
        except Exception:
            _append(files, traceback.format_exc())
            raise


def _turn(outputs: Iterable[str], logs: list[Path]) -> AbstractContextManager[None]:
    """The lock of a job: the first output's, since no two jobs have an output in common."""

    def say(message: str) -> None:
        _append(logs, message)
        sys.stderr.write(message)
        sys.stderr.flush()

    first = next(iter(outputs), None)
    return nullcontext() if first is None else only_writer(str(first), say)


@contextmanager
def _named_disk() -> Iterator[None]:
    """A full or read-only disk that a library met, in a temporary folder for instance, as a MachineError."""
    try:
        yield
    except OSError as error:
        if error.errno not in DISK:
            raise
        with disk_errors(Path(error.filename or "a file of this job")):
            raise


def _append(files: Iterable[Path], text: str) -> None:
    for file in files:
        with suppress(OSError), file.open("a", encoding="utf-8") as log:  # a full disk is perhaps what it is about
            log.write(text)
