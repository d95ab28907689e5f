"""The generator keeps a public graph's numbers at every scale, and its law; a device gives the same as the files."""

import math

import numpy as np
import pytest
import torch

from hone.config.graphs import Papers100MLikeGraph, ProductsLikeGraph
from hone.core.errors import MachineError
from hone.gnn.datasets import like_files
from hone.gnn.datasets.like_device import generate_on
from hone.gnn.datasets.like_law import Law, draw_edges, generate, scrambled, splits
from hone.gnn.graph import Graph
from hone.gnn.prepare import prepare

SCALE = 2e-4
CPU = torch.device("cpu")


def entry(**changes):
    return Papers100MLikeGraph(kind="papers100m_like", **{"scale": SCALE, "memory_mib": 8, **changes})


@pytest.fixture(scope="module")
def graph(tmp_path_factory):
    folder = tmp_path_factory.mktemp("graph")
    prepare("like", entry(), folder)
    return Graph.open(folder, verify=True)


def test_full_size_is_that_of_papers100m():
    law = Law.of(entry(scale=1.0))
    assert (law.num_nodes, law.entries) == (111_059_956, 3_228_124_712)
    assert law.splits == {"train": 1_207_179, "valid": 125_265, "test": 214_338}
    assert law.num_nodes * law.multiplier < 2**63


def products(**changes):
    return ProductsLikeGraph(kind="products_like", **{"scale": 2e-3, "memory_mib": 8, **changes})


def test_full_size_is_that_of_products():
    law = Law.of(products(scale=1.0))
    assert (law.num_nodes, law.entries) == (2_449_029, 123_718_280)
    assert law.splits == {"train": 196_615, "valid": 39_323, "test": 2_213_091}
    assert sum(law.splits.values()) == law.num_nodes, "every product is in a split"


def test_a_graph_like_products_has_its_numbers_and_degrees(tmp_path):
    info = prepare("products", products(), tmp_path / "g")
    graph = Graph.open(tmp_path / "g", verify=True)
    assert (info.num_nodes, info.num_edges) == (4_898, 247_436)
    assert (info.num_train, info.num_valid, info.num_test) == (393, 79, 4_426)
    assert (info.feature_dim, info.num_classes) == (100, 47)
    assert set(np.concatenate([graph.train, graph.valid, graph.test])) == set(range(4_898))
    assert graph.labels.max() == 46
    made = generate_on(CPU, products())
    assert torch.equal(made.indices, graph.tensor("indices")) and made.num_classes == 47


@pytest.mark.parametrize("scale", [1e-5, 3.3e-4, 0.0123, 0.5, 0.99999])
def test_splits_never_hold_more_nodes_than_there_are(scale):
    law = Law.of(products(scale=scale))
    assert sum(law.splits.values()) <= law.num_nodes and min(law.splits.values()) >= 1


def test_a_batch_on_products_has_as_many_nodes_as_published():
    """By the law: 1000 seeds and fan-out 10, 10, 10 find 517,000 nodes (LABOR, arXiv 2210.13339)."""
    law = Law.of(products(scale=1.0))
    normal = torch.special.ndtri((torch.arange(20_000, dtype=torch.float64) + 0.5) / 20_000)
    mean = law.entries / law.num_nodes

    def weights(shift):
        return torch.exp(law.sigma * (normal + shift) - law.sigma**2 / 2)

    def drawn(shift):
        """Mean of min(10, degree), a Poisson variable, of a node that is found with such a shift."""
        rate = mean * weights(shift)
        below = torch.stack([torch.exp(k * rate.log() - rate - math.lgamma(k + 1)) for k in range(10)])
        return float((10 - ((10 - torch.arange(10.0))[:, None] * below).sum(dim=0)).mean())

    nodes = 1000 * drawn(0.0)
    for _ in range(2):
        draws = nodes * drawn(law.sigma)
        nodes += law.num_nodes * float((1 - torch.exp(-draws * weights(0.0) / law.num_nodes)).mean())
    assert nodes == pytest.approx(517_000, rel=0.2)


def test_numbers_are_exactly_the_scaled_ones(graph):
    info = graph.info
    assert (info.num_nodes, info.num_edges) == (22_212, 645_624)
    assert (info.num_train, info.num_valid, info.num_test) == (241, 25, 43)
    assert (info.feature_dim, info.num_classes) == (128, 172)


def test_the_graph_is_simple_and_symmetric(graph):
    rows = np.repeat(np.arange(graph.info.num_nodes), graph.degrees())
    keys = rows * graph.info.num_nodes + graph.indices
    assert (np.diff(keys) > 0).all(), "sorted, no duplicates"
    assert not (rows == graph.indices).any()
    backwards = graph.indices.astype(np.int64) * graph.info.num_nodes + rows
    assert np.array_equal(np.sort(backwards), keys)


def test_ends_are_drawn_in_proportion_to_log_normal_weights():
    law = Law.of(entry(scale=0.01, degree_sigma=1.0))
    ids = torch.cat(draw_edges(law, 0, CPU)).numpy()
    quantiles = np.empty(law.num_nodes)
    place = scrambled(law, torch.arange(law.num_nodes)).numpy()
    quantiles[place] = (np.arange(law.num_nodes) + 0.5) / law.num_nodes
    normal = torch.special.ndtri(torch.from_numpy(quantiles[ids])).numpy()
    # Size-biased, ln w is normal with its mean moved by sigma^2: here by 1, at standard deviation 1.
    assert abs(normal.mean() - 1) < 0.01
    assert abs(normal.std() - 1) < 0.01


def test_degrees_spread_as_the_law_says(graph):
    degrees = graph.degrees()
    assert degrees.mean() == pytest.approx(29.07, abs=0.01)
    # Poisson around LN(ln 29.07 - 1.75^2 / 2, 1.75): its median, and what has no neighbour.
    assert np.median(degrees) == pytest.approx(6, abs=1)
    assert (degrees == 0).mean() == pytest.approx(0.13, abs=0.02)


def test_seeds_have_degrees_like_everybody(graph):
    nodes = np.concatenate([graph.train, graph.valid, graph.test])
    found = np.minimum(graph.degrees()[nodes], 15).mean()
    assert found == pytest.approx(np.minimum(graph.degrees(), 15).mean(), abs=1.0)


def test_ids_are_scrambled_without_loss():
    law = Law.of(entry())
    ids = scrambled(law, torch.arange(law.num_nodes))
    assert torch.equal(ids.sort().values, torch.arange(law.num_nodes))
    everyone = torch.cat(list(splits(law).values()))
    assert len(everyone.unique()) == len(everyone) == sum(law.splits.values())


def test_chunks_and_memory_change_nothing(tmp_path, graph):
    info = prepare("like", entry(memory_mib=64), tmp_path / "g")
    assert info.sha256 == graph.info.sha256
    streams = generate(entry())
    small, large = ([np.stack(chunk) for chunk in streams.edges(size)] for size in (1000, 1 << 20))
    assert max(chunk.shape[1] for chunk in small) == 1000
    assert np.array_equal(np.concatenate(small, axis=1), np.concatenate(large, axis=1))


def test_another_seed_is_another_graph(tmp_path, graph):
    info = prepare("like", entry(seed=1), tmp_path / "g")
    assert not {info.sha256[name] for name in info.sha256} & set(graph.info.sha256.values())


@pytest.mark.parametrize("entries_a_part", [10**9, 100_000])
def test_the_cpu_as_device_gives_the_graph_of_the_files(graph, entries_a_part):
    made = generate_on(CPU, entry(), entries_a_part)
    for name in ("indptr", "indices", "features", "labels", "train", "valid", "test"):
        assert torch.equal(getattr(made, name), graph.tensor(name)), name


@pytest.mark.parametrize("feature_dtype", ["float16", "bfloat16"])
def test_the_files_of_a_device_hold_its_graph(graph, tmp_path, monkeypatch, feature_dtype):
    monkeypatch.setattr(like_files, "CHUNK_BYTES", 100_000)
    info = like_files.prepare_on(CPU, entry(feature_dtype=feature_dtype), "like", tmp_path / "g")
    made = Graph.open(tmp_path / "g", verify=True)
    assert made.info == info
    assert torch.equal(made.tensor("features"), generate_on(CPU, entry(feature_dtype=feature_dtype)).features)
    same = {name for name, digest in info.sha256.items() if digest == graph.info.sha256[name]}
    assert same >= {"indptr.npy", "indices.npy", "labels.npy", "train.npy", "valid.npy", "test.npy"}


def test_a_graph_of_a_gpu_where_there_is_none_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(MachineError, match="PyTorch sees no GPU"):
        prepare("like", entry(device="cuda"), tmp_path / "g")
    assert not (tmp_path / "g").exists()


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_a_gpu_gives_a_graph_of_the_same_law(graph):
    made = generate_on(torch.device("cuda"), entry())
    again = generate_on(torch.device("cuda"), entry(), 100_000)
    assert torch.equal(made.indices, again.indices)
    assert torch.equal(made.features, again.features)
    assert len(made.indices) == graph.info.num_edges
    degrees = made.indptr.diff().cpu().double()
    assert abs(degrees.clamp(max=15).mean() - np.minimum(graph.degrees(), 15).mean()) < 0.2
