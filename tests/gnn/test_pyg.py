"""What is PyTorch Geometric's own; that its convolutions equal ours is tested with the models."""

from types import SimpleNamespace

import pytest
import torch

from hone.core.errors import ConfigError
from hone.gnn.layers import Convolution
from hone.gnn.models import build_model
from hone.gnn.observer import NullObserver, SpanObserver
from hone.gnn.pyg import PyGConv, PyGSource, in_neighbours, library, shared_int64, subgraph_batch, with_pyg_convolutions
from hone.gnn.seeds import Plan, shuffled

WITHOUT_PYG_LIB = "ignore:Using 'NeighborSampler' without:UserWarning"


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
    class Own(Convolution):
        pass

    with pytest.raises(ConfigError, match=r"Own has no counterpart(.|\n)*take pyg and full_batch out"):
        PyGConv(Own())
    model = with_pyg_convolutions(build_model("gat", inputs=6, hidden=3, outputs=3, layers=2, dropout=0.0, seed=0))
    assert all(type(conv.conv).__module__.startswith("torch_geometric.") for conv in model.convs)


def first_neighbours(colptr, row, seeds, fanouts, replace, directed):
    """In the place of torch-sparse's operator: every node of the last hop draws the first `fanout` of its column."""
    nodes, edges, begin = seeds.tolist(), [], 0
    for fanout in fanouts:
        found, end = dict.fromkeys(nodes), len(nodes)
        for i in range(begin, end):
            first, last = colptr[nodes[i] : nodes[i] + 2].tolist()
            for e in range(first, min(first + fanout, last)):
                found.setdefault(int(row[e]))
                edges.append((int(row[e]), i, e))
        nodes, begin = list(found), end
    position = {node: i for i, node in enumerate(nodes)}
    drawn = [(position[source], target, edge) for source, target, edge in edges]
    return torch.tensor(nodes, dtype=torch.int64), *torch.tensor(drawn, dtype=torch.int64).reshape(-1, 3).unbind(1)


def first_neighbours_as_pyg_lib(colptr, row, seeds, fanouts, *others):
    """The same in the place of pyg-lib's operator, which gives the edges first and counts by hop last."""
    nodes, sources, targets, edges = first_neighbours(colptr, row, seeds, fanouts, False, True)
    return sources, targets, nodes, edges, [len(nodes)], [len(edges)]


@pytest.fixture(params=["torch-sparse's stub", "pyg-lib's stub", "installed"])
def sampler(request, monkeypatch):
    """What NeighborLoader samples with: a stub of an operator, or what is installed."""
    typing = library().typing
    if request.param == "installed":
        if not (typing.WITH_PYG_LIB or typing.WITH_TORCH_SPARSE):
            pytest.skip("neither pyg-lib nor torch-sparse is installed")
        return
    with_pyg_lib = request.param == "pyg-lib's stub"
    monkeypatch.setattr(typing, "WITH_PYG_LIB", with_pyg_lib)
    monkeypatch.setattr(typing, "WITH_TORCH_SPARSE", not with_pyg_lib)
    stub = first_neighbours_as_pyg_lib if with_pyg_lib else first_neighbours
    operators = SimpleNamespace(neighbor_sample=stub)
    monkeypatch.setattr(torch.ops, "pyg" if with_pyg_lib else "torch_sparse", operators, raising=False)


def directed_graph(nodes=60):
    """Node v hears from v + 1 ... v + (v mod 7), round the ring: nobody hears from those who hear from it."""
    degree = torch.arange(nodes) % 7
    indptr = torch.cat([torch.zeros(1, dtype=torch.int64), degree.cumsum(0)])
    rows = [torch.arange(1, int(d) + 1).add(v).remainder(nodes).sort().values for v, d in enumerate(degree)]
    arrays = {
        "indptr": indptr, "indices": torch.cat(rows).int(), "features": torch.arange(2.0 * nodes).reshape(nodes, 2),
        "labels": torch.arange(nodes),
    }  # fmt: skip
    return SimpleNamespace(tensor=arrays.__getitem__, info=SimpleNamespace(num_nodes=nodes))


def neighbours(graph, node):
    first, last = graph.tensor("indptr")[node : node + 2].tolist()
    return set(graph.tensor("indices")[first:last].tolist())


def check_sample(batch, graph, seeds, fanouts):
    """Seeds first, each node once, every hop's nodes with min(fan-out, degree) of their own in-neighbours."""
    nodes = batch.nodes.tolist()
    assert nodes[: batch.num_seeds] == seeds.tolist() and len(set(nodes)) == len(nodes)
    block = batch.blocks[0]
    rows = [block.indices[block.indptr[i] : block.indptr[i + 1]].tolist() for i in range(len(nodes))]
    begin, end = 0, batch.num_seeds
    for fanout in fanouts:
        found = {j for row in rows[begin:end] for j in row}
        for i in range(begin, end):
            drawn, wanted = {nodes[j] for j in rows[i]}, neighbours(graph, nodes[i])
            assert drawn <= wanted and len(drawn) == len(rows[i]) == min(fanout, len(wanted))
        begin, end = end, max([end, *(j + 1 for j in found)])
    assert end == len(nodes) and not any(rows[begin:])


@pytest.mark.filterwarnings(WITHOUT_PYG_LIB)
@pytest.mark.parametrize("workers", [0, 2])
def test_batches_are_the_plans_and_have_only_sampled_in_neighbours(sampler, small_graph, workers):
    for graph in (directed_graph(), small_graph):
        source, fanouts = PyGSource(graph, (3, 2), workers=workers), (3, 2)
        for epoch in range(2):  # the workers serve for both
            plan = Plan(shuffled(torch.arange(graph.info.num_nodes), 0, epoch)[:50], 8, epoch)
            observer, indices = SpanObserver(torch.device("cpu")), []
            observer.begin_epoch()
            for batch in source.batches(plan, observer):
                indices.append(batch.index)
                check_sample(batch, graph, plan.seeds(batch.index), fanouts)
                assert batch.epoch == epoch and len(batch.blocks) == len(fanouts)
                assert torch.equal(batch.features, graph.tensor("features")[batch.nodes.long()])
                assert torch.equal(batch.labels, graph.tensor("labels")[plan.seeds(batch.index)])
            observer.end_epoch()
            assert indices == list(range(7))
            assert {span.batch for span in observer.spans if span.stage == "prepare"} == set(indices)
        source.close()


@pytest.mark.filterwarnings(WITHOUT_PYG_LIB)
def test_an_epoch_may_end_early_and_a_rank_may_have_no_seeds(sampler):
    graph = directed_graph()
    source = PyGSource(graph, (2,), workers=2)
    next(iter(source.batches(Plan(torch.arange(40), 2), NullObserver())))
    plan = Plan(torch.arange(9), 4, epoch=1, rank=1, world=2)  # rank 0 alone has a seed in the last batch
    sizes = [batch.num_seeds for batch in source.batches(plan, NullObserver())]
    assert sizes == [4, 0]
    source.close()


@pytest.mark.filterwarnings(WITHOUT_PYG_LIB)
def test_the_graph_is_lent_as_it_is_neither_sorted_nor_copied():
    graph = directed_graph()
    indptr, indices = graph.tensor("indptr"), shared_int64(graph.tensor("indices"))
    store = in_neighbours(indptr, indices)
    row, colptr, order = store.csc()
    assert (row.data_ptr(), colptr.data_ptr(), order) == (indices.data_ptr(), indptr.data_ptr(), None)
    made = library().sampler.NeighborSampler((library().data.Data(), store), [2])
    assert (made.row.data_ptr(), made.colptr.data_ptr()) == (indices.data_ptr(), indptr.data_ptr())
    assert (made.num_nodes, made.edge_permutation, made.is_hetero) == (60, None, False)
    sources, targets, _ = store.coo()
    assert all(int(u) in neighbours(graph, int(v)) for u, v in zip(sources, targets, strict=True))


def test_the_shared_copy_is_of_int64_and_may_be_empty():
    values = torch.tensor([3, 0, 2**31 - 1], dtype=torch.int32)
    copy = shared_int64(values)
    assert copy.dtype == torch.int64 and torch.equal(copy, values.long())
    assert shared_int64(values[:0]).shape == (0,)
