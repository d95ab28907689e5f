"""Comparison and value distributions on CPU tensors, against a plain loop over elements."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from hone.judge.device.cuda import checks
from hone.judge.device.cuda.checks import (
    ROUNDING_SLACK,
    DeviceTally,
    changed_inputs,
    distance,
    rounding_slack,
    scale_of,
)
from hone.judge.device.cuda.values import redistribute

quickly = settings(max_examples=60, deadline=None)
NAN, INF = math.nan, math.inf

any_float = st.floats(width=32) | st.sampled_from([0.0, -0.0, 1.0, NAN, INF, -INF])
pairs = st.lists(st.tuples(any_float, any_float, st.booleans()), max_size=12)
eighths = st.integers(-8000, 8000).map(lambda number: number / 8)
limits = st.sampled_from([0.0, 1e-4, 0.5])


def tally(expected, got, atol=0.0, rtol=0.0, name="out", slack=0.0, figures=True):
    found = DeviceTally()
    found.add(name, expected, got, atol=atol, rtol=rtol, slack=slack, figures=figures)
    return found


def is_wrong(want, have, atol, rtol):
    if math.isnan(want) or math.isnan(have):
        return math.isnan(want) != math.isnan(have)
    if math.isinf(want) or math.isinf(have):
        return want != have
    return abs(have - want) > atol + rtol * abs(want)


@quickly
@given(pairs, limits, limits)
def test_floats_are_judged_as_a_plain_loop_does(values, atol, rtol):
    wants = [want for want, _, _ in values]
    haves = [want if same else have for want, have, same in values]
    # In float64, so that the loop's arithmetic is the same as the tensors'.
    expected, got = torch.tensor(wants, dtype=torch.float64), torch.tensor(haves, dtype=torch.float64)
    found = tally(expected, got, atol, rtol)
    wrong = [is_wrong(want, have, atol, rtol) for want, have in zip(wants, haves, strict=True)]
    errors = [abs(h - w) for w, h in zip(wants, haves, strict=True) if math.isfinite(w) and math.isfinite(h)]
    assert (found.elements, found.wrong) == (len(values), sum(wrong))
    assert found.max_abs_error == max(errors, default=0.0)
    assert found.first_wrong.startswith(f"out[{wrong.index(True)}] is " if any(wrong) else "")
    assert bool(found.first_wrong) == any(wrong)
    audit = tally(expected, got, atol, rtol, figures=False)
    assert (audit.wrong, audit.first_wrong) == (found.wrong, found.first_wrong)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
@pytest.mark.parametrize("planted", [NAN, INF, -INF, 3.0])
def test_one_wrong_element_among_many_right_ones_is_found_without_figures(dtype, planted):
    torch.manual_seed(0)
    expected = torch.rand(4096).to(dtype)
    got = (expected.float() + 1e-3).to(dtype)
    right = tally(expected, got, 1e-2, 1e-2, figures=False)
    assert (right.wrong, right.elements, right.max_abs_error) == (0, 4096, 0.0)
    got[1234] = planted
    assert tally(expected, got, 1e-2, 1e-2, figures=False).wrong == 1
    assert tally(got, expected, 1e-2, 1e-2, figures=False).wrong == 1


@quickly
@given(pairs, limits, limits)
def test_slack_forgives_and_is_left_out_of_the_count_by_tolerance(values, atol, slack):
    wants = [want for want, _, _ in values]
    haves = [want if same else have for want, have, same in values]
    expected, got = torch.tensor(wants, dtype=torch.float64), torch.tensor(haves, dtype=torch.float64)
    found = tally(expected, got, atol, 0.0, slack=slack)
    by_tolerance = [is_wrong(want, have, atol, 0.0) for want, have in zip(wants, haves, strict=True)]
    forgiving = [is_wrong(want, have, atol + slack, 0.0) for want, have in zip(wants, haves, strict=True)]
    assert (found.wrong_by_tolerance, found.wrong) == (sum(by_tolerance), sum(forgiving))
    assert tally(expected, got, atol, 0.0, slack=slack, figures=False).wrong == sum(forgiving)


def test_what_is_near_the_exact_result_is_right_however_far_the_reference_is():
    found = DeviceTally()
    expected, got = torch.tensor([1.5, 1.5, 1.5, 1.0]), torch.tensor([1.0, 2.0, NAN, 1.0])
    found.add("out", expected, got, atol=1e-3, rtol=0.0, exact=torch.ones(4, dtype=torch.float64))
    assert (found.wrong, found.wrong_by_tolerance) == (2, 3)
    assert found.first_wrong.startswith("out[1] is 2")


@quickly
@given(pairs)
def test_what_is_equal_to_the_bit_is_right_whatever_it_is(values):
    for dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
        tensor = torch.tensor([want for want, _, _ in values], dtype=torch.float64).to(dtype)
        found = tally(tensor, tensor.clone())
        assert (found.wrong, found.max_abs_error, found.max_rel_error) == (0, 0.0, 0.0)


@quickly
@given(st.lists(st.tuples(st.integers(-(2**63), 2**63 - 1), st.integers(-1, 1)), max_size=12))
def test_integers_must_be_equal_to_the_bit(values):
    wants = torch.tensor([want for want, _ in values], dtype=torch.int64)
    haves = wants + torch.tensor([off for _, off in values], dtype=torch.int64)
    assert tally(wants, haves, atol=1e9, rtol=1.0).wrong == sum(off != 0 for _, off in values)


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64])
def test_small_integers_too(dtype):
    assert tally(torch.tensor([1, 2], dtype=dtype), torch.tensor([1, 3], dtype=dtype)).wrong == 1


def test_a_flag_that_is_two_is_not_true():
    flags = torch.tensor([True, False, True])
    assert tally(flags, torch.tensor([1, 0, 2], dtype=torch.uint8).view(torch.bool)).wrong == 1
    assert tally(flags, flags.clone()).wrong == 0


def test_chunks_give_the_same_as_one_piece(monkeypatch):
    torch.manual_seed(0)
    expected = torch.randn(7, 5)
    got = expected + 1e-3 * torch.randn(7, 5)
    whole = tally(expected, got, 1e-3, 0.0)
    slack, far = rounding_slack(expected, got), distance([got], [expected])
    monkeypatch.setattr(checks, "CHUNK", 4)
    assert tally(expected, got, 1e-3, 0.0) == whole
    assert tally(expected, got, 1e-3, 0.0, figures=False).wrong == whole.wrong > 0
    assert rounding_slack(expected, got) == pytest.approx(slack)
    assert distance([got], [expected]) == pytest.approx(far)


def test_the_first_wrong_element_is_named_by_its_place(monkeypatch):
    monkeypatch.setattr(checks, "CHUNK", 4)
    expected = torch.arange(6.0).reshape(2, 3)
    got = expected.clone()
    got[1, 2] = 7.0
    assert tally(expected, got, name="y").first_wrong == "y[1, 2] is 7, expected 5"
    assert tally(torch.tensor(1.0), torch.tensor(NAN)).first_wrong == "out[] is nan, expected 1"


def test_a_tally_sums_up_over_tensors():
    found = DeviceTally()
    found.add("a", torch.tensor([1.0, 2.0]), torch.tensor([1.0, 2.5]), atol=0.1, rtol=0.0)
    found.add("b", torch.tensor([4.0]), torch.tensor([3.0]), atol=0.1, rtol=0.0)
    found.add("c", torch.zeros(0), torch.zeros(0), atol=0.0, rtol=0.0)
    assert (found.elements, found.wrong, found.max_abs_error, found.max_rel_error) == (3, 2, 1.0, 0.25)
    assert found.first_wrong.startswith("a[1]")
    assert DeviceTally(**found.message()) == found


def test_relative_errors_of_values_under_the_absolute_tolerance_say_nothing():
    assert tally(torch.tensor([1e-6]), torch.tensor([2e-6]), atol=1e-4, rtol=0.0).max_rel_error == 0.0


# ------------------------------------------------------------------------------------- errors against the exact


@quickly
@given(st.lists(st.tuples(eighths, eighths), min_size=1, max_size=12))
def test_slack_is_sixteen_times_the_root_mean_square_error(values):
    exact = torch.tensor([value for value, _ in values], dtype=torch.float64)
    expected = torch.tensor([value + off for value, off in values], dtype=torch.float64)
    squares = [(float(e) - float(x)) ** 2 for e, x in zip(expected, exact, strict=True)]
    assert rounding_slack(expected, exact) == pytest.approx(ROUNDING_SLACK * math.sqrt(sum(squares) / len(squares)))


def test_there_is_no_slack_without_a_finite_error():
    assert rounding_slack(torch.tensor([1, 2]), torch.tensor([1, 3])) == 0.0
    assert rounding_slack(torch.tensor([1.0, NAN]), torch.tensor([1.0, 2.0])) == 0.0
    assert rounding_slack(torch.tensor([INF]), torch.tensor([1.0])) == 0.0
    assert rounding_slack(torch.zeros(0), torch.zeros(0)) == 0.0


@quickly
@given(st.lists(st.tuples(eighths, eighths), min_size=1, max_size=12))
def test_distance_is_that_of_vectors(values):
    got = torch.tensor([have for have, _ in values], dtype=torch.float64)
    exact = torch.tensor([want for _, want in values], dtype=torch.float64)
    size = math.sqrt(sum(want * want for _, want in values))
    found = distance([got], [exact])
    if size == 0.0:
        assert found is None
    else:
        assert found == pytest.approx(math.sqrt(sum((have - want) ** 2 for have, want in values)) / size)


def test_distance_takes_the_worst_output_and_leaves_out_what_has_none():
    one, ten = torch.ones(4), torch.full((4,), 10.0)
    count = torch.tensor([1, 2])
    assert distance([one, 1.01 * ten, count], [one, ten, count + 1]) == pytest.approx(0.01, rel=1e-4)
    assert distance([count], [count]) is None
    assert distance([one], [torch.zeros(4)]) is None
    assert distance([one], [torch.full((4,), NAN)]) is None
    assert distance([torch.tensor([NAN, 1.0])], [torch.ones(2)]) == INF
    with pytest.raises(ValueError):
        distance([one], [one, one])


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float8_e4m3fn], ids=str)
@pytest.mark.parametrize("wide", [False, True])
def test_errors_are_those_of_float64_whatever_the_types_are(dtype, wide):
    got, exact = torch.tensor([1.0, 2.0, -4.0]).to(dtype), torch.tensor([1.25, 2.0, -4.5], dtype=torch.float64)
    exact = exact if wide else exact.to(dtype)
    off = (got.double() - exact.double()).square()
    assert rounding_slack(got, exact) == pytest.approx(ROUNDING_SLACK * float(off.mean().sqrt()))
    assert distance([got], [exact]) == pytest.approx(float(off.sum().sqrt() / exact.double().norm()))


def test_flags_and_numbers_too_large_to_square_have_a_distance_or_none():
    assert distance([torch.tensor([True, False])], [torch.ones(2)]) == pytest.approx(math.sqrt(0.5))
    large = torch.tensor([1e200], dtype=torch.float64)
    assert distance([large], [large]) is None
    assert distance([large], [torch.ones(1)]) == INF


def test_the_scale_of_unusual_values():
    assert scale_of(torch.full((9,), 100.0)) == pytest.approx(100.0)
    assert scale_of(torch.full((9,), 0.01)) == 1.0
    for tensor in (torch.tensor([INF]), torch.tensor([NAN]), torch.tensor([100]), torch.zeros(0)):
        assert scale_of(tensor) == 1.0


# -------------------------------------------------------------------------------------------------- inputs


@pytest.mark.parametrize(
    "tensor",
    [
        torch.arange(6.0), torch.arange(6.0)[::2], torch.ones(1).expand(4), torch.arange(6).reshape(2, 3).T,
        torch.tensor(3.0), torch.tensor([True, False]), torch.tensor([NAN, 1.0]), torch.ones(3, dtype=torch.bfloat16),
    ],
    ids=str,
)  # fmt: skip
def test_any_byte_of_an_input_counts(tensor):
    copy = tensor.clone().contiguous()
    assert changed_inputs({"x": tensor}, {"x": copy}) == []
    copy.view(-1).view(torch.uint8)[-1] ^= 1
    assert changed_inputs({"x": tensor}, {"x": copy}) == ["x"]


def test_changed_inputs_are_told_by_name_and_minus_zero_is_a_change():
    zeros = torch.zeros(3)
    assert changed_inputs({"a": zeros, "b": zeros}, {"a": zeros, "b": -zeros}) == ["b"]
    assert changed_inputs({"a": torch.zeros(0)}, {"a": torch.zeros(0), "more": zeros}) == []


# ------------------------------------------------------------------------------------------- distributions


def redone(distribution, seed=7, dtype=torch.float32):
    torch.manual_seed(1)
    values = [torch.rand(100, 50).to(dtype) + 1.0, torch.arange(5), 3, torch.tensor([True])]
    return values, redistribute(values, distribution, seed)


@pytest.mark.parametrize("distribution", ["signed", "wide", "sparse"])
def test_a_distribution_changes_floating_point_tensors_alone(distribution):
    values, found = redone(distribution)
    assert all(new is old for new, old in zip(found[1:], values[1:], strict=True))
    assert found[0].shape == values[0].shape and not torch.equal(found[0], values[0])
    _, again = redone(distribution)
    _, other = redone(distribution, seed=8)
    assert torch.equal(found[0], again[0]) and not torch.equal(found[0], other[0])
    _, half = redone(distribution, dtype=torch.bfloat16)
    assert half[0].dtype is torch.bfloat16


def test_as_given_is_as_given():
    values, found = redone("as_given")
    assert all(new is old for new, old in zip(found, values, strict=True))
    assert redistribute([3], "sparse", 1) == [3]


def test_signed_keeps_sizes_and_turns_half_of_the_signs():
    values, (found, *_) = redone("signed")
    assert torch.equal(found.abs(), values[0])
    assert 0.45 < float((found < 0).float().mean()) < 0.55


def test_wide_stretches_evenly_on_a_logarithmic_scale():
    values, (found, *_) = redone("wide")
    decades = torch.log10(found / values[0])
    assert -2.001 <= float(decades.min()) < -1.9 and 1.9 < float(decades.max()) <= 2.001
    assert abs(float(decades.mean())) < 0.1


def test_sparse_leaves_one_in_ten():
    values, (found, *_) = redone("sparse")
    kept = found != 0
    assert 0.08 < float(kept.float().mean()) < 0.12
    assert torch.equal(found[kept], values[0][kept])


# ------------------------------------------------------------------------------------------------- eight bits


EIGHT_BITS = pytest.mark.parametrize("dtype", [torch.float8_e4m3fn, torch.float8_e5m2], ids=str)


def positive(dtype):
    """All finite values of a type from 0 up, in order."""
    values = torch.arange(128, dtype=torch.uint8).view(dtype)
    return values[values.float().isfinite()]


@EIGHT_BITS
def test_a_neighbour_among_eight_bit_numbers_is_right_and_the_one_after_the_next_is_not(dtype):
    values = positive(dtype)
    assert tally(values[:-1], values[1:]).wrong == 0
    assert tally(values[1:], values[:-1]).wrong == 0
    ones = int((values.float() < 1).sum())
    assert tally(values[ones:-2], values[ones + 2 :]).wrong == len(values) - ones - 2
    assert tally(values[ones:-2], (-values[ones:-2].float()).to(dtype)).wrong == len(values) - ones - 2


@EIGHT_BITS
def test_a_nan_of_eight_bits_stands_where_it_is_expected(dtype):
    nan, one = torch.tensor([NAN]).to(dtype), torch.ones(1).to(dtype)
    assert tally(nan, nan).wrong == 0
    assert tally(nan, one).wrong == tally(one, nan).wrong == 1


@EIGHT_BITS
def test_what_is_near_an_exact_result_of_eight_bits_is_right(dtype):
    found = DeviceTally()
    expected, got, exact = (torch.tensor(values).to(dtype) for values in ([4.0, 4.0], [1.0, 2.0], [1.0, 1.0]))
    found.add("out", expected, got, atol=0.0, rtol=0.0, exact=exact)
    assert (found.wrong, found.wrong_by_tolerance) == (1, 2)


@EIGHT_BITS
@pytest.mark.parametrize("distribution", ["as_given", "signed", "wide", "sparse"])
def test_eight_bit_inputs_take_every_distribution(distribution, dtype):
    (found,) = redistribute([torch.ones(1000).to(dtype)], distribution, 7)
    assert found.dtype is dtype
    assert (distribution == "as_given") == bool((found.float() == 1).all())
