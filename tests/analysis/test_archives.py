"""What archives say beside our verdicts: who agrees, what a difference is about, and times of both clocks."""

import math

import pytest

from hone.analysis.archives import CAUSES, agrees, cause, pairs
from hone.analysis.frames import CATEGORY
from hone.config.settings import load
from hone.records import AsPublished, ClaimedVerdict, Status

from .tables import read_table
from .world import ARCHIVE, COMPARED, World, definition, settings_for

PROBLEM, OTHER = "mini/level1/1_problem", "mini/level1/2_problem"


def world(**experiments):
    settings = settings_for({1: 10}, archives={"a": ARCHIVE}, **(experiments or COMPARED))
    return World(settings, [definition(1, number) for number in (1, 2, 10)])


def rows(made, folder, table="judge_agreement"):
    return read_table(table, made.make(folder)).to_dict("records")


def test_one_solution_has_the_verdict_of_each_experiments_own_protocol(tmp_path):
    made = world()
    made.add_published("correct", {"public": 2.0, "own": Status.IMPRECISE})
    (row,) = rows(made, tmp_path)
    assert (row["status_kernelbench"], row["status_hone"]) == ("passed", "imprecise")
    assert (row["agrees"], row["cause"], row["archive_verdict"]) == ("yes", "precision", "correct")
    assert (row["archive"], row["model"], row["definition"], row["sample"]) == ("a", "a-model", PROBLEM, 0)
    assert (row["experiment_kernelbench"], row["experiment_hone"]) == ("public", "own")


@pytest.mark.parametrize(
    ("verdict", "kernelbench", "hone", "agreed", "about"),
    [
        ("correct", "passed", "passed", "yes", ""),
        ("correct", "passed", "imprecise", "yes", "precision"),
        ("correct", "wrong_value", "wrong_value", "no", "value"),
        ("correct", "out_of_memory", "passed", "no", "memory"),
        ("wrong_shape", "passed", "passed", "no", "shape"),
        ("wrong", "passed", "passed", "no", "unknown"),
        ("compile_error", "wrong_value", "wrong_value", "yes", ""),
        ("not_run", "passed", "passed", "", "machine"),
        ("correct", "not_judged", "passed", "", "ours"),
        ("correct", "passed", "missing", "yes", "ours"),
        ("correct", "", "passed", "", ""),
        ("correct", "", "wrong_shape", "", "shape"),
        ("correct", "passed", "", "yes", ""),
    ],
)
def test_who_agrees_and_what_a_difference_is_about(verdict, kernelbench, hone, agreed, about):
    assert agrees(ClaimedVerdict(verdict), kernelbench) == agreed
    assert cause(ClaimedVerdict(verdict), kernelbench, hone) == about


def test_every_verdict_against_a_kernel_has_a_cause():
    none = ("correct", "unresolved", "unanswered")  # no archive publishes a prompt that a server refused
    against = {word for word, category in CATEGORY.items() if category not in none}
    claimed = set(ClaimedVerdict) - {ClaimedVerdict.CORRECT, ClaimedVerdict.NOT_RUN}
    assert set(map(str, CAUSES)) == set(map(str, against | claimed))


def test_rows_go_by_number_and_a_lost_verdict_is_ours(tmp_path):
    made = world()
    for problem in ("mini/level1/10_problem", OTHER, PROBLEM):
        made.add_published("correct", {"public": "no_trace", "own": 1.0}, problem)
    found = rows(made, tmp_path)
    assert [row["definition"] for row in found] == [PROBLEM, OTHER, "mini/level1/10_problem"]
    assert {(row["status_kernelbench"], row["agrees"], row["cause"]) for row in found} == {("missing", "", "ours")}


@pytest.mark.parametrize(
    ("ours", "as_published", "shown"),
    [
        (Status.IMPRECISE, Status.PASSED, "passed"),
        (Status.PASSED, Status.WRONG_VALUE, "wrong_value"),
        (Status.WRONG_VALUE, None, "wrong_value"),  # of a judge that looks at nothing else
    ],
)
def test_one_experiment_has_both_verdicts(tmp_path, ours, as_published, shown):
    made = world(own=COMPARED["own"])
    made.add_published("correct", {"own": "no_trace"})
    protocol = made.settings.protocol("own")
    made._add_trace(made.claims[0].solution, PROBLEM, ours, protocol=protocol, status_as_published=as_published)
    (row,) = rows(made, tmp_path)
    assert (row["status_kernelbench"], row["status_hone"]) == (shown, str(ours))
    assert row["agrees"] == ("yes" if shown == "passed" else "no")
    assert (row["experiment_kernelbench"], row["experiment_hone"]) == ("own", "own")


def test_the_summary_counts_verdicts_and_agreement_of_each_rule(tmp_path):
    made = world()
    made.add_published("correct", {"public": 2.0, "own": Status.IMPRECISE})
    made.add_published("correct", {"public": 2.0, "own": 2.0}, OTHER)
    made.add_published("compile_error", {"public": Status.COMPILE_ERROR, "own": Status.COMPILE_ERROR})
    made.add_published("not_run", {"public": 1.0, "own": 1.0})
    made.add_published("correct", {"public": Status.NOT_JUDGED, "own": Status.NOT_JUDGED}, model="b-model")
    found = {(row["model"], row["rule"]): row for row in rows(made, tmp_path, "judge_agreement_summary")}
    names = ("answers", "verdicts", "claimed_correct", "agree_correct", "claimed_wrong", "agree_wrong")
    assert {key: tuple(row[name] for name in names) for key, row in found.items()} == {
        ("a-model", "kernelbench"): (4, 4, 2, 2, 1, 1),
        ("a-model", "hone"): (4, 4, 2, 1, 1, 1),
        ("b-model", "kernelbench"): (1, 0, 0, 0, 0, 0),
        ("b-model", "hone"): (1, 0, 0, 0, 0, 0),
    }
    assert found["a-model", "hone"]["agree_correct_share"] == 0.5
    assert math.isnan(found["b-model", "hone"]["agree_correct_share"])
    assert found["b-model", "hone"]["verdict_share"] == 0


def test_a_claim_stands_beside_both_clocks(tmp_path):
    made = world(own={**COMPARED["own"], "judge": {"name": "own", "as_published": "v0"}})
    made.add_published("correct", {"own": "no_trace"}, speedup=2.75)
    made.add_published("correct", {"own": "no_trace"}, OTHER)  # neither time nor speedup: not in the table
    times = AsPublished(
        version="v0", trials=100, solution_ms=0.5, baselines_ms={"torch_eager": 1.0}, solution_wall_ms=1
    )
    made._add_trace(
        made.claims[0].solution, PROBLEM, 4.0, as_published=times, protocol=made.settings.protocol("own"),
        findings=("fallback",),
    )  # fmt: skip
    (row,) = rows(made, tmp_path, "published_claims")
    assert (row["claimed_speedup"], row["as_published_speedup"]) == (2.75, 2.0)
    assert row["device_speedup"] == pytest.approx(4.0)
    assert (row["status"], row["findings"], row["baseline"]) == ("passed", "fallback", "torch_eager")
    assert math.isnan(row["claimed_ms"])


def test_without_the_second_clock_its_column_is_empty(tmp_path):
    made = world()
    made.add_published("correct", {"public": Status.WRONG_VALUE, "own": 2.0}, runtime_ms=3.0)
    found = {row["experiment"]: row for row in rows(made, tmp_path, "published_claims")}
    assert set(found) == {"public", "own"}
    assert all(math.isnan(row["as_published_speedup"]) for row in found.values())
    assert math.isnan(found["public"]["device_speedup"])
    assert found["own"]["device_speedup"] == pytest.approx(2.0)


def test_experiments_on_one_archive_are_compared_in_the_order_of_the_config_else_with_themselves():
    third = {"method": "archive", "archive": "a", "judge": {"name": "eval", "model_mode": "eval"}}
    compared = pairs(world(**COMPARED, third=third).settings)
    assert [(pair.kernelbench, pair.hone) for pair in compared["a", "mini"]] == [("public", "own"), ("third", "third")]


def test_published_answers_are_in_no_table_of_a_models_answers(tmp_path):
    made = world()
    made.add_published("correct", {"public": 2.0, "own": 2.0})
    folder = made.make(tmp_path)
    for table in ("kernelbench_fast_p", "kernelbench_errors", "judge_exploits", "judge_gold"):
        assert not len(read_table(table, folder)), table


def test_the_settings_of_a_rule_come_back_from_what_tables_are_given():
    settings = world().settings
    assert load(settings.model_dump(mode="json")) == settings
