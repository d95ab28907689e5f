"""The product of many rows with a small matrix: PyTorch's, whatever kernel does it."""

import pytest
import torch

from hone.gnn.device.row_product import RowProduct
from hone.gnn.device.streams import graph_of


@pytest.mark.parametrize(("rows", "inner", "columns"), [(1, 16, 8), (130, 64, 24), (5000, 256, 256), (70_000, 32, 16)])
def test_it_is_pytorchs_product(device, rows, inner, columns):
    generator = torch.Generator().manual_seed(rows)
    left, right = (torch.randn(*shape, generator=generator) for shape in ((rows, inner), (inner, columns)))
    left, right = left.bfloat16().to(device), right.bfloat16().to(device)
    out = torch.full((rows, columns), float("nan"), dtype=torch.bfloat16, device=device)
    product = RowProduct(rows, inner, columns, device)
    product(left, right, out)
    expected = left.double() @ right.double()
    assert torch.allclose(out.double(), expected, rtol=2**-7, atol=2**-7)
    assert device.type == "cpu" or product.is_own, "cuBLASLt has such a kernel for every shape here"


def test_a_captured_product_reads_what_is_there_when_it_is_launched(device):
    if device.type == "cpu":
        pytest.skip("graphs need a GPU")
    left, right = torch.randn(300, 64, device=device).bfloat16(), torch.randn(64, 32, device=device).bfloat16()
    out = torch.zeros(300, 32, dtype=torch.bfloat16, device=device)
    product = RowProduct(300, 64, 32, device)
    launch = graph_of(lambda: product(left, right, out))
    left.mul_(2)
    launch()
    assert torch.allclose(out.double(), left.double() @ right.double(), rtol=2**-7, atol=2**-7)
