"""The Astra paper's numbers: complete, consistent with each other, and found by the rows that they belong to."""

import math
from collections import Counter

import pytest

from hone.analysis.metrics import geometric_mean
from hone.analysis.paper_numbers import ALL_KERNELS, Key, Matcher, PaperNumbers, read_published
from hone.core.errors import RecordError

from .rounds import settings_for
from .world import PUBLISHED

KERNELS = {"merge_attn_states", "fused_add_rmsnorm", "silu_and_mul"}


@pytest.fixture(scope="module")
def numbers():
    return [number for number in read_published(PUBLISHED) if number.paper == "Astra"]


def values(numbers, table, metric, experiment="astra"):
    """Kernel -> value."""
    return {
        number.key.kernel: number.value
        for number in numbers
        if (number.table, number.key.metric, number.key.experiment) == (table, metric, experiment)
    }


def test_counts_per_table_and_no_key_twice(numbers):
    counts = {"Table 2": 3 * 6 + 4, "Table 3": 2 * 4, "Table 4": 2 * 3 + 3 * 2, "test scripts": 5 + 8 + 5}
    assert Counter(number.table for number in numbers) == counts
    assert max(Counter((number.table, number.key) for number in numbers).values()) == 1


def test_kernels_and_sources(numbers):
    for number in numbers:
        assert number.key.kernel in KERNELS | {ALL_KERNELS}
        assert number.source
        assert number.precision == ("exact" if number.key.metric == "shape" else "from public summaries")


def test_table_2_agrees_with_itself(numbers):
    before, after, change = (values(numbers, "Table 2", name) for name in ("loc_before", "loc_after", "loc_change"))
    for kernel in KERNELS:
        assert after[kernel] / before[kernel] - 1 == pytest.approx(
            change[kernel], abs=0.011
        )  # 163/108 is printed +50 %
    slow, fast, speedup = (values(numbers, "Table 2", name) for name in ("baseline_us", "optimised_us", "speedup"))
    for kernel in KERNELS:
        assert slow[kernel] / fast[kernel] == pytest.approx(speedup[kernel], abs=0.011)
    for column in (slow, fast):
        assert sum(column[kernel] for kernel in KERNELS) / 3 == pytest.approx(column[ALL_KERNELS], abs=0.051)


@pytest.mark.parametrize("experiment", ["astra", "astra_single"])
def test_the_paper_s_means_over_kernels_are_geometric(numbers, experiment):
    found = values(numbers, "Table 3", "speedup", experiment)
    assert geometric_mean([found[kernel] for kernel in KERNELS]) == pytest.approx(found[ALL_KERNELS], abs=0.006)


def test_tables_that_print_the_same_number_agree(numbers):
    found: dict[Key, set[float]] = {}
    for number in numbers:
        found.setdefault(number.key, set()).add(number.value)
    assert all(len(same) == 1 for same in found.values())


def test_rows_find_their_number(numbers):
    settings = settings_for(
        1, multi={"published_as": "astra"}, alone={"method": "astra_single", "published_as": "astra_single"}, other={}
    )
    matcher = Matcher(settings, PaperNumbers(numbers))
    assert matcher.of_kernel("multi", "silu_and_mul", "speedup") == (1.46, "Astra Table 2 (from public summaries)")
    assert matcher.of_kernel("alone", "merge_attn_states", "speedup")[0] == 0.73
    assert matcher.of_kernel("multi", "merge_attn_states", "speedup", "512x40x128 float16")[0] == 1.57
    assert matcher.of_kernel("multi", "merge_attn_states", "baseline_us", "768x32x256 float16")[0] == 32.5
    assert math.isnan(matcher.of_kernel("other", "silu_and_mul", "speedup")[0])
    assert math.isnan(matcher.of_kernel("multi", "rmsnorm", "speedup")[0])
    assert matcher.kernels("multi") == KERNELS
    assert matcher.kernels("other") == set()
    assert matcher.numbers.measured("fused_add_rmsnorm", "2048x8192 float32")
    assert not matcher.numbers.measured("fused_add_rmsnorm", "2048x8192 float16")


def test_a_file_may_end_with_kernel_and_workload_and_with_nothing_else(tmp_path):
    text = (PUBLISHED / "astra.csv").read_text(encoding="utf-8")
    (tmp_path / "a.csv").write_text(text.replace(",kernel,workload", ",kernel,shape", 1))
    with pytest.raises(RecordError, match="columns must be"):
        read_published(tmp_path)
