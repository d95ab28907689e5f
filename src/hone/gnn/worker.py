"""One process of a training: `python -m hone.gnn.worker JOB GRAPH SAMPLER OUTPUT CHECKPOINT`.

torchrun starts as many as there are GPUs; so does Slurm's srun, also over several machines, with one task for a GPU.
An empty SAMPLER stands for none.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from hone.core.errors import HoneError
from hone.core.files import read_record
from hone.gnn.distributed import Ranks
from hone.gnn.job import TrainingJob
from hone.gnn.stages import train_process


def main(arguments: list[str]) -> int:
    """Exit status: 1 for a failure that is explained on standard error."""
    job, graph, sampler, output, checkpoint = arguments
    try:
        train_process(
            read_record(Path(job), TrainingJob), Path(graph), Path(sampler) if sampler else None,
            output=Path(output), checkpoint=Path(checkpoint), ranks=Ranks.from_environment(os.environ),
        )  # fmt: skip
    except HoneError as error:
        sys.stderr.write(f"error: {error}\n")
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
