"""Planetoid's pickles of Python 2, made here: read as published, and nothing in them is called."""

import os
import pickle
import struct
from collections import defaultdict

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from hone.config.graphs import PlanetoidGraph
from hone.core.errors import SourceError
from hone.gnn.datasets import planetoid
from hone.gnn.graph import UNLABELLED, Graph
from hone.gnn.prepare import prepare

KNOWN, TEST = 510, [512, 510, 513]
"""Nodes in `allx`, and those in `tx`; 511 has neither features nor label, as some of CiteSeer's."""


class _Python2Pickler(pickle._Pickler):
    """Writes bytes as the strings that Python 2 had."""

    def save_bytes(self, content):
        self.write(b"T" + struct.pack("<i", len(content)) + content)
        self.memoize(content)

    dispatch = {**pickle._Pickler.dispatch, bytes: save_bytes}  # noqa: RUF012


def write_pickle(path, value):
    with path.open("wb") as file:
        _Python2Pickler(file, protocol=2).dump(value)
    content = path.read_bytes().replace(b"cscipy.sparse._csr\n", b"cscipy.sparse.csr\n")
    path.write_bytes(content.replace(b"cnumpy._core.multiarray\n", b"cnumpy.core.multiarray\n"))


@pytest.fixture
def folder(tmp_path):
    generator = np.random.default_rng(0)
    features = (generator.random((KNOWN + 3, 6)) < 0.4).astype(np.float32)
    labels = np.eye(3, dtype=np.int32)[np.arange(KNOWN + 3) % 3]
    graph = defaultdict(list, {node: [(node + 1) % 514] for node in range(514)})
    graph[0] += [0, 1, 1]
    values = {
        "x": csr_matrix(features[:9]), "y": labels[:9], "allx": csr_matrix(features[:KNOWN]), "ally": labels[:KNOWN],
        "tx": csr_matrix(features[KNOWN:]), "ty": labels[KNOWN:], "graph": graph,
    }  # fmt: skip
    for part, value in values.items():
        write_pickle(tmp_path / f"ind.cora.{part}", value)
    (tmp_path / "ind.cora.test.index").write_text("".join(f"{node}\n" for node in TEST))
    return tmp_path, features, labels


def entry(path, **changes):
    return PlanetoidGraph(kind="planetoid", dataset="cora", raw_dir=str(path), verify=False, **changes)


def test_nodes_labels_and_split_are_the_published_ones(folder, tmp_path):
    path, features, labels = folder
    info = prepare("cora", entry(path), tmp_path / "graph")
    graph = Graph.open(tmp_path / "graph", verify=True)
    assert (info.num_nodes, info.feature_dim, info.num_classes) == (514, 6, 3)
    assert np.array_equal(graph.features[:KNOWN], features[:KNOWN])
    assert np.array_equal(graph.features[TEST], features[KNOWN:])
    assert graph.labels[TEST].tolist() == labels[KNOWN:].argmax(axis=1).tolist()
    assert graph.labels[511] == UNLABELLED and not graph.features[511].any()
    assert graph.train.tolist() == list(range(9))
    assert graph.valid.tolist() == list(range(9, 509))
    assert graph.test.tolist() == sorted(TEST)
    assert graph.neighbours(0).tolist() == [1, 513], "no self-loop, and a link that is there twice counts once"
    assert info.num_edges == 2 * 514


def test_the_full_split_trains_on_all_labelled_nodes_that_are_left(folder, tmp_path):
    prepare("cora", entry(folder[0], split="full"), tmp_path / "graph")
    graph = Graph.open(tmp_path / "graph")
    assert graph.train.tolist() == [*range(9), 509], "511 has no label"
    assert graph.valid.tolist() == list(range(9, 509))
    assert graph.test.tolist() == sorted(TEST)


def test_features_can_be_normalised(folder, tmp_path):
    path, features, _ = folder
    prepare("cora", entry(path, normalize=True, feature_dtype="float32"), tmp_path / "graph")
    sums = Graph.open(tmp_path / "graph").features[:KNOWN].sum(axis=1)
    assert np.allclose(sums, features[:KNOWN].any(axis=1))


def test_the_published_files_have_known_checksums(folder):
    with pytest.raises(SourceError, match=r"ind\.cora\.x: sha256 is (.|\n)*verify: false"):
        planetoid.read(PlanetoidGraph(kind="planetoid", dataset="cora", raw_dir=str(folder[0])), folder[0])


def test_a_pickle_that_calls_something_is_refused(folder):
    class Call:
        def __reduce__(self):
            return os.system, ("touch called",)

    (folder[0] / "ind.cora.graph").write_bytes(pickle.dumps(Call(), protocol=2))
    with pytest.raises(SourceError, match=r"posix\.system, which is not read"):
        planetoid.read(entry(folder[0]), folder[0])
    assert not (folder[0] / "called").exists()


def cut(path):
    path.write_bytes(path.read_bytes()[:-20])


@pytest.mark.parametrize(
    ("part", "damage", "message"),
    [
        ("allx", cut, "truncated or not such a pickle"),
        ("ty", lambda path: path.unlink(), "no such file"),
        ("test.index", lambda path: path.unlink(), "no such file"),
        ("test.index", lambda path: path.write_text("510\nx\n"), "no list of nodes"),
        ("test.index", lambda path: path.write_text("510\n511\n"), "do not agree"),
        ("graph", lambda path: write_pickle(path, [1]), "no dictionary"),
        ("tx", lambda path: write_pickle(path, np.eye(3)), "no sparse matrix"),
        ("ally", lambda path: write_pickle(path, {}), "no matrix"),
    ],
)
def test_damaged_files_are_named(folder, part, damage, message):
    damage(folder[0] / f"ind.cora.{part}")
    with pytest.raises(SourceError, match=message) as caught:
        planetoid.read(entry(folder[0]), folder[0])
    assert str(folder[0]) in caught.value.where
