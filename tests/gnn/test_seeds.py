import pytest
import torch

from hone.gnn.seeds import Orders, Plan, derived_seed, shuffled


@pytest.mark.parametrize("nodes", [0, 1, 6, 23, 24])
@pytest.mark.parametrize("world", [1, 2, 3])
def test_the_ranks_together_see_every_node_once_in_equally_many_batches(nodes, world):
    order = torch.arange(nodes) * 10
    plans = [Plan(order, 4, rank=rank, world=world) for rank in range(world)]
    seen = []
    for index in range(len(plans[0])):
        parts = [plan.seeds(index).tolist() for plan in plans]
        assert sum(map(len, parts)) == plans[0].global_seeds(index) <= 4 * world
        assert max(map(len, parts)) - min(map(len, parts)) <= 1
        seen += [node for part in parts for node in part]
    assert sorted(seen) == order.tolist()
    assert len({len(plan) for plan in plans}) == 1


def test_global_batches_do_not_depend_on_the_number_of_ranks():
    order = shuffled(torch.arange(50), 0, 0)
    alone = Plan(order, 12)
    for index in range(len(alone)):
        together = torch.cat([Plan(order, 4, rank=rank, world=3).seeds(index) for rank in range(3)])
        assert sorted(together.tolist()) == sorted(alone.seeds(index).tolist())


def test_an_order_belongs_to_its_seed_and_epoch_and_touches_no_global_generator():
    before = torch.get_rng_state()
    orders = [shuffled(torch.arange(100), *key).tolist() for key in ((0, 0), (0, 0), (0, 1), (1, 0))]
    assert torch.equal(torch.get_rng_state(), before)
    assert orders[0] == orders[1]
    assert len({tuple(order) for order in orders}) == 3
    assert all(sorted(order) == list(range(100)) for order in orders)


def test_derived_seeds_tell_their_parts_apart():
    assert derived_seed("a", 1, 23) == derived_seed("a", 1, 23)
    assert len({derived_seed("a", 1, 23), derived_seed("a", 12, 3), derived_seed("a1", 2, 3), derived_seed()}) == 4
    assert 0 <= derived_seed("x") < 2**63


@pytest.mark.parametrize("epochs", [(0, 1, 2, 3), (2, 3), (1, 1, 3, 0), (3,)])
def test_orders_made_ahead_are_the_epochs_own(epochs):
    nodes = torch.arange(1000) * 3
    orders = Orders(nodes, 5, 4)
    assert all(torch.equal(orders.of(epoch), shuffled(nodes, 5, epoch)) for epoch in epochs)
    orders.close()
