"""Trajectories as trees, and the best so far."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hone.site.entries import entries
from hone.site.paths import best_by_turn, trees
from tests.analysis.rounds import big_kit
from tests.site.world import site_run


@given(st.lists(st.tuples(st.integers(0, 5), st.none() | st.floats(0, 9)), min_size=1))
def test_the_best_so_far_never_falls_and_is_reached(credited):
    best = best_by_turn(credited)
    assert len(best) == 1 + max(turn for turn, _ in credited)
    known = [value for value in best if value is not None]
    assert known == sorted(known)
    assert best[best.index(known[0]) :] == known if known else True
    for turn, value in credited:
        if value:
            assert best[turn] >= value
    assert set(known) <= {value for _, value in credited}


def test_a_doubtful_time_is_no_best():
    assert best_by_turn([(0, 0.0), (1, None)]) == [None, None]


@pytest.fixture(scope="module")
def made():
    kit = big_kit()
    run = site_run(kit.settings, kit.records())
    return trees(entries(run), run.settings.baselines)


def test_rounds_are_measured_against_the_kernel_that_they_improve(made):
    assert {tree["baseline"] for tree in made} == {"upstream"}


def test_each_node_hangs_on_an_earlier_turn(made):
    for tree in made:
        for node in tree["nodes"]:
            if node["turn"] == 0:
                assert node["parent"] is None
            elif node["parent"] is not None:
                assert tree["nodes"][node["parent"]]["turn"] < node["turn"]


def test_a_problem_answered_once_has_no_trajectory(run):
    found = trees(entries(run), ["torch_eager"])
    assert len(found) == 2 * 3
    assert all(len(tree["best"]) == 2 for tree in found)
