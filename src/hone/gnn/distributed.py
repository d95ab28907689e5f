"""One process or several that train together: who this one is, its device, and how to start the others.

Processes are started by torchrun (which `launch` calls on one machine) or by Slurm's srun, a task for each GPU.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from hone.core.errors import MachineError

if TYPE_CHECKING:
    import torch
    from torch import Tensor

SLURM_PORTS = (20000, 20000)
"""First port, and number of ports over which Slurm's jobs are spread."""


@dataclass(frozen=True, slots=True)
class Ranks:
    """This process among those that train together."""

    rank: int = 0
    world: int = 1
    local_rank: int = 0
    """Among the processes of this machine."""
    address: str = ""
    """`tcp://<host>:<port>` of rank 0; empty: the environment says it, as torchrun leaves it."""

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> Ranks:
        """Of torchrun's variables, or of Slurm's where srun started several tasks; else one process alone."""
        if "RANK" in environment and "WORLD_SIZE" in environment:
            rank, world = int(environment["RANK"]), int(environment["WORLD_SIZE"])
            return cls(rank, world, int(environment.get("LOCAL_RANK", "0")))
        world = int(environment.get("SLURM_NTASKS", "1"))
        if world < 2 or "SLURM_PROCID" not in environment:
            return cls()
        host = environment.get("MASTER_ADDR") or environment.get("SLURM_LAUNCH_NODE_IPADDR")
        if host is None:
            remedy = "start the tasks with srun, or set MASTER_ADDR to the first machine's name"
            raise MachineError("Slurm does not say where rank 0 is", where="SLURM_LAUNCH_NODE_IPADDR", remedy=remedy)
        first, number = SLURM_PORTS
        port = environment.get("MASTER_PORT") or str(first + int(environment.get("SLURM_JOB_ID", "0")) % number)
        local_rank = int(environment.get("SLURM_LOCALID", "0"))
        return cls(int(environment["SLURM_PROCID"]), world, local_rank, f"tcp://{host}:{port}")


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
        "nccl" if on_gpu else "gloo", init_method=ranks.address or "env://", rank=ranks.rank, world_size=ranks.world,
        device_id=device if on_gpu else None,
    )  # fmt: skip
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


def launch(module: str, arguments: list[str], processes: int, log: Path | None = None) -> None:
    """Run `python -m module` as so many processes of this machine; MachineError when one of them failed.

    Their output goes to `log`, behind what it has, or to this process's own.
    """
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={processes}"]
    command += ["-m", module, *arguments]
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


def _explanation(log: Path, number: int = 20) -> str:
    """What a process said of its own failure, with the remedy, or else the last lines."""
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    first = next((at for at, line in enumerate(lines) if line.startswith("error: ")), None)
    if first is None:
        return "\n".join(lines[-number:])
    return "\n".join([lines[first], *takewhile(lambda line: line.startswith("  "), lines[first + 1 :])])
