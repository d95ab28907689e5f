"""The kernels of later layers at their sizes: shared rows and long lists, wide rows, rows that are not there."""

from dataclasses import dataclass

import pytest
import torch

from hone.gnn.device.native import DropoutView, HopView, address
from tests.gnn.device.test_sage import kept

KEY, SHARE = 0x1234_5678_9ABC_DEF0, 0.25
GRADIENT = {"rtol": 2**-7, "atol": 1e-3}
WIDTHS = (8, 40, 200, 256)


@dataclass
class Made:
    """A hop of `rows` rows with lists of its own, in room for more; what is not there holds NaN."""

    degrees: torch.Tensor
    neighbours: torch.Tensor
    sources: int
    width: int
    room: tuple[int, int]
    device: torch.device
    share: float = SHARE
    drops: bool = True

    def __post_init__(self):
        (rows, fanout), (max_rows, max_sources) = self.neighbours.shape, self.room
        self.scale = 1 / (1 - self.share) if self.drops else 0.0
        self.rows, generator = rows, torch.Generator().manual_seed(7)
        slots = torch.full((max_rows, fanout), -1, dtype=torch.int32)
        slots[:rows] = self.neighbours
        degrees = torch.full((max_rows,), 1_000_000, dtype=torch.int32)
        degrees[:rows] = self.degrees
        there = torch.arange(fanout) < self.degrees[:, None]
        read, readers = torch.where(there, self.neighbours, self.sources).flatten().sort(stable=True)
        offsets = torch.full((max_sources + 1,), 2**30, dtype=torch.int32)
        offsets[: self.sources + 1] = torch.searchsorted(read, torch.arange(self.sources + 1))
        self.exact = self._random(self.sources, self.width, max_sources, generator)
        self.given = self._random(rows, 2 * self.width, max_rows, generator)
        self._there = there
        self._on_device = [
            array.to(self.device)
            for array in (slots, degrees, torch.tensor([rows, self.sources]).int(), offsets, readers.int())
        ]
        slots, degrees, sizes, self._offsets, self._readers = self._on_device
        self._hop = HopView(fanout, 0, 0, max_rows, max_sources, address(slots), address(degrees), address(sizes))
        self._key = torch.tensor([KEY], device=self.device)
        self._dropout = DropoutView(address(self._key), self.scale, round(self.share * 65536))
        self.notes = torch.full((max_sources, self.width // 8), 0xAA, dtype=torch.uint8, device=self.device)

    @staticmethod
    def _random(rows, width, room, generator):
        values = torch.full((room, width), float("nan"), dtype=torch.bfloat16)
        values[:rows] = torch.randn(rows, width, generator=generator)
        return values

    def factors(self):
        """(sources, width): what a state, or its gradient, is multiplied by."""
        states = self.exact[: self.sources].double()
        if self.scale == 0:
            return torch.ones_like(states)
        return (states > 0) * kept(KEY, self.sources, self.width, self.share) * self.scale

    def mixing(self):
        """(rows, sources): the shares of sources in the means."""
        matrix = torch.zeros(self.rows, self.sources, dtype=torch.float64)
        row = torch.arange(self.rows)[:, None].expand_as(self._there)[self._there]
        ones = torch.ones(len(row), dtype=torch.float64)
        matrix.index_put_((row, self.neighbours[self._there].long()), ones, accumulate=True)
        return matrix / self.degrees.clamp(min=1)[:, None]

    def mean(self, kernels, *, noting=False):
        out = torch.full((self.room[0], 2 * self.width), 77.0, dtype=torch.bfloat16, device=self.device)
        states = self.exact.to(self.device)
        notes = self.notes if noting else None
        kernels.call("mean_of_states", self._hop, states, self.width, self._dropout, notes, out)
        return out.cpu()

    def expected_mean(self):
        states = self.exact[: self.sources].double() * self.factors()
        return torch.cat([self.mixing() @ states, states[: self.rows]], 1)

    def gradient(self, kernels, *, in_place, noted=False):
        states, given = self.exact.clone().to(self.device), self.given.to(self.device)
        out = states if in_place else torch.full_like(states, 77.0)
        notes = self.notes if noted else None
        kernels.call(
            "gradient_of_states", self._hop, self._offsets, self._readers, given, states, notes, self.width,
            self._dropout, out,
        )  # fmt: skip
        return out.cpu()

    def expected_gradient(self):
        given = self.given[: self.rows].double()
        sums = self.mixing().T @ given[:, : self.width]
        sums[: self.rows] += given[:, self.width :]
        return sums * self.factors()


def drawn(rows, fanout, sources, seed=3):
    """Lists of all lengths up to the fan-out, of any sources."""
    generator = torch.Generator().manual_seed(seed)
    degrees = torch.randint(0, fanout + 1, (rows,), generator=generator)
    return degrees, torch.randint(0, sources, (rows, fanout), generator=generator)


def with_hubs(rows, fanout, sources, hubs):
    """Lists of which every other one names hubs alone, with none behind the last row."""
    degrees, neighbours = drawn(rows, fanout, sources)
    neighbours[::2] = torch.tensor(hubs)[torch.arange(neighbours[::2].numel()).view(-1, fanout) % len(hubs)]
    return degrees, neighbours


def same(one, other):
    return torch.equal(one.view(torch.int16), other.view(torch.int16))


def check_mean(made, kernels):
    found, expected = made.mean(kernels), made.expected_mean()
    assert torch.allclose(found[: made.rows].double(), expected, rtol=2**-8, atol=1e-6)
    assert not found[made.rows :].any()
    assert same(made.mean(kernels, noting=True), found)


def check_gradient(made, kernels):
    found, expected = made.gradient(kernels, in_place=False), made.expected_gradient()
    assert torch.allclose(found[: made.sources].double(), expected, **GRADIENT)
    assert not found[made.sources :].any()
    assert same(made.gradient(kernels, in_place=True), found)
    assert same(made.gradient(kernels, in_place=True), found)
    check_notes(made, kernels, found)


def check_notes(made, kernels, expected):
    """With the mean's notes the gradient is the same to the bit, and does not read what was in the states."""
    made.mean(kernels, noting=True)
    given, made.exact = made.exact, torch.full_like(made.exact, float("nan"))
    assert same(made.gradient(kernels, in_place=True, noted=True), expected)
    made.exact = given
    if made.drops:
        read = torch.unique(made.neighbours[made._there]).long().tolist()
        seen = [*range(made.rows), *(source for source in read if source >= made.rows)]
        bits = made.notes.cpu()[seen, :, None].int() >> torch.arange(8) & 1
        order = torch.tensor([0, 4, 1, 5, 2, 6, 3, 7])  # a word's first element has a bit of the lower four
        assert torch.equal(bits[:, :, order].flatten(1).bool(), (made.factors() > 0)[seen])


@pytest.mark.parametrize("width", [*WIDTHS, 1032, 2064])
@pytest.mark.parametrize("fanout", [1, 6, 20])
def test_rows_of_any_width_and_lists_of_any_length(kernels, device, width, fanout):
    """The widest rows are too wide for a block's threads."""
    made = Made(*drawn(37, fanout, 90), 90, width, (41, 97), device)
    check_mean(made, kernels)
    check_gradient(made, kernels)


@pytest.mark.parametrize("width", WIDTHS)
def test_states_without_relu_and_dropout(kernels, device, width):
    made = Made(*drawn(37, 7, 90), 90, width, (41, 97), device, drops=False)
    assert (made.expected_mean() < 0).any()
    check_mean(made, kernels)
    check_gradient(made, kernels)


@pytest.mark.parametrize("width", [*WIDTHS, 2064])
@pytest.mark.parametrize("hubs", [[], [0], [5, 6, 7, 8]], ids=len)
def test_dropout_at_one_half(kernels, device, width, hubs):
    """A case of its own, for which one bit decides."""
    lists = with_hubs(70, 16, 90, hubs) if hubs else drawn(70, 16, 90)
    made = Made(*lists, 90, width, (80, 97), device, share=0.5)
    assert (made.factors() == 2).any()
    check_mean(made, kernels)
    check_gradient(made, kernels)


@pytest.mark.parametrize(("rows", "width"), [(300, 256), (3000, 64), (5000, 256), (4500, 200)])
def test_more_rows_than_a_gpu_has_threads_for(kernels, device, rows, width):
    """With ever fewer teams for a row, down to one."""
    made = Made(*drawn(rows, 10, rows), rows, width, (rows + 1, rows + 2), device)
    out, states = made.mean(kernels), made.exact.double()
    states[: made.sources] *= made.factors()
    for row in range(0, rows, rows // 50):
        read = states[made.neighbours[row, : made.degrees[row]].long()]
        mean = read.sum(0) / max(1, int(made.degrees[row]))
        assert torch.allclose(out[row].double(), torch.cat([mean, states[row]]), rtol=2**-8, atol=1e-6)
    assert not out[rows:].any()


@pytest.mark.parametrize(("width", "room"), [(256, 17_000), (208, 6_000), (208, 23_000), (4128, 300)])
@pytest.mark.parametrize("dropout", [{}, {"share": 0.5}, {"drops": False}], ids=["any", "half", "none"])
def test_more_sources_than_a_gpu_has_threads_for(kernels, device, width, room, dropout):
    """A thread has two groups of columns then, or four where rows have notes and are wide enough."""
    made = Made(*with_hubs(60, 9, 60, [3, 59]), 60, width, (64, room), device, **dropout)
    check_gradient(made, kernels)


@pytest.mark.parametrize("width", [*WIDTHS, 2064])
@pytest.mark.parametrize("hubs", [[0], [88], [5, 6, 7, 8], list(range(0, 90, 9))], ids=len)
def test_long_lists_are_shared_by_a_block(kernels, device, width, hubs):
    """Of rows and of sources that are none, one and several in a block."""
    made = Made(*with_hubs(70, 16, 90, hubs), 90, width, (80, 90), device)
    lengths = made._offsets[:91].diff()
    assert all(lengths[hub] > 16 for hub in hubs)
    check_gradient(made, kernels)


@pytest.mark.parametrize("length", [15, 16, 17, 18, 31, 64, 65])
def test_lists_about_as_long_as_those_that_are_shared(kernels, device, length):
    neighbours = torch.zeros(length, 2).long()
    neighbours[:, 1] = torch.arange(length) % 5 + 1
    made = Made(torch.full((length,), 2), neighbours, length, 40, (length, length), device)
    assert int(made._offsets[1]) == length
    check_gradient(made, kernels)


def test_as_many_sources_as_there_is_room_for(kernels, device):
    """The last one's list ends where the room for offsets does."""
    degrees, neighbours = torch.full((30,), 3), torch.full((30, 3), 63)
    made = Made(degrees, neighbours, 64, 40, (30, 64), device)
    check_gradient(made, kernels)


@pytest.mark.parametrize("share", [SHARE, 0.5])
@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_what_is_not_finite_does_not_disappear(kernels, device, bad, share):
    made = Made(torch.full((20,), 4), torch.arange(4).repeat(20, 1), 20, 16, (20, 20), device, share=share)
    made.exact[2] = bad
    assert not made.mean(kernels)[:, :16].isfinite().any()
    made = Made(torch.full((20,), 4), torch.arange(4).repeat(20, 1), 20, 16, (20, 20), device, share=share)
    made.given[3, :16] = bad
    assert not made.gradient(kernels, in_place=True)[:4].isfinite().any()
