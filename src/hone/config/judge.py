"""What a config may say of the judge beyond its types: protocols of timing, and baselines that a device has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from hone.records import TIMED_ALONE, Protocol


def timing_protocols() -> list[str]:
    """Names of the files of hone/judge/protocols that have a function `measure`."""
    folder = Path(__file__).parents[1] / "judge" / "protocols"
    files = folder.glob("[a-z]*.py")
    return sorted(path.stem for path in files if "\ndef measure(" in path.read_text(encoding="utf-8"))


def check_judges(judges: Mapping[str, Protocol], baselines: Sequence[str]) -> None:
    """Raises ValueError for a protocol of timing that there is not, and for a GPU's baseline on a CPU.

    `judges`: the config's and each experiment's, by their place in the config.
    """
    known = timing_protocols()
    for where, judge in judges.items():
        if judge.timing_protocol not in known:
            raise ValueError(f"{where}.timing_protocol: must be {' or '.join(known)} (got '{judge.timing_protocol}')")
    of_a_gpu = [name for name in baselines if name in TIMED_ALONE]
    if of_a_gpu and any(judge.device != "cuda" for judge in judges.values()):
        raise ValueError(f"baselines: {of_a_gpu[0]} needs judge.device: cuda; on a CPU take torch_compile")
