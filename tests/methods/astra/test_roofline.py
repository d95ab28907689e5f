"""The least time of a kernel: known answers, and never more than what was measured."""

import csv

import pytest

from hone.methods.astra.roofline import least_time
from hone.records import Trace
from tests.graph_ops import ROOT

MEASURED = ROOT / "docs/results/h200/astra/astra_shapes.csv"
NOISE = 1.01
"""A median of twelve batches is so sure."""


@pytest.fixture
def on(trace):
    """A verdict by the GPU of a name, with the judge's own bound in ms."""

    def make(device, floor_ms=0.0):
        fields = trace.model_dump()
        fields["environment"]["device"] = device
        timing = {"samples_ms": (1.0,)}
        performance = {"solution": timing, "baselines": {"upstream": timing}, "floor_ms": floor_ms}
        return Trace.model_validate({**fields, "performance": performance})

    return make


@pytest.mark.parametrize(
    ("device", "nbytes", "floor_ms", "expected_us"),
    [
        ("NVIDIA H200", 428_000_000, 0.01, 100.0),  # a copy's 4.28 TB/s
        ("NVIDIA H200", 1000, 0.0, 1.3),  # no kernel is shorter
        ("NVIDIA H200", 428_000_000, 0.25, 250.0),  # operations
        ("NVIDIA L40S", 86_400_000, 0.0, 100.0),  # no copy was measured: the data sheet's 864 GB/s
    ],
)
def test_the_longest_bound_counts(on, device, nbytes, floor_ms, expected_us):
    assert least_time(nbytes, on(device, floor_ms)).us == pytest.approx(expected_us)


def test_what_it_was_computed_with_is_said(on):
    assert least_time(1, on("NVIDIA H200")).source == "a copy's 4280 GB/s, 1.3 us at least"
    assert least_time(1, on("NVIDIA L40S")).source == "the data sheet's 864 GB/s"


def test_there_is_none_for_other_devices_and_without_a_time(on, trace):
    assert least_time(1, on("a CPU")) is None
    assert least_time(1, trace.model_copy(update={"performance": None})) is None


def test_nothing_that_was_measured_is_faster(on):
    """So outputs may be counted in full, also those that would fit the L2 cache."""
    with MEASURED.open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["optimised_us"]]
    assert len(rows) > 100
    judged = on("NVIDIA H200")
    assert all(least_time(int(row["bytes"]), judged).us < NOISE * float(row["optimised_us"]) for row in rows)
