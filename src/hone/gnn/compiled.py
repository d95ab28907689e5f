"""What of a system is compiled before it trains or infers."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from hone.gnn.job import TrainingJob

INTERPRETED = ("plain", "pyg_gpu")
"""Systems without anything compiled, also where they validate and infer."""


def compiled_library(job: TrainingJob, store: Path) -> Path | None:
    """The shared object that a job's system runs, out of the store, compiled if need be; None: none needed.

    It is the sampler, but for `device` its kernels and for `wholegraph` the hook that gives it memory. Raises
    MachineError: no compiler or package, or one that refuses.
    """
    if job.system in INTERPRETED:
        return None
    if job.system == "device":
        from hone.gnn.device.build import build_device_library

        return build_device_library(store)
    if job.system == "wholegraph":
        from hone.gnn.wholegraph import build_hook

        return build_hook(store)
    from hone.gnn.sampling import build_sampler

    return build_sampler(store)
