"""What is read at random is mapped before the first batch."""

import pytest

from hone.gnn.graph import Graph
from hone.gnn.sampling import Sampler, pages
from hone.gnn.sampling.pages import map_pages
from tests.gnn.process_memory import mapped_memory

READ_AT_RANDOM = ("indptr", "indices", "features", "labels")


@pytest.fixture
def opened(small_graph):
    """Maps of their own, of which nothing but the ends of `indptr` was read."""
    return Graph.open(small_graph.path)


def in_files(graph):
    return sum(graph.array(name).nbytes for name in READ_AT_RANDOM)


@pytest.mark.parametrize("part_bytes", [1 << 28, 1 << 14])
def test_every_page_is_mapped(opened, monkeypatch, part_bytes):
    monkeypatch.setattr(pages, "POPULATED_AT_ONCE", part_bytes)
    before = mapped_memory(opened.path).resident_bytes
    if not map_pages(opened, 2):
        pytest.skip("this Linux cannot map ahead")
    assert mapped_memory(opened.path).resident_bytes >= max(in_files(opened), before)


def test_nothing_is_read_that_does_not_fit(opened, monkeypatch):
    monkeypatch.setattr(pages, "available_bytes", lambda: in_files(opened) - 1)
    before = mapped_memory(opened.path).resident_bytes
    assert not map_pages(opened, 2)
    assert mapped_memory(opened.path).resident_bytes == before


def test_a_system_that_cannot_is_no_error(opened, monkeypatch):
    monkeypatch.setattr(pages, "POPULATE_READ", 12345)
    assert not map_pages(opened, 1)


@pytest.mark.parametrize(("threads", "mapped"), [(2, True), (0, False)])
def test_threads_find_their_pages_mapped(opened, library, monkeypatch, threads, mapped):
    asked = []
    monkeypatch.setattr("hone.gnn.sampling.sampler.map_pages", lambda graph, threads: asked.append(threads))
    Sampler(opened, (3, 2), library, threads=threads).close()
    assert asked == ([threads] if mapped else [])
