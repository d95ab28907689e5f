"""The share of an operator in the preparation of a training's batches."""

import pytest
import torch

from hone.core.files import read_records, write_records
from hone.machine.environment import cpu_model
from hone.operators import OperatorError
from hone.records import OperatorShare
from hone.selection.loop.batches import builtin_library, calls, first_batches
from hone.selection.loop.operator_share import measure
from tests.gnn.blocks import job
from tests.selection.operator import DEFINITION


def test_the_builtin_is_called_as_the_sampler_s_inner_loop(small_graph, library, tmp_path):
    (seeds,) = first_batches(small_graph, 64, 0, 1)
    (made,) = calls(DEFINITION, small_graph, library, (4, -1, 3), [seeds])
    first, last = made  # all neighbours are taken without drawing
    assert first.sizes == {"offsets": 601, "edges": small_graph.info.num_edges, "count": 64, "fanout": 4}
    assert torch.equal(first.values[2], seeds.int())
    neighbours, degrees = first.results(builtin_library(DEFINITION, tmp_path))
    for row, node in enumerate(seeds.tolist()):
        wanted = small_graph.neighbours(node)[:4].tolist()
        assert degrees[row] == len(wanted)
        assert neighbours[row].tolist() == wanted + [-1] * (4 - len(wanted))
    assert last.sizes["count"] > 64 and last.sizes["fanout"] == 3


def test_an_operator_of_other_arguments_is_refused(small_graph, library):
    inputs = (*DEFINITION.inputs[:3], DEFINITION.inputs[3].model_copy(update={"name": "secret"}))
    other = DEFINITION.model_copy(update={"inputs": inputs})
    seeds = first_batches(small_graph, 64, 0, 1)
    with pytest.raises(OperatorError, match="nobody knows what secret is"):
        list(calls(other, small_graph, library, (4,), seeds))
    wide = DEFINITION.model_copy(update={"axes": {**DEFINITION.axes, "width": 3}})
    with pytest.raises(OperatorError, match="neither one of an input nor the fanout"):
        list(calls(wide, small_graph, library, (4,), seeds))


def test_the_share_of_each_operator_is_measured(small_graph, library, tmp_path):
    write_records(tmp_path / "definitions.jsonl", [DEFINITION, DEFINITION.model_copy(update={"title": "other"})])
    given = {"store": tmp_path / "store", "output": tmp_path / "shares.jsonl"}
    (found,) = measure(job("pipelined"), small_graph.path, library, [tmp_path / "definitions.jsonl"], **given)
    assert (found.operator, found.graph, found.where) == ("sample_neighbours", "small", cpu_model())
    assert 0 < found.share <= 1 and found.batches == 8
    assert read_records(tmp_path / "shares.jsonl", OperatorShare) == [found]
    assert measure(job("plain"), small_graph.path, library, [tmp_path / "definitions.jsonl"], **given) == []
