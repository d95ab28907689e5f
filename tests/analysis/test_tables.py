"""The tables: known answers on small runs, invariants on a large one, and the way through CSV."""

import math
import re
from pathlib import Path

import pandas as pd
import pytest

from hone.analysis.frames import CATEGORIES
from hone.analysis.plotting import NothingToShow
from hone.core.errors import RecordError
from hone.records import Build, BuildStatus, Status, Usage
from hone.tables import judge_repeatability, registry
from hone.tables.docs import tables_page
from hone.tables.files import to_frame
from hone.tables.kernelbench_sampling import k_values
from hone.tables.page import cell, markdown, shown_columns, web_page
from hone.tables.registry import TABLES, caption_of
from hone.tables.row import PROVENANCE
from hone.tables.stages import draw
from hone.tables.summary import finding_of

from .tables import read_table
from .world import World, answer, definition, settings_for

DESIGN = {
    "kernelbench_fast_p": "experiment model method level subset baseline p n fast_p ci_low ci_high",
    "kernelbench_errors": "experiment model level category count",
    "kernelbench_sampling": "experiment model level k p n fast_p ci_low ci_high",
    "kernelbench_refinement": "experiment model level turn p n fast_p ci_low ci_high",
    "astra_main": "kernel method rounds correct speedup ci_low ci_high loc_before loc_after",
    "astra_single_vs_multi": "kernel method speedup",
    "astra_shapes": (
        "kernel method workload dtype held_out bytes baseline baseline_us optimised_us speedup bandwidth_share"
    ),
    "astra_ablation": "kernel experiment model changed speedup gain",
    "search_budget": "operator strategy repeat evaluations answers speedup possible share",
    "astra_rounds": "kernel method model turn sample status speedup kept",
    "judge_gold": "definition status speedup gpu_held_s wall_s",
    "own_kernels": "file definition language status speedup speedup_low speedup_high findings",
    "own_workloads": "file definition workload held_out bytes baseline baseline_us solution_us speedup least_us",
    "judge_exploits": "exploit group language status expected speedup earned",
    "judge_idioms": "idiom language status expected as_expected mode findings",
    "judge_repeatability": "definition workload solution run speedup",
    "judge_cost": "definition solution phase seconds where",
    "llm_cost": "experiment model calls input_tokens output_tokens cost_usd",
}
ROOT = Path(__file__).parents[2]
PROBLEMS = [f"mini/level1/{number}_problem" for number in range(1, 5)]


def world(**experiment):
    definitions = [definition(1, number, sound=number != 4) for number in range(1, 5)]
    return World(settings_for({1: 4}, one=experiment), definitions)


def row_of(table, **wanted):
    """The one row with these values, as a dict."""
    for column, value in wanted.items():
        table = table[table[column] == value]
    (row,) = table.to_dict("records")
    return row


@pytest.mark.parametrize("name", DESIGN)
def test_leading_columns_are_the_design_s_and_provenance_ends_every_table(name):
    columns = tuple((TABLES | {"judge_repeatability": judge_repeatability.TABLE})[name].columns)
    assert list(columns[: len(DESIGN[name].split())]) == DESIGN[name].split()
    assert columns[-len(PROVENANCE) :] == PROVENANCE


@pytest.mark.parametrize("name", TABLES)
def test_a_module_says_all_of_its_table(name):
    table = TABLES[name]
    assert table.name == table.row.__module__.rpartition(".")[2]
    assert all(column.meaning for column in table.columns.values())
    assert 5 <= len(table.shown) <= 8
    assert table.caption.endswith(".")
    assert table.layout is not None or set(table.shown) <= set(table.columns)


@pytest.mark.parametrize("name", [name for name in TABLES if name not in ("llm_cost",)])
def test_no_two_rows_of_a_page_are_the_same(tables, name):
    shown = shown_columns(TABLES[name], read_table(name, tables)).astype(str)
    assert not shown[shown.duplicated(keep=False)].to_dict("records")


def test_the_page_of_all_columns_has_not_drifted():
    assert (ROOT / "docs/tables.md").read_text(encoding="utf-8") == tables_page(), "run `make generated`"


def test_no_module_is_forgotten():
    folder = Path(registry.__file__).parent
    modules = {file.stem for file in folder.glob("*.py") if "TABLE = " in file.read_text(encoding="utf-8")}
    assert modules == {*TABLES, "judge_repeatability"}


@pytest.mark.parametrize("name", TABLES)
def test_a_finding_is_a_sentence_of_its_rows_and_says_no_nan(tables, name):
    table = TABLES[name]
    said = finding_of(table, read_table(name, tables))
    assert said == "" or said.endswith(".")
    assert "nan" not in said.split()


def test_findings_bear_rows_without_any_number(tables):
    for name, table in TABLES.items():
        frame = read_table(name, tables)
        empty = frame.assign(**dict.fromkeys(frame.select_dtypes("float64").columns, math.nan))
        assert isinstance(finding_of(table, empty), str)


def test_what_fast_p_comes_to_is_said_in_problems(tmp_path):
    made = world()
    for problem, outcome in zip(PROBLEMS, (2.0, 0.9, Status.WRONG_VALUE, "no_code"), strict=True):
        made.add((problem, 0, 0), outcome)
    said = finding_of(TABLES["kernelbench_fast_p"], read_table("kernelbench_fast_p", made.make(tmp_path)))
    assert "recorded/demo" in said
    assert "2 of 4 problems correct, 1 of 4 problems faster than `torch_eager`" in said


def test_fast_p_of_single_answers(tmp_path):
    made = world()
    for problem, outcome in zip(PROBLEMS, (2.0, 0.9, Status.WRONG_VALUE, "no_code"), strict=True):
        made.add((problem, 0, 0), outcome)
    table = read_table("kernelbench_fast_p", made.make(tmp_path))
    row = row_of(table, subset="all", p=1.0)
    assert (row["n"], row["fast_p"], row["unresolved"], row["statistic"]) == (4, 0.25, 0, "single answer")
    assert row["geomean_speedup"] == pytest.approx((2.0 * 0.9) ** 0.5)
    assert row_of(table, subset="all", p=0.0)["fast_p"] == 0.5
    sound = row_of(table, subset="sound", p=1.0)
    assert (sound["n"], sound["fast_p"]) == (3, pytest.approx(1 / 3))
    assert row["model"] == "recorded/demo"
    assert (row["commit"], row["device"], row["torch"]) == ("abc123", "Test CPU", "2.13.0")
    assert row["protocol"].startswith("test ")


@pytest.mark.parametrize("lost", ["no_trace", Status.MACHINE_ERROR, Status.NOT_JUDGED, None])
def test_a_lost_verdict_leaves_the_denominator_and_gives_bounds(tmp_path, lost):
    made = world()
    for problem, outcome in zip(PROBLEMS, (2.0, 2.0, Status.WRONG_VALUE, lost), strict=True):
        if outcome is not None:
            made.add((problem, 0, 0), outcome)
    row = row_of(read_table("kernelbench_fast_p", made.make(tmp_path)), subset="all", p=1.0)
    assert (row["n"], row["unresolved"]) == (4, 1)
    assert math.isnan(row["fast_p"])
    assert (row["ci_low"], row["ci_high"]) == pytest.approx((0.150039, 0.954413), abs=1e-6)  # Wilson 2/4 low, 3/4 high
    errors = read_table("kernelbench_errors", tmp_path)
    assert row_of(errors, level="1", category="unresolved")["count"] == 1


def test_a_correct_kernel_without_a_time_is_open_above_zero_only(tmp_path):
    made = world(limit=1)
    made.add((PROBLEMS[0], 0, 0), "untimed")
    table = read_table("kernelbench_fast_p", made.make(tmp_path))
    assert row_of(table, subset="all", p=0.0)["fast_p"] == 1
    assert row_of(table, subset="all", p=1.0)["unresolved"] == 1
    assert not len(read_table("kernelbench_speedups", tmp_path))


def test_a_doubtful_time_is_shown_and_earns_nothing(tmp_path):
    made = world(limit=2)
    made.add((PROBLEMS[0], 0, 0), 50.0, findings=("below_floor",))
    made.add((PROBLEMS[1], 0, 0), 2.0)
    table = read_table("kernelbench_fast_p", made.make(tmp_path))
    correct, fast = (row_of(table, subset="all", p=p) for p in (0.0, 0.5))
    assert (correct["fast_p"], fast["fast_p"]) == (1, 0.5)
    assert (fast["unresolved"], fast["doubtful"], fast["geomean_speedup"]) == (0, 1, pytest.approx(2.0))
    shown = row_of(read_table("kernelbench_speedups", tmp_path), definition=PROBLEMS[0])
    assert (shown["speedup"], shown["findings"]) == (pytest.approx(50.0), "below_floor")


def test_baselines_that_a_problem_lacks_have_no_rows(tmp_path):
    settings = settings_for(
        {1: 4}, None, ("torch_eager", "upstream", "current"), one={"limit": 2}, gold={"method": "gold"}
    )
    with_kernel = definition(1, 2).model_copy(update={"kernels": {"upstream": "x"}, "kernel_language": "cpp"})
    made = World(settings, [definition(1, 1), with_kernel])
    for problem in PROBLEMS[:2]:
        made.add((problem, 0, 0), 2.0, "gold")
    made.add((PROBLEMS[0], 0, 0), 2.0)
    made.make(tmp_path)
    found = read_table("judge_gold", tmp_path)
    assert list(zip(found["definition"], found["baseline"], strict=True)) == [
        (PROBLEMS[0], "torch_eager"),
        (PROBLEMS[1], "torch_eager"),
        (PROBLEMS[1], "upstream"),
    ]
    assert set(read_table("kernelbench_fast_p", tmp_path)["baseline"]) == {"torch_eager", "upstream"}


def test_sampling_by_hand(tmp_path):
    made = world(samples=5, limit=2)
    for sample in range(5):
        made.add((PROBLEMS[0], 0, sample), 2.0 if sample < 2 else 0.5)
        made.add((PROBLEMS[1], 0, sample), Status.TIMEOUT)
    table = read_table("kernelbench_sampling", made.make(tmp_path))
    table = table[table["subset"] == "all"]
    assert row_of(table, k=1, p=1.0)["fast_p"] == pytest.approx(0.4 / 2)
    assert row_of(table, k=5, p=1.0)["fast_p"] == 0.5
    first = row_of(table, k=1, p=0.0)
    assert (first["fast_p"], first["metric"], first["samples"], first["n"]) == (0.5, "pass@k", 5, 2)
    assert set(table["k"]) == {1, 2, 3, 4, 5}
    assert k_values(100) == [*range(1, 11), 20, 50, 100]


def test_refinement_by_hand(tmp_path):
    made = world(method="refine", turns=3, limit=2)
    for turn, (first, second) in enumerate([("no_code", 0.5), (2.0, Status.WRONG_SHAPE), (0.5, 3.0)]):
        made.add((PROBLEMS[0], turn, 0), first)
        made.add((PROBLEMS[1], turn, 0), second)
    table = read_table("kernelbench_refinement", made.make(tmp_path))
    table = table[table["subset"] == "all"]
    assert [row_of(table, turn=turn, p=0.0)["fast_p"] for turn in range(3)] == [0.5, 1, 1]
    assert [row_of(table, turn=turn, p=1.0)["fast_p"] for turn in range(3)] == [0, 0.5, 1]
    last = row_of(read_table("kernelbench_fast_p", tmp_path), subset="all", p=1.0)
    assert (last["fast_p"], last["statistic"]) == (1, "best of 3 turns")
    assert last["geomean_speedup"] == pytest.approx((2.0 * 3.0) ** 0.5)


def test_curves_fall_with_p_and_rise_with_k_and_turn(tables):
    fast = read_table("kernelbench_fast_p", tables)
    assert ((fast["ci_low"] <= fast["fast_p"]) & (fast["fast_p"] <= fast["ci_high"]) | fast["fast_p"].isna()).all()
    keys = ["experiment", "model", "level", "subset", "baseline"]
    for _, rows in fast.groupby(keys):
        assert rows.sort_values("p")["fast_p"].dropna().is_monotonic_decreasing
    for name, axis in (("kernelbench_sampling", "k"), ("kernelbench_refinement", "turn")):
        for _, rows in read_table(name, tables).groupby([*keys, "p"]):
            values = rows.sort_values(axis)["fast_p"].dropna()
            assert (values.diff().dropna() > -1e-12).all()


def test_errors_count_every_answer_once_per_level(tables):
    errors = read_table("kernelbench_errors", tables)
    for (name, _, level, _), rows in errors.groupby(["experiment", "model", "level", "turn"]):
        assert tuple(rows["category"]) == CATEGORIES
        samples = 5 if name == "repeated" else 1
        assert rows["count"].sum() == {"1": 10, "2": 6, "all": 16}[level] * samples == rows["answers"].iloc[0]
        assert rows["share"].sum() == pytest.approx(1)
    assert not {"gold", "files"} & set(errors["experiment"])


def test_published_numbers_stand_beside_all_problems_only(tables):
    fast = read_table("kernelbench_fast_p", tables)
    mapped = (fast["model"] == "openai/o4-mini") & (fast["experiment"] == "one")
    row = row_of(fast[mapped], level="1", subset="all", p=1.0)
    assert (row["published"], row["published_source"]) == (0.12, "KernelBench Table 1 (exact)")
    assert fast[~mapped | (fast["subset"] == "sound")]["published"].isna().all()
    errors = read_table("kernelbench_errors", tables)
    correct = row_of(errors, experiment="one", model="openai/o4-mini", level="all", category="correct")
    assert correct["published"] == pytest.approx(0.55)


def test_speedups_and_gold(tables):
    speedups = read_table("kernelbench_speedups", tables)
    counts = read_table("kernelbench_errors", tables)
    right = counts[(counts["category"] == "correct") & (counts["level"] != "all")]["count"].sum()
    assert len(speedups) == right
    assert (speedups["speedup_low"] <= speedups["speedup"] * (1 + 1e-12)).all()
    assert (speedups["speedup_high"] >= speedups["speedup"] * (1 - 1e-12)).all()
    assert (speedups["baseline_ms"] / speedups["latency_ms"]).tolist() == pytest.approx(speedups["speedup"].tolist())
    gold = read_table("judge_gold", tables)
    assert len(gold) == 16
    assert set(gold["status"]) == {"passed"}
    assert gold["wall_s"].tolist() == pytest.approx([1.0] * 16)
    assert (gold["gpu_held_s"] == 0).all()


def test_gold_lists_what_was_not_judged(tmp_path):
    made = world(method="gold", models=["reference/model"])
    made.add((PROBLEMS[0], 0, 0), Status.NOT_JUDGED, model="reference/model")
    gold = read_table("judge_gold", made.make(tmp_path))
    assert gold["status"].tolist() == ["not_judged", "missing", "missing", "missing"]
    assert gold["detail"].iloc[0] == "why | <b>not_judged</b>"


def test_judge_cost_knows_phases_builds_and_gpus(tmp_path):
    made = world(limit=2)
    made.add((PROBLEMS[0], 0, 0), 2.0)
    made.add((PROBLEMS[1], 0, 0), 2.0)
    on_gpu = made.traces[1].environment.model_copy(update={"driver": "580.1", "device": "H200"})
    made.traces[1] = made.traces[1].model_copy(update={"environment": on_gpu})
    made.traces[1] = made.traces[1].model_copy(update={"phase_s": {"load": 0.25, "compile_triton": 0.75}})
    made.traces.append(made.traces[0])  # the same verdict out of the store, in another file
    made.builds = [Build(solution=made.traces[0].solution, status=BuildStatus.REJECTED, seconds=3.0)]
    cost = read_table("judge_cost", made.make(tmp_path))
    assert cost.groupby("where")["seconds"].sum().to_dict() == pytest.approx({"cpu": 4.0, "gpu": 1.0})
    triton = row_of(cost, phase="compile_triton")  # a phase that nothing else knows of
    assert (triton["seconds"], triton["where"], triton["definition"]) == (0.75, "gpu", PROBLEMS[1])
    build = row_of(cost, phase="build")
    assert (build["definition"], build["status"]) == (PROBLEMS[0], "rejected")
    assert row_of(read_table("kernelbench_fast_p", tmp_path), subset="all", p=0.0)["device"] == "H200; Test CPU"


def test_llm_cost_adds_up_to_distinct_calls(tmp_path):
    made = World(settings_for({1: 4}, one={}, two={"samples": 2}), [definition(1, 1)])
    for experiment, samples in (("one", 1), ("two", 2)):
        for sample in range(samples):
            made.add((PROBLEMS[0], 0, sample), 2.0, experiment)
    made.answers = [
        answer((PROBLEMS[0], 0, 0), "one", cost=0.5),
        answer((PROBLEMS[0], 0, 0), "two", cost=0.5, prompt_differs=True),  # the same call serves both
        answer((PROBLEMS[0], 0, 1), "two", cost=0.25),
    ]
    table = read_table("llm_cost", made.make(tmp_path))
    columns = ["calls", "shared_calls", "input_tokens", "output_tokens", "cost_usd", "failed_attempts"]
    assert table[columns].to_numpy().tolist() == [[1, 0, 100, 20, 0.5, 1], [1, 1, 100, 20, 0.25, 1]]
    assert table["prompt_differs"].tolist() == [0, 1]
    assert (
        row_of(read_table("kernelbench_fast_p", tmp_path), experiment="two", subset="all", p=1.0)["prompt_differs"] == 1
    )


def test_what_a_transcript_did_not_count_is_empty_and_not_nothing(tmp_path):
    made = World(settings_for({1: 4}, one={}, two={}, three={}), [definition(1, 1)])
    plain, counted = (answer((PROBLEMS[0], 0, 0), name, prompt=name) for name in ("one", "two"))
    bare = plain.completion.model_copy(update={"usage": Usage()})
    one = plain.model_copy(update={"completion": bare})
    made.answers = [one, counted, one.model_copy(update={"experiment": "three"})]
    table = read_table("llm_cost", made.make(tmp_path))
    assert table["calls"].tolist() == [1, 1, 0]
    tokens = table[["input_tokens", "output_tokens", "cost_usd"]].to_numpy().tolist()
    assert tokens[1:] == [[100, 20, 0], [0, 0, 0]]
    assert all(map(math.isnan, tokens[0]))
    shown = [text.get_text() for axis in draw("llm_cost", table).axes for text in axis.get_yticklabels()]
    assert not any(label.startswith("one,") for label in shown)
    with pytest.raises(NothingToShow, match="no tokens were counted"):
        draw("llm_cost", table[:1])


def test_tokens_that_a_server_did_not_count_are_in_no_sum_and_said(tmp_path):
    made = World(settings_for({1: 4}, one={"samples": 3}, two={}), [definition(1, 1)])
    counted, *rest = (answer((PROBLEMS[0], 0, sample), "one", cost=0.5) for sample in range(3))
    rest.append(answer((PROBLEMS[0], 0, 0), "two", cost=0.25, prompt="two"))
    unknown = [
        item.model_copy(update={"completion": item.completion.model_copy(update={"usage": None})}) for item in rest
    ]
    for item in (counted, *unknown):
        made.add((item.definition, 0, item.sample), 2.0, item.experiment)
    made.answers = [counted, *unknown]
    table = read_table("llm_cost", made.make(tmp_path))
    assert table["uncounted_calls"].tolist() == [2, 1]
    sums = table[["input_tokens", "output_tokens", "cost_usd"]].to_numpy().tolist()
    assert sums[0] == [100, 20, 0.5]
    assert all(map(math.isnan, sums[1]))
    said = TABLES["llm_cost"].finding([TABLES["llm_cost"].row.pick(row) for row in table.to_dict("records")])
    assert "counted no tokens of 3 calls" in said
    (label,) = [
        text.get_text() for axis in draw("llm_cost", table).axes for text in axis.get_yticklabels() if text.get_text()
    ]
    assert "3 calls, 2 not counted" in label


@pytest.mark.parametrize("name", TABLES)
def test_tables_come_back_from_csv_as_they_were(tables, name):
    table = read_table(name, tables)
    assert len(table)
    again = to_frame(TABLES[name], [TABLES[name].row.pick(cells) for cells in table.to_dict("records")])
    pd.testing.assert_frame_equal(again, table, check_exact=True)
    assert again.to_csv(index=False, lineterminator="\n") == (tables / f"{name}.csv").read_text(encoding="utf-8")


def test_nothing_in_gives_headers_and_no_rows(tmp_path):
    World(settings_for({1: 4}, one={}), []).make(tmp_path)
    for name in TABLES:
        table = read_table(name, tmp_path)
        assert len(table) == 0
        assert list(table.columns) == list(TABLES[name].columns)
        assert "No rows." in (tmp_path / f"{name}.md").read_text(encoding="utf-8")


def test_markdown_is_rounded_and_safe(tmp_path):
    made = world(method="gold", models=["reference/model"])
    for problem in PROBLEMS:
        made.add((problem, 0, 0), Status.WRONG_VALUE, model="reference/model")
    gold = read_table("judge_gold", made.make(tmp_path)).assign(findings="why | <b>wrong")
    text = markdown(TABLES["judge_gold"], gold)
    assert "why &#124; &lt;b&gt;wrong" in text
    body = [line for line in text.splitlines() if line.startswith("| mini")]
    assert len(body) == 4
    assert len({line.count("|") for line in body}) == 1
    assert "In all rows: config_digest: " in text
    assert cell("fast_p", 1 / 3) == "0.333"
    assert cell("fast_p", 0.012345) == "0.0123"
    assert cell("fast_p", math.nan) == ""
    assert cell("n", 100) == "100"


def test_a_table_says_what_it_shows_and_what_its_columns_mean(tmp_path):
    World(settings_for({1: 4}, one={}), []).make(tmp_path)
    for name in TABLES:
        text = (tmp_path / f"{name}.md").read_text(encoding="utf-8")
        assert caption_of(name) in text
        columns = re.findall(r"^- `(\w+)`: \S", text, re.MULTILINE)
        assert columns == list(TABLES[name].columns)


def test_web_pages_are_those_of_filled_tables_and_safe(tmp_path):
    made = world(method="gold", models=["reference/model"])
    made.add((PROBLEMS[0], 0, 0), 2.0, model="reference/model")
    gold, table = read_table("judge_gold", made.make(tmp_path)), TABLES["judge_gold"]
    assert (tmp_path / "pages/judge_gold.html").is_file()
    assert not (tmp_path / "pages/llm_cost.html").exists()
    text = web_page(table, gold.assign(findings="why | <b>wrong"), "`1` of <i>1")
    assert text == web_page(table, gold.assign(findings="why | <b>wrong"), "`1` of <i>1")
    assert "<b>" not in text and "<i>" not in text
    assert "1 of &lt;i&gt;1" in text
    assert all(heading in text for heading in table.shown.values())


def test_a_long_table_is_cut_in_markdown_only():
    table = TABLES["judge_cost"]
    place = {"definition": "d", "phase": "load", "where": "cpu"}
    rows = [table.row(**place, solution=str(index), seconds=float(index)) for index in range(2001)]
    text = markdown(table, to_frame(table, rows))
    assert "The first 2000 of 2001 rows" in text
    assert text.count("\n| ") == 2000 + 2


def test_a_wrong_file_is_named(tmp_path):
    with pytest.raises(RecordError, match="run the pipeline first"):
        read_table("llm_cost", tmp_path)
    (tmp_path / "llm_cost.csv").write_text("a,b\n1,2\n")
    with pytest.raises(RecordError, match="columns must be"):
        read_table("llm_cost", tmp_path)
    header = ",".join(TABLES["llm_cost"].columns)
    cells = ",".join("many" if name == "calls" else "1" for name in TABLES["llm_cost"].columns)
    (tmp_path / "llm_cost.csv").write_text(f"{header}\n{cells}\n")
    with pytest.raises(RecordError, match=r"llm_cost\.csv.*calls"):
        read_table("llm_cost", tmp_path)
