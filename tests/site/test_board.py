"""The leaderboard: the table's shares, and the same shares by another clock and rule."""

import pytest

from hone.records import AsPublished, Status
from hone.site.board import board, variant
from hone.tables.files import read_table, to_frame
from hone.tables.kernelbench_fast_p import TABLE, rows
from tests.analysis.world import big_world
from tests.site.world import Answers, site_run


def published(solution_ms, baseline_ms):
    return AsPublished(
        version="v0", trials=3, solution_ms=solution_ms, baselines_ms={"torch_eager": baseline_ms}, solution_wall_ms=9
    )


@pytest.fixture(scope="module")
def judged():
    """Two problems: one fast by the judge's clock alone, one that fails the judge's stricter checks alone."""
    world = Answers(models=["openai/o4-mini"], problems=2)
    world.add("openai/o4-mini", 1, 2.0)
    world.add("openai/o4-mini", 2, Status.IMPRECISE)
    traces = world.lists["traces"]
    traces[0] = traces[0].model_copy(update={"as_published": published(2.0, 1.0)})
    for number in (0, 1):
        traces[number] = traces[number].model_copy(update={"status_as_published": Status.PASSED})
    return site_run(world.settings, world.records())


def shares(site):
    table = to_frame(TABLE, rows(site.run))
    found = board(table, site.frame, site.run.context)
    return {
        (curve["clock"], curve["rule"], point["p"]): point["value"]
        for curve in found
        if curve["subset"] == "all"
        for point in curve["points"]
    }


def test_the_judges_clock_and_rule_are_the_table(tmp_path):
    world = big_world()
    table = read_table(TABLE, world.make(tmp_path))
    curves = board(table, None, None)
    places = ["experiment", "model", "level", "subset"]
    points = [
        (*(curve[name] for name in places), point["p"], point["low"]) for curve in curves for point in curve["points"]
    ]
    assert points == list(table[[*places, "p", "ci_low"]].itertuples(index=False, name=None))


def test_the_benchmarks_own_clock_may_say_slower(judged):
    found = shares(judged)
    assert found["judge", "hone", 1.0] == 0.5
    assert found["kernelbench", "hone", 1.0] == 0.0
    assert found["kernelbench", "hone", 0.0] == found["judge", "hone", 0.0]


def test_the_benchmarks_own_rule_may_pass_more(judged):
    found = shares(judged)
    assert found["judge", "hone", 0.0] == 0.5
    assert found["judge", "kernelbench", 0.0] == 1.0


def test_what_no_verdict_holds_is_not_offered(run):
    assert {key[:2] for key in shares(run)} == {("judge", "hone")}


def test_a_variant_leaves_the_frame_alone(judged):
    before = judged.frame.copy()
    variant(judged.frame, "kernelbench", "kernelbench")
    assert judged.frame.equals(before)
