"""One row an answer: none is lost, and numbers are those of the tables."""

import math

import pytest

from hone.site.entries import NUMBERS, TEXTS, as_columns, entries
from hone.tables.files import read_table
from hone.tables.registry import TABLES
from tests.analysis.rounds import big_kit
from tests.analysis.world import big_world
from tests.site.world import site_run


@pytest.fixture(scope="module")
def rounds():
    kit = big_kit()
    return kit, entries(site_run(kit.settings, kit.records()))


def test_every_answer_that_the_config_asks_for_has_one_row_and_one_page():
    world = big_world()
    run = site_run(world.settings, world.records())
    found = entries(run)
    assert len(found) == len(run.frame)
    assert len({entry.id for entry in found}) == len(found)
    missing = [entry for entry in found if entry.place not in run.candidates]
    assert {entry.cells["status"] for entry in missing} <= {"missing"}


def test_ids_are_the_same_when_there_are_more_answers(world, run):
    ids = {entry.place: entry.id for entry in entries(run)}
    fewer = site_run(world.settings, world.records())
    assert {entry.place: entry.id for entry in entries(fewer)} == ids


def test_a_later_turn_improves_on_the_one_before(run):
    for entry in entries(run):
        if entry.place.turn:
            assert entry.parent == entry.place._replace(turn=entry.place.turn - 1)
        else:
            assert entry.parent is None


def test_versions_of_rounds_have_the_speedups_of_their_table(rounds, tmp_path):
    kit, found = rounds
    by_place = {
        (item.place.experiment, item.place.turn, item.place.sample, item.place.definition): item for item in found
    }
    table = read_table(TABLES["astra_rounds"], kit.make(tmp_path))
    compared = 0
    for row in table.to_dict("records"):
        names = [name for name in by_place if name[:3] == (row["experiment"], row["turn"], row["sample"])]
        chosen = [by_place[name] for name in names if name[3].endswith(row["kernel"])]
        if chosen and not math.isnan(row["speedup"]):
            assert chosen[0].cells["credited_upstream"] == pytest.approx(row["speedup"])
            compared += 1
    assert compared > 20


def test_the_winner_of_rounds_is_one_version_of_each_kernel_at_most(rounds):
    winners = [entry.place[:3] for entry in rounds[1] if entry.winner]
    assert winners
    assert len(winners) == len(set(winners))


def test_a_round_starts_from_an_earlier_turn(rounds):
    parents = [(entry.parent.turn, entry.place.turn) for entry in rounds[1] if entry.parent]
    assert parents
    assert all(before < after for before, after in parents)


def test_columns_hold_the_same_cells(run):
    found = entries(run)
    columns = as_columns(found, ["torch_eager"])
    assert columns["rows"] == len(found)
    for name in TEXTS:
        coded = columns["texts"][name]
        assert len(coded["codes"]) == len(found)
        assert coded["values"][coded["codes"][0]] == str({**found[0].cells, "id": found[0].id}.get(name, ""))
    for name in (*NUMBERS, "speedup_torch_eager"):
        shown = columns["numbers"][name]
        exact = [entry.cells.get(name, math.nan) for entry in found]
        assert [value is None for value in shown] == [value is None or math.isnan(value) for value in exact]
        assert [value for value in shown if value is not None] == pytest.approx(
            [value for value in exact if value is not None and not math.isnan(value)], rel=1e-5
        )
