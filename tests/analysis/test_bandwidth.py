"""The floor of a workload: by the measured copy bandwidth, else by the judge's own bound."""

import math

import pytest

from hone.analysis.bandwidth import CopyBandwidths, read_copy_bandwidths
from hone.records import Status

from .rounds import FLOOR_MS, Kit, kernel, settings_for
from .world import GPUS


@pytest.fixture
def trace():
    kit = Kit(settings_for(1, multi={}), [kernel(1, "k")])
    return lambda outcome: kit.trace("s", kit.workloads[0], outcome)


def test_a_measured_copy_comes_before_the_judge_s_bound(trace):
    measured = CopyBandwidths({"Test GPU": 4000.0})
    assert measured.floor(8_000_000, trace(2.0)).us == pytest.approx(2.0)
    bound = CopyBandwidths({"another": 4000.0}).floor(8_000_000, trace(2.0))
    assert bound.us == pytest.approx(1e3 * FLOOR_MS)
    assert bound.source != measured.floor(8_000_000, trace(2.0)).source


def test_where_nothing_is_known_there_is_no_floor(trace):
    floor = CopyBandwidths({}).floor(8_000_000, trace(Status.WRONG_VALUE))
    assert math.isnan(floor.us)
    assert floor.source == ""


def test_what_was_measured_goes_by_the_devices_name_in_traces():
    assert read_copy_bandwidths(GPUS).gb_per_s == {"NVIDIA H100 80GB HBM3": 3020.0, "NVIDIA H200": 4280.0}
