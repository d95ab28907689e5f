"""The published numbers are complete, in range, and found by the rows that they belong to."""

import math
from collections import Counter

import pytest

from hone.analysis.frames import CATEGORIES
from hone.analysis.paper_numbers import Key, Matcher, PaperNumbers, read_published
from hone.core.errors import ConfigError, RecordError

from .world import PUBLISHED, settings_for

COUNTS = {
    "Table 1": 7 * 2 * 3,
    "fast_0": 8 * 3,
    "Figure 2": 7 * 7,
    "Figure 3": 5 * 7 + 5,
    "Figure 4": 2 * 3,
    "Table 2": 3 * 3 + 2 * 3 + 3 * 9,
    "Table 9": 3 * 3 + 3 * 9,
    "Table 4": 7 * 5 * 3,
    "Table 10": 2 * 3 * 2 * 2,
    "Table 14": 3 * 6 * 3,
    "Table 15": 3 * 3 * 4,
}


@pytest.fixture(scope="module")
def numbers():
    return [number for number in read_published(PUBLISHED) if number.paper == "KernelBench"]


def test_counts_per_table_and_no_key_twice(numbers):
    assert Counter(number.table for number in numbers) == COUNTS
    assert max(Counter((number.table, number.key) for number in numbers).values()) == 1


def test_ranges(numbers):
    for number in numbers:
        key = number.key
        assert 0 <= number.value <= 1
        assert key.level in ("1", "2", "3", "all")
        assert number.precision in ("exact", "read off ±1", "read off ±2")
        assert number.source.startswith("arXiv 2502.10517v1, ")
        metric, _, category = key.metric.partition(":")
        assert metric in ("fast_p", "fast_p@k", "fast_p@turn", "category")
        assert (metric == "category") == (key.p is None)
        assert not category or category in CATEGORIES
        assert (key.k_or_turn is not None) == (metric in ("fast_p@k", "fast_p@turn"))
        assert bool(key.baseline) == bool(key.p)


def test_tables_that_print_the_same_number_agree(numbers):
    exact: dict[Key, set[float]] = {}
    for number in numbers:
        if number.precision == "exact":
            exact.setdefault(number.key, set()).add(number.value)
    apart = {key: values for key, values in exact.items() if len(values) > 1}
    assert all(max(values) - min(values) < 0.0101 for values in apart.values())  # the paper's own: 26/27, 43/44, 5/6
    assert all(key.p == 0 for key in apart)


def test_a_model_s_outcomes_add_up_and_curves_fall(numbers):
    shares: Counter = Counter()
    for number in numbers:
        if number.table == "Figure 2":
            shares[number.key.model] += number.value
    assert all(total == pytest.approx(1, abs=0.07 / 2) for total in shares.values())
    curves: dict[tuple, list] = {}
    for number in numbers:
        if number.table == "Figure 3":
            curves.setdefault((number.key.model, number.key.level), []).append((number.key.p, number.value))
    for curve in curves.values():
        values = [value for _, value in sorted(curve)]
        assert values == sorted(values, reverse=True)


@pytest.fixture
def matcher(numbers):
    settings = settings_for(
        {1: 1, 2: 1},
        {"recorded/r1": "DeepSeek R1"},
        one={"published_as": "one_shot"},
        many={"published_as": "repeated_100", "samples": 100},
        refine={"published_as": "refine_gep", "method": "refine", "turns": 10},
        other={},
    )
    return Matcher(settings, PaperNumbers(numbers))


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("one", "recorded/r1", "2", "fast_p", 1.0, None, "torch_eager"), 0.36),
        (("one", "recorded/r1", "2", "fast_p", 1.0, None, "torch_compile"), 0.37),
        (("one", "recorded/r1", "1", "fast_p", 0.0, None, "torch_compile"), 0.67),
        (("one", "recorded/r1", "all", "category:value"), 0.17),
        (("refine", "recorded/r1", "2", "fast_p@turn", 1.0, 10, "torch_eager"), 0.72),
        (("refine", "recorded/r1", "2", "fast_p@turn", 1.0, 9, "torch_eager"), math.nan),
        (("one", "recorded/unknown", "2", "fast_p", 1.0, None, "torch_eager"), math.nan),
        (("other", "recorded/r1", "2", "fast_p", 1.0, None, "torch_eager"), math.nan),
    ],
)
def test_rows_find_their_number(matcher, arguments, expected):
    found = matcher.find(*arguments)
    assert found["published"] == pytest.approx(expected, nan_ok=True)
    assert bool(found["published_source"]) == (not math.isnan(expected))


def test_repeated_sampling_finds_each_k(numbers):
    models = {"recorded/v3": "DeepSeek V3"}
    settings = settings_for({2: 1}, models, many={"published_as": "repeated_100", "samples": 100})
    found = [
        Matcher(settings, PaperNumbers(numbers)).find("many", "recorded/v3", "2", "fast_p@k", 1.0, k, "torch_eager")
        for k in (10, 100)
    ]
    assert [item["published"] for item in found] == [0.14, 0.37]


def test_an_unknown_experiment_is_named(numbers):
    with pytest.raises(ConfigError, match=r"published_as.*\n*.*one_shoot.*did you mean 'one_shot'"):
        PaperNumbers(numbers).check(settings_for({1: 1}, one={"published_as": "one_shoot"}))


def test_a_broken_file_is_named(tmp_path):
    header = (PUBLISHED / "kernelbench.csv").read_text(encoding="utf-8").split("\n")[0]
    (tmp_path / "a.csv").write_text(header + "\nK,Table 1,one_shot,m,1,fast_p,1,,b,ten,percent,exact,s\n")
    with pytest.raises(RecordError, match=r"a\.csv:2"):
        read_published(tmp_path)
    (tmp_path / "a.csv").write_text("paper,table\n")
    with pytest.raises(RecordError, match="columns must be"):
        read_published(tmp_path)
