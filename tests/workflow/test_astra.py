"""The rounds as a DAG: from kernels to tables, figures and trajectory pages, and what a change asks and judges again.

The tests of the first pipeline build on one another.
"""

import re
from collections import Counter

import pytest

from hone.analysis.metrics import geometric_mean
from hone.core.files import read_records
from hone.records import Answer, Solution, Status, Trace, Workload
from tests.analysis.tables import read_table
from tests.workflow.rounds import FAST, MODEL, OTHER, SLOW, WRONG, Server, make_pipeline

pytestmark = pytest.mark.slow  # campaigns of several rounds

EDIT = "Mind the last row.\n"
ROLES = ("testing", "ask_role", "converse", "suite", "render", "render_next")
LLM = {
    "mode": "export",
    "prices": {MODEL: {"input_usd_per_mtok": 1.0, "output_usd_per_mtok": 10.0}},
}
TURNS = {"team": 3, "one": 3}
EVERY_ROUND = [(role, number) for number in (1, 2) for role in ("profiling", "planning", "coding")]


def write_code(prompt, number):
    """Wrong at first; the same whatever else is said, unless the prompt asks for a multiplication from the right."""
    if "from the right" in prompt:
        return OTHER
    return WRONG if number == 1 else FAST


@pytest.fixture(scope="module")
def server():
    with Server(write_code) as running:
        yield running
        running.shutdown()


@pytest.fixture(scope="module")
def rounds(tmp_path_factory, server):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FAKE_API_KEY", "none")
        patch.setenv("NO_PROXY", "127.0.0.1")
        made = make_pipeline(tmp_path_factory.mktemp("rounds"), server)
        made.write({"team": {}, "one": {"method": "astra_single"}})
        yield made


def targets(rounds):
    return [rounds.path("evaluations", name, turn) for name, turns in TURNS.items() for turn in range(turns)]


def again(rounds, server):
    """(rule -> jobs, what was asked) of the next run."""
    server.asked.clear()
    jobs = rounds.jobs(rounds.make(*targets(rounds)))
    return jobs, sorted(server.asked)


def traces(rounds, stage, name, turn):
    return read_records(rounds.folder / rounds.path(stage, name, turn), Trace)


def test_one_command_goes_through_all_rounds(rounds, server):
    jobs, asked = again(rounds, server)
    assert asked == sorted([*EVERY_ROUND, ("testing", 0), ("testing", 0), ("coding", 1), ("coding", 2)])
    assert (jobs["ask_role"], jobs["converse"]) == (2 * 3, 2)
    statuses = [Status.PASSED, Status.WRONG_VALUE, Status.PASSED]
    for name, turns in TURNS.items():
        found = [traces(rounds, "evaluations", name, turn) for turn in range(turns)]
        assert [{trace.status for trace in turn} for turn in found] == [{status} for status in statuses[:turns]]
        assert all(len(turn) == 3 for turn in found)  # held-out workloads included
        assert all("upstream" in trace.performance.baselines for trace in found[0])


def test_rounds_are_measured_on_the_agents_suite(rounds):
    (suite,) = (rounds.folder / "results/tiny/suites/team").glob("*/000.jsonl")
    wanted = {item.id for item in read_records(suite, Workload)}
    assert len(wanted) == 2
    assert {trace.workload for turn in range(2) for trace in traces(rounds, "traces", "team", turn)} == wanted


def test_turn_0_is_the_existing_kernel(rounds):
    (kernel,) = read_records(rounds.folder / rounds.path("solutions", "team", 0), Solution)
    assert kernel.source == SLOW


def test_one_command_gives_tables_figures_and_pages(rounds):
    jobs = rounds.jobs(rounds.run())
    assert jobs["judge"] == 2  # the last round of each on the agents' suite, which only tables read
    assert not {*ROLES, "generate", "build", "evaluate"} & set(jobs)
    tables = rounds.folder / "results/tiny/tables"
    main = read_table("astra_main", tables)
    assert list(zip(main["kernel"], main["experiment"], strict=True)) == [
        ("Triple", "one"), ("all", "one"), ("Triple", "team"), ("all", "team")
    ]  # fmt: skip
    assert set(main["correct"]) == {"yes"}
    assert (main["workloads"] == 3).all()
    assert set(read_table("astra_single_vs_multi", tables)["method"]) == {"astra", "astra_single"}
    shapes = read_table("astra_shapes", tables)
    assert sorted(shapes[shapes["held_out"]]["workload"].unique()) == ["odd"]
    of_upstream = shapes[shapes["baseline"] == "upstream"].groupby("experiment")["speedup"]
    means = main.drop_duplicates("experiment").set_index("experiment")["speedup"]
    assert of_upstream.apply(geometric_mean).to_dict() == pytest.approx(means.to_dict())
    assert read_table("astra_rounds", tables)["status"].tolist() == ["passed", "wrong_value", "passed"] * 2
    assert not len(read_table("kernelbench_fast_p", tables))
    calls = read_table("llm_cost", tables).set_index("experiment")["calls"].to_dict()
    assert calls == {"team": 1 + 2 * 3, "one": 1 + 2}


def test_pages_show_why_and_what_changed(rounds):
    page = (rounds.folder / "results/tiny/pages/astra/team/Triple.md").read_text()
    assert "What planning says in round 1." in page
    assert "+    for (int64_t i = 0; i < rows * cols; ++i) out[i] = 2 * x[i];" in page
    assert f"## astra with {MODEL}" in page
    one = (rounds.folder / "results/tiny/pages/astra/one/Triple.md").read_text()
    assert "Here it is." in one
    summary = (rounds.folder / "results/tiny/summary.md").read_text()
    assert "[team](pages/astra/team/index.md)" in summary


def test_a_second_run_has_nothing_to_do(rounds):
    output = rounds.run()
    assert "Nothing to be done" in output
    assert not rounds.jobs(output)


def test_a_coding_prompt_that_gives_the_same_kernels_plans_and_judges_nothing(rounds, server):
    template = rounds.folder / "config/prompts/astra/coding.md"
    template.write_text(template.read_text() + EDIT)
    jobs, asked = again(rounds, server)
    assert asked == [("coding", 1), ("coding", 2)]
    assert jobs["ask_role"] == jobs["generate"] == jobs["extract_round"] == jobs["round_gate"] == 2
    assert not {"testing", "suite", "converse", "build", "judge", "evaluate"} & set(jobs)


def test_a_coding_prompt_that_gives_other_kernels_plans_later_rounds_anew_and_not_the_first(rounds, server):
    template = rounds.folder / "config/prompts/astra/coding.md"
    template.write_text(template.read_text() + "Multiply from the right.\n")
    jobs, asked = again(rounds, server)
    assert asked == [("coding", 1), ("coding", 2), ("planning", 2), ("profiling", 2)]
    assert jobs["ask_role"] == 2 + 1 + 1
    assert (jobs["build"], jobs["judge"], jobs["evaluate"]) == (2, 1, 2)  # nothing reads the last round's traces
    assert not {"testing", "suite", "converse"} & set(jobs)


def test_no_prompt_rule_reads_evaluations_or_held_out_workloads(rounds):
    output = rounds.run("--dry-run", "--forceall", "--", *targets(rounds))
    jobs = re.findall(r"^(?:local)?rule (\w+):\n(?:\s+.*\n)*?\s+input: (.*)$", output, re.MULTILINE)
    asking = [(rule, files) for rule, files in jobs if rule in (*ROLES, "upstream", "extract_round", "generate")]
    assert {rule for rule, _ in asking} >= {"testing", "ask_role", "converse", "suite"}
    for rule, files in asking:
        assert "results/tiny/evaluations/" not in files, rule
        assert "/workloads/" not in files, rule


def test_every_answer_is_in_the_costs(rounds):
    named = set(every_answer(rounds))
    made = {
        str(path.relative_to(rounds.folder))
        for path in rounds.folder.rglob("results/tiny/**/*.jsonl")
        if is_answers(path)
    }
    assert named == made
    assert Counter(row.role for path in named for row in read_records(rounds.folder / path, Answer)) == {
        "testing": 1, "profiling": 2, "planning": 2, "coding": 2, "single": 3,
    }  # fmt: skip


def is_answers(path):
    return path.name.endswith(".answers.jsonl") or "results/tiny/answers/" in str(path)


def every_answer(rounds):
    """The files that the map names for the tables of costs."""
    made = rounds.run("--dry-run", "--forcerun", "tables", "--", "results/tiny/tables/llm_cost.csv")
    listed = re.search(r"^rule tables:\n\s+input: (.*)$", made, re.MULTILINE).group(1)
    return [path for path in listed.split(", ") if is_answers(rounds.folder / path)]


def test_roles_are_asked_by_export_and_import_too(tmp_path, server):
    rounds = make_pipeline(tmp_path, server)
    rounds.write({"team": {"turns": 2}}, llm={**LLM, "services": {"fake": rounds.url}})
    output = rounds.make(rounds.path("evaluations", "team", 1), check=False)
    assert "1 requests wait for their answers" in output
    files = [str(path.relative_to(tmp_path)) for path in (tmp_path / "results/tiny/pending").rglob("*.jsonl")]
    place = "results/tiny/pending/team/openai-api--fake--writer/turn0/testing/000"
    assert sorted(files) == [f"{place}.jsonl", f"{place}.requests.jsonl"]
