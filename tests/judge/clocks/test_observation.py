"""What is charged, what cannot be believed, times of two kinds, speed of light: pure functions of times."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hone.judge.clocks.observation import (
    EARLY_SLACK_SHARE,
    GAP_FACTOR,
    LEAST_SAMPLES,
    LEAST_SLACK_MS,
    MOST_NOISE_MS,
    MOST_SLACK_SHARE,
    NOISE_FACTOR,
    SLACK_SHARE,
    SLOW_FACTOR,
    STORE_SLACK_SHARE,
    Observation,
    Overhead,
    believable_busy_ms,
    between,
    beyond_ms,
    floor_ms,
    lower_half,
    slow_times,
    unexplained_ms,
    usual_overhead,
)

quickly = settings(max_examples=80, deadline=None)
milliseconds = st.floats(0.0, 1e3)
overheads = st.builds(Overhead, milliseconds, milliseconds, milliseconds, milliseconds, milliseconds)
PLACES = ("wall_ms", "settle_ms", "store_ms", "early_ms")
NOISE = 1e-9
"""Of adding up numbers of up to a thousand."""


def slack_of(usual, claimed_ms):
    """What the two clocks may differ by, all places together; copying and showing have a share of their own besides."""
    noise_ms = max(LEAST_SLACK_MS, NOISE_FACTOR * min(usual.noise_ms, MOST_NOISE_MS))
    return min(noise_ms, MOST_SLACK_SHARE * claimed_ms) + SLACK_SHARE * claimed_ms


def share_of(usual, place):
    """What a place may take longer for itself alone."""
    shares = {"store_ms": STORE_SLACK_SHARE * usual.store_ms, "early_ms": EARLY_SLACK_SHARE * usual.early_ms}
    return shares.get(place, 0.0)


def honest(usual, claimed_ms, **later):
    """What the judge's clock shows of a solution that hides nothing; `later`: what a place takes longer than usual."""
    usual_ms = {
        "wall_ms": usual.wall_ms + claimed_ms, "settle_ms": usual.settle_ms, "store_ms": usual.store_ms,
        "early_ms": usual.early_ms,
    }  # fmt: skip
    return Observation(claimed_ms, **{place: known + later.get(place, 0.0) for place, known in usual_ms.items()})


@quickly
@given(overheads, milliseconds, st.lists(st.floats(0.0, 1.0), min_size=4, max_size=4), st.floats(0.0, 0.99))
def test_noise_is_free_wherever_it_falls(usual, claimed_ms, parts, share):
    noise = share * slack_of(usual, claimed_ms)
    total = max(sum(parts), 1e-9)
    later = {
        place: noise * part / total + share * share_of(usual, place) for place, part in zip(PLACES, parts, strict=True)
    }
    assert unexplained_ms(honest(usual, claimed_ms, **later), usual) == 0.0


@quickly
@given(overheads, milliseconds, st.floats(0.0, 1.0))
def test_less_than_usual_is_free_and_pays_for_nothing(usual, claimed_ms, share):
    faster = {place: -share * getattr(usual, place) for place in PLACES[1:]}
    assert unexplained_ms(honest(usual, claimed_ms, **faster), usual) == 0.0
    hidden = 2 * slack_of(usual, claimed_ms)
    seen = honest(usual, claimed_ms, wall_ms=hidden, **faster)
    assert unexplained_ms(seen, usual) == pytest.approx(hidden, abs=NOISE)


@quickly
@given(overheads, st.floats(0.0, 30.0), st.sampled_from(PLACES))
def test_hidden_work_is_charged_in_full(usual, claimed_ms, where):
    hidden = slack_of(usual, claimed_ms) + share_of(usual, where) + 1.0
    late = honest(usual, claimed_ms, **{where: hidden})
    assert unexplained_ms(late, usual) == pytest.approx(hidden, abs=NOISE)


@quickly
@given(overheads, milliseconds, milliseconds, milliseconds, milliseconds)
def test_nothing_is_given_back_and_no_more_is_charged_than_was_seen(usual, claimed_ms, wall_ms, settle_ms, store_ms):
    charged = unexplained_ms(Observation(claimed_ms, wall_ms, settle_ms, store_ms), usual)
    assert 0.0 <= charged <= wall_ms + settle_ms + store_ms


@quickly
@given(overheads, st.floats(3.0, 1e3), st.floats(0.0, 0.9))
def test_claiming_less_earns_no_more_than_the_slack(usual, true_ms, share):
    seen = honest(usual, true_ms)
    claimed = share * true_ms
    lie = Observation(claimed, seen.wall_ms, seen.settle_ms, seen.store_ms, seen.early_ms)
    assert claimed + unexplained_ms(lie, usual) >= true_ms - slack_of(usual, true_ms) - NOISE


def test_several_places_share_one_slack():
    usual = Overhead(0.1, 0.2, 0.3)
    assert unexplained_ms(Observation(1.0, 3.1, 3.2, 4.3), usual) == pytest.approx(2.0 + 3.0 + 4.0)
    little = 0.6 * slack_of(usual, 1.0)
    assert unexplained_ms(honest(usual, 1.0, wall_ms=little), usual) == 0.0
    assert unexplained_ms(honest(usual, 1.0, wall_ms=little, settle_ms=little), usual) == pytest.approx(2 * little)


@pytest.mark.parametrize(
    ("busy_ms", "run_ms", "gap_ms", "believable"),
    [
        (0.010, 0.0105, 0.0, True), (0.010, 0.012, 0.0, False), (0.010, 0.012, 0.001, True), (0.010, 0.005, 0.0, True),
        (0.001, 0.010, 0.001, False), (0.002, 0.0023, 0.0003, True), (0.001, 0.0023, 0.0003, False),
    ],
)  # fmt: skip
def test_kernels_must_fill_the_graph(busy_ms, run_ms, gap_ms, believable):
    assert believable_busy_ms(busy_ms, run_ms, gap_ms) is believable


@quickly
@given(st.floats(0.001, 0.05), st.floats(0.0003, 0.002))
def test_forged_kernel_times_gain_little_more_than_half_a_gap(busy_ms, gap_ms):
    run_ms = busy_ms + gap_ms  # as the baseline's: the gap is the device's
    lie = (run_ms - GAP_FACTOR * gap_ms) / 1.05 - 1e-6
    assert not believable_busy_ms(lie, run_ms, gap_ms)


@pytest.mark.parametrize(
    ("read", "written", "flops", "expected"),
    [
        (4_000_000_000, 0, 0, 1.0),
        (0, 4_000_000_000 + 50, 0, 1.0),
        (4_000_000_000, 50, 0, 1.0),  # outputs may stay in the L2 cache
        (2_000_000_000, 2_000_000_000 + 50, 0, 1.0),
        (0, 0, 10**12, 1.0),
        (4_000_000_000, 0, 3 * 10**12, 3.0),
        (0, 0, 0, 0.0),
    ],
)
def test_known_speeds_of_light(read, written, flops, expected):
    assert floor_ms(read, written, flops, bandwidth_gbs=4000.0, peak_gflops=1e6, l2_bytes=50) == pytest.approx(expected)


# ------------------------------------------------------------------------------------------- times of two kinds

samples = st.lists(st.floats(0.01, 100.0), max_size=30)
FAST, SLOW = 1.0, 1.01 * SLOW_FACTOR


@pytest.mark.parametrize(
    ("fast", "slow", "found"),
    [
        (4, 8, True),
        (8, 4, False),  # a few slow ones are noise
        (0, 12, False),  # all alike: this process may be of the slow kind, or the solution is
        (1, 11, False),  # one fast one is noise too
        (1, LEAST_SAMPLES - 1, True),
        (1, LEAST_SAMPLES - 2, False),  # too few to say
    ],
)
def test_times_are_slow_where_most_lie_above_the_fastest(fast, slow, found):
    assert slow_times([SLOW] * slow + [FAST] * fast) is found


@quickly
@given(samples, st.sampled_from((0.25, 2.0, 1024.0)))
def test_slow_times_have_no_unit_and_no_order(values, factor):
    found = slow_times(values)
    assert slow_times([factor * value for value in reversed(values)]) is found


@quickly
@given(st.lists(st.floats(1.0, SLOW_FACTOR), max_size=30))
def test_noise_within_the_factor_is_not_slow(values):
    assert not slow_times(values)


@quickly
@given(samples)
def test_the_lower_half_is_the_lower_half_in_order(values):
    kept = lower_half(values)
    assert len(kept) == (len(values) + 1) // 2
    assert kept == sorted(set(kept))
    others = [value for place, value in enumerate(values) if place not in kept]
    assert not others or max(values[place] for place in kept) <= min(others)


def test_what_empty_batches_take_is_their_median_and_their_noise_what_the_longest_take_more():
    found = usual_overhead([1.0, 5.0, 2.0], [0.5, 0.25, 0.5])
    assert (found.wall_ms, found.settle_ms, found.noise_ms) == (2.0, 0.5, 3.0)


@pytest.mark.parametrize(("sets", "ms"), [(1, 2.0), (5, 4.0), (9, 6.0)])
def test_between_one_set_and_all_times_lie_on_a_line(sets, ms):
    assert between([(1, 2.0), (9, 6.0)], sets) == ms


def test_where_there_is_one_set_its_time_is_the_time():
    assert between([(1, 2.0), (1, 2.5)], 1) == 2.0


def test_parts_of_a_charge_say_where_work_was_seen():
    usual = Overhead(0.1, 0.2, store_ms=0.3, early_ms=0.4)
    found = beyond_ms(Observation(1.0, 3.1, 0.1, store_ms=2.3, early_ms=0.9, collect_ms=0.5), usual)
    assert found == pytest.approx({"running": 2.0, "settling": 0.0, "reading": 2.5, "showing": 0.5})
    assert unexplained_ms(Observation(1.0, 3.1, 0.1, 2.3, 0.9, 0.5), usual) == pytest.approx(sum(found.values()))
