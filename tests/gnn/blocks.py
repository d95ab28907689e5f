"""Random blocks, jobs on the small graph and their interruption, for tests."""

from contextlib import contextmanager

import pytest
import torch

from hone.config.trainings import Training, TrainingKey
from hone.gnn import checkpoint
from hone.gnn.batch import Block
from hone.gnn.job import TrainingJob


def random_block(num_dst=7, num_src=20, seed=0, loops=False):
    """Rows of 0 to 4 neighbours, distinct within a row, without self-loops unless wanted; row 0 is empty."""
    generator = torch.Generator().manual_seed(seed)
    rows = []
    for i in range(num_dst):
        wanted = 0 if i == 0 else int(torch.randint(0, 5, (), generator=generator))
        others = [j for j in torch.randperm(num_src, generator=generator).tolist() if loops or j != i]
        rows.append(others[:wanted] + ([i] if loops and i % 2 and i not in others[:wanted] else []))
    indptr = torch.tensor([0, *torch.tensor([len(row) for row in rows]).cumsum(0).tolist()], dtype=torch.int32)
    return Block(indptr, torch.tensor([j for row in rows for j in row], dtype=torch.int32), num_dst, num_src)


def dense(block, dtype=torch.float64):
    """(num_dst, num_src) matrix with 1 for each edge."""
    matrix = torch.zeros(block.num_dst, block.num_src, dtype=dtype)
    for i in range(block.num_dst):
        for j in block.indices[block.indptr[i] : block.indptr[i + 1]].tolist():
            matrix[i, j] += 1
    return matrix


def job(system="plain", model="sage", gpus=1, seed=0, **values):
    """A job on the small graph, quick unless told otherwise."""
    quick = {
        "hidden": 8, "fanouts": (4, 3, 2), "batch_size": 64, "epochs": 2, "threads": 0 if system == "plain" else 2,
        "validation_fanouts": (5, 5, 5), "inference_fanouts": (5, 5, 5), "inference_batch_size": 64,
    }  # fmt: skip
    training = Training(graphs=("small",), models=(model,), systems=(system,), gpus=(gpus,), **{**quick, **values})
    return TrainingJob.of(TrainingKey("test", "small", model, system, gpus, seed), training)


@contextmanager
def interrupted_after_two_epochs(monkeypatch):
    """A training inside ends as by Ctrl-C, its second epoch saved."""
    save = checkpoint.save

    def interrupted(path, state):
        save(path, state)
        if len(state["progress"]["epochs"]) == 2:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(checkpoint, "save", interrupted)
        with pytest.raises(KeyboardInterrupt):
            yield
