"""Which version wins, and what is evaluated where not all versions are."""

import pytest

from hone.compile.kernels import kernel_solution
from hone.core.files import read_records, write_records
from hone.methods.astra.winners import winner_of, write_winners
from hone.records import Build, Solution, Status
from tests.methods.astra.conftest import code

OLD, SLOWER, FASTER = (0, 0, (1.0, 1.0)), (1, 0, (2.0, 2.0)), (2, 0, (0.5, 0.5))
WRONG = (1, 0, (0.1, Status.WRONG_VALUE))


@pytest.fixture
def chosen(tmp_path, kernel, before):
    """What is evaluated of a history: (solutions, builds)."""

    def run(found):
        write_records(tmp_path / "definitions.jsonl", [kernel])
        files = {"solutions": tmp_path / "chosen.jsonl", "builds": tmp_path / "chosen.builds.jsonl"}
        write_winners(before(found), [tmp_path / "definitions.jsonl"], **files)
        return read_records(files["solutions"], Solution), read_records(files["builds"], Build)

    return run


@pytest.mark.parametrize(
    ("versions", "place"),
    [
        ((SLOWER, FASTER), (2, 0)),
        ((SLOWER,), (1, 0)),  # the existing kernel never wins
        ((WRONG, (2, 0, (3.0, 3.0))), (2, 0)),
        (((1, 0, (0.5, 0.5)), (1, 1, (0.5, 0.5)), FASTER), (1, 0)),  # of equal ones the first
        ((WRONG,), None),
        (((1, 0, "no code block"),), None),
    ],
)
def test_the_fastest_by_the_suite_wins(history, versions, place):
    won = winner_of(history(OLD, *versions))
    assert (won and (won.turn, won.attempt.sample)) == place


def test_the_existing_kernel_and_the_winner_are_evaluated_with_their_builds(history, chosen):
    solutions, builds = chosen(history(OLD, SLOWER, FASTER, (3, 0, (0.7, 0.7))))
    assert [item.id for item in solutions] == sorted([code(0).id, code(2).id])
    assert [item.solution for item in builds] == [item.id for item in solutions]


def test_builds_of_what_the_winner_is_compared_with_come_along(history, kernel, before, tmp_path):
    today = code(9).source
    both = kernel.model_copy(update={"kernels": {**kernel.kernels, "current": today}})
    rounds, current = before(history(OLD, FASTER)), kernel_solution(both, "current")
    [upstream] = read_records(rounds.builds[0], Build)
    write_records(rounds.builds[0], [upstream, upstream.model_copy(update={"solution": current.id})])
    write_records(tmp_path / "definitions.jsonl", [both])
    files = {"solutions": tmp_path / "chosen.jsonl", "builds": tmp_path / "chosen.builds.jsonl"}
    write_winners(rounds, [tmp_path / "definitions.jsonl"], **files)
    evaluated = {item.id for item in read_records(files["solutions"], Solution)}
    assert evaluated == {code(0).id, code(2).id}
    assert {item.solution for item in read_records(files["builds"], Build)} == {*evaluated, current.id}


def test_without_a_winner_the_existing_kernel_is_evaluated_alone(history, chosen):
    assert [item.id for item in chosen(history(OLD, WRONG))[0]] == [code(0).id]


def test_other_losers_leave_the_choice_as_it_was(history, chosen):
    assert chosen(history(OLD, SLOWER, FASTER)) == chosen(history(OLD, WRONG, FASTER))
