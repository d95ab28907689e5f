"""`evaluate: winner`: one evaluation, of the existing kernel and the winner.

The tests build on one another.
"""

import pytest

from hone.core.files import read_records
from hone.records import Solution, Trace
from tests.analysis.tables import read_table
from tests.workflow.rounds import FAST, MODEL, OTHER, SLOW, Server, make_pipeline

pytestmark = pytest.mark.slow  # three campaigns

SLUG = MODEL.replace("/", "--")
RUNS = {"alone": {"astra": {"evaluate": "winner"}}}
EVALUATED = f"results/tiny/evaluations/alone/{SLUG}/winner/000.jsonl"
READ = ("tables", "results/tiny/pages/astra/alone")


def write_code(prompt, number):
    """Slow in the second round, in other words if the prompt asks for care; all from the right where it says so."""
    if "from the right" in prompt:
        return OTHER
    return FAST if number == 1 else SLOW + ("// with care\n" if "care" in prompt else "// again\n")


@pytest.fixture(scope="module")
def rounds(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch, Server(write_code) as server:
        patch.setenv("FAKE_API_KEY", "none")
        patch.setenv("NO_PROXY", "127.0.0.1")
        made = make_pipeline(tmp_path_factory.mktemp("winner"), server)
        made.write(RUNS)
        yield made
        server.shutdown()


def edit(rounds, words):
    template = rounds.folder / "config/prompts/astra/coding.md"
    template.write_text(template.read_text() + words)
    return rounds.jobs(rounds.make(EVALUATED))


def test_only_the_winner_is_evaluated(rounds):
    jobs = rounds.jobs(rounds.make(*READ))
    assert (jobs["winner"], jobs["evaluate_winner"]) == (1, 1)
    assert "evaluate" not in jobs
    found = read_records(rounds.folder / EVALUATED, Trace)
    chosen = read_records(rounds.folder / f"results/tiny/winners/alone/{SLUG}/000.jsonl", Solution)
    assert sorted(item.source for item in chosen) == sorted([SLOW, FAST])
    assert {trace.solution for trace in found} == {item.id for item in chosen}
    assert len(found) == 2 * 3  # held-out workloads included
    evaluated = (rounds.folder / "results/tiny/evaluations/alone").rglob("*.jsonl")
    assert {path.parent.name for path in evaluated} == {"winner"}
    tables = rounds.folder / "results/tiny/tables"
    alone = read_table("astra_main", tables)
    assert alone["winner"].tolist() == ["turn 1, sample 0", ""]  # the second row is over all kernels
    versions = read_table("astra_rounds", tables)
    assert versions[versions["experiment"] == "alone"]["status"].tolist() == ["passed", "passed", "not_evaluated"]
    assert "not evaluated" in (rounds.folder / "results/tiny/pages/astra/alone/Triple.md").read_text()


def test_a_second_run_has_nothing_to_do(rounds):
    assert "Nothing to be done" in rounds.make(*READ)


def test_an_equal_choice_evaluates_nothing(rounds):
    jobs = edit(rounds, "Take care.\n")
    assert (jobs["judge"], jobs["winner"]) == (1, 1)  # of a second round that is still slow
    assert "evaluate_winner" not in jobs


def test_another_winner_is_evaluated(rounds):
    jobs = edit(rounds, "Multiply from the right.\n")
    assert (jobs["winner"], jobs["evaluate_winner"]) == (1, 1)
    winners = rounds.folder / f"results/tiny/winners/alone/{SLUG}/000.jsonl"
    found = {item.source for item in read_records(winners, Solution)}
    assert found == {SLOW, OTHER}
    assert "Nothing to be done" in rounds.make(EVALUATED)
