"""The parts of the comparison with the profiler that need no GPU."""

import pytest

from hone.core.errors import ConfigError
from hone.records import Performance, Timing
from studies.judge.kernel_files import open_bench
from studies.judge.profiler import COLUMNS, compare, row
from studies.judge.profiler_child import spans

FLUSH = "void at::native::vectorized_elementwise_kernel<4, FillFunctor<int>>"


def test_a_launch_spans_all_kernels_between_two_flushes():
    events = [
        ("first", 110.0, 112.0), (FLUSH, 0.0, 100.0), ("second", 112.5, 115.0),
        (FLUSH, 200.0, 300.0), ("first", 301.0, 304.0),
        (FLUSH, 400.0, 500.0),
    ]  # fmt: skip
    assert spans(events, 1) == [(2, 5.0), (1, 3.0)]
    assert spans([("before any flush", 0.0, 1.0)], 1) == []


def test_launches_in_a_row_share_the_kernels_between_two_flushes():
    starts = [(FLUSH, 0.0), ("a", 10.0), ("b", 12.0), ("a", 20.0), ("b", 23.0), (FLUSH, 100.0), ("a", 110.0)]
    events = [(name, start, start + 1.5) for name, start in starts]
    assert spans(events, 2) == [(2, 3.5), (2, 4.5)]


def test_a_row_has_a_ratio_only_with_both_times(trace):
    performance = Performance(solution=Timing(samples_ms=(0.004,)), baselines={})
    timed = trace.model_copy(update={"performance": performance})
    full = row("k.cu", timed, {"profiler_us": 4.2, "kernels": 1, "launches": 60})
    assert set(full) == set(COLUMNS)
    assert full["ratio"] == pytest.approx(1.05)
    assert row("k.cu", trace, {"profiler_us": 4.2})["ratio"] is None
    assert row("k.cu", timed, {})["ratio"] is None


def test_only_plain_cuda_on_a_gpu_is_compared(place):
    bench = open_bench(place.config, place.definitions)
    with pytest.raises(ConfigError, match=r"plain \.cu"):
        list(compare(bench, [place.kernel("honest.cpp")], place.folder / "scratch"))
    cuda = place.folder / "honest.cu"
    cuda.write_text("// definition: hand/level1/1_scale\n")
    with pytest.raises(ConfigError, match="on the CPU"):
        list(compare(bench, [cuda], place.folder / "scratch"))
