"""`kill -9` of the judge at random moments: the same command must complete, with the verdicts of an undisturbed run."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hone.core.csv_table import Row
from hone.core.errors import MachineError
from hone.core.files import read_records
from hone.core.scratch import scratch_folders
from hone.records import Trace
from studies.judge.judge_run import command
from studies.processes import child_environment, descendants, orphans_come_here, wait_until_gone

COLUMNS = (
    "kill", "moment_s", "killed", "traces_kept", "left_processes", "processes_gone_s", "files_after_kill",
    "left_files", "traces_equal", "differences",
)  # fmt: skip
"""`moment_s`: from the start of the process to the kill. `traces_kept`: in the store right after it. `left_processes`:
alive after the grace period; `processes_gone_s`: how long the last one lived on. `files_after_kill`, `left_files`:
scratch folders (hone-*) in the run's TMPDIR after the kill, and after the same command completed."""
GRACE_S = 10.0
MOST_TRIES = 3
SHOWN_DIFFERENCES = 3


@dataclass(frozen=True)
class Judgement:
    """A command that judges files, and a folder of its own for store, temporary files and traces."""

    arguments: Callable[[Path, Path], list[str]]
    """(store, output) -> command line."""
    folder: Path

    @property
    def output(self) -> Path:
        """The file of traces."""
        return self.folder / "traces.jsonl"

    def start(self) -> subprocess.Popen[bytes]:
        """Start it; what it says goes to a file."""
        environment = child_environment(self.folder / "tmp")
        with (self.folder / "log").open("ab") as log:
            return subprocess.Popen(
                self.arguments(self.folder / "store", self.output), env=environment, start_new_session=True,
                stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT,
            )  # fmt: skip

    def complete(self) -> float:
        """Run it to its end; wall seconds. Raises MachineError with what it said last."""
        started = time.monotonic()
        process = self.start()
        try:
            status = process.wait()
        finally:
            process.kill()
            process.wait()
        if status:
            said = (self.folder / "log").read_text(encoding="utf-8", errors="replace").strip().splitlines()
            raise MachineError(f"the judge ended with status {status}: {' '.join(said[-3:])[:500]}")
        return time.monotonic() - started

    def killed_at(self, moment_s: float) -> bool:
        """Start it and kill its process, nothing else, at a moment; false when it had ended before."""
        process = self.start()
        try:
            process.wait(moment_s)
        except subprocess.TimeoutExpired:
            return True
        finally:
            process.kill()
            process.wait()
        return False

    def kept(self) -> int:
        """Traces in the store."""
        return len(list((self.folder / "store" / "traces").glob("*/*.json")))

    def temporary_files(self) -> int:
        """Scratch folders in the folder for temporary files; lock files of GPUs and compilers are there to stay."""
        return len(scratch_folders(self.folder / "tmp"))


def kills(
    files: Sequence[Path], config: Path, definitions: Path, *, times: int, seed: int, scratch: Path,
    grace_s: float = GRACE_S,
) -> Iterator[Row]:  # fmt: skip
    """One row for each kill, as soon as it is there; every kill meets a fresh store.

    The moments are spread evenly over an uninterrupted run, each random within its share. A run that ended before its
    moment is not counted: it is tried again with the shorter duration that it showed. Raises MachineError when a run
    that nobody killed does not complete.
    """

    def judgement(name: str) -> Judgement:
        folder = scratch / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        return Judgement(lambda store, output: command(config, definitions, store, output, files), folder)

    chance = random.Random(seed)
    with orphans_come_here():
        before = descendants(os.getpid())
        undisturbed = judgement("undisturbed")
        duration_s = undisturbed.complete()
        wait_until_gone(before, grace_s)
        expected = read_records(undisturbed.output, Trace)
        for number in range(times):
            share = (number + chance.random()) / times
            for _ in range(MOST_TRIES):
                victim = judgement(f"kill{number}")
                started = time.monotonic()
                killed = victim.killed_at(share * duration_s)
                if killed:
                    break
                duration_s = min(duration_s, time.monotonic() - started)
            kill = {"kill": number, "moment_s": share * duration_s, "killed": killed}
            yield {**kill, **_aftermath(victim, before, expected, grace_s)}


def _aftermath(victim: Judgement, before: set[int], expected: Sequence[Trace], grace_s: float) -> dict[str, Any]:
    """What was left behind, and what the same command makes of it."""
    kept = victim.kept()
    left, gone_s = wait_until_gone(before, grace_s)
    files = victim.temporary_files()
    victim.complete()
    wait_until_gone(before, grace_s)
    found = differences(expected, read_records(victim.output, Trace))
    return {
        "traces_kept": kept,
        "left_processes": left,
        "processes_gone_s": gone_s,
        "files_after_kill": files,
        "left_files": victim.temporary_files(),
        "traces_equal": not found,
        "differences": "; ".join(found[:SHOWN_DIFFERENCES]),
    }


def differences(expected: Sequence[Trace], found: Sequence[Trace]) -> list[str]:
    """Where two runs disagree in anything but times, a few words each."""
    if len(expected) != len(found):
        return [f"{len(found)} traces instead of {len(expected)}"]
    pairs = [(essence(one), essence(other)) for one, other in zip(expected, found, strict=True)]
    return [
        f"{one['solution'][:12]}: {field} {one[field]} became {other[field]}"
        for one, other in pairs
        for field in one
        if one[field] != other[field]
    ]


def essence(trace: Trace) -> dict[str, Any]:
    """What must not depend on an interruption: no times, no host, no error figures but their verdict.

    The detail is left out too, because it may quote figures of inputs that are secret and new in every run.
    """
    environment: Mapping[str, Any] = trace.environment.model_dump(mode="json", exclude={"host"})
    return {
        "solution": trace.solution,
        "definition": trace.definition,
        "workload": trace.workload,
        "status": trace.status.value,
        "timed": trace.performance is not None,
        "wrong": None if trace.errors is None else trace.errors.wrong_fraction > 0,
        "protocol": trace.protocol.digest,
        "environment": environment,
    }


def failures(rows: Sequence[Row]) -> list[str]:
    """What the kills did not survive, a line each."""
    wanted = {"killed": True, "traces_equal": True, "left_processes": 0, "left_files": 0}
    return [
        f"kill {row['kill']}: {column} is {row[column]}"
        for row in rows
        for column, value in wanted.items()
        if row[column] != value
    ]
