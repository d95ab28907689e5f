"""Bytes and operations that a batch needs at least, by hand on a tiny graph; and which kernel's time is whose."""

import csv
from types import SimpleNamespace

import pytest
import torch

from hone.core.csv_table import write_table
from hone.core.errors import MachineError
from hone.gnn.device.kernel_work import BatchCounts, HopCounts, batch_work
from hone.gnn.device.memory import BatchRoom, DeviceGraph, Room
from hone.gnn.device.roofline import COLUMNS, Launch, Machine, attributed, kernels_of, table_rows
from hone.gnn.device.sampler import DeviceSampler
from hone.gnn.seeds import Plan
from hone.records.gnn import ALL_KERNELS, WHOLE_EPOCH

SEEDS, FANOUTS, WIDTHS = 2, (2, 3), (8, 16, 8)


@pytest.fixture(scope="session")
def ring(device):
    """Twelve nodes, each next to the one before and the one behind."""
    neighbours = [sorted(((node - 1) % 12, (node + 1) % 12)) for node in range(12)]
    indptr, indices = torch.arange(13) * 2, torch.tensor(neighbours).flatten().int()
    arrays = indptr, indices, torch.zeros(12, 8, dtype=torch.bfloat16), torch.zeros(12, dtype=torch.int64)
    return DeviceGraph(*(array.to(device) for array in arrays))


@pytest.fixture(scope="session")
def counts(kernels, ring):
    """Of a batch with two seeds on opposite sides of the ring: every neighbour is drawn."""
    room = Room.largest(SEEDS, FANOUTS, 12)
    sampler = DeviceSampler(ring, room, kernels, seed=0, max_seeds=SEEDS)
    place = BatchRoom(room, 2, ring.labels.device)
    sampler.begin(Plan(torch.tensor([0, 6]), SEEDS))
    sampler.make_ready(1)
    sampler.sample(place)
    return BatchCounts.of(place, ring)


def test_a_batch_is_counted(counts):
    # Hop 1: 0 and 6 draw 11, 1, 5, 7. Hop 2: those six draw two each, of which 0, 6, 2, 10, 4, 8 are new or seen.
    assert counts.hops == (HopCounts(2, 4, 64, 4, 6), HopCounts(6, 12, 192, 10, 0))
    assert (counts.feature_rows, counts.edges) == (10, 16)
    assert BatchCounts.mean([counts, counts]) == counts


def test_what_each_kernel_must_move(counts):
    work = {item.kernel: item for item in batch_work(counts, WIDTHS, parameters=400, deterministic=False)}
    assert list(work) == [
        "begin_batch", "draw, hop 1", "number_nodes, hop 1", "relabel, hop 1", "offset_readers, hop 1",
        "list_readers, hop 1", "draw_neighbours, hop 2", "end_batch", "mean_of_features",
        "product, layer 1 forward", "mean_of_states, layer 2", "product, layer 2 forward",
        "loss_and_gradient", "sum_losses", "note_loss", "products, layer 2 backward",
        "gradient_of_states, layer 2", "products, layer 1 backward", "adam",
    ]  # fmt: skip
    by_hand = {
        "draw, hop 1": 2 * (4 + 4 + 32) + 64 + 4 * 4 + 2 * 32 * 4,
        "draw_neighbours, hop 2": 6 * (4 + 4 + 32) + 192 + 4 * 12,
        "offset_readers, hop 1": 8 * 6,
        "mean_of_features": 10 * 8 * 2 + 6 * (4 + 4) + 12 * 4 + 6 * 16 * 2,
        "product, layer 1 forward": 2 * (6 * 16 + 16 * 16 + 6 * 16),
        "mean_of_states, layer 2": 6 * 16 * 2 + 2 * 4 + 4 * 4 + 2 * 32 * 2 + 6 * 16 / 8,
        "products, layer 2 backward": 2 * (2 * 32 + 2 * 8) + 4 * 32 * 8 + 2 * (2 * 8 + 32 * 8 + 2 * 32),
        "gradient_of_states, layer 2": 2 * 32 * 2 + 2 * 4 + 4 * 4 + 6 * 4 + 6 * 16 * 2 + 6 * 16 / 8,
        "products, layer 1 backward": 2 * (6 * 16 + 6 * 16) + 4 * 16 * 16,
        "adam": 30 * 400,
    }
    assert {name: work[name].bytes for name in by_hand} == by_hand
    plain = {item.kernel: item.bytes for item in batch_work(counts, WIDTHS, 400, deterministic=False, noting=False)}
    assert work["mean_of_states, layer 2"].bytes - plain["mean_of_states, layer 2"] == 6 * 16 / 8
    assert plain["gradient_of_states, layer 2"] - work["gradient_of_states, layer 2"].bytes == 6 * 16 * (2 - 1 / 8)
    assert work["product, layer 1 forward"].flops == 2 * 6 * 16 * 16
    assert work["products, layer 2 backward"].flops == 2 * 2 * 2 * 32 * 8
    sorts = [item.kernel for item in batch_work(counts, WIDTHS, 400, deterministic=True)]
    assert sorts.index("sort_readers, hop 1") == sorts.index("list_readers, hop 1") + 1


def test_what_the_first_weights_gradient_in_one_kernel_must_move(counts):
    plain, work = (
        {item.kernel: item for item in batch_work(counts, WIDTHS, 400, deterministic=True, unread=frozenset(unread))}
        for unread in ((), {0})
    )
    gone = {"gradient_of_states, layer 2", "products, layer 1 backward"}
    gone |= {f"{name}, hop 1" for name in ("offset_readers", "list_readers", "sort_readers")}
    assert plain.keys() - work.keys() == gone
    assert list(work)[-4:] == [
        "products, layer 2 backward", "gradient_of_weights, layer 1", "sum_weight_parts, layer 1", "adam"
    ]  # fmt: skip
    found = work["gradient_of_weights, layer 1"]
    assert found.bytes == 6 * (16 * 2 + 16 / 8) + 2 * 32 * 2 + 2 * 4 + 4 * 4 + 16 * 16 * 4
    assert found.flops == 2 * (4 + 2) * 16 * 16
    assert plain["relabel, hop 1"].bytes - work["relabel, hop 1"].bytes == 8 * 4 + 4 * 4
    assert {work[name].bytes - plain[name].bytes for name in work.keys() & plain.keys() - {"relabel, hop 1"}} == {0}


def test_the_first_weights_of_three_layers_have_the_terms_of_the_hop_before_the_last():
    hops = tuple(HopCounts(rows, 4.0 * rows, 64, 4, sources) for rows, sources in ((2, 9), (9, 40), (40, 0)))
    work = batch_work(BatchCounts(hops, 70), (8, 16, 16, 8), 400, deterministic=False, unread=frozenset({1}))
    named = {item.kernel: item for item in work}
    assert named["gradient_of_weights, layer 1"].flops == 2 * (36 + 9) * 16 * 16
    assert named["sum_weight_parts, layer 1"].bytes == 2 * 4 * 16 * 16
    assert [name for name in named if name.startswith("gradient_of_states")] == ["gradient_of_states, layer 3"]
    assert [name for name in named if name.startswith("list_readers")] == ["list_readers, hop 1"]


def seen(work, batches=2, prefix="void hone::"):
    """What a profiler gives when our kernels take a microsecond, and each product two kernels of ten."""
    found = [Launch("Memcpy HtoD", 0.0, 99.0), Launch("fill", 1.0, 99.0)]
    for _ in range(batches):
        for item in work:
            launches = [(f"{prefix}{item.launch}<5>(x)", 1.0)] if item.launch else [("gemm", 10.0), ("splitK", 10.0)]
            found += [Launch(name, len(found), lasted_us) for name, lasted_us in launches]
        found.append(Launch("Memcpy DtoH", len(found), 99.0))
    return found


def test_time_goes_to_the_kernel_that_took_it(counts):
    work = batch_work(counts, WIDTHS, 400, deterministic=True)
    assert attributed(work, seen(work), 2) == [1.0 if item.launch else 20.0 for item in work]
    with pytest.raises(MachineError, match="saw 2 batches of 3"):
        attributed(work, seen(work), 3)
    other = batch_work(counts, WIDTHS, 400, deterministic=False)
    with pytest.raises(MachineError, match="sort_readers ran where draw_neighbours, hop 2 was expected"):
        attributed(other, seen(work), 2)


def test_kernels_are_taken_from_the_profilers_events_in_order():
    def event(name, kind, start, **more):
        time = SimpleNamespace(start=start, elapsed_us=lambda: 3.0)
        return SimpleNamespace(name=name, device_type=SimpleNamespace(name=kind), time_range=time, **more)

    events = [event("b", "CUDA", 2.0), event("x", "CPU", 0.0), event("a", "CUDA", 1.0, is_user_annotation=False)]
    events.append(event("range", "CUDA", 0.0, is_user_annotation=True))
    assert kernels_of(events) == [Launch("a", 1.0, 3.0), Launch("b", 2.0, 3.0)]


def test_the_table_has_floors_by_bytes_or_arithmetic_and_what_is_left(counts, tmp_path):
    work = batch_work(counts, WIDTHS, 400, deterministic=False)
    machine = Machine(bytes_per_us=100.0, flops_per_us=10.0)
    rows = table_rows(work, [2.0] * len(work), 30.0, machine)
    named = {row["kernel"]: row for row in rows}
    assert named["adam"]["floor_us"] == 120.0
    assert named["product, layer 1 forward"]["floor_us"] == 2 * 6 * 16 * 16 / 10
    assert named[ALL_KERNELS]["measured_us"] == 2.0 * len(work)
    assert named[ALL_KERNELS]["floor_us"] == pytest.approx(sum(row["floor_us"] for row in rows[:-2]))
    assert sum(row["share"] for row in rows[:-2]) == pytest.approx(1.0)
    assert (named[WHOLE_EPOCH]["measured_us"], named[WHOLE_EPOCH]["floor_us"]) == (30.0, named[ALL_KERNELS]["floor_us"])
    write_table(tmp_path / "t.csv", COLUMNS, rows)
    with (tmp_path / "t.csv").open() as file:
        assert [row["kernel"] for row in csv.DictReader(file)] == [row["kernel"] for row in rows]
