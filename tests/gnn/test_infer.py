import pytest
import torch

from hone.config.models import FAMILIES
from hone.gnn.infer import by_degree, count_correct, layerwise_classes
from hone.gnn.models import build_model
from hone.gnn.observer import NullObserver
from hone.gnn.seeds import Plan
from hone.gnn.systems import assemble

CPU = torch.device("cpu")


@pytest.fixture(params=FAMILIES)
def model(request, small_graph):
    sizes = {"hidden": 8, "outputs": small_graph.info.num_classes, "layers": 3, "dropout": 0.5}
    return build_model(request.param, inputs=small_graph.info.feature_dim, **sizes, seed=3).eval()


def every_neighbour(graph):
    return assemble("plain", graph, (-1, -1, -1), seed=0, device=CPU, threads=0, slots=4, sampler=None)


def test_layer_by_layer_gives_the_classes_of_full_neighbourhoods(small_graph, model):
    nodes = small_graph.tensor("test")
    with torch.inference_mode():
        (batch,) = every_neighbour(small_graph).batches(Plan(nodes, len(nodes)), NullObserver())
        expected = model(batch.features.float(), batch.blocks, None).argmax(dim=1)
    for edges_a_chunk in (1 << 20, 64, 1):  # one chunk, several, each node alone
        found = layerwise_classes(
            model, small_graph, nodes, precision="float32", edges_a_chunk=edges_a_chunk
        )  # fmt: skip
        assert (found == expected).float().mean() > 0.995, "but for ties in the last bit"


def test_correct_nodes_are_counted_over_batches_of_any_size(small_graph, model):
    nodes = small_graph.tensor("test")
    labels = small_graph.tensor("labels")[nodes]
    expected = int((layerwise_classes(model, small_graph, nodes, precision="float32") == labels).sum())
    pipeline = every_neighbour(small_graph)
    counts = {int(count_correct(model, pipeline, Plan(nodes, size), "float32")) for size in (7, 64, 1000)}
    assert max(counts) - min(counts) <= 1
    assert abs(expected - min(counts)) <= 1


def test_the_ranks_parts_add_up(small_graph, model):
    nodes, pipeline = small_graph.tensor("test"), every_neighbour(small_graph)
    alone = int(count_correct(model, pipeline, Plan(nodes, 64), "float32"))
    parts = [int(count_correct(model, pipeline, Plan(nodes, 64, rank=rank, world=2), "float32")) for rank in (0, 1)]
    assert abs(sum(parts) - alone) <= 1


def test_hidden_states_are_in_files_that_do_not_stay(small_graph, model, tmp_path):
    layerwise_classes(model, small_graph, small_graph.tensor("test"), precision="bfloat16", scratch=tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_inference_drops_nothing(small_graph, model):
    nodes = small_graph.tensor("test")
    found = [layerwise_classes(model.train(), small_graph, nodes, precision="float32") for _ in range(2)]
    assert torch.equal(*found)


def test_nodes_are_counted_by_powers_of_two_of_their_degree():
    degrees = torch.tensor([0, 1, 1, 2, 3, 4, 7, 8, 1_000_000])
    right = torch.tensor([True, True, False, False, True, True, True, False, True])
    found = [(part.low, part.high, part.nodes, part.correct) for part in by_degree(degrees, right)]
    assert found == [
        (0, 0, 1, 1), (1, 1, 2, 1), (2, 3, 2, 1), (4, 7, 2, 2), (8, 15, 1, 0), (524_288, 1_048_575, 1, 1)
    ]  # fmt: skip
    assert by_degree(degrees[:0], right[:0]) == ()
