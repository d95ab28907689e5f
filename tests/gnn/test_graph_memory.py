"""Preparing stays within its memory, and processes that read one graph share it."""

import json
import shutil
import subprocess
import sys

import numpy as np
import pytest

from hone.config.settings import parse_graph
from hone.gnn.graph import Graph
from hone.gnn.prepare import prepare
from tests.gnn.process_memory import mapped_memory, peak_resident_bytes, process_memory

MIB = 1 << 20
MEMORY_MIB, BEYOND_MIB = 16, 80
LIKE = {"kind": "papers100m_like", "scale": 0.004, "memory_mib": MEMORY_MIB}

MEASURED = """
import json, sys, torch
from pathlib import Path
from hone.config.settings import parse_graph
from hone.gnn import prepare
from hone.gnn.datasets import like_law
from tests.gnn.process_memory import peak_resident_bytes, process_memory

torch.set_num_threads(1)
torch.special.ndtr(torch.randn(2, generator=torch.Generator()))  # libraries load at their first use
before = process_memory().resident_bytes
info = prepare.prepare("like", parse_graph(json.loads(sys.argv[1])), Path(sys.argv[2]))
print(info.num_edges, peak_resident_bytes() - before)
"""


def measured(folder):
    ended = subprocess.run(
        [sys.executable, "-c", MEASURED, json.dumps(LIKE), str(folder)],
        capture_output=True, text=True, check=True, timeout=600,
    )  # fmt: skip
    num_edges, grown_bytes = map(int, ended.stdout.split())
    return num_edges, grown_bytes


@pytest.mark.slow
def test_preparing_stays_within_the_stated_bound(tmp_path):
    # Runs differ by up to 30 MiB, probably by pages of written files that the kernel has not taken back yet. What
    # preparing itself holds is in each of them: the least of three is nearest to it.
    runs = []
    for _ in range(3):
        runs.append(measured(tmp_path / "graph"))
        shutil.rmtree(tmp_path / "graph")
    bound_bytes = (MEMORY_MIB + BEYOND_MIB) * MIB
    assert runs[0][0] * 8 > bound_bytes, "even one int64 for each entry would break the bound"
    assert min(grown_bytes for _, grown_bytes in runs) < bound_bytes


READER = """
import sys
from pathlib import Path
from hone.gnn.graph import Graph

graph = Graph.open(Path(sys.argv[1]))
total = sum(int(graph.array(name).sum(dtype="int64")) for name in ("indptr", "indices", "labels"))
total += float(graph.features.sum(dtype="float64")) + float(graph.tensor("features").double().sum())
print("read", flush=True)
sys.stdin.readline()
"""


@pytest.fixture
def graph(tmp_path):
    prepare("like", parse_graph({**LIKE, "scale": 0.001}), tmp_path / "graph")
    return tmp_path / "graph"


def test_two_processes_share_one_graph(graph):
    size = sum(path.stat().st_size for path in graph.glob("*.npy"))
    features = (graph / "features.npy").stat().st_size
    readers = [
        subprocess.Popen([sys.executable, "-c", READER, str(graph)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        for _ in range(2)
    ]
    try:
        assert [reader.stdout.readline() for reader in readers] == [b"read\n"] * 2
        found = [mapped_memory(graph, reader.pid) for reader in readers]
        whole = [process_memory(reader.pid) for reader in readers]
    finally:
        for reader in readers:
            reader.communicate(b"\n")
    for one, process in zip(found, whole, strict=True):
        # Both maps of the features, the array's and the tensor's, are of the same pages.
        assert one.resident_bytes > 0.95 * size
        assert one.resident_bytes < 1.05 * (size + features)
        assert one.proportional_bytes < 0.55 * size
        assert process.resident_bytes - process.proportional_bytes > 0.45 * size
    assert sum(one.proportional_bytes for one in found) == pytest.approx(size, rel=0.05), "in memory once"


def test_a_map_takes_memory_only_for_what_is_read(graph):
    opened = Graph.open(graph)
    assert mapped_memory(graph).resident_bytes < 8 * MIB < opened.features.nbytes
    assert np.isfinite(opened.features).all()
    assert mapped_memory(graph).resident_bytes >= opened.features.nbytes
    assert process_memory().resident_bytes <= peak_resident_bytes()
    assert mapped_memory(graph / "elsewhere").resident_bytes == 0
