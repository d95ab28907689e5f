"""Files of `torch.save`, read without running code: such a file may name any function to be called."""

from __future__ import annotations

import pickle
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hone.core.errors import SourceError


class Refused(Exception):
    """The file holds something else than tensors, arrays and plain values; says what."""


def loaded(path: Path, *, safe: Sequence[Any] = (), trusted: bool = False) -> Any:
    """What a file holds: tensors, numpy arrays, plain values, and objects of classes that are `safe`.

    `trusted` also loads anything else, which runs code that the file names. Raises Refused, SourceError for a missing
    or damaged file.
    """
    import torch

    try:
        with torch.serialization.safe_globals([*_of_numpy(), *safe]):
            return torch.load(path, map_location="cpu", weights_only=not trusted)
    except FileNotFoundError:
        raise SourceError("no such file", where=str(path), remedy="put it there, or correct raw_dir") from None
    except pickle.UnpicklingError as error:
        named = re.search(r"Unsupported (?:class|global): (?:GLOBAL )?([\w.]+)", str(error))
        if named is None:
            raise _damaged(path, error) from None
        raise Refused(f"names {named.group(1)}, which is not loaded: a file may run any code that it names") from None
    except (RuntimeError, EOFError, ValueError, KeyError, AttributeError, ImportError, OSError) as error:
        raise _damaged(path, error) from None


def _damaged(path: Path, error: Exception) -> SourceError:
    said = f"truncated or no file of torch.save: {str(error).strip().splitlines()[0] if str(error) else 'it is empty'}"
    return SourceError(said, where=str(path), remedy="save it again with torch.save, or get the file again")


def _of_numpy() -> list[Any]:
    """What arrays are pickled by, under the names of numpy 1 and 2."""
    from numpy._core.multiarray import _reconstruct, scalar

    kinds = {type(np.dtype(code)) for code in "?bhilqBHILQefd"}
    made: list[Any] = [_reconstruct, scalar, np.ndarray, np.dtype, *kinds]
    return [*made, (_reconstruct, "numpy.core.multiarray._reconstruct"), (scalar, "numpy.core.multiarray.scalar")]
