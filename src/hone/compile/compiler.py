"""Run a compiler on source text that nobody has read.

The compiler runs in a scratch folder that is removed afterwards, in a process group of its own that is killed at the
time limit, with a clean environment (no keys), limited memory, file size and kept output. Where the kernel has
Landlock (Linux 5.13) it can open only the system's folders, its own and the scratch folder (see `confined`), so that
`#include` and `.incbin` of the project's `.env` fail.

Not stopped: reading what is world-readable in those folders; and without Landlock, reading any file that the user may
read: its text may end up in the shared object or in a log that is shown to a language model. There, run builds as a
user, or in a container, that cannot read what must stay secret. The compiler itself is trusted.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from hone.compile.resources import split_resources
from hone.compile.slots import compiler_slot
from hone.compile.toolchain import Toolchain
from hone.core.errors import MachineError
from hone.core.files import disk_errors
from hone.core.scratch import ScratchFolder
from hone.records import KernelResources

LOG_CHARACTERS = 20_000
SAID_CHARACTERS = 16 * LOG_CHARACTERS
"""What is read of a compiler: `ptxas -v` says more about many kernels than is kept of it."""
MEMORY_KIB = 8 * 1024 * 1024
FILE_BLOCKS = 1024 * 1024  # of 512 bytes: 512 MiB
PASSED_VARIABLES = ("PATH", "LANG", "LC_ALL", "CUDA_HOME", "LD_LIBRARY_PATH", "CPATH", "LIBRARY_PATH")

# What compilers say when the machine fails them; a source that is merely wrong gives none of these.
MACHINE_MARKERS = (
    "No space left", "annot allocate memory", "signal terminated program", "died due to signal",
    "internal compiler error", "cannot find -l", "cannot find the host compiler", "cannot execute '",
    "error while loading shared libraries",
)  # fmt: skip
BROKEN = re.compile("|".join(map(re.escape, MACHINE_MARKERS)))
# Lines that repeat the source's own words, which must not pass for the machine's: echoed code (indented, or after a
# line number), and texts of directives and assertions. The size limit on files is ours: there the source is too large.
FROM_SOURCE = re.compile(r"^\s|\| |#error|#warning|#pragma|static.assert|deprecated|File size limit exceeded")
CONFINED = Path(__file__).with_name("confined.py")
"""Run by its path: as a module it would import all of this package for every compilation."""


@dataclass(frozen=True)
class Compiled:
    """What came out of one run of the compiler."""

    artifact: Path | None
    """What was made inside the scratch folder, absent when the compiler refused."""
    log: str
    timed_out: bool
    seconds: float
    breakdown: str
    """The sign that the machine failed the compiler; empty where there is none."""
    resources: tuple[KernelResources, ...] = ()
    """What each kernel needs, where the compiler was asked to say it."""


CANARY = 'extern "C" int canary() { return 0; }\n'
"""What every compiler that works can compile."""


def compile_source(source: str, toolchain: Toolchain, scratch: Path, timeout_s: float) -> Compiled:
    """Compile one file in `scratch`; raises MachineError when the machine fails the compiler.

    A source may break a compiler that is well (a template that eats all memory, a bug of the compiler), and may forge
    the signs of a broken one: the machine is blamed only if it cannot compile the canary either.
    """
    compiled = _compile(source, toolchain, scratch, timeout_s)
    if compiled.breakdown:
        check_machine(compiled.breakdown, toolchain, scratch, timeout_s)
    return compiled


def check_machine(breakdown: str, toolchain: Toolchain, scratch: Path, timeout_s: float) -> None:
    """Raise MachineError, with the sign of the breakdown, when the compiler cannot compile the canary either."""
    if _compile(CANARY, toolchain, scratch, timeout_s).artifact is None:
        remedy = "mend what it names (space, memory, installation of the compiler), then run the same command again"
        raise MachineError(f"the compiler broke down: {breakdown}", where=toolchain.command[0], remedy=remedy)


def _compile(source: str, toolchain: Toolchain, scratch: Path, timeout_s: float) -> Compiled:
    write_source(scratch / f"solution{toolchain.suffix}", source)
    command = [*toolchain.command, f"solution{toolchain.suffix}", "-o", "kernel.so"]
    return run_compiler(command, scratch / "kernel.so", timeout_s, toolchain.opened)


def write_source(path: Path, source: str) -> None:
    """Write source text, whatever characters it holds; raises MachineError for a full disk."""
    with disk_errors(path):
        path.write_text(source, encoding="utf-8", errors="replace")


def run_compiler(command: Sequence[str], product: Path, timeout_s: float, readable: Iterable[Path] = ()) -> Compiled:
    """Run a compiler or linker, confined to its product's folder and the system's; `readable` folders come on top.

    Several may run in one folder at a time. It waits for a free core first; `timeout_s` and `seconds` begin after that.
    """
    with compiler_slot():
        return _run(command, product, timeout_s, readable)


def _run(command: Sequence[str], product: Path, timeout_s: float, readable: Iterable[Path]) -> Compiled:
    scratch = product.parent
    limits = f'ulimit -c 0; ulimit -v {MEMORY_KIB}; ulimit -f {FILE_BLOCKS}; exec "$@"'
    closed = os.pathsep.join((str(Path.cwd()), os.environ.get("HOME", "")))
    confined = [sys.executable, "-P", str(CONFINED), str(scratch), closed, os.pathsep.join(map(str, readable))]
    started = time.monotonic()
    try:
        process = subprocess.Popen(
            ["/bin/sh", "-c", limits, "sh", *confined, *command],
            cwd=scratch, env=_environment(scratch), start_new_session=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
    except OSError as error:
        raise MachineError(f"cannot start the compiler: {error}", where=command[0]) from None
    said, timed_out = watch(process, timeout_s, SAID_CHARACTERS)
    good = process.returncode == 0 and product.is_file() and not timed_out
    log, resources = split_resources(said.decode("utf-8", "replace").replace(str(scratch), ""))
    text = log[:LOG_CHARACTERS]
    breakdown = "" if good or timed_out else _breakdown(process.returncode, text)
    seconds = time.monotonic() - started
    return Compiled(product if good else None, text, timed_out, seconds, breakdown, resources if good else ())


def _breakdown(code: int, log: str) -> str:
    """The line that says that the machine, not the source, kept the compiler from its work."""
    said = next((line for line in log.splitlines() if BROKEN.search(line) and not FROM_SOURCE.search(line)), "")
    return said.strip()[:500] or (f"killed by signal {-code}" if code < 0 else "")


def _environment(scratch: Path) -> dict[str, str]:
    kept = {name: os.environ[name] for name in PASSED_VARIABLES if name in os.environ}
    own = {"LC_ALL": "C.UTF-8", "HOME": str(scratch), "TMPDIR": str(scratch), "PYTHONPATH": str(CONFINED.parents[2])}
    return {"PATH": os.defpath, **kept, **own}  # `confined` takes PYTHONPATH away from the compiler


def watch(process: subprocess.Popen[bytes], timeout_s: float, limit_bytes: int) -> tuple[bytes, bool]:
    """Standard output (its beginning) and whether the time limit was hit; the process group is gone afterwards."""
    kept = bytearray()
    assert process.stdout is not None
    reader = threading.Thread(target=_drain, args=(process.stdout, kept, limit_bytes), daemon=True)
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


def _drain(pipe: IO[bytes], kept: bytearray, limit_bytes: int) -> None:
    """Read to the end, so that the writer never blocks, but keep only the beginning."""
    while chunk := pipe.read1(65536):  # type: ignore[attr-defined]
        if len(kept) < limit_bytes:
            kept += chunk


def scratch_folder() -> ScratchFolder:
    """A private folder that is removed when its context ends; raises MachineError when there is no room."""
    with disk_errors(Path(tempfile.gettempdir())):
        return ScratchFolder("build")
