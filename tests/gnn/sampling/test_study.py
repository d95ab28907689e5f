"""The tables of the design study and of throughput, on a small graph, with a stand-in for SALIENT's module."""

import csv

import pytest

from hone.core.errors import ConfigError, MachineError
from hone.gnn.sampling.design import BOOKKEEPING, MAPS, Design
from hone.gnn.study import STUDY_COLUMNS, THREADS_COLUMNS, Load, explore, grid, thread_counts, throughput

LOAD = Load((4, 3), batch_size=50)
FAST_SAMPLER = '''
class Config:
    pass

class Session:
    """Gives every batch at the second try; a batch is its seeds, each with one edge to itself."""

    def __init__(self, threads, ahead, config):
        assert str(config.col.dtype) == "torch.int64" and config.y.shape[1] == 1
        assert config.sizes == [4, 3] and not config.pin_memory and ahead == threads + 2
        self.parts = list(config.idx.split(config.batch_size))
        self.num_total_batches = len(self.parts)
        self.asked = 0

    def try_get_batch(self):
        self.asked += 1
        if self.asked % 2:
            return None
        seeds = self.parts.pop(0)
        return self.of(seeds)

    @staticmethod
    def of(seeds):
        return seeds, None, [(seeds, seeds, seeds, (1, 1))], (0, 1)
'''


def read(path):
    with path.open(newline="") as handle:
        return list(csv.DictReader(handle))


def test_the_grid_has_every_design_once_and_the_plainest_first():
    designs = grid()
    assert len(designs) == len(set(designs)) == 122
    assert designs[0] == Design("stl", "set", block=0, rows_ahead=0)
    assert {design.map for design in designs} == set(MAPS)
    assert {design.bookkeeping for design in designs} == set(BOOKKEEPING)


@pytest.mark.parametrize(("cores", "counts"), [(1, [1]), (2, [1, 2]), (6, [1, 2, 4, 6]), (16, [1, 2, 4, 8, 16])])
def test_thread_counts(cores, counts):
    assert thread_counts(cores) == counts


def test_the_study_measures_the_same_batches(small_graph, study_library, tmp_path):
    designs = [Design("stl", "set", 0, 0), Design(fused=True), Design("direct", stream=False)]
    store = study_library.parents[3]
    explore(small_graph.path, tmp_path / "study.csv", store=store, load=LOAD, batches=2, rounds=2, designs=designs)
    rows = read(tmp_path / "study.csv")
    assert tuple(rows[0]) == STUDY_COLUMNS
    assert [row["map"] for row in rows] == ["stl", "tagged", "direct"]
    assert [row["slicing"] for row in rows] == ["after", "fused", "after"]
    assert [row["stores"] for row in rows] == ["streaming", "streaming", "cached"]
    assert len({(row["unique_nodes"], row["sampled_edges"]) for row in rows}) == 1
    assert {row["batches"] for row in rows} == {"4"} and float(rows[0]["speedup"]) == 1
    assert {(row["graph"], row["fanouts"], row["batch_size"], row["pages"]) for row in rows} == {
        ("small", "4 3", "50", "maps")
    }


def test_throughput_is_measured_side_by_side(small_graph, library, tmp_path):
    module = tmp_path / "fast_sampler.py"
    module.write_text(FAST_SAMPLER)
    load = Load((4, 3), batch_size=50, large_pages=True)
    arguments = {"store": library.parents[3], "load": load, "threads": [1, 2], "batches": 5, "rounds": 3}
    throughput(small_graph.path, tmp_path / "threads.csv", fast_sampler=module, **arguments)
    rows = read(tmp_path / "threads.csv")
    assert tuple(rows[0]) == THREADS_COLUMNS
    assert [(row["system"], row["threads"], row["batches"]) for row in rows] == [
        ("hone", "1", "15"), ("hone", "2", "30"), ("salient", "1", "15"), ("salient", "2", "30"),
    ]  # fmt: skip
    for ours, theirs in zip(rows[:2], rows[2:], strict=True):
        expected = float(theirs["batch_ms"]) / float(ours["batch_ms"])
        assert float(ours["speedup_over_salient"]) == pytest.approx(expected, rel=1e-4)
        assert float(theirs["unique_nodes"]) == float(theirs["sampled_edges"]) == 50
        assert float(ours["batch_ms_low"]) <= float(ours["batch_ms"]) <= float(ours["batch_ms_high"])
    throughput(small_graph.path, tmp_path / "alone.csv", **arguments)
    assert {row["speedup_over_salient"] for row in read(tmp_path / "alone.csv")} == {""}


def test_what_cannot_be_measured_is_told(small_graph, library, tmp_path):
    store = library.parents[3]
    with pytest.raises(ConfigError, match="360 training nodes make no batch of 1024"):
        throughput(small_graph.path, tmp_path / "out.csv", store=store, load=Load(), threads=[1])
    (tmp_path / "fast_sampler.so").write_bytes(b"\x7fELF")
    with pytest.raises(MachineError, match="cannot load SALIENT's sampler"):
        throughput(
            small_graph.path, tmp_path / "out.csv", store=store, load=LOAD, threads=[1],
            fast_sampler=tmp_path / "fast_sampler.so",
        )  # fmt: skip
    assert Load.for_graph(small_graph.path).batch_size == 360
