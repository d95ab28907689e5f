"""Wherever graph and features lie, batches and trainings are the same to the last bit."""

import mmap
from ast import literal_eval

import pytest
import torch

from hone.core.errors import MachineError
from hone.gnn.device import copies, training
from hone.gnn.device.memory import BatchRoom, DeviceGraph, Room
from hone.gnn.device.operators import Operators
from hone.gnn.device.places import host, placement, spread
from hone.gnn.device.places.budget import FreeMemory, memory_demand
from hone.gnn.device.places.host import host_zeros, page_locked
from hone.gnn.device.places.placement import PLENTY, Load, placed_graph
from hone.gnn.device.places.spread import cached_features, sharded_features
from hone.gnn.device.sampler import DeviceSampler
from hone.gnn.distributed import Ranks, launch
from hone.gnn.inference_stage import infer
from hone.gnn.seeds import Plan
from tests.gnn.device.test_training import run, told

FANOUTS, BATCH = (4, 3, 2), 16
TWO_GPUS = pytest.mark.skipif(torch.cuda.device_count() < 2, reason="needs two GPUs")
LEAVES, ISOLATED = 40, 41


def first_inputs(graph, kernels, batches=3):
    """What the first layer gets of each batch."""
    room = Room.largest(BATCH, FANOUTS, len(graph.labels))
    sampler = DeviceSampler(graph, room, kernels, seed=3, max_seeds=batches * BATCH)
    place = BatchRoom(room, len(FANOUTS), graph.labels.device, graph.features.shape[1])
    sampler.begin(Plan(torch.arange(batches * BATCH) % len(graph.labels), BATCH))
    found = []
    for _ in range(batches):
        sampler.make_ready(1)
        sampler.sample(place)
        Operators(kernels).mean_of_features(place, graph.features, place.first_input)
        found.append(place.first_input.clone())
    return torch.stack(found)


def sharded_here(monkeypatch, source, device, dtype, ranks):
    """What a rank would read; the parts of the others are brought by this process, too."""

    def part(rank):
        rows = source[rank :: ranks.world]
        return copies.brought(rows, torch.zeros(len(rows), copies.padded_width(source), dtype=dtype, device=device))

    def everyones(own, ranks):
        return [own if rank == ranks.rank else part(rank) for rank in range(ranks.world)]

    with monkeypatch.context() as patch:
        patch.setattr(spread, "everyones", everyones)
        return sharded_features(source, device, dtype, ranks)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_batches_read_the_same_features_wherever_they_lie(
    small_graph, device_graph, device, kernels, monkeypatch, dtype
):
    monkeypatch.setattr(copies, "BYTES_A_COPY", 1000)
    source = small_graph.tensor("features")

    def graph(features):
        return DeviceGraph(device_graph.indptr, device_graph.indices, features, device_graph.labels)

    whole = copies.brought(source, torch.zeros(source.shape, dtype=dtype, device=device))
    expected = first_inputs(graph(whole), kernels)
    assert len(expected.unique()) > 100
    some = torch.randperm(600, generator=torch.Generator().manual_seed(1))
    spreads = [cached_features(source, some[:number], device, dtype) for number in (0, 1, 250, 600)]
    worlds = (1, 2), (0, 3), (4, 5), (7, 8)
    spreads += [sharded_here(monkeypatch, source, device, dtype, Ranks(*world)) for world in worlds]
    for features in spreads:
        assert (features.shape, features.dtype, features.device.type) == ((600, 16), dtype, device.type)
        assert torch.equal(first_inputs(graph(features), kernels), expected)
    indices = small_graph.tensor("indices")
    edges = page_locked(host_zeros(tuple(indices.shape), indices.dtype).copy_(indices), device)
    on_host = DeviceGraph(device_graph.indptr, edges, spreads[2], device_graph.labels)
    assert edges.device.type == "cpu" and torch.equal(first_inputs(on_host, kernels), expected)


def leaves(device, features):
    """A star whose leaves have one neighbour each, and a node without any."""
    degrees = torch.cat([torch.tensor([LEAVES]), torch.ones(LEAVES, dtype=torch.int64), torch.zeros(1).long()])
    indptr = torch.cat([torch.zeros(1).long(), degrees.cumsum(0)])
    indices = torch.cat([torch.arange(1, LEAVES + 1), torch.zeros(LEAVES).long()]).int()
    return DeviceGraph(indptr.to(device), indices.to(device), features, torch.zeros(ISOLATED + 1).long().to(device))


def test_isolated_nodes_and_leaves_have_their_own_rows(device, kernels):
    rows = torch.arange(1, ISOLATED + 2)[:, None].repeat(1, 8).bfloat16()
    expected = first_inputs(leaves(device, rows.to(device)), kernels)
    for hot in ([], [0], [ISOLATED], [3, 17, ISOLATED]):
        features = cached_features(rows, torch.tensor(hot, dtype=torch.int64), device, torch.bfloat16)
        assert torch.equal(first_inputs(leaves(device, features), kernels), expected)
    last = expected[2, 9]  # the isolated node, as seed number 41
    assert not last[:8].any() and bool((last[8:] == ISOLATED + 1).all())


def losses(found):
    return [(epoch.loss, epoch.valid_accuracy) for epoch in found.epochs]


@pytest.fixture(scope="module")
def work(device):
    """A job that gives the same bits every time."""
    return told(device, deterministic=True, epochs=2, max_batches=3)


@pytest.fixture(scope="module")
def usual(work, small_graph, compiled, tmp_path_factory):
    """What comes of it with everything on the GPU."""
    return losses(run(work, small_graph, compiled, tmp_path_factory.mktemp("usual")))


@pytest.mark.parametrize("place", ["gpu", "host_features", "host"])
def test_a_training_gives_the_same_bits_in_every_place(
    place, work, usual, small_graph, compiled, tmp_path, monkeypatch, capsys
):
    monkeypatch.setattr(placement, "cached_rows", lambda *_: 200)
    monkeypatch.setattr(host, "BYTES_A_LOCK", mmap.PAGESIZE)  # so that rows lie across pieces
    work = work.model_copy(update={"placement": place})
    log = tmp_path / "log"
    found = run(work, small_graph, compiled, tmp_path, log=log)
    assert (losses(found), found.placement) == (usual, place)
    said = log.read_text()
    assert said in capsys.readouterr().err
    assert said.startswith(f"placement: {place}: 0.0 GiB of edges on the {'host' if place == 'host' else 'GPU'}")
    assert "GiB kept for batches" in said
    if place != "gpu":
        assert "but for 33.3% of them (0.0 GiB), the GPU's cache" in said
        work = work.model_copy(update={"inference": work.inference.model_copy(update={"fanouts": ((4, 4, 4),)})})
        infer(work, small_graph.path, compiled, tmp_path / "run.pt", output=tmp_path / "found", scratch=tmp_path)
        assert f"placement: {place}" in capsys.readouterr().err


def test_a_training_gives_the_same_bits_with_features_in_several_matrices(
    work, usual, small_graph, device_graph, device, compiled, tmp_path, monkeypatch
):
    source, dtype = small_graph.tensor("features"), device_graph.features.dtype
    features = sharded_here(monkeypatch, source, device, dtype, Ranks(1, 3))
    graph = DeviceGraph(device_graph.indptr, device_graph.indices, features, device_graph.labels)
    monkeypatch.setattr(training, "placed_graph", lambda *_, **__: graph)
    assert losses(run(work, small_graph, compiled, tmp_path)) == usual


def test_models_by_autograd_find_their_features_in_every_place(device, small_graph, compiled, tmp_path, monkeypatch):
    monkeypatch.setattr(placement, "cached_rows", lambda *_: 200)
    work = told(device, model="gin", deterministic=True, epochs=1, max_batches=2)
    found = [
        losses(run(work.model_copy(update={"placement": place}), small_graph, compiled, tmp_path / place))
        for place in ("gpu", "host_features")
    ]
    assert found[0] == found[1]


@pytest.mark.slow
@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=TWO_GPUS)], indirect=True)
def test_two_processes_share_features_and_may_have_other_rooms(device, small_graph, compiled, tmp_path):
    work = told(device, deterministic=True, epochs=1, max_batches=2, gpus=2, validation=None)
    (tmp_path / "job.json").write_text(work.model_dump_json())
    log = tmp_path / "log"
    arguments = [str(path) for path in (tmp_path / "job.json", small_graph.path, compiled)]
    launch("tests.gnn.device.two_places", [*arguments, str(tmp_path)], 2, log)
    found = [(tmp_path / f"{rank}").read_text().splitlines() for rank in range(2)]
    for lines in found:
        assert lines[0] == lines[1], "losses with everything on each GPU, and with features on both"
        (loss, _), (cramped, _) = (literal_eval(line)[0] for line in lines[::2])
        assert cramped == pytest.approx(loss, rel=1e-4), "and where one process has too little room for its batches"
    assert found[0] == found[1]
    assert "placement: sharded: 0.0 GiB of edges on the GPU, 0.0 GiB of features spread over 2 GPUs" in log.read_text()


# ----------------------------------------------------------------------------------------------- what does not fit


def test_a_graph_that_fits_nowhere_is_said_before_it_is_loaded(small_graph, monkeypatch):
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda _: (1000, 1000))
    monkeypatch.setattr(placement, "available_bytes", lambda: 1 << 40)
    monkeypatch.setattr(DeviceGraph, "load", None)
    load = Load(small_graph.tensor("train"), 8, (2, 2))
    for place in ("auto", "gpu"):
        with pytest.raises(MachineError, match=r"placement gpu needs 0\.0 GiB of GPU memory, 0\.0 GiB are free"):
            placed_graph(small_graph, torch.device("cuda"), place, load, 0, Ranks())


def test_too_little_host_memory_is_said_before_it_is_asked_for(small_graph, device, monkeypatch):
    demand = memory_demand(small_graph.info, 0)
    tight = FreeMemory(demand.kept + demand.places + demand.indices, 1000)
    monkeypatch.setattr(placement, "measured", lambda *_: tight)
    monkeypatch.setattr(placement, "on_device", None)
    load = Load(small_graph.tensor("train"), 8, (2, 2))
    with pytest.raises(MachineError, match=r"placement host_features needs .* GiB of host memory") as error:
        placed_graph(small_graph, device, "auto", load, 0, Ranks())
    assert "placement host needs" in str(error.value)
    assert "larger machine" in error.value.remedy


def test_the_machine_is_measured(device):
    found = placement.measured(device, Ranks())
    assert 0 < found.gpu_bytes <= PLENTY and 0 < found.host_bytes < PLENTY
    assert (found.world, found.peers) == (1, False)
