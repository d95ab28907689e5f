"""The device sampler's operators as definitions: exact, and the same numbers as the C++ sampler's specification."""

import re

import pytest
import torch

from tests.gnn.sampling.specified import hop_key, positions
from tests.graph_ops import Calls, definitions
from tests.sources.extraction.test_graph_ops import CASES as OTHER_CASES

DRAW = {"offsets": 401, "edges": 9001, "count": 203, "sizes": 2, "words": 8}
NUMBER = {"count": 77, "room": 500, "table": 500, "sizes": 2}
CASES = [
    *(("draw_neighbours", {**DRAW, "fanout": fanout}) for fanout in (1, 5, 7, 13, 16, 25, 32)),
    ("draw_neighbours", {**DRAW, "offsets": 2, "edges": 70, "count": 1, "fanout": 16}),
    ("number_nodes", {**NUMBER, "fanout": 5}),
    ("number_nodes", {**NUMBER, "fanout": 20}),
    ("number_nodes", {**NUMBER, "fanout": 1, "room": 154, "table": 3000}),
    ("number_nodes", {**NUMBER, "count": 1, "fanout": 1, "room": 2, "table": 2}),
    ("number_nodes", {**NUMBER, "count": 700, "fanout": 3, "room": 1300, "table": 1300}),
]


def named(calls, values):
    return dict(zip((argument.name for argument in calls.definition.inputs), values, strict=True))


def results(calls, values, library=None):
    """Name -> what a call leaves in each tensor that it writes: the reference's, or a launcher's."""
    values = [value.clone() if torch.is_tensor(value) else value for value in values]
    outputs = calls.expected(values) if library is None else calls.launched(library, values)
    written = zip((argument.name for argument in calls.definition.outputs), outputs, strict=True)
    return named(calls, values) | dict(written)


@pytest.mark.parametrize(("title", "sizes"), CASES, ids=lambda value: value if isinstance(value, str) else None)
def test_the_loops_kernels_are_the_reference_bit_for_bit(emulated, title, sizes):
    calls = Calls(title, sizes)
    for seed in (1, 2, 3):
        values = calls.values(seed)
        expected, found = results(calls, values), results(calls, values, emulated(title))
        for name, value in expected.items():
            assert torch.equal(torch.as_tensor(found[name]), torch.as_tensor(value)), name


def test_draws_are_those_that_the_sampler_specifies():
    """Lists from none to some hundred neighbours; what is not drawn stays."""
    calls = Calls("draw_neighbours", {**DRAW, "fanout": 5})
    values = calls.values(3)
    before, after = named(calls, values), results(calls, values)
    rows, indptr = int(before["filled"][0]), before["indptr"]
    seed, epoch, batch = before["progress"][:3].tolist()
    key, lengths = hop_key(seed % 2**64, epoch, batch, before["hop"]), indptr.diff()[before["nodes"].long()]
    assert {0, 1} <= set(lengths.tolist()) and int(lengths.max()) > 100 and rows == 200
    for i, node in enumerate(before["nodes"][:rows].tolist()):
        start, length = int(indptr[node]), int(lengths[i])
        drawn = [int(before["indices"][start + at]) for at in positions(key, node, length, 5)]
        assert after["neighbours"][i].tolist() == drawn + before["neighbours"][i, len(drawn) :].tolist()
        assert int(after["degrees"][i]) == len(drawn)
    for name in ("neighbours", "degrees"):
        assert torch.equal(after[name][rows:], before[name][rows:])


@pytest.mark.parametrize("fanout", [7, 20])
def test_nodes_are_numbered_as_a_dictionary_would(fanout):
    calls = Calls("number_nodes", {**NUMBER, "fanout": fanout})
    values = calls.values(4)
    before, after = named(calls, values), results(calls, values)
    rows = int(before["filled"][0])
    known = {node: number for number, node in enumerate(before["nodes"][:rows].tolist())}
    places, counts = dict(known), [0] * 500
    for row, degree in enumerate(before["degrees"].tolist()):
        for k, node in enumerate(before["neighbours"][row].tolist()):
            if k < degree:
                places.setdefault(node, 77 + row * fanout + k)
                local = known.setdefault(node, len(known))
                assert int(after["neighbours"][row, k]) == local
                counts[local] += 1
            else:
                assert int(after["neighbours"][row, k]) == node
    assert after["filled"].tolist() == [rows, len(known)] and len(known) > rows
    assert after["nodes"].tolist() == [*known, *[-1] * (500 - len(known))]
    assert after["entries"].tolist() == [places.get(node, -1) for node in range(500)]
    assert after["counts"].tolist() == counts and max(counts) > 1


def test_both_samplers_references_draw_with_the_same_text():
    """Entries stand alone; what they have in common must not drift apart."""
    texts = [definitions()[name].reference for name in ("sample_neighbours", "draw_neighbours")]
    for function in ("mixed", "number", "below"):
        one, other = (re.search(rf"^def {function}\(.*?(?=^\S)", text, re.MULTILINE | re.DOTALL) for text in texts)
        assert one[0] == other[0]


@pytest.mark.parametrize(("title", "sizes"), [*CASES, *((title, sizes) for title, _, sizes in OTHER_CASES)])
def test_plain_numbers_are_the_same_for_all_seeds(title, sizes):
    """Where they change, runs cannot be graphs, and kernels of microseconds are timed with their launches."""
    calls = Calls(title, sizes)
    one, *others = ([value for value in calls.values(seed) if not torch.is_tensor(value)] for seed in (1, 2, 3))
    assert all(other == one for other in others)
