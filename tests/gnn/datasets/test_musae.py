"""Pages, links and words, made here in the format of MUSAE's facebook files."""

import json

import numpy as np
import pytest

from hone.config.graphs import MusaeGraph
from hone.core.errors import SourceError
from hone.gnn.datasets import musae, musae_files
from hone.gnn.graph import Graph
from hone.gnn.prepare import prepare

PAGES = 40
TYPES = ["tvshow", "company", "politician"]


@pytest.fixture
def folder(tmp_path):
    words = {str(page): [page % 5, 5 + page % 3, 5 + page % 3] for page in reversed(range(PAGES))}
    (tmp_path / "musae_features.json").write_text(json.dumps(words))
    links = "".join(f"{page},{(page * 7 + 1) % PAGES}\n" for page in range(PAGES))
    (tmp_path / "edges.csv").write_text(f"id_1,id_2\n{links}3,3\n")
    pages = "".join(f'{page},77,"A, ""quoted"" page",{TYPES[page % 3]}\n' for page in range(PAGES))
    (tmp_path / "target.csv").write_text(f"id,facebook_id,page_name,page_type\n{pages}")
    return tmp_path


def entry(path, **changes):
    return MusaeGraph(kind="musae", raw_dir=str(path), **{"verify": False, **changes})


def test_pages_links_and_words(folder):
    info = prepare("facebook", entry(folder, svd_dim=None), folder / "graph")
    graph = Graph.open(folder / "graph", verify=True)
    assert (info.num_nodes, info.feature_dim, info.num_classes) == (PAGES, 8, 3)
    assert set(info.source.sha256) == {"edges.csv", "features.json", "target.csv"}
    assert graph.labels[:3].tolist() == [2, 0, 1], "classes in alphabetical order"
    assert np.flatnonzero(graph.features[7]).tolist() == [2, 6] and graph.features.max() == 1
    assert 3 not in graph.neighbours(3)
    linked = {(page, (page * 7 + 1) % PAGES) for page in range(PAGES)}
    expected = {pair for a, b in linked for pair in ((a, b), (b, a)) if a != b}
    assert expected == {(page, int(other)) for page in range(PAGES) for other in graph.neighbours(page)}


def test_the_split_is_stratified_and_follows_its_seed(folder):
    first, again, other = (musae.read(entry(folder, split_seed=seed), folder) for seed in (0, 0, 1))
    for split, nodes in first.splits.items():
        assert np.array_equal(nodes, again.splits[split])
    assert not np.array_equal(first.splits["train"], other.splits["train"])
    assert sorted(np.concatenate(list(first.splits.values())).tolist()) == list(range(PAGES))
    assert np.bincount(first.splits["train"] % 3).tolist() == [8, 8, 8]


def named(folder, name, header, rows):
    (folder / name).write_text("".join(f"{line}\n" for line in [header, *rows]))


@pytest.mark.parametrize(
    ("header", "row", "dataset", "expected"),
    [
        ("id,name,ml_target", lambda node: f"{node},x,{node % 2}", "github", lambda node: node % 2),
        (
            "id,days,mature,views,partner,new_id",
            lambda node: f"{node + 900},1,{node % 2 == 0},5,False,{node}",
            "twitch-de",
            lambda node: 1 - node % 2,
        ),
        ("id,target", lambda node: f"{node},{node * 100 + 7}", "chameleon", lambda node: node * 5 // PAGES),
    ],
)
def test_tables_of_all_musaes_graphs_are_read(folder, header, row, dataset, expected):
    named(folder, "target.csv", header, map(row, range(PAGES)))
    named(folder, "edges.csv", "from,to", [f"{page},{(page + 1) % PAGES}" for page in range(PAGES)])
    streams = musae.read(entry(folder, dataset=dataset), folder)
    labels = np.concatenate(list(streams.labels(100)))
    assert labels.tolist() == [expected(node) for node in range(PAGES)]
    assert streams.num_classes == labels.max() + 1


def test_a_target_of_numbers_needs_bins_and_another_column_may_be_the_target(folder):
    named(folder, "target.csv", "id,size,target", [f"{node},{node % 4},{node * 3}" for node in range(PAGES)])
    with pytest.raises(SourceError, match=r"40 different values for 40 nodes(.|\n)*write bins: 5"):
        musae.read(entry(folder, dataset="mine"), folder)
    assert musae.read(entry(folder, dataset="mine", bins=3), folder).num_classes == 3
    assert musae.read(entry(folder, dataset="mine", target="size"), folder).num_classes == 4


def test_the_svd_keeps_what_the_words_say(folder):
    words = musae._words(folder / "musae_features.json", PAGES)
    reduced = musae._reduced(words, 7)
    dense = words.toarray()
    assert reduced.shape == (PAGES, 7)
    assert np.allclose(reduced @ reduced.T, dense @ dense.T, atol=1e-4), "rank 7: 5 + 3 columns, one dependency"
    norms = np.linalg.norm(reduced, axis=0)
    assert (np.diff(norms) <= 1e-5).all()
    assert (reduced.max(axis=0) >= -reduced.min(axis=0) - 1e-5).all()
    assert np.array_equal(reduced, musae._reduced(words, 7))


def replace(old, new):
    return lambda path: path.write_text(path.read_text().replace(old, new, 1))


@pytest.mark.parametrize(
    ("name", "damage", "message"),
    [
        ("edges.csv", lambda path: path.unlink(), r"has 0 files that end in 'edges\.csv'"),
        ("edges.csv", replace("id_1,id_2", "id_1"), r"edges\.csv: has 1 columns, not two"),
        ("edges.csv", replace("0,1\n", "0\n"), r"edges\.csv:2: id_2 is None"),
        ("target.csv", replace("page_type", "type"), "has no column page_type or ml_target"),
        ("edges.csv", replace("0,1\n", "0,x\n"), r"edges\.csv:2: id_2 is 'x'"),
        ("edges.csv", lambda path: path.write_bytes(b"\xff\xfe\x00"), "not a CSV file"),
        ("target.csv", replace(",politician", ","), r"target\.csv:4: page_type is ''"),
        ("target.csv", replace("\n39,", "\n41,"), "does not name every node"),
        ("musae_features.json", lambda path: path.write_text(path.read_text()[:50]), "truncated"),
        ("musae_features.json", replace('"39"', '"40"'), "has words of 40 pages"),
    ],
)
def test_damaged_files_are_named(folder, name, damage, message):
    damage(folder / name)
    with pytest.raises(SourceError, match=message):
        musae.read(entry(folder), folder)


def test_the_published_files_have_known_checksums(folder):
    with pytest.raises(SourceError, match=r"sha256 is(.|\n)*verify: false"):
        musae.read(entry(folder, verify=True), folder)


def test_two_files_of_one_kind_are_not_guessed_at(folder):
    (folder / "other_edges.csv").write_text("id_1,id_2\n0,2\n")
    with pytest.raises(SourceError, match=r"has 2 files(.|\n)*write dataset"):
        musae.read(entry(folder), folder)
    chosen = musae.read(entry(folder, dataset="other"), folder)
    assert next(chosen.edges(9))[1].tolist() == [2]


def test_every_known_graph_has_its_files_and_checksums():
    assert set(MusaeGraph.KNOWN) == set(musae_files.REPOSITORY) == set(musae_files.SHA256)
    assert {len(known) for known in musae_files.SHA256.values()} == {len(musae_files.NAMES)}
