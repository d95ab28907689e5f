"""From rounds to tables, figures and trajectory pages, as one command makes them."""

import pytest

from hone.analysis.render import read_table
from tests.workflow.rounds import FAST, MODEL, WRONG, Server, make_pipeline


@pytest.fixture(scope="module")
def rounds(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch, Server(lambda _, number: WRONG if number == 1 else FAST) as server:
        patch.setenv("FAKE_API_KEY", "none")
        patch.setenv("NO_PROXY", "127.0.0.1")
        made = make_pipeline(tmp_path_factory.mktemp("pages"), server)
        made.write({"team": {}, "one": {"method": "astra_single"}})
        made.run()
        yield made
        server.shutdown()


def test_one_command_gives_tables_figures_and_pages(rounds):
    tables = rounds.folder / "results/tables"
    main = read_table("astra_main", tables)
    assert list(zip(main["kernel"], main["experiment"], strict=True)) == [
        ("Triple", "one"), ("all", "one"), ("Triple", "team"), ("all", "team")
    ]  # fmt: skip
    assert set(main["correct"]) == {"yes"}
    assert (main["speedup"] > 1).all()
    assert (main["workloads"] == 3).all()
    assert set(read_table("astra_single_vs_multi", tables)["method"]) == {"astra", "astra_single"}
    shapes = read_table("astra_shapes", tables)
    assert sorted(shapes[shapes["held_out"]]["workload"].unique()) == ["odd"]
    assert read_table("astra_rounds", tables)["status"].tolist() == ["passed", "wrong_value", "passed"] * 2
    assert not len(read_table("kernelbench_fast_p", tables))
    calls = read_table("llm_cost", tables).set_index("experiment")["calls"].to_dict()
    assert calls == {"team": 1 + 2 * 3, "one": 1 + 2}


def test_pages_show_why_and_what_changed(rounds):
    page = (rounds.folder / "results/pages/astra/team/Triple.md").read_text()
    assert "What planning says in round 1." in page
    assert "+    for (int64_t i = 0; i < rows * cols; ++i) out[i] = 2 * x[i];" in page
    assert f"## astra with {MODEL}" in page
    one = (rounds.folder / "results/pages/astra/one/Triple.md").read_text()
    assert "Here it is." in one
    summary = (rounds.folder / "results/summary.md").read_text()
    assert "[team](pages/astra/team/index.md)" in summary


def test_nothing_is_made_twice(rounds):
    assert not rounds.jobs(rounds.run())
