"""OGB's on-disk formats, made here; what the package's own reader gives is the measure."""

import gzip
import hashlib
import importlib
import shutil
import sys

import numpy as np
import pytest

from hone.config.graphs import OGBGraph
from hone.core.errors import SourceError
from hone.gnn.datasets import ogb, ogb_npz
from hone.gnn.graph import UNLABELLED, Graph
from hone.gnn.prepare import prepare
from tests.gnn.datasets.conftest import expected_csr

NODES, EDGES, DIM = 60, 400, 5
FORMATS = {"ogbn-arxiv": "csv", "ogbn-products": "csv", "ogbn-papers100M": "npz"}


def table(path, rows):
    """One `*.csv.gz`; a number that is None is left empty."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = ["" if row is None else ",".join(map(str, np.atleast_1d(row))) for row in rows]
    path.write_bytes(gzip.compress("".join(f"{line}\n" for line in lines).encode()))


def make(folder, dataset, compressed=True, order="C"):
    """A dataset's folder as its download holds it; returns its arrays."""
    generator = np.random.default_rng(1)
    edges = generator.integers(0, NODES, (2, EDGES))
    edges[:, :20] = edges[:, 20:40]  # some are there twice
    features = generator.standard_normal((NODES, DIM)).astype(np.float32)
    labels = generator.integers(0, 40, NODES)
    splits = dict(zip(("train", "valid", "test"), np.split(generator.permutation(NODES), [30, 40]), strict=True))
    for split, nodes in splits.items():
        table(folder / "split" / ogb.facts(dataset).split / f"{split}.csv.gz", nodes)
    if FORMATS[dataset] == "csv":
        table(folder / "raw" / "edge.csv.gz", edges.T)
        table(folder / "raw" / "node-feat.csv.gz", features)
        table(folder / "raw" / "node-label.csv.gz", labels)
        table(folder / "raw" / "num-node-list.csv.gz", [NODES])
        table(folder / "raw" / "num-edge-list.csv.gz", [EDGES])
    else:
        save = np.savez_compressed if compressed else np.savez
        sizes = {"num_nodes_list": np.array([NODES]), "num_edges_list": np.array([EDGES])}
        (folder / "raw").mkdir()
        save(folder / "raw" / "data.npz", edge_index=np.asarray(edges, order=order), node_feat=features, **sizes)
        save(folder / "raw" / "node-label.npz", node_label=labels[:, None].astype(np.float32))
    return edges, features, labels, splits


def entry(folder, dataset="ogbn-arxiv", **changes):
    return OGBGraph(kind="ogb", dataset=dataset, raw_dir=str(folder), **{"verify": False, **changes})


def read_by_ogb(monkeypatch, folder, binary):
    """The package's own reader; it must not ask its index for a newer version of itself."""
    monkeypatch.setitem(sys.modules, "outdated", None)
    reader = importlib.import_module("ogb.io.read_graph_raw")
    name = "read_binary_graph_raw" if binary else "read_csv_graph_raw"
    return getattr(reader, name)(str(folder / "raw"))[0]


@pytest.mark.parametrize("dataset", FORMATS)
def test_the_graph_is_the_one_that_ogb_reads(tmp_path, monkeypatch, dataset):
    edges, features, labels, splits = make(tmp_path / "raw_dir", dataset)
    info = prepare("g", entry(tmp_path / "raw_dir", dataset), tmp_path / "graph")
    graph = Graph.open(tmp_path / "graph", verify=True)
    theirs = read_by_ogb(monkeypatch, tmp_path / "raw_dir", binary=FORMATS[dataset] == "npz")
    assert np.array_equal(theirs["edge_index"], edges)
    assert theirs["num_nodes"] == info.num_nodes == NODES
    assert np.array_equal(graph.features, theirs["node_feat"].astype(np.float16))
    assert (graph.indptr.tolist(), graph.indices.tolist()) == expected_csr(*edges, NODES)
    assert np.array_equal(graph.labels, labels)
    for split, nodes in splits.items():
        assert graph.array(split).tolist() == sorted(nodes)
    assert info.num_classes == labels.max() + 1, "a graph of one's own under a published name has its own classes"
    assert info.source.parameters["edges_read"] == EDGES
    assert np.allclose(features, graph.features, atol=2e-3)


def test_directions_and_duplicates_can_be_kept(tmp_path):
    edges, *_ = make(tmp_path / "raw_dir", "ogbn-arxiv")
    prepare("g", entry(tmp_path / "raw_dir", symmetric=False, deduplicate=False), tmp_path / "graph")
    graph = Graph.open(tmp_path / "graph")
    expected = expected_csr(*edges, NODES, symmetric=False, deduplicate=False)
    assert (graph.indptr.tolist(), graph.indices.tolist()) == expected
    assert graph.info.num_edges == EDGES


@pytest.mark.parametrize("compressed", [True, False])
@pytest.mark.parametrize("order", ["C", "F"])
def test_arrays_of_an_archive_are_read_in_small_chunks(tmp_path, compressed, order):
    edges, features, labels, _ = make(tmp_path / "raw_dir", "ogbn-papers100M", compressed, order)
    graph = ogb_npz.NpzGraph(tmp_path / "raw_dir" / "raw")
    chunks = list(graph.edges(7))
    assert max(len(sources) for sources, _ in chunks) == 7
    assert np.array_equal(np.concatenate([np.stack(chunk) for chunk in chunks], axis=1), edges)
    assert np.array_equal(np.concatenate(list(graph.features(11))), features)
    assert np.array_equal(np.concatenate(list(graph.labels(13))), labels)


def test_an_array_of_another_order_or_with_objects_is_refused(tmp_path):
    make(tmp_path, "ogbn-papers100M")
    np.savez(tmp_path / "x.npz", node_feat=np.zeros((3, 2), order="F"), node_label=np.array([{}]))
    graph = ogb_npz.NpzGraph(tmp_path / "raw")
    graph._data = tmp_path / "x.npz"
    with pytest.raises(SourceError, match="does not lie row by row"):
        list(graph.features(2))
    with (
        pytest.raises(SourceError, match="Python objects"),
        ogb_npz.member(tmp_path / "x.npz", "node_label"),
    ):
        pass


def test_labels_that_are_missing_are_none_outside_the_splits_and_an_error_within(tmp_path):
    _, _, labels, splits = make(tmp_path / "raw_dir", "ogbn-papers100M")
    folder = tmp_path / "raw_dir"
    table(folder / "split" / "time" / "test.csv.gz", splits["test"][1:])
    partly = labels.astype(np.float32)
    partly[splits["test"][0]] = np.nan
    np.savez(folder / "raw" / "node-label.npz", node_label=partly)
    prepare("g", entry(folder, "ogbn-papers100M"), tmp_path / "graph")
    assert Graph.open(tmp_path / "graph").labels[splits["test"][0]] == UNLABELLED
    partly[splits["valid"][:3]] = np.nan
    np.savez(folder / "raw" / "node-label.npz", node_label=partly)
    with pytest.raises(SourceError, match="3 of the 10 nodes of the split 'valid' have no label"):
        prepare("g", entry(folder, "ogbn-papers100M"), tmp_path / "graph")


def truncate(path):
    content = path.read_bytes()
    path.write_bytes(content[: len(content) * 2 // 3])


def corrupt(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0xFF
    path.write_bytes(bytes(content))


def rows(*values):
    return lambda path: table(path, values)


@pytest.mark.parametrize(
    ("name", "damage", "message"),
    [
        ("raw/edge.csv.gz", truncate, r"edge\.csv\.gz: truncated or damaged"),
        ("raw/edge.csv.gz", corrupt, r"edge\.csv\.gz: truncated or damaged"),
        ("raw/edge.csv.gz", rows([0, 1], [1, 2]), "holds 2 edges, 400 are announced"),
        ("raw/edge.csv.gz", rows([0, 60]), r"node 60; the graph's nodes are 0 to 59"),
        ("raw/edge.csv.gz", rows([0, 1, 2]), "has 3 columns"),
        ("raw/edge.csv.gz", rows(["a", "b"]), "text where numbers"),
        ("raw/edge.csv.gz", rows([0.5, 1.5]), "whole numbers"),
        ("raw/node-feat.csv.gz", truncate, r"node-feat\.csv\.gz: truncated"),
        ("raw/node-feat.csv.gz", rows([1.0, 2.0]), "has features of 1 nodes, the graph has 60"),
        ("raw/node-feat.csv.gz", rows(*[[1e9, 1.0]] * NODES), "feature 0 of node 0 is 1e[+]09, too large for float16"),
        ("raw/node-label.csv.gz", lambda path: path.unlink(), "no such file"),
        ("raw/node-label.csv.gz", rows(*range(59)), "has labels of 59 nodes"),
        ("raw/node-label.csv.gz", rows(*[40] * NODES), "labels outside 0 to 39"),
        ("raw/node-label.csv.gz", rows(*[[1, 2]] * NODES), r"has \(2,\) labels for each node"),
        ("raw/node-label.csv.gz", rows(*[1.5] * NODES), "labels that are no whole numbers"),
        ("raw/num-node-list.csv.gz", rows(3, 4), "holds 2 numbers"),
        ("split/time/valid.csv.gz", lambda path: path.unlink(), r"valid\.csv\.gz: no such file"),
        ("split/time/valid.csv.gz", rows(0, 60), "split 'valid' has the node 60"),
        ("split/time/train.csv.gz", rows(), "split 'train' is empty"),
        ("split/time/test.csv.gz", truncate, "truncated"),
        ("split/time/test.csv.gz", lambda path: path.write_bytes(b""), "truncated"),
    ],
)
def test_damaged_tables_are_named_and_leave_no_graph(tmp_path, name, damage, message):
    make(tmp_path / "raw_dir", "ogbn-arxiv")
    damage(tmp_path / "raw_dir" / name)
    with pytest.raises(SourceError, match=message):
        prepare("g", entry(tmp_path / "raw_dir", num_classes=40), tmp_path / "made" / "graph")
    assert not (tmp_path / "made").exists() or not list((tmp_path / "made").iterdir())


@pytest.mark.parametrize("compressed", [True, False])
@pytest.mark.parametrize("damage", [truncate, corrupt])
@pytest.mark.parametrize("name", ["data.npz", "node-label.npz"])
def test_damaged_archives_are_named(tmp_path, name, damage, compressed):
    make(tmp_path / "raw_dir", "ogbn-papers100M", compressed)
    damage(tmp_path / "raw_dir" / "raw" / name)
    with pytest.raises(SourceError, match=rf"{name}: truncated or damaged"):
        prepare("g", entry(tmp_path / "raw_dir", "ogbn-papers100M"), tmp_path / "graph")


def test_an_archive_without_an_array_or_with_another_number_of_edges(tmp_path):
    make(tmp_path, "ogbn-papers100M")
    with (
        pytest.raises(SourceError, match="lacks the array node_year"),
        ogb_npz.member(tmp_path / "raw" / "data.npz", "node_year"),
    ):
        pass
    sizes = {"num_nodes_list": np.array([NODES]), "num_edges_list": np.array([EDGES + 1])}
    np.savez(tmp_path / "raw" / "data.npz", edge_index=np.zeros((2, EDGES), np.int64), **sizes)
    with pytest.raises(SourceError, match=r"edge_index is \(2, 400\), num_edges_list says 401"):
        ogb_npz.NpzGraph(tmp_path / "raw")


def test_a_node_in_two_splits_is_an_error(tmp_path):
    *_, splits = make(tmp_path / "raw_dir", "ogbn-arxiv")
    table(tmp_path / "raw_dir" / "split" / "time" / "valid.csv.gz", splits["test"][:2])
    with pytest.raises(SourceError, match=r"node \d+ is in the splits twice"):
        prepare("g", entry(tmp_path / "raw_dir"), tmp_path / "graph")


def test_published_sizes_and_the_configs_checksums_are_compared(tmp_path):
    make(tmp_path, "ogbn-arxiv")
    with pytest.raises(SourceError, match=r"has 60 nodes and 400 edges, OGB publishes \(169343, 1166243\)"):
        ogb.read(entry(tmp_path, verify=True), tmp_path)
    content = (tmp_path / "raw" / "edge.csv.gz").read_bytes()
    right, wrong = hashlib.sha256(content).hexdigest(), "0" * 64
    streams = ogb.read(entry(tmp_path, sha256={"raw/edge.csv.gz": right}), tmp_path)
    assert streams.source.sha256 == {"raw/edge.csv.gz": right}
    with pytest.raises(SourceError, match=f"sha256 is {right}, known is 000"):
        ogb.read(entry(tmp_path, sha256={"raw/edge.csv.gz": wrong}), tmp_path)


def test_the_packages_table_is_read_without_running_the_package(monkeypatch):
    for name in [name for name in sys.modules if name.partition(".")[0] == "ogb"]:
        monkeypatch.delitem(sys.modules, name)
    known = {dataset: ogb.facts(dataset) for dataset in FORMATS}
    assert [facts.num_classes for facts in known.values()] == [40, 47, 172]
    assert all(facts.url.endswith(".zip") for facts in known.values())
    assert "ogb" not in sys.modules


def test_a_published_graph_has_ogbs_classes_whatever_its_labels(tmp_path, monkeypatch):
    make(tmp_path, "ogbn-papers100M")
    monkeypatch.setitem(ogb.PUBLISHED, "ogbn-papers100M", (NODES, EDGES))
    assert ogb.read(entry(tmp_path, "ogbn-papers100M", verify=True), tmp_path).num_classes == 172


@pytest.mark.parametrize("dataset", FORMATS)
def test_an_archive_is_read_with_and_without_its_top_folder(tmp_path, dataset):
    _, features, *_ = make(tmp_path / "top" / "products", dataset)
    for number, root in enumerate((tmp_path / "top", tmp_path / "top" / "products")):
        archive = shutil.make_archive(str(tmp_path / f"files{number}"), "zip", root)
        info = prepare("g", entry(archive, dataset), tmp_path / "graph", tmp_path / "downloads")
        assert (info.num_nodes, info.feature_dim, info.num_test) == (*features.shape, 20)
