"""Published answers on the site: the page of cases, where a text stands, and texts that no licence lets it show."""

import json

import pytest

from hone.records import AsPublished, Candidate, Claim, Solution, Status
from hone.solutions.verdict import FINDINGS, STATUSES
from tests.analysis.world import ARCHIVE, World, definition, settings_for
from tests.site.world import make_site_of

SECRET = "a_name_of_theirs"
URL = "https://github.com/someone/answers"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    archives = {"free": {**ARCHIVE, "url": URL, "licence": "MIT"}, "bare": {**ARCHIVE, "url": URL}}
    asked = {name: {"method": "archive", "archive": name} for name in archives}
    made = World(settings_for({1: 3}, archives=archives, **asked), [definition(1, number) for number in (1, 2, 3)])
    publish(made, "free", 1, 3.0, speedup=2.0)
    publish(made, "bare", 2, 4.0, speedup=9.0, findings=("fallback",), status_as_published=Status.PASSED)
    publish(made, "bare", 3, Status.WRONG_VALUE, speedup=7.0)
    return make_site_of(made.settings, made.records(), tmp_path_factory.mktemp("cases"))


def publish(made, archive, number, outcome, speedup, **changes):
    """An answer of an archive with a text of its own."""
    name, source = f"mini/level1/{number}_problem", f"def {SECRET}_{archive}_{number}(): ...\n"
    solution = Solution(definition=name, language="python", entry_point="ModelNew", source=source)
    place = {"model": "m", "definition": name, "sample": 0, "solution": solution.id}
    made.solutions.append(solution)
    made.candidates.append(
        Candidate(experiment=archive, method="archive", turn=0, prompt_digest="", completion_key="", **place)
    )
    made.claims.append(
        Claim(archive=archive, commit="0" * 40, run="r", path="p/q.json#4", verdict="correct", speedup=speedup, **place)
    )
    public = AsPublished(version="v0", trials=9, solution_ms=1.0, baselines_ms={"torch_eager": 5.0}, solution_wall_ms=2)
    times = {} if isinstance(outcome, Status) else {"as_published": public}
    made._add_trace(solution.id, name, outcome, protocol=made.settings.protocol(archive), **changes, **times)


@pytest.fixture
def data(folder):
    def read(name):
        text = (folder / f"data/{name}.js").read_text(encoding="utf-8")
        return json.loads(text.split(",", 1)[1].removesuffix(");\n"))

    return read


def test_the_cases_lead_to_their_answers_and_say_why(data):
    parts = {part["name"]: part["cases"] for part in data("cases")}
    assert parts.keys() == {"fastest", "claimed"}
    (fastest,), (first, second) = parts["fastest"], parts["claimed"]
    assert [case["claimed_speedup"] for case in (fastest, first, second)] == [2.0, 9.0, 7.0]
    assert first["said"] == [STATUSES[Status.PASSED], FINDINGS["fallback"]]
    assert second["said"] == [STATUSES[Status.WRONG_VALUE]]
    assert (first["as_published_speedup"], second["as_published_speedup"]) == (pytest.approx(5.0), None)
    for case in (fastest, first, second):
        assert data(f"answers/{case['answer']}")["definition"] == case["definition"]
        assert case["source"] == f"{URL}/blob/{'0' * 40}/p/q.json"


def test_a_text_without_licence_is_linked_and_stands_in_no_file(folder, data):
    pages = {case["definition"]: data(f"answers/{case['answer']}") for part in data("cases") for case in part["cases"]}
    free, bare = pages["mini/level1/1_problem"], pages["mini/level1/2_problem"]
    assert (free["origin"]["licence"], bare["origin"]["licence"]) == ("MIT", "")
    assert bare["origin"]["link"] == f"{URL}/blob/{'0' * 40}/p/q.json"
    assert free["solution"]["text"] is not None
    assert (bare["solution"]["text"], bare["against"]) == (None, None)
    assert bare["solution"]["id"], "the verdict is still of a known text"
    written = "".join(path.read_text(encoding="utf-8") for path in sorted(folder.rglob("data/**/*.js")))
    assert f"{SECRET}_free_1" in written
    assert f"{SECRET}_bare" not in written
