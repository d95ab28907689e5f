"""One process of a training: `python -m hone.gnn.worker JOB GRAPH SAMPLER OUTPUT CHECKPOINT`.

torchrun starts as many on each host as it has GPUs.
An empty SAMPLER stands for none.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from hone.core.errors import HoneError
from hone.core.files import read_record
from hone.gnn.distributed import Ranks, named_host
from hone.gnn.job import TrainingJob
from hone.gnn.training_stage import train_process


def main(arguments: list[str]) -> int:
    """Exit status: 1 for a failure that is explained on standard error."""
    job, graph, sampler, output, checkpoint = arguments
    ranks = Ranks.from_environment(os.environ)
    try:
        with named_host(ranks):
            train_process(
                read_record(Path(job), TrainingJob), Path(graph), Path(sampler) if sampler else None,
                output=Path(output), checkpoint=Path(checkpoint), ranks=ranks,
            )  # fmt: skip
    except HoneError as error:
        sys.stderr.write(f"error: {error}\n")
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
