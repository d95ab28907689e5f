"""Run a compiler on source text that nobody has read.

The compiler runs in a scratch folder that is removed afterwards, in a process group of its own that is killed at the
time limit, with a clean environment (no keys), limited memory, file size and kept output.

Not stopped: the source can include any file that the user may read (`#include "/etc/hostname"`, `.incbin`), and its
text may end up in the shared object or in the compiler's messages. The judge runs the object without network, so
it cannot be sent anywhere from there, but a log shown to a language model could carry it. Run builds as a user, or in
a container, that cannot read what must stay secret. The compiler itself has network access and is trusted.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from hone.build.toolchain import Toolchain
from hone.errors import MachineError
from hone.files import disk_errors

LOG_CHARACTERS = 20_000
MEMORY_KIB = 8 * 1024 * 1024
FILE_BLOCKS = 1024 * 1024  # of 512 bytes: 512 MiB
PASSED_VARIABLES = ("PATH", "LANG", "LC_ALL", "CUDA_HOME", "LD_LIBRARY_PATH", "CPATH", "LIBRARY_PATH")


@dataclass(frozen=True)
class Compiled:
    """What came out of one run of the compiler."""

    artifact: Path | None
    """The shared object inside the scratch folder, absent when the compiler refused."""
    log: str
    timed_out: bool
    seconds: float


def compile_source(source: str, toolchain: Toolchain, scratch: Path, timeout_s: float) -> Compiled:
    """Compile one file in `scratch`; raises MachineError when the disk is full or the compiler cannot be started."""
    with disk_errors(scratch):
        (scratch / f"solution{toolchain.suffix}").write_text(source, encoding="utf-8", errors="replace")
    command = [*toolchain.command, f"solution{toolchain.suffix}", "-o", "kernel.so"]
    limits = f'ulimit -c 0; ulimit -v {MEMORY_KIB}; ulimit -f {FILE_BLOCKS}; exec "$@"'
    started = time.monotonic()
    try:
        process = subprocess.Popen(
            ["/bin/sh", "-c", limits, "sh", *command],
            cwd=scratch, env=_environment(scratch), start_new_session=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
    except OSError as error:
        raise MachineError(f"cannot start the compiler: {error}", where=command[0]) from None
    log, timed_out = _watch(process, timeout_s)
    artifact = scratch / "kernel.so"
    good = process.returncode == 0 and artifact.is_file() and not timed_out
    text = log.decode("utf-8", "replace").replace(str(scratch), "")[:LOG_CHARACTERS]
    return Compiled(artifact if good else None, text, timed_out, time.monotonic() - started)


def _environment(scratch: Path) -> dict[str, str]:
    kept = {name: os.environ[name] for name in PASSED_VARIABLES if name in os.environ}
    return {"PATH": os.defpath, **kept, "LC_ALL": "C.UTF-8", "HOME": str(scratch), "TMPDIR": str(scratch)}


def _watch(process: subprocess.Popen[bytes], timeout_s: float) -> tuple[bytes, bool]:
    """Output (its beginning) and whether the time limit was hit; the whole process group is gone afterwards."""
    kept = bytearray()
    assert process.stdout is not None
    reader = threading.Thread(target=_drain, args=(process.stdout, kept), daemon=True)
    reader.start()
    timed_out = False
    try:
        process.wait(timeout_s)
    except subprocess.TimeoutExpired:
        timed_out = True
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        reader.join()
        process.stdout.close()
    return bytes(kept), timed_out


def _drain(pipe: IO[bytes], kept: bytearray) -> None:
    """Read to the end, so that the compiler never blocks, but keep only the beginning."""
    while chunk := pipe.read1(65536):  # type: ignore[attr-defined]
        if len(kept) < 4 * LOG_CHARACTERS:
            kept += chunk


def scratch_folder() -> tempfile.TemporaryDirectory[str]:
    """A private folder that is removed when its context ends; raises MachineError when there is no room."""
    with disk_errors(Path(tempfile.gettempdir())):
        return tempfile.TemporaryDirectory(prefix="hone-build-", ignore_cleanup_errors=True)
