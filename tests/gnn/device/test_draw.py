"""Draws by many lanes at once are those that the sampler specifies, one after the other."""

import pytest
import torch

from hone.gnn.seeds import Plan
from tests.gnn.device.test_edges import HUB, drawn_by, graph_of
from tests.gnn.device.test_sampler import sampled
from tests.gnn.sampling.specified import halves, hop_key, positions

SEED = 7


def lists_of_all_lengths(device, fanout, nodes):
    """Node i has i % (3 * fanout + 2) neighbours, numbered as the edges are."""
    degrees = torch.arange(nodes) % (3 * fanout + 2)
    return graph_of(device, degrees, torch.arange(int(degrees.sum())) % nodes, width=8)


CASES = [(fanout, 150) for fanout in (1, 2, 3, 4, 5, 7, 11, 16, 17, 25, 32)] + [(25, 5100)]


@pytest.mark.parametrize(("fanout", "rows"), CASES)
def test_each_row_draws_what_is_specified(kernels, device, fanout, rows):
    graph = lists_of_all_lengths(device, fanout, rows)
    plan = Plan(torch.arange(rows).flip(0), rows)
    ((place, _),) = sampled(kernels, graph, plan, fanouts=(fanout,), seed=SEED)
    indptr, indices = graph.indptr.tolist(), graph.indices.tolist()
    degrees, slots = place.hops[0].degrees.tolist(), place.hops[0].neighbours.view(rows, fanout).tolist()
    key, again = hop_key(SEED, 0, 0, 0), 0
    for row, node in enumerate(plan.order.tolist()):
        start, degree = indptr[node], indptr[node + 1] - indptr[node]
        chosen = positions(key, node, degree, fanout)
        assert degrees[row] == len(chosen) == min(degree, fanout)
        assert slots[row] == [indices[start + at] for at in chosen] + [0] * (fanout - len(chosen))
        again += any(at == degree - fanout + k for k, at in enumerate(chosen)) and degree > fanout
    assert again > 30, "many took the last position of those that they could have"


@pytest.mark.parametrize(("fanout", "rows"), [(5, 150), (7, 20_100)])
def test_an_inner_hop_draws_what_a_last_one_does(kernels, device, fanout, rows):
    """Its neighbours have local ids, for which draws went into the map."""
    graph, plan = lists_of_all_lengths(device, fanout, rows), Plan(torch.arange(rows).flip(0), rows)
    ((last, _),) = sampled(kernels, graph, plan, fanouts=(fanout,), seed=SEED)
    ((inner, _),) = sampled(kernels, graph, plan, fanouts=(fanout, 1), seed=SEED)
    degrees = last.hops[0].degrees[:rows]
    there = torch.arange(fanout, device=degrees.device) < degrees[:, None]
    drawn, local = (place.hops[0].neighbours[: rows * fanout].view(rows, fanout)[there] for place in (last, inner))
    assert torch.equal(inner.hops[0].degrees[:rows], degrees)
    assert torch.equal(inner.nodes[local.long()], drawn)


def refusals(key, node, degree, fanout):
    """How many numbers are refused on the way to a row's draws."""
    numbers, refused = halves(key, node), 0
    for bound in range(degree - fanout + 1, degree + 1):
        while next(numbers) * bound % 2**32 < 2**32 % bound:
            refused += 1
    return refused


def test_a_refused_number_moves_all_behind_it(kernels, device):
    """One in a thousand is, of a hub with ten million neighbours."""
    graph, batches = graph_of(device, [HUB], torch.arange(HUB), width=8), 100
    plan = Plan(torch.zeros(batches, dtype=torch.int64), 1)
    keys = [hop_key(SEED, 0, batch, 0) for batch in range(batches)]
    places = sampled(kernels, graph, plan, fanouts=(32,), seed=SEED)
    for (place, _), key in zip(places, keys, strict=True):
        assert drawn_by(place)[0].tolist() == positions(key, 0, HUB, 32)
    assert sum(refusals(key, 0, HUB, 32) for key in keys) > 1
