"""One decoder layer as in LLaMA, with random weights, whose small kernels can be exchanged.

    add + norm, query, key and value products, rotation, attention over a cached prefix, attention among the tokens,
    merge of the two, output product, add + norm, gate/up product, activation, down product

The tokens are one chunk of a sequence that begins with the prefix: two partitions of the keys, joined by their
log-sum-exp, give the exact attention over both. Matrix products and attention are PyTorch's everywhere.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import linear, silu

EPSILON = 1e-5
ROTARY_BASE = 10_000.0


@dataclass(frozen=True)
class LayerSize:
    """Sizes of a layer and of the attention's cached prefix."""

    hidden: int
    heads: int
    head_dim: int
    intermediate: int
    prefix: int
    """Keys that are in the cache before the tokens come."""


SIZES = {
    "llama_7b": LayerSize(hidden=4096, heads=32, head_dim=128, intermediate=11008, prefix=1024),
    "small": LayerSize(hidden=64, heads=4, head_dim=16, intermediate=96, prefix=8),
}
"""`small` is there to run the code, on a CPU too; its times mean nothing."""


@dataclass(frozen=True)
class LayerKernels:
    """The exchangeable part. Shapes: T tokens, H heads, D elements of a head, I intermediate elements."""

    add_norm: Callable[[Tensor, Tensor, Tensor], None]
    """(input, residual) (T, hidden) and weight (hidden,): residual += input, input = RMS norm of that, in place."""
    rotate: Callable[[Tensor, Tensor, Tensor, Tensor], tuple[Tensor, Tensor]]
    """Queries, keys (T, H, D), table (positions, D) float32 of cosines beside sines, position of each token (T,) int64
    -> both rotated."""
    merge: Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]
    """Values (T, H, D) and natural log-sum-exp (T, H) float32 of partition a, then of b -> values (T, H, D)."""
    activation: Callable[[Tensor], Tensor]
    """Gate and up beside each other (T, 2 I) -> silu(gate) * up (T, I)."""


class DecoderLayer:
    """Weights, and for one number of tokens the inputs, on one device."""

    def __init__(self, size: LayerSize, dtype: torch.dtype, device: str, seed: int = 0) -> None:
        self.size = size
        self._generator = torch.Generator(device).manual_seed(seed)
        self._dtype, self._device = dtype, device
        inner = size.heads * size.head_dim
        self._norms = [1.0 + 0.1 * self._random(size.hidden) for _ in range(2)]
        self._qkv = [self._matrix(inner, size.hidden) for _ in range(3)]
        self._out = self._matrix(size.hidden, inner)
        self._gate_up = self._matrix(2 * size.intermediate, size.hidden)
        self._down = self._matrix(size.hidden, size.intermediate)
        self._keys, self._values = (self._random(1, size.heads, size.prefix, size.head_dim) for _ in range(2))

    def feed(self, tokens: int) -> None:
        """Make the inputs for so many tokens."""
        self._pristine = [self._random(tokens, self.size.hidden) for _ in range(2)]
        self.hidden, self.residual = (tensor.clone() for tensor in self._pristine)
        half = self.size.head_dim // 2
        frequencies = ROTARY_BASE ** (-torch.arange(half, device=self._device) / half)
        self._positions = torch.arange(tokens, device=self._device) + self.size.prefix
        angles = torch.arange(self.size.prefix + tokens, device=self._device)[:, None] * frequencies
        self._table = torch.cat((angles.cos(), angles.sin()), dim=-1).float()

    def reset(self) -> None:
        """Put back the inputs that a forward has written to."""
        self.hidden.copy_(self._pristine[0])
        self.residual.copy_(self._pristine[1])

    def forward(self, kernels: LayerKernels) -> tuple[Tensor, Tensor]:
        """(output, residual), both (T, hidden); writes to `hidden` and `residual`, which are kept for the next call."""
        hidden, residual, size = self.hidden, self.residual, self.size
        kernels.add_norm(hidden, residual, self._norms[0])
        # Three products instead of one: slices of a common result would not be contiguous, as kernels want them.
        queries, keys, values = (linear(hidden, weight).view(-1, size.heads, size.head_dim) for weight in self._qkv)
        queries, keys = kernels.rotate(queries, keys, self._table, self._positions)
        first = attention(queries, self._keys, self._values, causal=False)
        own_keys, own_values = (tensor.transpose(0, 1)[None] for tensor in (keys, values))
        second = attention(queries, own_keys, own_values, causal=True)
        joined = kernels.merge(*first, *second)
        attended = linear(joined.reshape(hidden.shape[0], -1), self._out)
        kernels.add_norm(attended, residual, self._norms[1])
        return linear(kernels.activation(linear(attended, self._gate_up)), self._down), residual

    def _random(self, *shape: int) -> Tensor:
        return torch.randn(shape, generator=self._generator, dtype=self._dtype, device=self._device)

    def _matrix(self, rows: int, columns: int) -> Tensor:
        return self._random(rows, columns).mul_(columns**-0.5)


def attention(queries: Tensor, keys: Tensor, values: Tensor, *, causal: bool) -> tuple[Tensor, Tensor]:
    """PyTorch's flash attention with its log-sum-exp: values (T, H, D) contiguous, and (T, H) float32, contiguous.

    `queries` (T, H, D), `keys` and `values` (1, H, K, D).
    """
    asked = queries.transpose(0, 1)[None]
    aten = torch.ops.aten
    function = (
        aten._scaled_dot_product_flash_attention
        if queries.is_cuda
        else aten._scaled_dot_product_flash_attention_for_cpu
    )
    result, lse, *_ = function(asked, keys, values, 0.0, causal)
    return result[0].transpose(0, 1).contiguous(), lse[0].transpose(0, 1).float().contiguous()


def torch_kernels() -> LayerKernels:
    """The same four by PyTorch's own operators, with intermediate values in float32."""
    return LayerKernels(add_norm=_add_norm, rotate=_rotate, merge=_merge, activation=_activation)


def _add_norm(hidden: Tensor, residual: Tensor, weight: Tensor) -> None:
    total = residual.float() + hidden.float()
    residual.copy_(total)
    hidden.copy_(total * torch.rsqrt(total.square().mean(-1, keepdim=True) + EPSILON) * weight.float())


def _rotate(queries: Tensor, keys: Tensor, table: Tensor, positions: Tensor) -> tuple[Tensor, Tensor]:
    cosine, sine = table[positions][:, None, :].chunk(2, dim=-1)

    def rotated(tensor: Tensor) -> Tensor:
        first, second = tensor.float().chunk(2, dim=-1)
        parts = first * cosine - second * sine, second * cosine + first * sine
        return torch.cat(parts, dim=-1).to(tensor.dtype)

    return rotated(queries), rotated(keys)


def _merge(v_a: Tensor, s_a: Tensor, v_b: Tensor, s_b: Tensor) -> Tensor:
    lse = torch.logaddexp(s_a, s_b)
    left, right = (s_a - lse).exp()[..., None], (s_b - lse).exp()[..., None]
    return (left * v_a.float() + right * v_b.float()).to(v_a.dtype)


def _activation(gate_up: Tensor) -> Tensor:
    gate, up = gate_up.float().chunk(2, dim=-1)
    return (silu(gate) * up).to(gate_up.dtype)


def difference(got: tuple[Tensor, Tensor], expected: tuple[Tensor, Tensor]) -> float:
    """Largest ||got - expected|| / ||expected|| of output and residual; infinite where anything is not finite."""
    shares = [
        float((one.double() - other.double()).norm() / other.double().norm())
        for one, other in zip(got, expected, strict=True)
    ]
    return max(share if math.isfinite(share) else math.inf for share in shares)
