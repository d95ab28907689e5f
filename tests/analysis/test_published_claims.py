"""What is left of published speedups: the standing of an answer, the line of an archive, the figure of both clocks."""

import math

import pytest

from hone.analysis.plotting import NothingToShow
from hone.analysis.standing import FINDINGS, MEANINGS, standing
from hone.records import AsPublished, Status
from hone.tables.stages import draw

from .tables import read_table
from .world import ARCHIVE, COMPARED, World, definition, settings_for

OWN = {"own": {**COMPARED["own"], "judge": {"name": "own", "as_published": "v0"}}}


def publish(world, claimed, outcome, public=None, findings=(), number=1, archive="a", **claim):
    """An answer that claims a speedup; judged as `outcome`, with the speedup `public` by KernelBench's loop."""
    problem = f"mini/level1/{number}_problem"
    experiment = "own" if archive == "a" else "other"
    world.add_published("correct", {experiment: "no_trace"}, problem, archive=archive, speedup=claimed, **claim)
    if outcome == "no_trace":
        return
    times = {} if public is None else {"as_published": AsPublished(
        version="v0", trials=100, solution_ms=1.0, baselines_ms={"torch_eager": public}, solution_wall_ms=2
    )}  # fmt: skip
    times |= {"findings": findings} if findings else {}
    world._add_trace(world.claims[-1].solution, problem, outcome, protocol=world.settings.protocol(experiment), **times)


def world(**others):
    archives = {"a": ARCHIVE, "b": ARCHIVE}
    return World(settings_for({1: 4}, archives=archives, **OWN, **others), [
        definition(1, number, sound=number != 2) for number in (1, 2, 3, 4)
    ])  # fmt: skip


@pytest.mark.parametrize(
    ("status", "findings", "sound", "word"),
    [
        ("passed", "", True, "credited"),
        ("passed", "", False, "degenerate"),
        ("passed", "slow_times", True, "doubtful"),
        ("passed", "slow_times", False, "degenerate"),
        ("passed", "no_custom_kernel; fallback", False, "fallback"),
        ("passed", "no_custom_kernel; reuses_outputs", True, "no_custom_kernel"),
        ("passed", "fallback; below_floor", True, "too_fast"),
        ("imprecise", "", True, "imprecise"),
        ("wrong_value", "", False, "fails"),
        ("machine_error", "", True, "no_verdict"),
        ("missing", "", True, "no_verdict"),
    ],
)
def test_the_gravest_thing_against_an_answer_is_its_standing(status, findings, sound, word):
    assert standing(status, findings, sound) == word
    assert word in MEANINGS
    assert {found for found, _ in FINDINGS} <= {"below_floor", "fallback", "no_custom_kernel"}


def test_an_archives_line_has_medians_of_the_same_answers(tmp_path):
    made = world(other={**OWN["own"], "archive": "b"})
    publish(made, 2.0, 1.0, public=3.0)  # three times as fast by the public loop, all of it work of the host
    publish(made, 4.0, 5.0, public=5.0, number=3)
    publish(made, 8.0, 8.0, public=8.0, number=2)  # its problem is degenerate
    publish(made, 100.0, Status.WRONG_VALUE, number=4)  # without a time: in no median
    publish(made, 50.0, "no_trace")
    publish(made, None, 2.0, public=4.0, archive="b", runtime_ms=1.0)  # an archive with times alone
    folder = made.make(tmp_path)
    first, second = read_table("published_claims_summary", folder).to_dict("records")
    counts = ("claims", "verdicts", "passed", "credited", "timed", "claimed_faster", "still_faster")
    assert tuple(first[name] for name in counts) == (5, 4, 3, 2, 3, 4, 1)
    assert (first["passed_share"], first["credited_share"]) == (0.75, 0.5)
    medians = ("median_claimed", "median_as_published", "median_device", "median_host_factor")
    assert [first[name] for name in medians] == pytest.approx([4.0, 5.0, 5.0, 1.0])
    assert first["standings"] == "2 credited, 1 degenerate, 1 fails, 1 no_verdict"
    assert (second["archive"], second["timed"], second["claimed_faster"]) == ("b", 1, 0)
    assert [second[name] for name in medians] == pytest.approx([math.nan, 4.0, 2.0, 2.0], nan_ok=True)
    claims = read_table("published_claims", folder).set_index("claimed_speedup")
    assert claims.loc[2.0, "host_factor"] == pytest.approx(3.0)
    assert set(claims["mode"]) == {""} and claims["charged_ms"].isna().all()  # of a CPU: it has one clock
    assert dict(claims["standing"].drop([math.nan])) == {
        2.0: "credited", 4.0: "credited", 8.0: "degenerate", 100.0: "fails", 50.0: "no_verdict"
    }  # fmt: skip


def test_the_figure_has_a_mark_for_each_claim_with_a_verdict(tmp_path):
    made = world()
    publish(made, 2.0, 1.0, public=3.0)
    publish(made, 8.0, 8.0, public=8.0, number=2)
    publish(made, 100.0, Status.WRONG_VALUE, number=4)
    publish(made, 50.0, "no_trace")
    table = read_table("published_claims", made.make(tmp_path))
    left, right = draw("published_speedups", table).axes
    shown = {
        axis: {
            mark.get_label(): [tuple(map(float, place)) for place in mark.get_offsets()] for mark in axis.collections
        }
        for axis in (left, right)
    }
    assert shown[left].keys() == {MEANINGS[word] for word in ("credited", "degenerate", "fails")}
    assert shown[left][MEANINGS["credited"]] == [pytest.approx((2.0, 3.0))]
    ((claimed, height),) = shown[left][MEANINGS["fails"]]
    low = min(3.0, 0.9) / 1.25
    assert claimed == 100.0
    assert left.get_ylim()[0] < height < low, "in the band below all times"
    assert shown[right] == {
        MEANINGS["credited"]: [pytest.approx((3.0, 1.0))], MEANINGS["degenerate"]: [pytest.approx((8.0, 8.0))]
    }  # fmt: skip
    assert {axis.get_xscale() + axis.get_yscale() for axis in (left, right)} == {"loglog"}
    with pytest.raises(NothingToShow):
        draw("published_speedups", table.assign(claimed_speedup=math.nan))
