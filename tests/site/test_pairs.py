"""Two sides on the same problems."""

import json
import math
from dataclasses import replace

import pytest

from hone.site.entries import entries
from hone.site.pairs import comparisons, sides
from hone.site.stages import make_site
from hone.tables.stages import make_tables
from tests.site.world import Answers, site_run

ONE, TWO = "openai/one", "openai/two"


@pytest.fixture
def compared():
    """The second is twice as fast on two problems, fails a third, and alone solves a fourth."""
    world = Answers(models=[ONE, TWO], problems=5)
    for problem, first, second in ((1, 1.0, 2.0), (2, 2.0, 4.0), (3, 1.5, "no_code"), (4, "no_code", 3.0)):
        world.add(ONE, problem, first)
        world.add(TWO, problem, second)
    world.add(ONE, 5, 4.0, findings=("below_floor",))
    world.add(TWO, 5, 4.0)
    site = site_run(world.settings, world.records())
    found = sides(entries(site), "run", site.settings.baselines)
    return found, comparisons(found, 0.95)


def test_the_ratio_is_that_of_problems_which_both_solve(compared):
    (row,) = compared[1]
    assert row["solved"] == (4, 4)
    assert row["only"] == (1, 1)
    assert row["ratio"] == pytest.approx(2.0)
    assert row["interval"] == pytest.approx([2.0, 2.0])


def test_a_doubtful_time_solves_and_counts_for_nothing(compared):
    (row,) = compared[1]
    assert [item["best"] for item in row["problems"]][4] == ["untimed", pytest.approx(4.0)]
    assert [item["best"] for item in row["problems"]][2][1] == "failed"


def test_the_best_of_several_turns_counts():
    world = Answers(models=[ONE], problems=1, turns=2)
    world.add(ONE, 1, 3.0, turn=0)
    world.add(ONE, 1, 2.0, turn=1)
    site = site_run(world.settings, world.records())
    (side,) = sides(entries(site), "run", ["torch_eager"])
    assert side.best == {world.definitions[0].name: pytest.approx(3.0)}


def test_sides_without_a_problem_in_common_are_not_compared(compared):
    one, two = compared[0]
    assert comparisons([one, replace(two, asked=frozenset({"other"}), best={})], 0.95) == []


def test_few_problems_have_no_interval():
    world = Answers(models=[ONE, TWO], problems=1)
    world.add(ONE, 1, 1.0)
    world.add(TWO, 1, 2.0)
    site = site_run(world.settings, world.records())
    (row,) = comparisons(sides(entries(site), "run", ["torch_eager"]), 0.95)
    assert row["ratio"] == pytest.approx(2.0)
    assert all(math.isnan(end) for end in row["interval"])


def test_two_runs_are_compared_by_what_has_the_same_problems(tmp_path):
    first, second = (Answers(models=[ONE], problems=2) for _ in range(2))
    for problem in (1, 2):
        first.add(ONE, problem, 1.0)
        second.add(ONE, problem, 3.0)
    site, other = (site_run(world.settings, world.records()) for world in (first, second))
    make_tables(site.run, tmp_path / "tables", tmp_path / "pages")
    make_site(site, tmp_path / "tables", tmp_path / "site", "first", [], {"second": other})
    (file,) = (tmp_path / "site/data/pairs").iterdir()
    row = json.loads(file.read_text().split(",", 1)[1].removesuffix(");\n"))
    assert row["ratio"] == pytest.approx(3.0)
    known = json.loads((tmp_path / "site/data/compare.js").read_text().split(",", 1)[1].removesuffix(");\n"))
    assert [side["run"] for side in known["sides"]] == ["first", "second"]
