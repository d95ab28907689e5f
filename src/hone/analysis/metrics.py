"""Metrics of the KernelBench paper with intervals, as pure functions of arrays: no files, no global random state.

An *outcome* is 1.0 (correct and fast enough), 0.0 (not) or NaN (unresolved: nobody knows). An unresolved outcome
neither counts as wrong nor shrinks a denominator: the estimate is then NaN, and its interval is the worst case,
from "all unresolved fail" to "all unresolved succeed".
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Statistic = Callable[..., Any]

SEED = 20250210
RESAMPLES = 2000
LEAST_BOOTSTRAPPED = 10
"""Problems that a bootstrap needs: below, resampling sees too few different ones and its interval is too narrow."""


class Interval(NamedTuple):
    """A confidence interval."""

    low: float
    high: float


class Estimate(NamedTuple):
    """A share between 0 and 1; `value` is NaN where `unresolved` is not 0."""

    value: float
    low: float
    high: float
    unresolved: int


def fast_p(correct: ArrayLike, speedup: ArrayLike, p: float, n: int) -> float:
    """Share of n problems whose kernel is correct and more than p times as fast (paper, section 3.3).

    `correct` and `speedup` have shape (problems judged,); n is the number of problems asked, so that a problem
    without a kernel stays in the denominator. Raises ValueError when n is smaller than the number of rows.
    """
    hits = np.asarray(correct, dtype=bool) & (np.asarray(speedup, dtype=float) > p)
    if n < hits.size or n == 0:
        raise ValueError(f"the denominator {n} is less than the {hits.size} problems given, or zero")
    return float(hits.sum() / n)


def outcomes(correct: ArrayLike, speedup: ArrayLike, resolved: ArrayLike, p: float) -> Floats:
    """1, 0 or NaN for each answer, in the shape of the arguments (any, all alike).

    At p = 0 being correct is enough, as a time is above 0. A correct answer whose time is unknown (NaN) is
    unresolved at p > 0.
    """
    right = np.asarray(correct, dtype=bool)
    ratio = np.asarray(speedup, dtype=float)
    if p == 0:
        result = right.astype(float)
    else:
        result = np.where(right & np.isnan(ratio), np.nan, (right & (ratio > p)).astype(float))
    return np.where(np.asarray(resolved, dtype=bool), result, np.nan)


def wilson_interval(successes: float, n: int, confidence: float = 0.95) -> Interval:
    """Wilson's score interval of a share; (0, 1) when n is 0.

    `successes` may be a sum of shares: their variance is at most that of plain successes, so the interval is then too
    wide rather than too narrow.
    """
    from scipy import stats

    if n == 0:
        return Interval(0.0, 1.0)
    share, z2 = successes / n, float(stats.norm.ppf((1 + confidence) / 2)) ** 2
    centre = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = math.sqrt(z2 * (share * (1 - share) / n + z2 / (4 * n * n))) / (1 + z2 / n)
    return Interval(max(0.0, min(centre - half, share)), min(1.0, max(centre + half, share)))


def bootstrap_interval(
    samples: tuple[ArrayLike, ...],
    statistic: Statistic,
    confidence: float,
    rng: np.random.Generator,
    resamples: int = RESAMPLES,
) -> Interval:
    """Percentile bootstrap of `statistic(*samples, axis)`; several samples are drawn as pairs by index.

    Each sample has shape (units,): pass one number a problem to resample problems with all that belongs to them.
    Raises ValueError for fewer than two units.
    """
    from scipy import stats

    data = tuple(np.asarray(sample, dtype=float) for sample in samples)
    if data[0].size < 2:
        raise ValueError("a bootstrap needs at least two units")
    found = stats.bootstrap(
        data,
        statistic,
        n_resamples=resamples,
        confidence_level=confidence,
        method="percentile",
        paired=len(data) > 1,
        vectorized=True,
        rng=rng,
    ).confidence_interval
    return Interval(float(found.low), float(found.high))


def share_interval(per_problem: ArrayLike, confidence: float, rng: np.random.Generator) -> Interval:
    """Interval of the mean of shares, shape (problems,), each between 0 and 1.

    Where every problem is a plain success or failure, where all agree, and for few problems this is Wilson's interval,
    which stays honest there; else problems are bootstrapped, each with all of its samples. One problem with a mixed
    record tells nothing about others: (0, 1).
    """
    shares = np.asarray(per_problem, dtype=float)
    mixed = not np.isin(shares, (0.0, 1.0)).all()
    if mixed and shares.size < 2:
        return Interval(0.0, 1.0)
    if not mixed or shares.size < LEAST_BOOTSTRAPPED or np.ptp(shares) == 0:
        return wilson_interval(float(shares.sum()), shares.size, confidence)
    found = bootstrap_interval((shares,), np.mean, confidence, rng)
    mean = float(shares.mean())
    return Interval(max(0.0, min(found.low, mean)), min(1.0, max(found.high, mean)))


def estimate(outcome: ArrayLike, score: Callable[[Floats], Floats], confidence: float, seed: int = SEED) -> Estimate:
    """Mean over problems of `score`, with its interval, or the worst case where outcomes are unresolved.

    `outcome` has shape (problems, samples); `score` maps such an array without NaN to (problems,) and must not
    fall when an outcome rises. The random numbers depend on `seed` alone.
    """
    array = np.asarray(outcome, dtype=float)
    if not array.size:
        return Estimate(math.nan, 0.0, 1.0, 0)
    unresolved = int(np.isnan(array).sum())
    worst = score(np.nan_to_num(array, nan=0.0))
    best = score(np.nan_to_num(array, nan=1.0)) if unresolved else worst
    low = share_interval(worst, confidence, np.random.default_rng(seed)).low
    high = share_interval(best, confidence, np.random.default_rng(seed)).high
    return Estimate(math.nan if unresolved else float(worst.mean()), low, high, unresolved)


def mean_estimate(outcome: ArrayLike, confidence: float, seed: int = SEED) -> Estimate:
    """Share of successes; `outcome` has shape (problems, samples), every problem weighs the same."""
    return estimate(outcome, lambda array: array.mean(axis=1), confidence, seed)


def pass_at_k(n: int, c: int, k: int) -> float:
    """Chance that k of n samples, c of them right, hold a right one: 1 - C(n-c, k) / C(n, k).

    The unbiased estimator of the HumanEval paper (arXiv 2107.03374, section 2.1), in whole numbers, so that it
    neither overflows nor cancels. Raises ValueError unless 0 <= c <= n and 1 <= k <= n.
    """
    if not (0 <= c <= n and 1 <= k <= n):
        raise ValueError(f"no pass@{k} of {c} right among {n} samples")
    ways = math.comb(n, k)
    return (ways - math.comb(n - c, k)) / ways


def estimate_at_k(outcome: ArrayLike, k: int, confidence: float, seed: int = SEED) -> Estimate:
    """pass@k, or fast_p@k where the outcome is "correct and above p"; `outcome` has shape (problems, samples)."""

    def score(array: Floats) -> Floats:
        samples = array.shape[1]
        table = np.array([pass_at_k(samples, right, k) for right in range(samples + 1)])
        found: Floats = table[array.sum(axis=1).astype(int)]
        return found

    return estimate(outcome, score, confidence, seed)


def best_so_far(outcome: ArrayLike) -> Floats:
    """Outcome of the best answer up to each turn; shape (..., turns), and the same out.

    A success settles all later turns; without one, an unresolved turn leaves the later ones unresolved. Speedup
    above p is monotonic, so this is fast_p@N of the best correct kernel up to turn N.
    """
    array = np.asarray(outcome, dtype=float)
    succeeded = np.logical_or.accumulate(array == 1.0, axis=-1)
    unknown = np.logical_or.accumulate(np.isnan(array), axis=-1)
    found: Floats = np.where(succeeded, 1.0, np.where(unknown, np.nan, 0.0))
    return found


def geometric_mean(values: ArrayLike) -> float:
    """exp of the mean of logs; NaN without values. Raises ValueError for one that is not positive and finite."""
    array = np.asarray(values, dtype=float)
    if not array.size:
        return math.nan
    if not (np.isfinite(array) & (array > 0)).all():
        raise ValueError("a geometric mean needs positive finite values")
    return float(np.exp(np.log(array).mean()))


def log_mean_interval(values: ArrayLike, confidence: float = 0.95) -> Interval:
    """Student's interval of a geometric mean, for a few repeats, of which a bootstrap is too narrow; shape (repeats,).

    (NaN, NaN) for fewer than two. Raises ValueError as `geometric_mean`.
    """
    from scipy import stats

    array = np.asarray(values, dtype=float)
    mean = geometric_mean(array)
    if array.size < 2:
        return Interval(math.nan, math.nan)
    logs = np.log(array)
    half = float(stats.t.ppf((1 + confidence) / 2, array.size - 1)) * float(logs.std(ddof=1)) / math.sqrt(array.size)
    return Interval(mean * math.exp(-half), mean * math.exp(half))


def _median_ratio(numerator: Floats, denominator: Floats, axis: int = -1) -> Floats:
    ratio: Floats = np.median(numerator, axis=axis) / np.median(denominator, axis=axis)
    return ratio


def paired_ratio_interval(
    numerator: ArrayLike, denominator: ArrayLike, confidence: float = 0.95, seed: int = SEED, resamples: int = 1000
) -> Interval:
    """Interval of median(numerator) / median(denominator) of interleaved samples, shape (runs,) each.

    Runs are drawn as pairs, since neighbours in time share the machine's state; a longer array loses its tail.
    (NaN, NaN) for fewer than two pairs.
    """
    above, below = np.asarray(numerator, dtype=float), np.asarray(denominator, dtype=float)
    pairs = min(above.size, below.size)
    if pairs < 2:
        return Interval(math.nan, math.nan)
    rng = np.random.default_rng(seed)
    return bootstrap_interval((above[:pairs], below[:pairs]), _median_ratio, confidence, rng, resamples)


def geometric_mean_interval(groups: Sequence[ArrayLike], confidence: float = 0.95, seed: int = SEED) -> Interval:
    """Interval of the geometric mean over groups of each group's geometric mean; each has shape (units,).

    Units are resampled within their group; groups weigh the same. With few units in a group, Student's t on the
    logarithms is used instead, as resampling would see too few different ones. (NaN, NaN) where a group has fewer than
    two. Raises ValueError for a value that is not positive and finite.
    """
    logs = [np.asarray(group, dtype=float) for group in groups]
    if not all((np.isfinite(group) & (group > 0)).all() for group in logs):
        raise ValueError("a geometric mean needs positive finite values")
    logs = [np.log(group) for group in logs]
    if not logs or min(group.size for group in logs) < 2:
        return Interval(math.nan, math.nan)
    if min(group.size for group in logs) < LEAST_BOOTSTRAPPED:
        low, high = _student_interval(logs, confidence)
    else:
        rng = np.random.default_rng(seed)
        draws = sum(rng.choice(group, (RESAMPLES, group.size)).mean(axis=1) for group in logs) / len(logs)
        low, high = np.quantile(draws, ((1 - confidence) / 2, (1 + confidence) / 2))
    return Interval(math.exp(low), math.exp(high))


def geometric_ratio_interval(
    above: ArrayLike, below: ArrayLike, *, in_turns: bool, confidence: float = 0.95, seed: int = SEED
) -> Interval:
    """Interval of the ratio of two geometric means, shape (units,) each; a unit is a whole process, never one epoch.

    `in_turns`: index k of both ran in turn k, and turns are resampled as pairs, since both share the machine's state.
    Else each side is resampled by itself. (NaN, NaN) for fewer than two units on a side. Raises ValueError for a value
    that is not positive and finite, and for turns without a partner.
    """
    one, other = np.asarray(above, dtype=float), np.asarray(below, dtype=float)
    if in_turns:
        if one.size != other.size:
            raise ValueError(f"{one.size} and {other.size} processes are no turns")
        return geometric_mean_interval([one / other], confidence, seed)
    low, high = geometric_mean_interval([one, 1 / other], confidence, seed)  # of the root of the ratio
    return Interval(low**2, high**2)


def _student_interval(groups: Sequence[Floats], confidence: float) -> tuple[float, float]:
    """Of the mean of the groups' means, with the degrees of freedom of Welch and Satterthwaite."""
    from scipy import stats

    centre = float(np.mean([group.mean() for group in groups]))
    parts = [float(group.var(ddof=1)) / group.size for group in groups]
    if not any(parts):
        return centre, centre
    freedom = sum(parts) ** 2 / sum(part**2 / (group.size - 1) for part, group in zip(parts, groups, strict=True))
    half = float(stats.t.ppf((1 + confidence) / 2, freedom)) * math.sqrt(sum(parts)) / len(groups)
    return centre - half, centre + half
