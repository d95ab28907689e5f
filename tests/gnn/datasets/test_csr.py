"""Edges become sorted rows, whatever the memory; duplicates, self-loops and directions are as asked."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from hone.core.errors import MachineError, SourceError
from hone.gnn.datasets import csr
from hone.gnn.datasets.csr import first_pairs, write_csr
from hone.gnn.datasets.streams import edge_chunks
from tests.gnn.datasets.conftest import expected_csr, streams_of

KIB = 1 << 10


def written(streams, folder, memory_bytes=1 << 20):
    entries = write_csr(streams, folder, memory_bytes)
    indptr, indices = np.load(folder / "indptr.npy"), np.load(folder / "indices.npy")
    assert entries.written == len(indices) == indptr[-1]
    assert (indptr.dtype, indices.dtype) == (np.int64, np.int32)
    assert {path.name for path in folder.iterdir()} == {"indptr.npy", "indices.npy"}, "buckets are removed"
    return indptr.tolist(), indices.tolist()


@pytest.fixture
def many():
    generator = np.random.default_rng(3)
    return generator.integers(0, 500, 6000) ** 2 // 500, generator.integers(0, 500, 6000)


@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize("deduplicate", [True, False])
@pytest.mark.parametrize("self_loops", [True, False])
def test_rows_are_those_of_a_plain_list(tmp_path, many, symmetric, deduplicate, self_loops):
    how = {"symmetric": symmetric, "deduplicate": deduplicate, "self_loops": self_loops}
    assert written(streams_of(*many, 500, **how), tmp_path, 64 * KIB) == expected_csr(*many, 500, **how)


@pytest.mark.parametrize(
    ("how", "repeats"),
    [
        ({}, 2),  # 0-1 in both directions, 1-2 twice
        ({"self_loops": False}, 2),
        ({"symmetric": False}, 1),
        ({"deduplicate": False}, 0),
    ],
)
def test_edges_that_another_one_stands_for_are_counted(tmp_path, small, how, repeats):
    streams = replace(small, **how)
    entries = write_csr(streams, tmp_path, 1 << 20)
    assert (entries.read, entries.loops_read, entries.repeats(streams)) == (8, 1, repeats)


def test_memory_decides_how_many_buckets_there_are_and_nothing_else(tmp_path, many, monkeypatch):
    used = []
    buckets = csr._buckets
    monkeypatch.setattr(csr, "_buckets", lambda *given: used.append(buckets(*given)) or used[-1])
    found = []
    for memory_bytes in (2 * KIB, 64 * KIB, 1 << 24):
        folder = tmp_path / str(memory_bytes)
        folder.mkdir()
        found.append(written(streams_of(*many, 500), folder, memory_bytes))
    assert found[0] == found[1] == found[2]
    counts = [len(item) for item in used]
    assert counts[0] > counts[1] > counts[2] == 1
    for item in used:
        assert [bucket.first_row for bucket in item] == [0, *(bucket.end_row for bucket in item[:-1])]
        assert item[-1].end_row == 500


def test_a_hub_larger_than_a_bucket_stands_alone(tmp_path):
    sources, destinations = np.zeros(3000, np.int64), np.arange(1, 3001)
    assert written(streams_of(sources, destinations, 3001), tmp_path, 8 * KIB) == expected_csr(
        sources, destinations, 3001
    )


def test_nodes_beyond_the_edges_have_empty_rows(tmp_path):
    indptr, indices = written(streams_of([0], [1], 1_000_000), tmp_path, 512 * KIB)
    assert indices == [1, 0]
    assert indptr[:3] == [0, 1, 2] and set(indptr[2:]) == {2} and len(indptr) == 1_000_001


def test_a_graph_without_edges(tmp_path):
    assert written(streams_of([], [], 4), tmp_path) == ([0, 0, 0, 0, 0], [])


def test_there_are_never_more_buckets_than_files_may_be_open(tmp_path, many, monkeypatch):
    monkeypatch.setattr(csr, "MAX_BUCKETS", 8)
    seen = []
    spill = csr._spill
    monkeypatch.setattr(csr, "_spill", lambda *given: seen.append(len(given[2])) or spill(*given))
    assert written(streams_of(*many, 500), tmp_path, 1 * KIB) == expected_csr(*many, 500)
    assert seen == [pytest.approx(4, abs=4)]


@pytest.mark.parametrize("wrong", [-1, 8])
def test_an_id_out_of_range_is_named(tmp_path, wrong):
    with pytest.raises(SourceError, match=f"node {wrong}; the graph's nodes are 0 to 7"):
        write_csr(streams_of([0, wrong], [1, 2], 8), tmp_path, 1 << 20)


def test_the_surplus_is_dropped_in_both_directions(tmp_path):
    generator = np.random.default_rng(0)
    sources, destinations = generator.integers(0, 300, (2, 5000))
    streams = streams_of(sources, destinations, 300, self_loops=False, entries=8000)
    indptr, indices = written(streams, tmp_path, 32 * KIB)
    rows = np.repeat(np.arange(300), np.diff(indptr))
    kept = set(zip(rows.tolist(), indices, strict=True))
    assert len(kept) == 8000
    assert kept == {(column, row) for row, column in kept}
    pairs = set(zip(*np.sort(np.stack([sources, destinations]), axis=0).tolist(), strict=True))
    gone = {(a, b) for a, b in pairs if a != b} - kept
    unlike = [(a, b) for a, b in zip(sources.tolist(), destinations.tolist(), strict=True) if a != b]
    assert gone == set(itertools.islice(dict.fromkeys(tuple(sorted(pair)) for pair in unlike), len(gone)))


def test_too_few_entries_are_an_error(tmp_path):
    with pytest.raises(SourceError, match="gives 2 entries, 8 are wanted"):
        write_csr(streams_of([0], [1], 8, self_loops=False, entries=8), tmp_path, 1 << 20)


def test_first_pairs_do_not_depend_on_the_chunks():
    sources, destinations = np.random.default_rng(1).integers(0, 40, (2, 900))
    found = [first_pairs(edge_chunks(sources, destinations), 40, 100, chunk) for chunk in (7, 64, 1000)]
    assert len(found[0]) == 200
    assert all(np.array_equal(found[0], other) for other in found[1:])


def test_many_first_pairs_are_those_that_a_dictionary_finds():
    sources, destinations = np.random.default_rng(2).integers(0, 3000, (2, 400_000))
    found = first_pairs(edge_chunks(sources, destinations), 3000, 250_000, 1 << 18)
    low, high = np.minimum(sources, destinations), np.maximum(sources, destinations)
    keys = dict.fromkeys((low * 3000 + high)[low != high].tolist())
    expected = np.array(list(itertools.islice(keys, 250_000)))
    assert np.array_equal(found, np.sort(np.concatenate([expected, expected % 3000 * 3000 + expected // 3000])))


def test_a_full_disk_is_a_message_with_the_place(tmp_path, many, monkeypatch):
    def full(file, keys):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(csr, "_write_all", full)
    with pytest.raises(MachineError, match=r"No space left(.|\n)*free space") as caught:
        write_csr(streams_of(*many, 500), tmp_path, 64 * KIB)
    assert str(tmp_path) in str(caught.value)
