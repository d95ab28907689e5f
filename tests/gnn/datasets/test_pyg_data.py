"""Files of `torch.save` with a `Data` of PyTorch Geometric: read without running code, and what is missing is named."""

import numpy as np
import pytest
import torch

from hone.config.graphs import PyGGraph
from hone.core.errors import SourceError
from hone.gnn.graph import Graph
from hone.gnn.prepare import prepare
from hone.gnn.pyg import library
from tests.gnn.datasets.conftest import expected_csr

NODES = 30


@pytest.fixture
def parts():
    generator = torch.Generator().manual_seed(0)
    place = torch.arange(NODES) % 3
    return {
        "x": torch.randn(NODES, 4, generator=generator),
        "edge_index": torch.randint(NODES, (2, 90), generator=generator),
        "y": torch.randint(5, (NODES,), generator=generator),
        **{f"{name}_mask": place == number for number, name in enumerate(("train", "val", "test"))},
    }


def entry(path, **changes):
    return PyGGraph(kind="pyg", raw_dir=str(path), **changes)


def data(parts):
    return library().data.Data(**parts)


def as_kept(parts):
    """What `InMemoryDataset` saves."""
    made = data(parts)
    return made.to_dict(), None, type(made)


@pytest.mark.parametrize("form", [data, as_kept, dict])
def test_a_data_is_read_in_each_form(tmp_path, parts, form):
    (tmp_path / "processed").mkdir()
    torch.save(form(parts), tmp_path / "processed" / "data.pt")
    torch.save({}, tmp_path / "processed" / "pre_filter.pt")
    info = prepare("g", entry(tmp_path, feature_dtype="float32"), tmp_path / "graph")
    graph = Graph.open(tmp_path / "graph", verify=True)
    assert (info.num_nodes, info.num_classes) == (NODES, int(parts["y"].max()) + 1)
    assert (graph.indptr.tolist(), graph.indices.tolist()) == expected_csr(*parts["edge_index"].tolist(), NODES)
    assert torch.equal(graph.tensor("features"), parts["x"]) and torch.equal(graph.tensor("labels"), parts["y"])
    for split, name in (("train", "train_mask"), ("valid", "val_mask"), ("test", "test_mask")):
        assert graph.array(split).tolist() == parts[name].nonzero()[:, 0].tolist()


def test_edges_may_stay_directed_and_self_loops_may_go(tmp_path, parts):
    torch.save(data(parts), tmp_path / "mine.pt")
    how = {"symmetric": False, "deduplicate": False, "self_loops": False}
    prepare("g", entry(tmp_path / "mine.pt", **how), tmp_path / "graph")
    graph = Graph.open(tmp_path / "graph")
    assert (graph.indptr.tolist(), graph.indices.tolist()) == expected_csr(*parts["edge_index"].tolist(), NODES, **how)


def test_masks_of_several_splits_are_chosen_from(tmp_path, parts):
    for name in ("train_mask", "val_mask", "test_mask"):
        parts[name] = torch.stack([parts[name], parts[name].roll(1)], dim=1)
    torch.save(data(parts), tmp_path / "mine.pt")
    prepare("g", entry(tmp_path / "mine.pt", mask_column=1), tmp_path / "graph")
    assert Graph.open(tmp_path / "graph").train.tolist() == list(range(1, NODES, 3))
    with pytest.raises(SourceError, match=r"has 2 columns, mask_column is 2(.|\n)*0 to 1"):
        prepare("g", entry(tmp_path / "mine.pt", mask_column=2), tmp_path / "graph")


def test_a_random_split_is_of_the_labelled_nodes(tmp_path, parts):
    parts = {name: value for name, value in parts.items() if "mask" not in name} | {"y": parts["y"].clone()}
    parts["y"][:6] = -1
    torch.save(data(parts), tmp_path / "mine.pt")
    prepare("g", entry(tmp_path / "mine.pt", split="random"), tmp_path / "graph")
    graph = Graph.open(tmp_path / "graph")
    everyone = np.concatenate([graph.train, graph.valid, graph.test])
    assert sorted(everyone.tolist()) == list(range(6, NODES))


def without(name):
    return lambda parts: {key: value for key, value in parts.items() if key != name}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (without("x"), "has no x; it has edge_index, "),
        (without("edge_index"), "has no edge_index"),
        (without("val_mask"), r"has no val_mask(.|\n)*split: random"),
        (lambda parts: parts | {"x": torch.ones(NODES)}, r"x is \(30,\), not \(nodes, numbers\)"),
        (lambda parts: parts | {"edge_index": parts["edge_index"].T}, r"edge_index is \(90, 2\)"),
        (lambda parts: parts | {"y": torch.eye(NODES)}, r"y is \(30, 30\)(.|\n)*argmax"),
        (lambda parts: parts | {"y": torch.rand(NODES)}, "no whole numbers"),
        (lambda parts: parts | {"train_mask": torch.arange(NODES)}, "train_mask is .* of torch.int64"),
        (lambda parts: parts | {"val_mask": parts["train_mask"]}, "is in the splits twice"),
        (lambda parts: parts | {"edge_index": parts["edge_index"] + 5}, "an edge has the node 3"),
        (lambda parts: parts | {"x": [1, 2]}, "x is a list, not a tensor"),
    ],
)
def test_what_is_missing_or_of_another_shape_is_named(tmp_path, parts, change, message):
    torch.save(change(parts), tmp_path / "mine.pt")
    with pytest.raises(SourceError, match=message):
        prepare("g", entry(tmp_path / "mine.pt"), tmp_path / "graph")


class Own:
    """Not of torch's safe classes."""


def test_a_file_with_more_than_tensors_is_loaded_only_if_it_is_trusted(tmp_path, parts):
    torch.save({**parts, "own": Own()}, tmp_path / "mine.pt")
    with pytest.raises(SourceError, match=r"names .*Own, which is not loaded(.|\n)*trusted: true"):
        prepare("g", entry(tmp_path / "mine.pt"), tmp_path / "graph")
    assert prepare("g", entry(tmp_path / "mine.pt", trusted=True), tmp_path / "graph").num_nodes == NODES


def test_other_files_and_heterogeneous_data_are_refused(tmp_path):
    for value, message in (([1], "holds a list, not a Data"), (library().data.HeteroData(), "several types of nodes")):
        torch.save(value, tmp_path / "mine.pt")
        with pytest.raises(SourceError, match=message):
            prepare("g", entry(tmp_path / "mine.pt"), tmp_path / "graph")
    (tmp_path / "mine.pt").write_bytes(b"PK")
    with pytest.raises(SourceError, match=r"no file of torch\.save"):
        prepare("g", entry(tmp_path / "mine.pt"), tmp_path / "graph")
    (tmp_path / "other.pt").touch()
    with pytest.raises(SourceError, match=r"has 2 files that end in \.pt"):
        prepare("g", entry(tmp_path), tmp_path / "graph")
