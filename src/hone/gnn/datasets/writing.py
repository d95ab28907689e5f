"""Arrays written front to back, in a folder that appears under its name when all of it is there."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.lib import format as npy

from hone.core.errors import MachineError
from hone.core.files import disk_errors

Array = np.ndarray[Any, np.dtype[Any]]
GIB = 1 << 30


class ArrayFile:
    """One `.npy` file whose rows are appended; the header is completed at the end. A context manager.

    Raises MachineError, naming the file, when the disk is full.
    """

    def __init__(self, path: Path, dtype: type[np.generic], columns: int | None = None) -> None:
        """`columns`: of a matrix; a vector has none."""
        self.path = path
        self.rows = 0
        self._dtype = np.dtype(dtype)
        self._row_shape = () if columns is None else (columns,)
        with disk_errors(path):
            self._handle = path.open("wb")
            self._write_header()

    def append(self, rows: Array) -> None:
        """Add rows of the file's data type; what numpy would have to convert is refused."""
        if rows.dtype != self._dtype or rows.shape[1:] != self._row_shape:
            raise TypeError(f"{self.path.name} holds {self._dtype} {self._row_shape}, not {rows.dtype} {rows.shape}")
        with disk_errors(self.path):
            self._handle.write(np.ascontiguousarray(rows).reshape(-1).view(np.uint8).data)
        self.rows += len(rows)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        if kind is not None:
            self._handle.close()
            return
        with disk_errors(self.path), self._handle:
            self._handle.seek(0)
            self._write_header()
            self._handle.flush()
            os.fsync(self._handle.fileno())

    def _write_header(self) -> None:
        """The format leaves room for a first dimension of 21 digits, so that a later header has the same length."""
        header = {
            "descr": npy.dtype_to_descr(self._dtype),
            "fortran_order": False,
            "shape": (self.rows, *self._row_shape),
        }
        npy.write_array_header_1_0(self._handle, header)


@contextmanager
def complete_folder(target: Path) -> Iterator[Path]:
    """A folder to fill, beside `target`; takes its place at the end, or is removed after an error.

    Who has the files of an older folder open keeps them. Raises MachineError for a full or read-only disk.
    """
    with disk_errors(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{target.name}."))
    try:
        yield folder
        with disk_errors(target):
            folder.chmod(0o755)
            _replace(folder, target)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _replace(folder: Path, target: Path) -> None:
    """Two renames: in between there is no graph, and never half of one."""
    if not target.exists():
        folder.rename(target)
        return
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=f".{target.name}.", ignore_cleanup_errors=True) as old:
        target.rename(Path(old) / "old")
        folder.rename(target)


def require_space(folder: Path, needed_bytes: int) -> None:
    """Raise MachineError, before hours of work, when the file system of a folder has no room for so many bytes."""
    existing = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    free_bytes = shutil.disk_usage(existing).free
    if free_bytes < needed_bytes:
        said = f"has {free_bytes / GIB:.1f} GiB free, {needed_bytes / GIB:.1f} GiB are needed"
        remedy = "free space on that file system, or run in a folder on another one"
        raise MachineError(said, where=str(existing), remedy=remedy)


def as_stored(features: Array, dtype: str) -> Array:
    """(n, d) numbers in the data type of the file: bfloat16 rounded to nearest even, as uint16.

    A value beyond float16's range becomes infinite; `hone.gnn.prepare` refuses it.
    """
    if dtype != "bfloat16":
        with np.errstate(over="ignore"):
            return features.astype(dtype, copy=False)
    with np.errstate(over="ignore"):
        bits = np.ascontiguousarray(features, dtype=np.float32).view(np.uint32)
    rounded = bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))
    stored = (rounded >> np.uint32(16)).astype(np.uint16)
    # Adding to a NaN's bits could carry it into infinity or zero: all NaNs become the quiet one.
    stored[np.isnan(features)] = 0x7FC0
    return stored
