"""Known answers and invariants of the metrics."""

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from hone.analysis import metrics

NAN = math.nan
PROPERTY = settings(deadline=None, max_examples=60, derandomize=True)
OUTCOMES = arrays(float, st.tuples(st.integers(1, 6), st.integers(1, 4)), elements=st.sampled_from([0.0, 1.0, NAN]))


def test_fast_p_by_hand():
    correct, speedup = [True, True, False, True], [2.0, 0.5, 9.0, 1.0]
    assert metrics.fast_p(correct, speedup, 0, 4) == 0.75
    assert metrics.fast_p(correct, speedup, 1, 4) == 0.25  # a speedup of exactly p does not count
    assert metrics.fast_p(correct, speedup, 1, 8) == 0.125  # problems without a kernel stay in the denominator


@pytest.mark.parametrize("n", [0, 3])
def test_fast_p_refuses_a_denominator_that_is_too_small(n):
    with pytest.raises(ValueError, match="denominator"):
        metrics.fast_p([True] * 4, [1.0] * 4, 0, n)


def test_outcomes():
    correct, speedup, resolved = [1, 1, 1, 0, 0], [2.0, 0.5, NAN, NAN, NAN], [1, 1, 1, 1, 0]
    np.testing.assert_array_equal(metrics.outcomes(correct, speedup, resolved, 0), [1, 1, 1, 0, NAN])
    np.testing.assert_array_equal(metrics.outcomes(correct, speedup, resolved, 1), [1, 0, NAN, 0, NAN])


def test_wilson_known_values():
    low, high = metrics.wilson_interval(5, 10)
    assert (low, high) == pytest.approx((0.236593, 0.763407), abs=1e-6)
    assert metrics.wilson_interval(0, 10) == pytest.approx((0, 0.277533), abs=1e-6)
    assert metrics.wilson_interval(0, 0) == (0, 1)


@pytest.mark.parametrize(
    ("n", "c", "k", "expected"),
    [(5, 2, 1, 0.4), (5, 2, 2, 0.7), (5, 1, 5, 1.0), (5, 0, 5, 0.0), (3, 3, 1, 1.0), (10_000, 1, 5_000, 0.5)],
)
def test_pass_at_k_known_values(n, c, k, expected):
    assert metrics.pass_at_k(n, c, k) == pytest.approx(expected, rel=1e-15)


@PROPERTY
@given(st.integers(1, 8).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n), st.integers(1, n))))
def test_pass_at_k_is_the_share_of_draws_with_a_right_sample(values):
    n, c, k = values
    draws = list(combinations([True] * c + [False] * (n - c), k))
    assert metrics.pass_at_k(n, c, k) == pytest.approx(sum(any(draw) for draw in draws) / len(draws))


@pytest.mark.parametrize(("n", "c", "k"), [(5, 6, 1), (5, -1, 1), (5, 1, 0), (5, 1, 6)])
def test_pass_at_k_refuses_nonsense(n, c, k):
    with pytest.raises(ValueError, match="no pass@"):
        metrics.pass_at_k(n, c, k)


def test_bootstrap_is_reproducible_and_leaves_the_global_generator_alone():
    values = np.array([0.0, 0.2, 0.4, 1.0])
    before = np.random.get_state()[1].copy()
    first, second = (metrics.bootstrap_interval((values,), np.mean, 0.95, np.random.default_rng(3)) for _ in range(2))
    assert first == second
    assert (np.random.get_state()[1] == before).all()
    with pytest.raises(ValueError, match="two units"):
        metrics.bootstrap_interval(([1.0],), np.mean, 0.95, np.random.default_rng(3))


def test_a_wider_confidence_gives_a_wider_interval():
    shares = [0.0, 0.2, 0.4, 1.0, 0.6]
    narrow, wide = (metrics.share_interval(shares, c, np.random.default_rng(0)) for c in (0.5, 0.99))
    assert wide.low <= narrow.low <= narrow.high <= wide.high


@PROPERTY
@given(OUTCOMES)
def test_an_estimate_lies_in_its_interval_and_unresolved_ones_give_bounds(outcome):
    found = metrics.mean_estimate(outcome, 0.95)
    failed = metrics.mean_estimate(np.nan_to_num(outcome, nan=0.0), 0.95)
    passed = metrics.mean_estimate(np.nan_to_num(outcome, nan=1.0), 0.95)
    assert found.unresolved == np.isnan(outcome).sum()
    assert math.isnan(found.value) == (found.unresolved > 0)
    assert (found.low, found.high) == (failed.low, passed.high)
    for known in (failed, passed):
        assert found.low <= known.value <= found.high
        assert 0 <= known.low <= known.value <= known.high <= 1


@PROPERTY
@given(OUTCOMES)
def test_estimate_at_k_never_falls_with_k_and_starts_at_the_mean(outcome):
    outcome = np.nan_to_num(outcome, nan=0.0)
    values = [metrics.estimate_at_k(outcome, k, 0.95).value for k in range(1, outcome.shape[1] + 1)]
    assert values == sorted(values)
    assert values[0] == pytest.approx(outcome.mean())
    assert values[-1] == pytest.approx(outcome.max(axis=1).mean())


def test_no_problems_tell_nothing():
    found = metrics.mean_estimate(np.zeros((0, 1)), 0.95)
    assert math.isnan(found.value)
    assert found[1:] == (0, 1, 0)
    assert metrics.share_interval([0.5], 0.95, np.random.default_rng(0)) == (0, 1)


def test_best_so_far_by_hand():
    outcome = [[0, NAN, 1, 0], [0, 1, NAN, 0], [NAN, 0, 0, 0], [0, 0, 0, 0]]
    expected = [[0, NAN, 1, 1], [0, 1, 1, 1], [NAN] * 4, [0, 0, 0, 0]]
    np.testing.assert_array_equal(metrics.best_so_far(outcome), expected)


@PROPERTY
@given(OUTCOMES)
def test_best_so_far_never_falls(outcome):
    for fill in (0.0, 1.0):
        assert (np.diff(np.nan_to_num(metrics.best_so_far(outcome), nan=fill), axis=-1) >= 0).all()


@PROPERTY
@given(st.lists(st.floats(1e-6, 1e6), min_size=1, max_size=300))
def test_geometric_mean_of_reciprocals(values):
    assert metrics.geometric_mean(1 / np.array(values)) == pytest.approx(1 / metrics.geometric_mean(values))


def test_geometric_mean_does_not_overflow_and_refuses_nonsense():
    assert metrics.geometric_mean([1e300] * 500) == pytest.approx(1e300)
    assert math.isnan(metrics.geometric_mean([]))
    for wrong in (0.0, -1.0, NAN, math.inf):
        with pytest.raises(ValueError, match="positive finite"):
            metrics.geometric_mean([1.0, wrong])


def test_paired_ratio_uses_the_pairs():
    drift = np.linspace(1, 5, 40)
    low, high = metrics.paired_ratio_interval(2 * drift, drift)
    assert (low, high) == pytest.approx((2, 2))  # a drift that both share does not widen the interval
    low, high = metrics.paired_ratio_interval(2 * drift, np.random.default_rng(0).permutation(drift))
    assert low < 2 < high
    assert all(math.isnan(end) for end in metrics.paired_ratio_interval([1.0], [1.0]))


@pytest.mark.parametrize("shares", [[0.8, 0.8], [0.8] * 40, [0.2, 0.4, 0.6]])
def test_few_or_agreeing_problems_do_not_give_a_sure_share(shares):
    rng = np.random.default_rng(1)
    low, high = metrics.share_interval(shares, 0.95, rng)
    mean = np.mean(shares)
    assert low < mean - 0.05
    assert high > mean + 0.03
    assert (low, high) == pytest.approx(metrics.wilson_interval(sum(shares), len(shares)))


def test_the_interval_of_a_geometric_mean_by_hand():
    # logarithms 0, 1, 2: mean 1, standard error 1/sqrt(3), Student's t with two degrees of freedom 4.302653
    low, high = metrics.geometric_mean_interval([np.exp([0.0, 1.0, 2.0])], 0.95)
    assert (math.log(low), math.log(high)) == pytest.approx((1 - 4.302653 / 3**0.5, 1 + 4.302653 / 3**0.5), abs=1e-5)


def test_the_interval_of_a_geometric_mean_shrinks_with_more_kernels_and_workloads():
    rng = np.random.default_rng(3)
    groups = [np.exp(rng.normal(0.5, 0.2, 40)) for _ in range(3)]
    width = {count: np.ptp(np.log(metrics.geometric_mean_interval(groups[:count]))) for count in (1, 3)}
    assert width[3] < width[1]
    assert width[1] == pytest.approx(2 * 1.96 * np.log(groups[0]).std() / 40**0.5, rel=0.1)
    few = metrics.geometric_mean_interval([groups[0][:9]])
    assert np.ptp(np.log(few)) > width[1]
    assert metrics.geometric_mean_interval(groups) == metrics.geometric_mean_interval(groups)


def test_groups_weigh_the_same_whatever_their_size():
    low, high = metrics.geometric_mean_interval([np.full(100, 4.0), np.full(10, 1.0)])
    assert (low, high) == pytest.approx((2.0, 2.0))
    assert metrics.geometric_mean_interval([np.full(3, 4.0), np.full(2, 1.0)]) == pytest.approx((2.0, 2.0))


def test_the_student_interval_covers_as_often_as_it_says():
    rng = np.random.default_rng(7)
    hits = 0
    for _ in range(400):
        low, high = metrics.geometric_mean_interval([np.exp(rng.normal(0.3, 0.2, 6)), np.exp(rng.normal(0.5, 0.4, 7))])
        hits += low <= math.exp(0.4) <= high
    assert 0.92 < hits / 400 < 0.98


def test_the_interval_of_a_ratio_by_hand():
    # turns: logarithms of the ratios 0, 1, 2, as in the geometric mean by hand
    low, high = metrics.geometric_ratio_interval(np.exp([5.0, 1.0, 3.0]), np.exp([5.0, 0.0, 1.0]), in_turns=True)
    assert (math.log(low), math.log(high)) == pytest.approx((1 - 4.302653 / 3**0.5, 1 + 4.302653 / 3**0.5), abs=1e-5)
    # sides by themselves: variances 1 of 3 and 1 of 3, four degrees of freedom, Student's t 2.776445
    low, high = metrics.geometric_ratio_interval(np.exp([4.0, 5.0, 6.0]), np.exp([2.0, 3.0, 4.0]), in_turns=False)
    half = 2.776445 * (2 / 3) ** 0.5
    assert (math.log(low), math.log(high)) == pytest.approx((2 - half, 2 + half), abs=1e-5)


@pytest.mark.parametrize("in_turns", [True, False])
def test_the_interval_of_a_ratio_needs_two_processes_on_each_side(in_turns):
    assert all(math.isnan(end) for end in metrics.geometric_ratio_interval([2.0], [1.0], in_turns=in_turns))
    assert all(math.isnan(end) for end in metrics.geometric_ratio_interval([2.0, 3.0], [1.0], in_turns=False))
    with pytest.raises(ValueError, match="no turns"):
        metrics.geometric_ratio_interval([2.0, 3.0], [1.0], in_turns=True)


def test_an_interval_needs_two_positive_values_in_each_group():
    assert all(math.isnan(end) for end in metrics.geometric_mean_interval([[2.0]]))
    assert all(math.isnan(end) for end in metrics.geometric_mean_interval([[2.0, 3.0], [1.0]]))
    assert all(math.isnan(end) for end in metrics.geometric_mean_interval([]))
    with pytest.raises(ValueError, match="positive"):
        metrics.geometric_mean_interval([[1.0, 0.0]])
