"""The study `epoch`: what can be chosen of the device system, and a search that keeps what learns the same."""

import csv
from contextlib import nullcontext

import pytest
import torch
from typer.testing import CliRunner

from hone.core.errors import ConfigError, MachineError
from hone.gnn.device.loop import PRIORITIES
from studies.__main__ import app
from studies.epoch import bench as module
from studies.epoch.bench import Epoch, EpochBench
from studies.epoch.search import COLUMNS, _compared, searched
from studies.epoch.space import CONSTANTS, GATHERS, priorities_at, source_at, space
from studies.epoch.stages import bench_for, device_source

from .conftest import compiled_source
from .test_training import told

FIRST = space().first


class Timed:
    """A bench whose epochs take what it is told, less for some values."""

    def __init__(self, faster=None, odd=None, refused=None):
        self.faster, self.odd, self.refused = faster or {}, odd, refused
        self.built, self.asked = [], []

    def build(self, source):
        self.built.append(source)
        if self.refused and self.refused in source:
            raise MachineError("it does not compile: too many\nregisters")
        return source

    def epoch(self, library, values, batches, repetitions):
        assert library == source_at(device_source(), values)
        self.asked.append((dict(values), batches))
        us = 100.0 - sum(gain for name, (value, gain) in self.faster.items() if values[name] == value)
        loss = 5.05 if self.odd and values[self.odd[0]] == self.odd[1] else 5.0
        return Epoch(batches or 1179, us, loss)

    def check(self, values):
        self.checked = values


def found(bench, evaluations=60, **others):
    notes = []
    rows = searched(
        bench, device_source(), evaluations=evaluations, finalists=2, seed=1, note=lambda rows: notes.append(len(rows)),
        **others,
    )  # fmt: skip
    assert notes == sorted(notes) and notes[-1] == len(rows)
    assert all(set(row) == set(COLUMNS) for row in rows)
    return rows


def test_the_first_choice_is_what_the_device_system_does():
    assert source_at(device_source(), FIRST) == device_source()
    assert priorities_at(FIRST) == PRIORITIES
    assert (FIRST["spare"], FIRST["reserved_kib"]) == (0, 0)


@pytest.mark.parametrize(("name", "value"), [(name, value) for name in CONSTANTS for value in CONSTANTS[name][1:]])
def test_a_constant_is_set_in_one_place(name, value):
    before, after = device_source().splitlines(), source_at(device_source(), {**FIRST, name: value}).splitlines()
    changed = [(one, other) for one, other in zip(before, after, strict=True) if one != other]
    assert len(changed) == 1
    assert f"{name} = {FIRST[name]}" in changed[0][0] and f"{name} = {value}" in changed[0][1]


def test_memory_is_reserved_where_features_are_gathered():
    text = source_at(device_source(), {**FIRST, "reserved_kib": 24})
    assert text.count("reserved[24576]") == 1
    assert text.index("reserved[24576]") > text.index(GATHERS)


@pytest.mark.parametrize("text", ["", "constexpr int kFeatureThreads = 128; constexpr int kFeatureThreads = 64;"])
def test_a_source_that_the_study_does_not_know_is_an_error(text):
    with pytest.raises(ValueError, match=r"sets kFeatureThreads [02] times"):
        source_at(text, FIRST)
    with pytest.raises(ValueError, match="does not begin as this study knows"):
        source_at(device_source().replace(GATHERS, ""), {**FIRST, "reserved_kib": 24})


def test_the_search_finds_what_makes_epochs_shorter():
    """Times are those of whole epochs in the end, each beside today's."""
    bench = Timed(faster={"spare": (8, 20.0), "kStatesAhead": (3, 10.0)})
    rows = found(bench)
    last = [row for row in rows if row["rung"] is None]
    assert len(last) == 2 and all(row["batches"] == 1179 for row in last)
    assert max(row["speedup"] for row in last) == pytest.approx(100 / 70)
    assert all(row["today_us"] == 100.0 and row["speedup"] == row["today_us"] / row["us"] for row in rows)
    assert {row["batches"] for row in rows if row["rung"] == 1} == {240}
    assert rows[0] | FIRST == rows[0]
    assert sum(values == FIRST for values, _ in bench.asked) >= len({row["rung"] for row in rows})


def test_what_learns_something_else_does_not_win():
    rows = found(Timed(faster={"spare": (8, 50.0)}, odd=("spare", 8)))
    odd = [row for row in rows if row["spare"] == 8]
    assert odd and all(row["speedup"] is None and row["problem"] == "another loss than today's 5" for row in odd)
    assert all(row["spare"] != 8 for row in rows if row["rung"] is None)


def test_what_does_not_compile_is_noted_and_left():
    rows = found(Timed(refused="kThreads = 512"))
    refused = [row for row in rows if row["kThreads"] == 512]
    assert refused and all((row["us"], row["speedup"]) == (None, None) for row in refused)
    assert {row["problem"] for row in refused} == {"it does not compile: too many"}
    with pytest.raises(MachineError, match="does not compile"):
        found(Timed(refused="kThreads = 256"))


def test_a_kernel_that_the_gpu_refuses_is_noted():
    class Refusing(Timed):
        def epoch(self, library, values, batches, repetitions):
            if values["kMeanThreads"] == 256:
                raise RuntimeError("CUDA error: too many resources requested for launch")
            return super().epoch(library, values, batches, repetitions)

    bench = Refusing()
    rows = found(bench)
    assert bench.checked["kMeanThreads"] == 256
    assert {row["problem"] for row in rows if row["kMeanThreads"] == 256} == {
        "CUDA error: too many resources requested for launch"
    }


def test_equal_sources_are_compiled_once():
    bench = Timed()
    rows = found(bench)
    chosen = sum(all(row[name] == FIRST[name] for name in FIRST) for row in rows)
    questions = (sum(values == FIRST for values, _ in bench.asked) - chosen) / 2  # today's, before and after
    assert chosen and bench.built.count(device_source()) == questions
    assert len(rows) > len(set(bench.built))  # streams are no part of a source
    with pytest.raises(ValueError, match="1 evaluations are not enough"):
        found(Timed(), evaluations=1)


@pytest.mark.parametrize("loss", [5.05, float("nan"), float("inf")])
def test_another_loss_has_no_speedup(loss):
    assert _compared(Epoch(9, 50.0, loss), Epoch(9, 100.0, 5.0)) == (None, "another loss than today's 5")
    assert _compared(Epoch(9, 50.0, 5.02), Epoch(9, 100.0, 5.0)) == (2.0, "")


class Loop:
    """Takes a millisecond a batch by its own clock; learns."""

    group = 2

    def __init__(self):
        self.now_s, self.runs, self.closed = 0.0, [], False

    def run(self, plan):
        self.now_s += 1e-3 * len(plan)
        self.runs.append(len(plan))
        return (5.0 if len(self.runs) == 1 else 4.0) * len(plan.order)

    def close(self):
        self.closed = True


@pytest.mark.parametrize(("batches", "most", "wanted"), [(None, None, 6), (5, None, 4), (1, None, 2), (None, 3, 3)])
def test_an_epoch_is_timed_with_what_was_chosen(small_graph, compiled, monkeypatch, batches, most, wanted):
    """Streams' priorities and cuBLAS's share; so many batches, and the loss of the first time."""
    made, told_cublas, given = Loop(), [], []
    monkeypatch.setattr(module, "device_loop", lambda *arguments: (given.append(arguments[-1]), made, None))
    monkeypatch.setattr(module, "leaving", lambda spare, device: told_cublas.append(spare) or nullcontext())
    monkeypatch.setattr(module.time, "perf_counter", lambda: made.now_s)
    cpu = torch.device("cpu")
    bench = EpochBench(told(cpu, validation=None, inference={"splits": []}, max_batches=most), small_graph, cpu, str)
    found = bench.epoch(compiled, {**FIRST, "sampling": -4, "gathering": -2, "spare": 16}, batches, 2)
    assert (found.batches, found.us, found.loss) == (wanted, pytest.approx(1000.0), 5.0)
    assert made.runs == [wanted] * 3 and made.closed
    assert given == [PRIORITIES._replace(sampling=-4, gathering=-2)] and told_cublas == [16]


def test_the_command_keeps_every_timing(tmp_path, monkeypatch):
    monkeypatch.setattr("studies.epoch.stages.bench_for", lambda config, graph: Timed())
    output = tmp_path / "epoch.csv"
    answer = CliRunner().invoke(app, ["epoch", "--graph", "any", "--evaluations", "20", "--output", str(output)])
    assert answer.exit_code == 0 and "held" in answer.output
    rows = list(csv.DictReader(output.read_text().splitlines()))
    assert [int(row["step"]) for row in rows] == list(range(len(rows)))
    assert 3 < len(rows) <= 20 and sum(row["rung"] == "" for row in rows) == 3


@pytest.mark.slow
def test_other_choices_learn_the_same(small_graph, compiled, device, tmp_path):
    """With every second value at once, and features gathered by blocks that reserve memory."""
    job = told(device, validation=None, inference={"splits": []})
    bench = EpochBench(job, small_graph, device, lambda source: compiled_source(source, device, tmp_path))
    other = {item.name: item.values[1] for item in space().parameters}
    today = bench.epoch(compiled, FIRST, None, 2)
    tried = bench.epoch(bench.build(source_at(device_source(), other)), other, None, 2)
    assert today.us > 0 and tried.us > 0
    assert tried.loss == pytest.approx(today.loss, rel=5e-3)
    part = bench.epoch(compiled, FIRST, 1, 1)  # a group at least
    assert part.loss > today.loss


def test_a_missing_graph_is_one_error(tmp_path, monkeypatch):
    config = tmp_path / "mine.yaml"
    config.write_text(
        "graphs: {small: {kind: synthetic, nodes: 600, classes: 4}}\n"
        "trainings: {first: {graphs: [small], systems: [device], device: cuda, precision: bfloat16}}\n"
    )
    with pytest.raises(ConfigError, match="no such graph: smal"):
        bench_for(config, "smal")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match="not prepared") as caught:
        bench_for(config, "small")
    assert "snakemake graphs" in str(caught.value)
