"""fast_p of the models whose answers archives hold: who counts, as what, and over which problems."""

import math

import pytest

from hone.config.settings import Analysis
from hone.tables.judge_agreement import Row as Answer
from hone.tables.published_fast_p import counted, finding, outcome

from .tables import read_table
from .world import ARCHIVE, World, definition, settings_for

NAN = math.nan


def answer(number=1, hone="passed", kernelbench="passed", **given):
    given = {"credited_speedup": NAN, "as_published_speedup": NAN, "level_problems": 10} | given
    return Answer(
        archive="a", model="m", definition=f"v0/level1/{number}_Sum", archive_verdict="correct",
        status_kernelbench=kernelbench, status_hone=hone, agrees="", cause="", experiment_kernelbench="own",
        experiment_hone="own", judged_by="1", **{"sample": 0} | given,
    )  # fmt: skip


def shares(answers, rule="hone"):
    """p -> (fast_p, unresolved)."""
    found = counted(answers, lambda *_: {}, Analysis())
    return {row.p: (row.fast_p, row.unresolved) for row in found if row.rule == rule}


def test_every_problem_of_the_level_is_in_the_denominator():
    answers = [
        answer(1, credited_speedup=3.0),
        answer(2, credited_speedup=0.9),
        answer(3, "wrong_value", "wrong_value"),
    ]
    found = shares(answers)
    assert (found[0.0], found[0.8], found[1.0], found[2.0]) == ((0.2, 0), (0.2, 0), (0.1, 0), (0.1, 0))
    (row, *_) = counted(answers, lambda *_: {}, Analysis())
    assert (row.n, row.answered, row.level, row.model) == (10, 3, "1", "m")


@pytest.mark.parametrize("rule", ["hone", "kernelbench"])
def test_no_share_rises_with_p(rule):
    answers = [answer(at, credited_speedup=at / 3, as_published_speedup=at / 2) for at in range(1, 9)]
    found = [share for share, _ in shares(answers, rule).values()]
    assert found == sorted(found, reverse=True) and len(found) == len(Analysis().thresholds)


@pytest.mark.parametrize(
    ("given", "hone", "kernelbench"),
    [
        ({"credited_speedup": 2.0, "as_published_speedup": 0.5}, 1.0, 0.0),  # each rule has a clock of its own
        ({"credited_speedup": 0.0, "as_published_speedup": 5.0}, 0.0, 1.0),  # it has a finding
        ({"hone": "imprecise", "as_published_speedup": 2.0}, 0.0, 1.0),
        ({"hone": "imprecise"}, 0.0, NAN),  # of an older judge
        ({"hone": "missing", "kernelbench": "missing"}, NAN, NAN),
        ({"hone": "not_judged", "kernelbench": "not_judged"}, NAN, NAN),
        ({"kernelbench": "wrong_value", "credited_speedup": 2.0, "as_published_speedup": 2.0}, 1.0, 0.0),
        ({}, NAN, NAN),  # of an older table, without its time
    ],
)
def test_what_an_answer_counts_as(given, hone, kernelbench):
    item = answer(**given)
    assert outcome(item, "hone", 1.0) == pytest.approx(hone, nan_ok=True)
    assert outcome(item, "kernelbench", 1.0) == pytest.approx(kernelbench, nan_ok=True)


def test_a_right_answer_needs_no_time_to_be_right():
    assert outcome(answer(credited_speedup=0.0), "hone", 0.0) == 1.0
    assert shares([answer(1)])[0.0] == (0.1, 0)
    assert shares([answer(1)])[1.0] == (pytest.approx(NAN, nan_ok=True), 1)


def test_what_nobody_knows_widens_the_interval_and_shrinks_no_denominator():
    known, unknown = answer(1, credited_speedup=2.0), answer(2, "missing", "missing")
    sure, open_ = (
        next(row for row in counted(answers, lambda *_: {}, Analysis()) if (row.rule, row.p) == ("hone", 1.0))
        for answers in ([known], [known, unknown])
    )
    assert math.isnan(open_.fast_p) and open_.n == sure.n == 10
    assert open_.ci_low == sure.ci_low and open_.ci_high > sure.ci_high


def test_of_several_answers_to_a_problem_the_first_counts():
    later, first = answer(1, credited_speedup=9.0, sample=1), answer(1, credited_speedup=0.1)
    assert shares([later, first])[1.0] == (0.0, 0)


def test_the_finding_speaks_of_levels_that_are_judged_whole():
    whole = counted([answer(1, credited_speedup=2.0)], lambda *_: {}, Analysis())
    assert finding(whole) == "m, level 1: 1 of 10 problems faster than PyTorch, by our rule."
    assert "bounds alone" in finding(counted([answer(1, "missing", "missing")], lambda *_: {}, Analysis()))


def test_a_run_puts_the_papers_number_beside_a_model_that_the_paper_asked(tmp_path):
    own = {"method": "archive", "archive": "a", "published_as": "one_shot", "limit": 5}
    settings = settings_for({1: 10}, {"a-model": "GPT-4o"}, archives={"a": ARCHIVE}, own=own)
    made = World(settings, [definition(1, number) for number in (1, 2)])
    made.add_published("correct", {"own": 2.0})
    made.add_published("correct", {"own": 2.0}, "mini/level1/2_problem", model="other")
    folder = made.make(tmp_path)
    rows = read_table("published_fast_p", folder)
    found = {(row["model"], row["p"]): row for row in rows.to_dict("records") if row["rule"] == "hone"}
    assert found["a-model", 1.0]["fast_p"] == 0.2 and found["a-model", 1.0]["published"] == 0.04
    assert found["a-model", 1.0]["published_source"] == "KernelBench Table 1 (exact)"
    assert math.isnan(found["other", 1.0]["published"])
    (answered, _) = read_table("judge_agreement", folder).to_dict("records")
    assert answered["level_problems"] == 5
    assert answered["credited_speedup"] == pytest.approx(2.0)
