"""The whole site: every answer has its page, every number leads to a record, and tables alone make one, too."""

import json
import re
import threading
from pathlib import Path
from urllib.request import urlopen

import pytest

from hone.core.errors import ConfigError, MachineError, RecordError
from hone.records import Status, Trace
from hone.site.run import places_of
from hone.site.serve import server
from hone.site.stages import make_site_of_tables
from hone.site.tables import as_data, read_tables
from hone.solutions.verdict import FINDINGS, STATUSES
from tests.analysis.rounds import big_kit
from tests.analysis.world import big_world
from tests.site.world import HOSTILE, Answers, make_site_of, site_run


def decoded(table):
    """Rows of `data/answers.js` as a browser has them."""
    texts = {name: [item["values"][code] for code in item["codes"]] for name, item in table["texts"].items()}
    return [{name: texts[name][at] for name in texts} for at in range(table["rows"])]


@pytest.fixture(scope="module")
def rows(data):
    return decoded(data("answers"))


def test_every_answer_has_a_page_that_says_the_same(rows, data):
    assert len(rows) == 12
    for row in rows:
        page = data(f"answers/{row['id']}")
        assert [page[name] for name in ("experiment", "model", "definition", "status")] == [
            row[name] for name in ("experiment", "model", "definition", "status")
        ]


def test_the_texts_that_pages_name_are_there(rows, data):
    for row in rows:
        page = data(f"answers/{row['id']}")
        for name in filter(None, [page["solution"], page["against"]]):
            assert data(name["text"])["lines"]
        for said in page["conversation"]:
            assert data(said["prompt"])[0]["role"] == "user"


def test_model_text_is_kept_to_the_character(rows, data, site):
    row = next(row for row in rows if row["definition"].endswith("/3_problem") and row["status"] == "no_code")
    said = data(f"answers/{row['id']}")["conversation"][0]
    assert said["response"] == HOSTILE
    assert data(said["prompt"])[0]["content"] == HOSTILE
    assert not [file for file in site.rglob("data/**/*.js") if "<" in file.read_text()]


def test_verdicts_and_findings_are_said_in_words(rows, data):
    row = next(row for row in rows if row["findings"])
    page = data(f"answers/{row['id']}")
    assert page["findings"] == [{"name": "below_floor", "said": FINDINGS["below_floor"]}]
    assert page["said"] == STATUSES[Status.PASSED]
    assert page["speeds"]["torch_eager"]["credited"] == 0.0
    assert page["speeds"]["torch_eager"]["speedup"] > 1


def test_a_page_says_how_to_judge_again(rows, data):
    row = next(row for row in rows if row["status"] == "passed")
    page = data(f"answers/{row['id']}")
    assert page["command"] == f"hone judge {row['solution'][:12]} --config config/made_up.yaml --again"


def test_a_later_turn_is_shown_beside_the_one_before(rows, data):
    row = next(row for row in rows if row["definition"].endswith("/1_problem") and data(f"answers/{row['id']}")["turn"])
    against = data(f"answers/{row['id']}")["against"]
    before = data(f"answers/{against['answer']}")
    assert before["turn"] == 0
    assert before["solution"]["text"] == against["text"]


def test_each_verdict_is_the_record_that_its_place_names(run, rows, data):
    traces = run.run.records.traces
    seen = 0
    for row in rows:
        for item in data(f"answers/{row['id']}")["verdicts"]:
            line = int(item["where"].removeprefix("traces.jsonl:"))
            assert Trace.model_validate(item["record"]) == traces[line - 1]
            seen += 1
    assert seen == 10


def test_places_count_lines_and_leave_out_empty_ones(tmp_path):
    file = tmp_path / "a.jsonl"
    file.write_text('{"a": "\u2028"}\n\n{"b": 1}\n')
    assert places_of({"traces": [file]}) == {"traces": [f"{file}:1", f"{file}:3"]}


def test_numbers_of_the_first_page_lead_to_pages_of_the_site(site):
    text = (site / "index.html").read_text()
    figures = re.search(r'<ul class="figures">(.*?)</ul>', text, re.DOTALL)[1]
    assert re.findall(r"<strong>(\d+)</strong> ([\w ]+)", figures) == [
        ("12", "answers and existing kernels"), ("7", "correct"), ("3", "problems"), ("2", "models and recordings")
    ]  # fmt: skip
    for name in re.findall(r'href="([\w]+\.html)', figures):
        assert (site / name).is_file()


def test_the_first_page_leads_to_the_paper_s_tables_that_there_are(site):
    text = (site / "index.html").read_text()
    assert re.findall(r'href="(papers/\w+\.html)">([\w ]+)<', text) == [("papers/kernelbench_table_1.html", "Table 1")]
    assert (site / "papers/kernelbench_table_1.html").read_text() == "<p>as printed</p>"


def test_the_first_page_warns(site):
    text = (site / "index.html").read_text()
    assert "no model’s result" in text
    assert "1 answer without a verdict" in text
    assert "2 correct answers with a doubtful time" in text
    assert "1 recorded answer to a prompt that has changed" in text


def test_nothing_is_warned_of_where_nothing_is_wrong(tmp_path):
    world = Answers(models=["openai/o4-mini"], problems=1)
    world.add("openai/o4-mini", 1, 2.0)
    assert 'class="warning" role' not in (world.make(tmp_path) / "index.html").read_text()


def test_rows_of_tables_lead_to_their_answers(run, data, rows):
    table = data("tables/kernelbench_speedups")
    names = [column["name"] for column in table["columns"]]
    assert len(table["rows"]) == len(table["links"]) > 0
    for cells, link in zip(table["rows"], table["links"], strict=True):
        page, row = data(f"answers/{link}"), dict(zip(names, cells, strict=True))
        assert [page[name] for name in ("model", "definition", "turn", "sample")] == [
            row[name] for name in ("model", "definition", "turn", "sample")
        ]


@pytest.mark.parametrize("part", ["", "astra", "real_answers", "miniature"])
def test_published_tables_make_a_site_by_themselves(part, tmp_path):
    folder = Path("docs/results/h200", part)
    make_site_of_tables(folder, tmp_path, "published")
    listed = json.loads((tmp_path / "data/tables.js").read_text().split(",", 1)[1].removesuffix(");\n"))
    assert {item["name"] for item in listed} <= {path.stem for path in folder.glob("*.csv")}
    for item in listed:
        assert (tmp_path / f"tables/{item['name']}.csv").read_text() == (folder / f"{item['name']}.csv").read_text()


def test_a_folder_without_tables_is_named(tmp_path):
    with pytest.raises(RecordError, match="no tables"):
        make_site_of_tables(tmp_path, tmp_path / "site", "x")


def test_cells_of_an_unknown_table_keep_their_texts(tmp_path):
    (tmp_path / "mine.csv").write_text("name,value\n007,1.5\nb,\n")
    (table,) = read_tables(tmp_path)
    shown = as_data(table, {})
    assert [column["kind"] for column in shown["columns"]] == ["text", "number"]
    assert shown["rows"][0] == ["007", 1.5]


def test_it_is_served_to_this_machine_alone(site):
    with server(site) as served:
        threading.Thread(target=served.serve_forever, daemon=True).start()
        host, port = served.server_address[:2]
        assert host == "127.0.0.1"
        with urlopen(f"http://{host}:{port}/index.html") as answer:
            assert answer.read() == (site / "index.html").read_bytes()
            assert answer.headers["Cache-Control"] == "no-cache"
        with pytest.raises(MachineError, match="port"):
            server(site, port)
        served.shutdown()


def test_without_a_site_the_remedy_is_named(tmp_path):
    with pytest.raises(ConfigError, match="run the pipeline first"):
        server(tmp_path)


def test_the_same_run_makes_the_same_bytes(world, site, tmp_path):
    again = world.make(tmp_path)
    files = sorted(path.relative_to(site) for path in site.rglob("*") if path.is_file())
    assert files == sorted(path.relative_to(again) for path in again.rglob("*") if path.is_file())
    changed = [str(name) for name in files if (site / name).read_bytes() != (again / name).read_bytes()]
    # The source's path differs: each site is made of its own folder of tables.
    assert all(name.startswith("data/tables/") for name in changed)


def test_problems_list_workloads_and_floors(data, world):
    (problem, *_) = data("problems")
    shown = data(f"problems/{problem['id']}")
    assert [item["name"] for item in shown["workloads"]] == ["as_given"]
    assert "".join(text for line in shown["reference"] for _, text in line).startswith("def forward(x):")


def test_a_run_without_problems_makes_a_site_that_says_so(tmp_path):
    world = Answers(models=["openai/o4-mini"], problems=1)
    records = type(world.records())()
    run = site_run(world.settings, records)
    assert run.frame.empty


@pytest.mark.parametrize("made", [big_world, big_kit])
def test_runs_of_every_kind_of_experiment_make_a_site(made, tmp_path):
    world = made()
    site = make_site_of(world.settings, world.records(), tmp_path)
    rows = decoded(json.loads((site / "data/answers.js").read_text().split(",", 1)[1].removesuffix(");\n")))
    pages = {path.stem: path.read_text() for path in (site / "data/answers").iterdir()}
    assert pages.keys() == {row["id"] for row in rows}
    claimed = [row for row in rows if '"claim":null' not in pages[row["id"]]]
    assert {row["method"] for row in claimed} == ({"archive"} if made is big_world else set())
