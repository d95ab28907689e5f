"""The shared object: one source, built once, refused with a reason; graphs and options that cannot be sampled."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from hone.core.errors import MachineError
from hone.gnn.sampling import Sampler, SamplerError, build_sampler
from hone.gnn.sampling import build as build_module
from hone.gnn.sampling.build import MAIN, SOURCES, whole_source
from hone.gnn.sampling.design import BOOKKEEPING, MAPS, Design
from tests.gnn.sampling.conftest import graph_of


def test_the_source_holds_each_header_once():
    source = whole_source(SOURCES / MAIN)
    assert '#include "' not in source and "#pragma once" not in source
    assert source.count("class Ring {") == source.count("constexpr uint64_t kGolden") == 1
    assert "class SwissMap" in source, "of the study's kinds, too"


def test_it_is_compiled_once(tmp_path, library, monkeypatch):
    again = build_sampler(library.parents[3])
    assert again == library
    monkeypatch.setenv("CXX", "no-such-compiler")
    with pytest.raises(MachineError, match="no-such-compiler"):
        build_sampler(tmp_path)


def test_a_refusal_is_told(tmp_path, monkeypatch):
    (tmp_path / MAIN).write_text('extern "C" int broken() { return missing; }\n')
    monkeypatch.setattr(build_module, "SOURCES", tmp_path)
    with pytest.raises(MachineError, match="was not declared"):
        build_sampler(tmp_path / "store")


def test_something_else_is_no_sampler(tmp_path, small_graph):
    (tmp_path / "other.so").write_bytes(b"not a shared object")
    with pytest.raises(MachineError, match="not a sampler"):
        Sampler(small_graph, (2,), tmp_path / "other.so")


def test_the_study_library_has_all_kinds_and_the_usual_one_says_what_it_lacks(small_graph, library, study_library):
    for kind in MAPS:
        for bookkeeping in BOOKKEEPING:
            Sampler(small_graph, (2,), study_library, design=Design(kind, bookkeeping)).close()
    for design in (Design("stl"), Design(bookkeeping="set")):
        with pytest.raises(SamplerError, match="is not compiled"):
            Sampler(small_graph, (2,), library, design=design)


@pytest.mark.parametrize("fanouts", [(), (-2,), (3,) * 9])
def test_fanouts_that_make_no_sense(small_graph, library, fanouts):
    with pytest.raises(SamplerError, match="cannot sample with fan-outs"):
        Sampler(small_graph, fanouts, library)


@pytest.mark.parametrize(("threads", "slots"), [(-1, None), (2, 0)])
def test_threads_and_slots_that_make_no_sense(small_graph, library, threads, slots):
    with pytest.raises(SamplerError, match="cannot work with"):
        Sampler(small_graph, (2,), library, threads=threads, slots=slots)


def test_an_epoch_needs_threads(small_graph, library):
    with Sampler(small_graph, (2,), library) as sampler, pytest.raises(SamplerError, match="no threads"):
        next(sampler.epoch(None))


@pytest.mark.parametrize(
    ("indptr", "said"),
    [([0, 2, 1, 3], "offsets fall"), ([1, 2, 2, 3], "do not run from 0"), ([0, 1, 2, 4], "do not run from 0")],
)
def test_offsets_that_cannot_be(tmp_path, library, indptr, said):
    with pytest.raises(SamplerError, match=said):
        Sampler(graph_of(tmp_path, indptr, [0, 1, 2]), (2,), library)


def test_arrays_of_another_type(tmp_path, library):
    graph = graph_of(tmp_path, [0, 1], [0])
    with pytest.raises(SamplerError, match="indices is not a contiguous array of int32"):
        Sampler(replace(graph, indices=graph.indices.astype(np.int64)), (2,), library)


def test_more_neighbours_than_32_bits_count(tmp_path, library):
    """The ids are a file of holes: nobody reads them."""
    edges = 2**31
    ids = np.memmap(tmp_path / "ids", dtype=np.int32, mode="w+", shape=(edges,))
    graph = replace(graph_of(tmp_path, [0, 0], []), indptr=np.array([0, edges]), indices=ids)
    with pytest.raises(SamplerError, match=r"2\^31 - 1 neighbours or more"):
        Sampler(graph, (2,), library)


def test_offsets_beyond_32_bits(tmp_path, library):
    """The last of 3 nodes has its neighbours behind 2^31 others."""
    edges = 2**31 + 100
    ids = np.memmap(tmp_path / "ids", dtype=np.int32, mode="w+", shape=(edges,))
    ids[-2:] = [2, 1]
    indptr = np.array([0, 2**30, edges - 2, edges])
    graph = replace(graph_of(tmp_path, [0, 0, 0, 0], []), indptr=indptr, indices=ids)
    with Sampler(graph, (-1,), library) as sampler:
        batch = sampler.sample(torch.tensor([2]), 0, 0)
    assert batch.nodes.tolist() == [2, 1] and batch.blocks[0].indices.tolist() == [0, 1]
