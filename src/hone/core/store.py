"""Builds and traces by content: what was compiled or judged once, anywhere, is not compiled or judged again.

    <store>/builds/ab/<key>/build.json, kernel.so    a folder renamed into place when it is complete
    <store>/traces/ab/<key>.json                     a file renamed into place when it is complete
    <store>/baselines/ab/<key>.json                  the same, of baselines that are timed once for all solutions
    <store>/sanitized/ab/<key>.json                  the same, of what compute-sanitizer says of selected kernels
    <store>/calls/ab/<key>.json                      the same, of what Python modules ask compilers for

Several processes may use one store. Everything here can be computed again, so an entry that is damaged counts as
absent: it is reported as a warning and replaced.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
import warnings
from pathlib import Path
from typing import TypeVar

from hone.core.errors import RecordError
from hone.core.files import disk_errors, read_record, write_bytes, write_new_text, write_text
from hone.records import BaselineTimes, Build, ModuleCalls, Record, SanitizerVerdict, Trace

R = TypeVar("R", bound=Record)

ARTIFACT = "kernel.so"
RECORD = "build.json"
CHECKSUM = "sha256"


class Store:
    """The five kinds of entries under one root folder, each found by a key of 64 hexadecimal digits."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def trace(self, key: str) -> Trace | None:
        """The trace kept under a key; absent when there is none or it cannot be read."""
        return _read(self._path("traces", key), Trace)

    def keep_trace(self, key: str, trace: Trace, *, replace: bool = False) -> Trace:
        """Keep a trace, and return the one that stands: that of an earlier writer, unless `replace`.

        Raises MachineError for a full or read-only disk.
        """
        path, text = self._path("traces", key), trace.model_dump_json() + "\n"
        if not replace:
            if write_new_text(path, text):
                return trace
            if (standing := self.trace(key)) is not None:
                return standing
        write_text(path, text)  # where one is damaged, in its place
        return trace

    def baseline(self, key: str) -> BaselineTimes | None:
        """The times kept under a key; absent when there are none or they cannot be read."""
        return _read(self._path("baselines", key), BaselineTimes)

    def keep_baseline(self, key: str, times: BaselineTimes) -> None:
        """Keep a baseline's times; the later of two writers wins. Raises MachineError as `keep_trace`."""
        write_text(self._path("baselines", key), times.model_dump_json() + "\n")

    def sanitized(self, key: str) -> SanitizerVerdict | None:
        """The verdict kept under a key; absent when there is none or it cannot be read."""
        return _read(self._path("sanitized", key), SanitizerVerdict)

    def keep_sanitized(self, key: str, verdict: SanitizerVerdict) -> None:
        """Keep a sanitizer's verdict; the later of two writers wins. Raises MachineError as `keep_trace`."""
        write_text(self._path("sanitized", key), verdict.model_dump_json() + "\n")

    def calls(self, key: str) -> ModuleCalls | None:
        """A module's calls kept under a key; absent when there are none or they cannot be read."""
        return _read(self._path("calls", key), ModuleCalls)

    def keep_calls(self, key: str, calls: ModuleCalls) -> None:
        """Keep a module's calls; the later of two writers wins. Raises MachineError as `keep_trace`."""
        write_text(self._path("calls", key), calls.model_dump_json() + "\n")

    def build(self, key: str) -> Build | None:
        """The build kept under a key, its artifact checked against its checksum; absent when damaged."""
        folder = self._build_folder(key)
        if not folder.exists():
            return None
        try:
            build = read_record(folder / RECORD, Build)
            if build.artifact is not None:
                _check_artifact(self.root / build.artifact, folder / CHECKSUM)
        except (RecordError, OSError) as error:
            _warn_damaged(folder, error.problem if isinstance(error, RecordError) else str(error))
            return None
        return build

    def artifact_of(self, key: str) -> str:
        """Path, relative to the store, that the shared object of a key has."""
        return str((self._build_folder(key) / ARTIFACT).relative_to(self.root))

    def keep_build(self, key: str, build: Build, artifact: Path | None) -> None:
        """Keep a build and a copy of its shared object; raises MachineError for a full or read-only disk."""
        final = self._build_folder(key)
        with disk_errors(final):
            final.parent.mkdir(parents=True, exist_ok=True)
            folder = Path(tempfile.mkdtemp(dir=final.parent, prefix=f".{key[:8]}."))
        try:
            if artifact is not None:
                content = artifact.read_bytes()
                write_bytes(folder / ARTIFACT, content)
                write_text(folder / CHECKSUM, hashlib.sha256(content).hexdigest() + "\n")
            write_text(folder / RECORD, build.model_dump_json() + "\n")
            with disk_errors(final):
                folder.chmod(0o755)
                self._move(key, folder, final)
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _move(self, key: str, folder: Path, final: Path) -> None:
        """Rename into place; an entry of another process stays, unless it is damaged or a refusal of what was built."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            standing = self.build(key)
        if standing is not None and (standing.artifact is not None or not (folder / ARTIFACT).exists()):
            return
        if final.exists():
            replaced = Path(tempfile.mkdtemp(dir=final.parent, prefix=f".{key[:8]}.replaced."))
            try:
                final.rename(replaced / "entry")
            except FileNotFoundError:
                pass  # another process moved it away first
            finally:
                shutil.rmtree(replaced, ignore_errors=True)
        try:
            folder.rename(final)
        except OSError:
            if not final.exists():  # otherwise another process was faster, with the same content
                raise

    def _path(self, kind: str, key: str) -> Path:
        return self.root / kind / key[:2] / f"{key}.json"

    def _build_folder(self, key: str) -> Path:
        return self.root / "builds" / key[:2] / key


def _read(path: Path, kind: type[R]) -> R | None:
    if not path.exists():
        return None
    try:
        return read_record(path, kind)
    except RecordError as error:
        _warn_damaged(path, error.problem)
        return None


def _check_artifact(artifact: Path, checksum: Path) -> None:
    found = hashlib.sha256(artifact.read_bytes()).hexdigest()
    if found != checksum.read_text(encoding="utf-8").strip():
        raise RecordError("the shared object is not the one that was built", where=str(artifact))


def _warn_damaged(path: Path, problem: str) -> None:
    warnings.warn(f"{os.fspath(path)}: {problem}; the entry is made again", RuntimeWarning, stacklevel=3)
