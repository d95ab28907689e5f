"""A graph on the device is the graph of the files."""

import mmap

import pytest
import torch

from hone.config.graphs import SyntheticGraph
from hone.core.errors import MachineError
from hone.gnn.device import copies
from hone.gnn.device.memory import DeviceGraph
from hone.gnn.device.places import host
from hone.gnn.graph import Graph
from hone.gnn.prepare import prepare


@pytest.mark.parametrize(("stored", "width"), [("float16", 8), ("bfloat16", 13), ("float32", 5)])
def test_rows_come_whole_however_they_are_copied(device, tmp_path, monkeypatch, stored, width):
    entry = SyntheticGraph(kind="synthetic", nodes=200, classes=3, feature_dim=width, feature_dtype=stored)
    prepare("g", entry, tmp_path / "g")
    graph = Graph.open(tmp_path / "g")
    monkeypatch.setattr(copies, "BYTES_A_COPY", 1000)
    found = DeviceGraph.load(graph, device)
    for name in ("indptr", "indices", "labels"):
        assert torch.equal(getattr(found, name).cpu(), graph.tensor(name)), name
    narrow = torch.float16 if stored == "float16" else torch.bfloat16
    assert found.features.dtype == narrow and found.features.shape[1] % 8 == 0
    assert torch.equal(found.features[:, :width].cpu(), graph.tensor("features").to(narrow))
    assert not found.features[:, width:].any()


@pytest.mark.parametrize("shape", [(1000, 24), (7,), (0, 8)])
def test_host_arrays_share_no_page(shape):
    arrays = [host.host_zeros(shape, dtype) for dtype in (torch.bfloat16, torch.int32)]
    assert all(array.shape == shape and not array.any() for array in arrays)
    pages = [array.data_ptr() % mmap.PAGESIZE for array in arrays if array.numel()]
    assert not any(pages)
    if pages:
        arrays[0].fill_(1)
        assert not arrays[1].any() and arrays[0].all()


class Runtime:
    """CUDA's, which refuses what does not fit, and pieces over a size."""

    def __init__(self, most, piece=1 << 40):
        self.left, self.piece, self.locked = most, piece, {}

    def cudaHostRegister(self, address, size, flags):
        assert flags == host.PORTABLE_AND_MAPPED
        if size > min(self.left, self.piece):
            return 2
        self.left -= size
        self.locked[address] = size
        return 0

    def cudaHostUnregister(self, address):
        self.left += self.locked.pop(address)
        return 0


@pytest.fixture
def lent(monkeypatch):
    """What puts a runtime in the place of CUDA's."""
    monkeypatch.setattr(torch, "zeros", lambda *_, **__: None)  # on the GPU that is not there
    monkeypatch.setattr(host, "LEAST_BYTES_A_LOCK", mmap.PAGESIZE)
    return lambda runtime: monkeypatch.setattr(torch.cuda, "cudart", lambda: runtime)


def test_memory_is_locked_in_smaller_pieces_where_large_ones_are_refused(lent, monkeypatch):
    runtime, page = Runtime(1 << 40, piece=2 * mmap.PAGESIZE), mmap.PAGESIZE
    lent(runtime)
    monkeypatch.setattr(host, "BYTES_A_LOCK", 4 * page)
    found = host.page_locked(host.host_zeros((7 * page,), torch.uint8), torch.device("cuda", 0))
    assert sorted(runtime.locked) == [found.data_ptr() + 2 * number * page for number in range(4)]
    assert sum(runtime.locked.values()) == found.nbytes


def test_host_memory_is_unlocked_when_nobody_has_it_any_more(lent, monkeypatch):
    runtime = Runtime(10_000)
    lent(runtime)
    monkeypatch.setattr(host, "BYTES_A_LOCK", mmap.PAGESIZE)
    found = host.page_locked(host.host_zeros((9_000,), torch.uint8), torch.device("cuda", 0))
    assert sum(runtime.locked.values()) == 9_000 and len(runtime.locked) > 2
    with pytest.raises(MachineError, match="cannot be page-locked: cudaError 2"):
        host.page_locked(host.host_zeros((9_000,), torch.uint8), torch.device("cuda", 0))
    assert sum(runtime.locked.values()) == 9_000, "what it had locked before it was refused is unlocked"
    del found
    assert not runtime.locked


@pytest.mark.parametrize(
    ("limit", "own", "expected"),
    [("max", "max", 8 << 20), ("5000000", "max", 5000000 - 3000000 + 1500000), ("max", "1", 0)],
)
def test_available_memory_is_the_least_of_the_machine_and_its_groups(tmp_path, monkeypatch, limit, own, expected):
    memory_file, process, root = tmp_path / "meminfo", tmp_path / "cgroup", tmp_path / "groups"
    memory_file.write_text("MemTotal:  16384 kB\nMemAvailable:   8192 kB\n")
    process.write_text("0::/job/step\n")
    (root / "job" / "step").mkdir(parents=True)
    for folder, most in ((root / "job", limit), (root / "job" / "step", own)):
        (folder / "memory.max").write_text(f"{most}\n")
        (folder / "memory.current").write_text("3000000\n")
        (folder / "memory.stat").write_text("anon 1500000\nfile 1600000\nshmem 100000\n")
    assert host.available_bytes(memory_file, root, process) == expected
