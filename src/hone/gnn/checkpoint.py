"""Files of parameters: written whole or not at all, read without running anything that is in them."""

from __future__ import annotations

import io
import pickle
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from hone.core.errors import RecordError
from hone.core.files import write_bytes

FORMAT = 1


def save(path: Path, state: Mapping[str, Any]) -> None:
    """Write tensors, numbers, strings, and lists and dictionaries of them."""
    content = io.BytesIO()
    torch.save({"format": FORMAT, **state}, content)
    write_bytes(path, content.getvalue())


def load(path: Path) -> dict[str, Any]:
    """Read what `save` wrote, on the CPU; raises RecordError for anything else."""
    remedy = "delete the file and run the same command again"
    if not path.exists():
        raise RecordError("no such file", where=str(path))
    if not zipfile.is_zipfile(path):  # what torch would read as one of its older formats
        raise RecordError("not a checkpoint, or half of one", where=str(path), remedy=remedy)
    try:
        state = torch.load(path, map_location="cpu", weights_only=True)
    except (RuntimeError, pickle.UnpicklingError) as error:
        raise RecordError(f"not a checkpoint: {error}", where=str(path), remedy=remedy) from None
    if not isinstance(state, dict) or state.get("format") != FORMAT:
        raise RecordError(f"not a checkpoint of format {FORMAT}", where=str(path), remedy=remedy)
    return state
