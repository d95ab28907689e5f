"""A prepared graph is opened read-only and checked; every kind of damage is named."""

import json
from typing import get_args

import numpy as np
import pytest
import torch

from hone.config.graphs import PyGGraph, SyntheticGraph
from hone.core.errors import MachineError, RecordError, SourceError
from hone.gnn import prepare as preparing
from hone.gnn.datasets.streams import row_chunks
from hone.gnn.graph import Graph
from hone.gnn.prepare import prepare, write_graph
from hone.records.gnn import ARRAYS, FeatureDtype
from tests.gnn.datasets.conftest import streams_of

SMALL = SyntheticGraph(kind="synthetic", nodes=60, feature_dim=4)


@pytest.fixture
def folder(tmp_path):
    prepare("small", SMALL, tmp_path / "graph")
    return tmp_path / "graph"


def test_arrays_are_maps_that_nobody_can_write_to(folder):
    graph = Graph.open(folder, verify=True)
    for name in ARRAYS:
        array = graph.array(name)
        assert isinstance(array, np.memmap)
        assert not array.flags.writeable
    assert graph.info.name == "small"
    assert graph.degrees().sum() == graph.info.num_edges == len(graph.indices)
    assert graph.neighbours(5).tolist() == graph.indices[graph.indptr[5] : graph.indptr[6]].tolist()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_tensors_have_the_features_type_and_do_not_reach_the_file(tmp_path, dtype):
    prepare("small", SMALL.model_copy(update={"feature_dtype": dtype}), tmp_path / "graph")
    exact = prepare("small", SMALL.model_copy(update={"feature_dtype": "float32"}), tmp_path / "exact")
    graph = Graph.open(tmp_path / "graph")
    features = graph.tensor("features")
    assert features.dtype == getattr(torch, dtype)
    assert exact.num_nodes == len(features)
    assert torch.equal(features, Graph.open(tmp_path / "exact").tensor("features").to(features.dtype))
    features.zero_()
    assert graph.tensor("features").any()
    Graph.open(tmp_path / "graph", verify=True)


def truncated(path):
    path.write_bytes(path.read_bytes()[:-8])


def changed(path):
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(bytes(content))


@pytest.mark.parametrize("name", ARRAYS)
@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (truncated, "truncated or not an array"),
        (lambda path: path.unlink(), "no such file"),
        (lambda path: path.write_bytes(b""), "truncated or not an array"),
        (lambda path: np.save(path, np.zeros((3, 3), np.int8)), r"holds int8 \(3, 3\), graph.json says"),
    ],
)
def test_damage_is_seen_when_opening(folder, name, damage, message):
    damage(folder / f"{name}.npy")
    with pytest.raises(RecordError, match=rf"{name}\.npy: {message}(.|\n)*same command again"):
        Graph.open(folder)


@pytest.mark.parametrize("name", ARRAYS)
def test_a_changed_bit_is_seen_when_verifying(folder, name):
    changed(folder / f"{name}.npy")
    if name != "indptr":  # its end is compared with the number of edges, so that it does not open
        Graph.open(folder)
    with pytest.raises(RecordError, match=rf"{name}\.npy: (sha256 is|goes from)"):
        Graph.open(folder, verify=True)


def test_ids_out_of_range_are_seen_though_the_checksum_is_right(folder):
    indices = np.load(folder / "indices.npy")
    indices[3] = 60
    np.save(folder / "indices.npy", indices)
    info = json.loads((folder / "graph.json").read_text())
    info["sha256"]["indices.npy"] = preparing.sha256_of(folder / "indices.npy")
    (folder / "graph.json").write_text(json.dumps(info))
    with pytest.raises(RecordError, match=r"indices\.npy: has ids outside 0 to 59"):
        Graph.open(folder, verify=True)


def test_no_graph_at_all(tmp_path):
    with pytest.raises(RecordError, match=r"graph\.json: no such file"):
        Graph.open(tmp_path)


def test_the_same_entry_gives_the_same_files(folder, tmp_path):
    assert prepare("small", SMALL, tmp_path / "again").sha256 == Graph.open(folder).info.sha256


def test_a_failed_preparation_leaves_the_old_graph(folder):
    before = Graph.open(folder).info
    broken = streams_of([0], [1], 9, labels=row_chunks(np.zeros(8, np.int64)))
    with pytest.raises(SourceError, match="has labels of 8 nodes, the graph has 9"):
        write_graph("small", broken, folder, "float16", 1 << 20)
    assert Graph.open(folder, verify=True).info == before
    assert [path.name for path in folder.parent.iterdir()] == ["graph"]


@pytest.mark.parametrize(
    ("dtype", "value", "message"),
    [
        *(
            (dtype, np.nan, "is nan, in this row 1 of 2 .*(.|\n)*no feature_dtype helps")
            for dtype in get_args(FeatureDtype)
        ),
        ("float16", np.inf, "is inf, .*(.|\n)*replace it in the file"),
        ("float16", 1e9, r"is 1e\+09, too large for float16(.|\n)*feature_dtype: bfloat16 or float32"),
        ("bfloat16", 3.4e38, r"is 3.4e\+38, too large for bfloat16(.|\n)*feature_dtype: float32"),
        ("float32", 1e300, r"is 1e\+300, too large for float32(.|\n)*scale the features"),
    ],
)
def test_features_that_are_no_numbers_are_refused(tmp_path, dtype, value, message):
    features = np.ones((9, 2), np.float64)
    features[4, 1] = value
    with pytest.raises(SourceError, match=f"feature 1 of node 4 {message}"):
        write_graph("g", streams_of([0], [1], 9, features=row_chunks(features)), tmp_path / "g", dtype, 128)


def test_a_user_is_told_what_became_of_edges_and_which_splits_are_empty(tmp_path, capsys):
    everyone = torch.arange(4)
    parts = {
        "x": torch.ones(4, 2), "y": everyone % 2, "edge_index": torch.tensor([[0, 1, 1, 2, 2], [1, 0, 2, 2, 2]]),
        "train_mask": everyone < 4, "val_mask": everyone > 4, "test_mask": everyone > 4,
    }  # fmt: skip
    torch.save(parts, tmp_path / "mine.pt")
    prepare("g", PyGGraph(kind="pyg", raw_dir=str(tmp_path / "mine.pt")), tmp_path / "graph")
    said = capsys.readouterr().err.splitlines()
    assert said[:2] == [
        "g: 2 of 5 edges are there again, or in the other direction too, and count once",
        "g: 2 edges from a node to itself are kept",
    ]
    assert "write validation: null" in said[2] and "splits: [valid]" in said[3]
    prepare("g", PyGGraph(kind="pyg", raw_dir=str(tmp_path / "mine.pt"), deduplicate=False), tmp_path / "graph")
    assert "counts twice" in capsys.readouterr().err


def test_a_disk_without_room_is_said_before_the_work(tmp_path, monkeypatch):
    def no_room(folder, needed_bytes):
        raise MachineError("has 0.0 GiB free", where=str(folder))

    monkeypatch.setattr(preparing, "require_space", no_room)
    with pytest.raises(MachineError, match="free"):
        prepare("small", SMALL, tmp_path / "graph")
    assert list(tmp_path.iterdir()) == []
