"""The study `epoch`: what can be chosen of the device system, and a search that keeps what learns the same."""

import pytest

from hone.core.errors import ConfigError, MachineError
from hone.gnn.device.loop import PRIORITIES
from studies.epoch.bench import Epoch, EpochBench
from studies.epoch.search import COLUMNS, searched
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
        self.asked.append((dict(values), batches))
        us = 100.0 - sum(gain for name, (value, gain) in self.faster.items() if values[name] == value)
        loss = 9.0 if self.odd and values[self.odd[0]] == self.odd[1] else 5.0
        return Epoch(us, loss)


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
    bench = Timed(faster={"spare": (8, 20.0), "kMany": (1, 10.0)})
    rows = found(bench)
    last = [row for row in rows if row["rung"] is None]
    assert len(last) == 2 and all(row["batches"] is None for row in last)
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

    rows = found(Refusing())
    assert {row["problem"] for row in rows if row["kMeanThreads"] == 256} == {
        "CUDA error: too many resources requested for launch"
    }


def test_equal_sources_are_compiled_once():
    bench = Timed()
    rows = found(bench)
    assert len(rows) > len(set(bench.built))  # streams are no part of a source
    with pytest.raises(ValueError, match="1 evaluations are not enough"):
        found(Timed(), evaluations=1)


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
