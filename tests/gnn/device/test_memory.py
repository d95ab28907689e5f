"""A graph on the device is the graph of the files."""

import pytest
import torch

from hone.config_graphs import SyntheticGraph
from hone.gnn.device import memory
from hone.gnn.device.memory import DeviceGraph
from hone.gnn.graph import Graph
from hone.gnn.prepare import prepare


@pytest.mark.parametrize(("stored", "width"), [("float16", 8), ("bfloat16", 13), ("float32", 5)])
def test_rows_come_whole_however_they_are_copied(device, tmp_path, monkeypatch, stored, width):
    entry = SyntheticGraph(kind="synthetic", nodes=200, classes=3, feature_dim=width, feature_dtype=stored)
    prepare("g", entry, tmp_path / "g")
    graph = Graph.open(tmp_path / "g")
    monkeypatch.setattr(memory, "BYTES_A_COPY", 1000)
    found = DeviceGraph.load(graph, device)
    for name in ("indptr", "indices", "labels"):
        assert torch.equal(getattr(found, name).cpu(), graph.tensor(name)), name
    narrow = torch.float16 if stored == "float16" else torch.bfloat16
    assert found.features.dtype == narrow and found.features.shape[1] % 8 == 0
    assert torch.equal(found.features[:, :width].cpu(), graph.tensor("features").to(narrow))
    assert not found.features[:, width:].any()
