"""One process or several that train together: who this one is, its device, and how to start the others.

`launch` starts them by torchrun. On several hosts Slurm's srun starts a torchrun on each, and these find each other.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import time
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from hone.core.errors import MachineError, located

if TYPE_CHECKING:
    import torch
    from torch import Tensor

PORTS = (20000, 20000)
"""First port, and number of ports over which the jobs of a cluster are spread."""
AFTER_OTHERS_S = 10.0
"""A process that fails lets others fail first: what it met is perhaps that another host is gone."""


@dataclass(frozen=True, slots=True)
class Ranks:
    """This process among those that train together."""

    rank: int = 0
    world: int = 1
    local_rank: int = 0
    """Among the processes of this host."""
    nodes: int = 1
    """Hosts."""

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> Ranks:
        """Of torchrun's variables; without them one process alone."""
        names = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "GROUP_WORLD_SIZE")
        return cls(*(int(environment.get(name, default)) for name, default in zip(names, (0, 1, 0, 1), strict=True)))


ALONE = Ranks()


def device_of(ranks: Ranks, kind: Literal["cpu", "cuda"]) -> torch.device:
    """The device of this process; MachineError where there are fewer GPUs than processes."""
    import torch

    if kind == "cpu":
        return torch.device("cpu")
    found = torch.cuda.device_count()
    if ranks.local_rank >= found:
        problem = f"process {ranks.local_rank} of this machine needs a GPU of its own, PyTorch sees {found}"
        raise MachineError(problem, remedy="lower gpus: of the training, or write device: cpu")
    device = torch.device("cuda", ranks.local_rank)
    torch.cuda.set_device(device)
    return device


@contextmanager
def process_group(ranks: Ranks, device: torch.device) -> Iterator[None]:
    """Connected with the other processes, by gloo or NCCL; nothing for one process alone."""
    if ranks.world == 1:
        yield
        return
    from torch import distributed

    on_gpu = device.type == "cuda"
    # NCCL wants a collective to be captured by all ranks or by none, for the sake of memory that it registers for
    # graphs. A rank whose batch overflowed steps on it without its graph, so that nothing may be registered.
    if on_gpu:
        os.environ.setdefault("NCCL_GRAPH_REGISTER", "0")
    distributed.init_process_group(
        "nccl" if on_gpu else "gloo", rank=ranks.rank, world_size=ranks.world, device_id=device if on_gpu else None
    )
    yield
    distributed.destroy_process_group()  # not after an error: it waits for the others, and nobody would hear of it


def sum_over_ranks(values: Tensor, ranks: Ranks) -> Tensor:
    """The sum of every rank's tensor, in place; on a GPU without waiting for it."""
    if ranks.world > 1:
        from torch import distributed

        distributed.all_reduce(values)
    return values


def of_all_ranks(values: Tensor, ranks: Ranks) -> Tensor:
    """(world, *shape): every rank's tensor, on each of them; all have the same shape."""
    if ranks.world == 1:
        return values[None]
    import torch
    from torch import distributed

    found = [torch.empty_like(values) for _ in range(ranks.world)]
    distributed.all_gather(found, values)
    return torch.stack(found)


def wait_for_all(ranks: Ranks) -> None:
    """Return when every rank has come here, so that none counts what it waits for the others as its own time."""
    if ranks.world > 1:
        from torch import distributed

        distributed.barrier()


@contextmanager
def named_host(ranks: Ranks) -> Iterator[None]:
    """Where several hosts train, a HoneError names this one.

    A RuntimeError is what torch raises once another host is lost, so the process ends after the others.
    """
    if ranks.nodes == 1:
        yield
        return
    try:
        with located(os.environ.get("SLURMD_NODENAME") or platform.node()):
            yield
    except RuntimeError:
        traceback.print_exc()
        time.sleep(AFTER_OTHERS_S)
        raise


def launch(module: str, arguments: list[str], processes: int, log: Path | None = None, *, nodes: int = 1) -> None:
    """Run `python -m module` as so many processes, on this host, or evenly on those of the Slurm job that it is in.

    Their output goes to `log`, behind what it has, or to this process's own. Raises MachineError when one of them
    failed, with its host's name where there are several.
    """
    hosts, meeting = _several_hosts(nodes) if nodes > 1 else ([], ["--standalone"])
    command = [*hosts, sys.executable, "-m", "torch.distributed.run", *meeting]
    command += [f"--nproc-per-node={processes // nodes}", "-m", module, *arguments]
    # One thread each, unless the user says otherwise: torchrun's own default, without its warning.
    environment = {"OMP_NUM_THREADS": "1", **os.environ}
    if log is None:
        code = subprocess.run(command, check=False, env=environment).returncode
    else:
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("ab") as output:
            code = subprocess.run(
                command, check=False, env=environment, stdout=output, stderr=subprocess.STDOUT
            ).returncode  # fmt: skip
    if code != 0:
        shown = _explanation(log) if log else "see above"
        raise MachineError(f"{processes} processes of {module} ended with status {code}: {shown}")


def _several_hosts(nodes: int) -> tuple[list[str], list[str]]:
    """What starts one torchrun on each host of this Slurm job, and tells them where they meet: on this host."""
    job = os.environ.get("SLURM_JOB_ID")
    if job is None:
        remedy = "run snakemake with --profile slurm, or write nodes: [1]"
        raise MachineError(f"a training on {nodes} hosts runs in a job of Slurm", where="nodes", remedy=remedy)
    # Each torchrun has all cores of its host, which it shares out by itself.
    srun = ["srun", f"--nodes={nodes}", f"--ntasks={nodes}", "--ntasks-per-node=1", "--cpu-bind=none"]
    first, number = PORTS
    meeting = [f"--nnodes={nodes}", f"--rdzv-id={job}", "--rdzv-backend=c10d"]
    meeting.append(f"--rdzv-endpoint={platform.node()}:{first + int(job) % number}")
    return [*srun, "--kill-on-bad-exit=1"], meeting


def _explanation(log: Path, number: int = 20) -> str:
    """What a process said of its own failure, with the remedy; else the host that Slurm names, and the last lines."""
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    first = next((at for at, line in enumerate(lines) if line.startswith("error: ")), None)
    if first is not None:
        return "\n".join([lines[first], *takewhile(lambda line: line.startswith("  "), lines[first + 1 :])])
    lost = next((at for at, line in enumerate(lines) if line.startswith("srun: error: ")), len(lines))
    return "\n".join([*lines[lost : lost + 1], *lines[:lost][-number:]])
