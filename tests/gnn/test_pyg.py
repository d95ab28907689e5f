"""What is PyTorch Geometric's own; that its convolutions equal ours is tested with the models."""

import pytest
import torch
from torch import nn

from hone.gnn.models import build_model
from hone.gnn.pyg import PyGConv, library, subgraph_batch, with_pyg_convolutions


@pytest.fixture
def subgraph(small_graph):
    """What NeighborLoader gives for 5 seeds and all neighbours of two hops: seeds first, local edges."""
    seeds = small_graph.tensor("train")[:5]
    targets = torch.repeat_interleave(torch.arange(small_graph.info.num_nodes), small_graph.tensor("indptr").diff())
    edges = torch.stack([small_graph.tensor("indices").long(), targets])
    nodes, local, _, _ = library().utils.k_hop_subgraph(seeds, 2, edges, relabel_nodes=True)
    order = torch.cat([seeds, nodes[~torch.isin(nodes, seeds)]])
    position = (order[None] == nodes[:, None]).int().argmax(dim=1)
    return library().data.Data(n_id=order, edge_index=position[local], batch_size=5)


def test_a_subgraph_is_a_batch_whose_layers_all_pass_every_message(subgraph, small_graph):
    batch = subgraph_batch(subgraph, 3, 1, 2)
    assert (batch.index, batch.epoch, batch.num_seeds) == (3, 1, 5)
    assert batch.nodes[:5].tolist() == small_graph.train[:5].tolist()
    assert len(batch.blocks) == 2 and batch.blocks[0] is batch.blocks[1]
    block = batch.blocks[0]
    edges = {
        (int(j), i) for i in range(block.num_dst) for j in block.indices[block.indptr[i] : block.indptr[i + 1]]
    }  # fmt: skip
    assert edges == set(map(tuple, subgraph.edge_index.T.tolist()))
    x = torch.randn(len(batch.nodes), 6, generator=torch.Generator().manual_seed(0))
    layer = library().nn.SAGEConv(6, 3, bias=False)
    assert torch.allclose(layer(x, subgraph.edge_index), _with_parameters_of(layer)(x, block), atol=1e-5)


def _with_parameters_of(layer):
    ours = build_model("sage", inputs=6, hidden=3, outputs=3, layers=2, dropout=0.0, seed=0).convs[0]
    ours.load_state_dict(layer.state_dict())
    return ours


def test_only_what_has_a_counterpart_is_replaced():
    with pytest.raises(TypeError, match="Linear has no counterpart"):
        PyGConv(nn.Linear(2, 2))
    model = with_pyg_convolutions(build_model("gat", inputs=6, hidden=3, outputs=3, layers=2, dropout=0.0, seed=0))
    assert all(type(conv.conv).__module__.startswith("torch_geometric.") for conv in model.convs)
