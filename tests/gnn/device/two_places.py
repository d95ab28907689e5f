"""One of several processes that train together, once with all features in each one's memory and once with shared ones.

`python -m tests.gnn.device.two_places JOB GRAPH LIBRARY FOLDER`: the losses, a line for each, in a file of the rank's.
"""

import os
import sys
from contextlib import closing
from pathlib import Path

import torch

from hone.files import read_record
from hone.gnn.device.training import device_trainer
from hone.gnn.distributed import Ranks, device_of, process_group
from hone.gnn.graph import Graph
from hone.gnn.job import TrainingJob
from hone.gnn.models import build_model
from hone.gnn.train import Progress


def main(arguments):
    """Train twice."""
    torch.multiprocessing.set_sharing_strategy("file_system")
    torch.set_num_threads(1)
    told, folder, library, output = map(Path, arguments)
    job, graph, ranks = read_record(told, TrainingJob), Graph.open(folder), Ranks.from_environment(os.environ)
    device, lines = device_of(ranks, job.device), []
    with process_group(ranks, device):
        for place in ("gpu", "sharded"):
            model = build_model(
                "sage", inputs=graph.info.feature_dim, hidden=job.hyper.hidden, outputs=graph.info.num_classes,
                layers=job.layers, dropout=job.hyper.dropout, seed=1,
            )  # fmt: skip
            placed = job.model_copy(update={"placement": place})
            progress = Progress()
            with closing(device_trainer(placed, graph, model, library, device, ranks)) as trainer:
                trainer.run(progress, lambda _: None)
                assert type(trainer.loop.graph.features).__name__ == ("Tensor" if place == "gpu" else "SpreadFeatures")
            lines.append(repr([(epoch.loss, epoch.valid_accuracy) for epoch in progress.epochs]))
    (output / str(ranks.rank)).write_text("\n".join(lines))


if __name__ == "__main__":
    main(sys.argv[1:])
