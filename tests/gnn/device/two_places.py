"""One of several processes that train together: all features in each one's memory, shared ones, and batches that do not
fit into their room in one process alone, which steps on them without its graph while others replay theirs.

`python -m tests.gnn.device.two_places JOB GRAPH LIBRARY FOLDER`: the losses, a line for each, in a file of the rank's.
"""

import os
import sys
from contextlib import closing
from pathlib import Path

import torch

from hone.core.files import read_record
from hone.gnn.device import training
from hone.gnn.device.memory import Room
from hone.gnn.distributed import Ranks, device_of, process_group
from hone.gnn.graph import Graph
from hone.gnn.job import TrainingJob
from hone.gnn.models import build_model
from hone.gnn.train import Progress

usual_room = training.measured_room


def half_a_room(sampler, plan, layers):
    """Too little for some batches."""
    room = usual_room(sampler, plan, layers)
    return Room((room.nodes[0], *(max(room.nodes[0], nodes // 2) for nodes in room.nodes[1:])), room.fanouts)


def main(arguments):
    """Train three times."""
    torch.multiprocessing.set_sharing_strategy("file_system")
    torch.set_num_threads(1)
    told, folder, library, output = map(Path, arguments)
    job, graph, ranks = read_record(told, TrainingJob), Graph.open(folder), Ranks.from_environment(os.environ)
    device, lines = device_of(ranks, job.device), []
    with process_group(ranks, device):
        for place, is_cramped in (("gpu", False), ("sharded", False), ("gpu", ranks.rank == 1)):
            training.measured_room = half_a_room if is_cramped else usual_room
            model = build_model(
                "sage", inputs=graph.info.feature_dim, hidden=job.hyper.hidden, outputs=graph.info.num_classes,
                layers=job.layers, dropout=job.hyper.dropout, seed=1,
            )  # fmt: skip
            placed = job.model_copy(update={"placement": place})
            progress = Progress()
            with closing(training.device_trainer(placed, graph, model, library, device, ranks)) as trainer:
                trainer.run(progress, lambda _: None)
                assert bool(trainer.loop.overflows) == is_cramped
                parts = trainer.parts(progress).processes
                assert len(parts) == ranks.world and all(part.all_reduce_s > 0 for part in parts)
                assert min(part.wait_ranks_s for part in parts) < max(part.wait_ranks_s for part in parts)
                assert type(trainer.loop.graph.features).__name__ == ("Tensor" if place == "gpu" else "SpreadFeatures")
            lines.append(repr([(epoch.loss, epoch.valid_accuracy) for epoch in progress.epochs]))
    (output / str(ranks.rank)).write_text("\n".join(lines))


if __name__ == "__main__":
    main(sys.argv[1:])
