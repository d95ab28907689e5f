"""The floor of a workload: by the measured copy bandwidth, else by the judge's own bound."""

import math

import pytest

from hone.analysis.bandwidth import CopyBandwidths, read_copy_bandwidths
from hone.errors import RecordError
from hone.records import Status

from .rounds import FLOOR_MS, Kit, kernel, settings_for
from .world import COPIES


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


def test_the_committed_table_is_read():
    found = read_copy_bandwidths(COPIES).gb_per_s
    assert found
    assert all(100 < value < 10_000 for value in found.values())


def test_a_broken_table_is_named(tmp_path):
    path = tmp_path / "copies.csv"
    with pytest.raises(RecordError, match="no such file"):
        read_copy_bandwidths(path)
    path.write_text("a,b\n")
    with pytest.raises(RecordError, match="columns must be"):
        read_copy_bandwidths(path)
    path.write_text("device,gb_per_s,source\nX,fast,s\n")
    with pytest.raises(RecordError, match=r"copies\.csv:2"):
        read_copy_bandwidths(path)
