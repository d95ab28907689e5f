import pytest
import torch

from hone.gnn.aggregate import destinations, neighbour_mean, neighbour_sum, row_max, row_sum, transposed
from hone.gnn.batch import Block
from tests.gnn.blocks import dense, random_block


@pytest.fixture(params=[0, 1, 2])
def block(request):
    return random_block(seed=request.param, loops=request.param == 2)


def test_sum_and_mean_are_those_of_the_dense_matrix(block):
    x = torch.randn(block.num_src, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    matrix = dense(block)
    assert torch.allclose(neighbour_sum(x, block), matrix @ x)
    assert torch.allclose(neighbour_mean(x, block), matrix @ x / matrix.sum(1, keepdim=True).clamp(min=1))
    assert neighbour_mean(x, block)[0].tolist() == [0, 0, 0], "a row without neighbours is zero"


def test_gradients_are_right_also_of_the_weights(block):
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(block.num_src, 3, dtype=torch.float64, generator=generator, requires_grad=True)
    weights = torch.randn(block.num_edges, dtype=torch.float64, generator=generator, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: neighbour_sum(x, block), (x,))
    assert torch.autograd.gradcheck(lambda x, w: neighbour_sum(x, block, w), (x, weights))
    assert torch.autograd.gradcheck(lambda w: row_sum(w, block), (weights,))


def test_rows_are_summed_and_their_largest_is_found(block):
    values = torch.randn(block.num_edges, generator=torch.Generator().manual_seed(1))
    rows = destinations(block)
    for i in range(block.num_dst):
        own = values[rows == i]
        assert torch.allclose(row_sum(values, block)[i], own.sum(), atol=1e-6)
        assert row_max(values, block)[i] == (own.max() if len(own) else -torch.inf)


def test_the_transposed_block_has_each_edge_under_its_source(block):
    bounds, edges = transposed(block)
    assert bounds.dtype == torch.int32
    for source in range(block.num_src):
        there = edges[bounds[source] : bounds[source + 1]]
        assert set(there.tolist()) == set((block.indices == source).nonzero()[:, 0].tolist())


def test_a_block_without_destinations_gives_nothing_and_gradients_of_zero():
    nothing = Block(torch.zeros(1, dtype=torch.int32), torch.zeros(0, dtype=torch.int32), 0, 4)
    x = torch.randn(4, 3, requires_grad=True)
    neighbour_mean(x, nothing).sum().backward()
    assert neighbour_mean(x, nothing).shape == (0, 3)
    assert not x.grad.any()


def test_the_backward_gives_the_same_bits_twice():
    block = random_block(50, 60)
    gradients = []
    for _ in range(2):
        x = torch.randn(60, 5, generator=torch.Generator().manual_seed(1), requires_grad=True)
        (neighbour_mean(x, block) ** 2).sum().backward()
        gradients.append(x.grad)
    assert torch.equal(*gradients)
