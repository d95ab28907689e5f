"""`graphs:` of the config: what is missing or misspelt is named."""

import json

import pytest

from hone.config.settings import json_schema, load, parse_graph
from hone.errors import ConfigError
from hone.gnn.prepare import download
from tests.test_config import minimal

ENTRIES = {
    "synthetic": {"kind": "synthetic"},
    "cora": {"kind": "planetoid", "dataset": "cora"},
    "facebook": {"kind": "musae"},
    "arxiv": {"kind": "ogb", "dataset": "ogbn-arxiv"},
    "like": {"kind": "papers100m_like", "scale": 0.01},
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
        ({"kind": "ogb"}, r"graphs\.one\.dataset: is missing"),
        ({"kind": "ogb", "dataset": "ogbn-mag"}, r"graphs\.one\.dataset: .*ogbn-arxiv"),
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
    download(parse_graph(values), tmp_path / "downloads")
    assert not (tmp_path / "downloads").exists()
