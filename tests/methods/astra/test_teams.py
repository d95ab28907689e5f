"""A team's description is all that jobs and prompts need of it; every role that it names is asked, and in time."""

import shutil
from pathlib import Path

import pytest

from hone.config.experiments import ASTRA, Experiment
from hone.file_map import FileMap
from hone.methods.astra.roles import RoleAnswer, RoleRenderer
from hone.teams import TEAMS, Role, Team
from tests.methods.astra.conftest import workload
from tests.methods.astra.test_options import settings
from tests.methods.astra.test_roles import GPUS, NEW, OLD, PROMPTS, first_branch


@pytest.mark.parametrize("team", TEAMS.values(), ids=TEAMS)
def test_a_role_is_told_only_what_is_answered_before_it_is_asked(team):
    known: list[str] = []
    for role in (*team.roles, *([team.notes] if team.notes else [])):
        assert set(role.told.values()) <= set(known)
        assert set(role.told_before.values()) <= {each.name for each in team.roles[:-1]}
        assert set(role.told_of_others.values()) <= ({team.notes.name} if team.notes else set())
        known.append(role.name)
    assert team.reason in (*known, team.first)


@pytest.mark.parametrize(("method", "team"), TEAMS.items())
def test_every_role_has_its_template(method, team):
    names = ["testing", *(team.asked or ["coding"])]
    assert [name for name in names if not (PROMPTS / method / f"{name}.md").is_file()] == []
    assert method in ASTRA


CRITIC = Team(
    title="a critic and a coder",
    first="testing",
    reason="critic",
    roles=(Role("critic", told_before={"words": "critic"}), Role("coding", {"plan": "critic"})),
)


@pytest.fixture
def critics(tmp_path, monkeypatch):
    """A method whose team is described here, with its prompts in a folder of its own."""
    monkeypatch.setitem(TEAMS, "critics", CRITIC)
    shutil.copytree(PROMPTS, tmp_path / "prompts")
    shutil.copytree(PROMPTS / "astra", tmp_path / "prompts/critics")
    template = "Criticise {{ label }}.{% for word in words %} You said: {{ word.text }}{% endfor %}"
    (tmp_path / "prompts/critics/critic.md").write_text(template)
    return tmp_path / "prompts"


def test_a_new_team_s_jobs_follow_from_its_description(critics):
    known = settings(turns=3)
    item = known.experiments["a"].model_copy(update={"method": "critics"})
    files = FileMap(known.model_copy(update={"experiments": {"a": item}}), "results/x")
    asked = [Path(each.prompts) for each in files.experiments.questions("a")]
    roles = sorted(path.parts[-2] for path in asked)
    assert roles == ["coding", "coding", "critic", "critic", "testing"]
    told = files.experiments.told("critic", "a", 2, "000")
    assert [Path(path).parts[-3:-1] for path in told["words"]] == [("turn1", "critic")]
    assert files.kinds.several_roles == ["a"]


def test_a_new_team_s_roles_are_told_by_their_own_names(critics, history):
    values = {"method": "astra", "source": "tiny", "levels": (1,), "language": "cpp", "turns": 6}
    item = Experiment.model_validate(values).model_copy(update={"method": "critics"})
    renderer, visible = RoleRenderer("e", item, critics, GPUS), [workload(64, 8)]
    words = [RoleAnswer(definition="tiny/level1/1_Bias", turn=1, text="Too slow.")]
    given = (history(OLD, NEW), first_branch(history(OLD, NEW), item), visible, 2)
    prompt = renderer.role("critic", *given, words=words)
    assert prompt.messages[-1].content == "Criticise version 1. You said: Too slow."
    assert "Be bold." in renderer.role("coding", *given, plan="Be bold.").messages[-1].content
