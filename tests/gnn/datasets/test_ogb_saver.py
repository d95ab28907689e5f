"""Datasets of one's own, as the `ogb` package's own `DatasetSaver` writes them."""

import importlib
import sys

import numpy as np
import pytest
import torch

from hone.config.graphs import OGBGraph
from hone.core.errors import SourceError
from hone.gnn.graph import UNLABELLED, Graph
from hone.gnn.prepare import prepare
from tests.gnn.datasets.conftest import expected_csr

NODES, CLASSES = 50, 5


@pytest.fixture
def saved(tmp_path, monkeypatch, capsys):
    """Saves a graph with changed parts; gives the dataset's folder beside its archive, and the arrays."""
    monkeypatch.setitem(sys.modules, "outdated", None)  # the package must not ask its index for a newer version
    saver_of = importlib.import_module("ogb.io").DatasetSaver
    generator = np.random.default_rng(2)
    parts = {
        "edge_index": generator.integers(0, NODES, (2, 200)),
        "node_feat": generator.standard_normal((NODES, 4)).astype(np.float32),
        "num_nodes": NODES,
    }
    labels = generator.integers(0, CLASSES, (NODES, 1))
    split = dict(zip(("train", "valid", "test"), np.split(generator.permutation(NODES), [30, 40]), strict=True))

    def save(labels=labels, split=split, task="classification", **changes):
        saver = saver_of("ogbn-mine", is_hetero=False, version=1, root=str(tmp_path / "submission"))
        graph = {key: value for key, value in (parts | changes).items() if value is not None}
        saver.save_graph_list([graph])
        saver.save_target_labels(labels)
        saver.save_split(split, "random")
        (tmp_path / "mapping").mkdir()
        (tmp_path / "mapping" / "README.md").touch()
        saver.copy_mapping_dir(str(tmp_path / "mapping"))
        saver.save_task_info(task, "acc", num_classes=CLASSES)
        saver.get_meta_dict()
        saver.zip()
        capsys.readouterr()
        return tmp_path / "submission_ogbn_mine"

    return save, parts, labels, split


def entry(raw_dir, **changes):
    return OGBGraph(kind="ogb", raw_dir=str(raw_dir), **changes)


@pytest.mark.parametrize("place", ["mine", "mine.zip", "."])
def test_what_the_saver_writes_is_read_from_folder_and_archive(saved, tmp_path, place):
    save, parts, labels, split = saved
    info = prepare("g", entry(save() / place), tmp_path / "graph", tmp_path / "downloads")
    graph = Graph.open(tmp_path / "graph", verify=True)
    assert (info.num_classes, info.num_nodes) == (CLASSES, NODES)
    assert (graph.indptr.tolist(), graph.indices.tolist()) == expected_csr(*parts["edge_index"], NODES)
    assert np.array_equal(graph.features, parts["node_feat"].astype(np.float16))
    assert np.array_equal(graph.labels, labels[:, 0])
    assert {name: graph.array(name).tolist() for name in split} == {name: sorted(ids) for name, ids in split.items()}


def test_classes_come_from_the_config_then_the_saver_then_the_labels(saved, tmp_path):
    save, *_ = saved
    folder = save(labels=np.arange(NODES)[:, None] % 3)
    assert prepare("g", entry(folder / "mine", num_classes=9), tmp_path / "g").num_classes == 9
    assert prepare("g", entry(folder / "mine"), tmp_path / "g").num_classes == CLASSES
    (folder / "meta_dict.pt").unlink()
    assert prepare("g", entry(folder / "mine"), tmp_path / "g").num_classes == 3


def test_labels_of_floats_may_be_missing_outside_the_splits(saved, tmp_path):
    save, _, labels, split = saved
    partly = labels.astype(np.float32)
    partly[split["test"][0]] = np.nan
    folder = save(labels=partly, split=split | {"test": split["test"][1:]})
    prepare("g", entry(folder / "mine"), tmp_path / "g")
    assert Graph.open(tmp_path / "g").labels[split["test"][0]] == UNLABELLED


def test_a_split_of_tensors_is_read_too(saved, tmp_path):
    save, _, _, split = saved
    folder = save()
    torch.save({name: torch.from_numpy(ids) for name, ids in split.items()}, folder / "mine/split/random/split_dict.pt")
    assert prepare("g", entry(folder / "mine"), tmp_path / "g").num_train == 30


class Call:
    def __reduce__(self):
        return print, ("called",)


def put(name, value):
    return lambda folder: torch.save(value, folder / name)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (put("mine/split/random/split_dict.pt", {"train": Call()}), r"names .*print, which is not loaded"),
        (put("mine/split/random/split_dict.pt", {"train": [1]}), "does not hold ids of train, valid and test"),
        (put("mine/split/random/split_dict.pt", {"train": [0.5], "valid": [1], "test": [2]}), "does not hold ids"),
        (lambda folder: (folder / "mine/split/random/split_dict.pt").write_bytes(b"x"), "no file of torch.save"),
        (put("meta_dict.pt", {"num tasks": 2, "num classes": 5}), "has 2 tasks and 5 classes"),
        (put("meta_dict.pt", {}), r"says no number of classes(.|\n)*write num_classes:"),
        (lambda folder: (folder / "mine/split/other").mkdir(), r"has 2 splits(.|\n)*one of other, random"),
        (lambda folder: (folder / "mine/raw").rename(folder / "mine/more"), "has no folder raw"),
        (lambda folder: (folder / "mine/raw/edge_index_dict.npz").touch(), "several types of nodes"),
    ],
)
def test_what_is_wrong_is_named_and_nothing_is_called(saved, tmp_path, capsys, damage, message):
    folder = saved[0]()
    damage(folder)
    with pytest.raises(SourceError, match=message):
        prepare("g", entry(folder / "mine"), tmp_path / "g")
    assert "called" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"node_feat": None}, r"lacks the array node_feat(.|\n)*models here need features"),
        ({"node_feat": np.ones((4, NODES), np.float32).T}, "numpy.ascontiguousarray"),
        ({"labels": np.ones((NODES, 3), np.int64)}, "has 3 tasks"),
        ({"labels": np.full((NODES, 1), 0.5)}, "no whole numbers"),
    ],
)
def test_graphs_that_no_model_here_takes_are_refused_with_a_remedy(saved, tmp_path, changes, message):
    with pytest.raises(SourceError, match=message):
        prepare("g", entry(saved[0](**changes) / "mine"), tmp_path / "g")
