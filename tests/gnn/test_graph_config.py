"""`graphs:` of the config: what is missing or misspelt is named."""

import json
from importlib import import_module
from typing import Literal, get_args

import pytest

from hone.config.graphs import GraphEntry, PublishedGraph
from hone.config.settings import json_schema, load, parse_graph
from hone.core.errors import ConfigError
from hone.gnn import datasets
from hone.gnn.graph import Graph
from hone.gnn.prepare import download, prepare
from tests.test_config import minimal

ENTRIES = {
    "synthetic": {"kind": "synthetic"},
    "cora": {"kind": "planetoid", "dataset": "cora"},
    "facebook": {"kind": "musae"},
    "arxiv": {"kind": "ogb", "dataset": "ogbn-arxiv"},
    "own": {"kind": "pyg", "raw_dir": "no/file.pt"},
    "like": {"kind": "papers100m_like", "scale": 0.01},
    "products": {"kind": "products_like", "scale": 0.01},
}


def test_a_config_without_graphs_has_none():
    assert load(minimal()).graphs == {}


def test_every_kind_is_read_and_comes_back_from_its_own_values():
    settings = load(minimal(graphs=ENTRIES))
    for name, entry in settings.graphs.items():
        assert entry.kind == ENTRIES[name]["kind"]
        assert parse_graph(json.loads(entry.model_dump_json())) == entry


def test_the_schema_accepts_them():
    import jsonschema

    values = json.loads(json.dumps(minimal(graphs=ENTRIES)))
    jsonschema.validate(values, json.loads(json_schema()))


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"kind": "ogb"}, r"graphs\.one: dataset: is missing: ogbn-arxiv, .* raw_dir: <folder"),
        ({"kind": "ogb", "dataset": "ogbn-mine"}, r"graphs\.one: dataset: there is no 'ogbn-mine': .*ogbn-arxiv"),
        ({"kind": "ogb", "dataset": "ogbn-mag"}, r"graphs\.one: dataset: ogbn-mag has several types of nodes"),
        ({"kind": "planetoid", "dataset": "pubmd"}, r"there is no 'pubmd': cora, citeseer, pubmed are downloaded"),
        ({"kind": "pyg"}, r"graphs\.one\.raw_dir: is missing(.|\n)*The file, a folder or zip archive"),
        ({"kind": "synthetc"}, r"graphs\.one: .*synthetic"),
        ({"kind": "synthetic", "homophilly": 1.0}, r"graphs\.one\.homophilly: unknown key; did you mean 'homophily'"),
        ({"kind": "papers100m_like", "scale": 2}, r"graphs\.one\.scale: .*less than or equal to 1"),
        ({"kind": "musae", "train_share": 0.8}, "leave nothing for testing"),
        ({"kind": "synthetic", "feature_dtype": "float64"}, r"graphs\.one\.feature_dtype"),
    ],
)
def test_what_is_wrong_is_named(entry, message):
    with pytest.raises(ConfigError, match=message):
        load(minimal(graphs={"one": entry}))


def test_names_of_graphs_are_parts_of_paths():
    with pytest.raises(ConfigError, match="must start with a letter"):
        load(minimal(graphs={"a/b": {"kind": "synthetic"}}))


@pytest.mark.parametrize("name", ENTRIES)
def test_graphs_of_a_folder_or_a_generator_need_no_network(name, tmp_path):
    values = ENTRIES[name] | ({"raw_dir": str(tmp_path)} if name in ("cora", "arxiv") else {})
    if name == "facebook":
        for file in ("edges.csv", "features.json", "target.csv"):
            (tmp_path / file).touch()
        values |= {"raw_dir": str(tmp_path)}
    if name == "own":
        (tmp_path / "file.pt").touch()
        values |= {"raw_dir": str(tmp_path / "file.pt")}
    download(parse_graph(values), tmp_path / "downloads")
    assert not (tmp_path / "downloads").exists()


@pytest.mark.parametrize("kind", get_args(get_args(GraphEntry)[0]))
def test_every_kind_has_its_module(kind):
    module = import_module(f"hone.gnn.datasets.{kind.model_fields['kind'].annotation.__args__[0]}")
    assert callable(module.read)
    assert hasattr(module, "fetch") == issubclass(kind, PublishedGraph)


RING = """
import numpy as np
from hone.gnn.datasets.streams import GraphStreams, edge_chunks, row_chunks
from hone.records import GraphSource


def fetch(entry, downloads):
    downloads.mkdir()
    (downloads / "nodes").write_text("6")
    return downloads / "nodes"


def read(entry, downloads):
    nodes = np.arange(int((downloads / "nodes").read_text()))
    return GraphStreams(
        num_nodes=len(nodes), feature_dim=1, num_classes=2, edges=edge_chunks(nodes, np.roll(nodes, 1)),
        features=row_chunks(np.ones((len(nodes), 1))), labels=row_chunks(nodes % 2),
        splits={"train": nodes[:2], "valid": nodes[2:4], "test": nodes[4:]},
        source=GraphSource(kind=entry.kind, location=str(downloads)),
    )
"""


class RingGraph(PublishedGraph):
    kind: Literal["ring"]


def test_a_class_and_a_module_of_its_name_are_a_new_kind(tmp_path, monkeypatch):
    (tmp_path / "ring.py").write_text(RING)
    monkeypatch.setattr(datasets, "__path__", [*datasets.__path__, str(tmp_path)])
    entry, downloads = RingGraph(kind="ring"), tmp_path / "downloads"
    download(entry, downloads)
    info = prepare("r", entry, tmp_path / "graph", downloads)
    assert (info.source.kind, info.num_nodes, info.num_edges) == ("ring", 6, 12)
    assert Graph.open(tmp_path / "graph", verify=True).neighbours(0).tolist() == [1, 5]
