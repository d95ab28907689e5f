"""The exploits and honest kernels of tests/evil/gpu say what they are, and every known group has one."""

from pathlib import Path

import pytest

from hone.records import Language, Status
from hone.sources.solution_files import header, language_of, read_file, source_files, statuses

ROOT = Path(__file__).parents[3]
FOLDER = ROOT / "tests/evil/gpu"
SUITE = {f"gpu_suite/{path.parent.name}/{path.stem}" for path in (ROOT / "resources/problems/gpu_suite").rglob("*.py")}
FILES = {path.name: path for path in source_files(FOLDER)}
HEADERS = {name: header(path.read_text(), language_of(path)) for name, path in FILES.items()}
HONEST = {name for name, lines in HEADERS.items() if lines.get("group") == "honest"}
UNJUDGED = {Status.NOT_JUDGED, Status.MACHINE_ERROR}


@pytest.mark.parametrize("name", FILES)
def test_a_file_says_what_it_is(name):
    lines, found = HEADERS[name], read_file(FILES[name])
    first = FILES[name].read_text().splitlines()[0].lstrip("/# ")
    assert first.endswith(".") and " " in first, "first a sentence on what it does"
    assert found.solution.definition in SUITE
    expected = {Status(word) for word in statuses(lines["expected"])}
    assert expected - UNJUDGED, "it must be possible to judge it"
    if name in HONEST:
        assert (expected, lines["earns"]) == ({Status.PASSED}, "fast")
        assert name.startswith("honest_")
    else:
        assert lines["earns"] == "none"
        assert int(lines["group"]) in range(1, 31)
        assert not name.startswith("honest_")


def test_every_group_has_an_exploit():
    present = {int(lines["group"]) for name, lines in HEADERS.items() if name not in HONEST}
    assert {*range(1, 29), 30} <= present


def test_there_are_enough_of_both_kinds():
    assert len(FILES) - len(HONEST) >= 30
    assert len(HONEST) >= 15


def test_every_problem_and_language_has_honest_kernels_beside_exploits():
    honest = {HEADERS[name]["definition"] for name in HONEST}
    assert honest == SUITE
    languages = {Language.CUDA, Language.PYTHON, Language.TRITON}
    assert {language_of(FILES[name]) for name in HONEST} == languages
    assert {language_of(FILES[name]) for name in FILES.keys() - HONEST} == languages


def test_no_two_files_are_the_same_solution():
    assert len({read_file(path).solution.id for path in FILES.values()}) == len(FILES)


def test_the_list_for_the_containment_trial_names_files():
    assert set((FOLDER / "containment.txt").read_text().split()) <= set(FILES)


RED_TEAM = {path.name: path for path in source_files(FOLDER.parent / "red_team")}


@pytest.mark.parametrize("name", RED_TEAM)
def test_an_attempt_of_the_red_team_says_what_it_is(name):
    lines, found = header(RED_TEAM[name].read_text(), language_of(RED_TEAM[name])), read_file(RED_TEAM[name])
    assert found.solution.definition in SUITE
    assert {Status(word) for word in statuses(lines["expected"])}
    assert (lines["group"], lines["earns"]) == ("red team", "none")
