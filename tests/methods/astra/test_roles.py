"""Every role sees what it needs and nothing that is held out; the single agent sees the same evidence."""

from pathlib import Path

import pytest

from hone.config.experiments import Experiment
from hone.core.errors import ConfigError
from hone.methods.astra.roles import CODING, TESTING, RoleAnswer, RoleRenderer
from hone.methods.astra.strategy import round_of
from hone.methods.templates import Templates
from hone.records import Answer, Completion, Definition, LLMRequest, Message, Sampling, Status, Usage
from tests.methods.astra.conftest import UPSTREAM, workload

PROMPTS, GPUS = Path("config/prompts"), Path("resources/hardware/gpus.yaml")
VISIBLE = [workload(64, 8), workload(5000, 16)]
ROLES = ("profiling", "planning", "coding", "experience")
TOLD = {
    "profiling": {},
    "planning": {"analysis": "It is slow."},
    "coding": {"plan": "Be fast."},
    "experience": {},
}
OLD, NEW = (0, 0, (1.0, 1.0)), (1, 0, (0.5, 0.25))


def renderer(method="astra", **changes):
    values = {"method": method, "source": "tiny", "levels": (1,), "language": "cpp", "turns": 6, **changes}
    return RoleRenderer("e", Experiment.model_validate(values), PROMPTS, GPUS)


def first_branch(found, item):
    return round_of(found, item)[0]


def text(prompt):
    return prompt.messages[-1].content


def ask(role, found, turn=2, **changes):
    told = {"plans": [], "notes": [], **TOLD[role]}
    asking = renderer(**changes)
    return asking.role(role, found, first_branch(found, asking.experiment), VISIBLE, turn, **told)


@pytest.mark.parametrize("role", ROLES)
def test_every_role_renders_with_its_place(history, role):
    prompt = ask(role, history(OLD, NEW))
    assert (prompt.role, prompt.turn, prompt.samples, len(prompt.messages)) == (role, 2, (0,), 1)
    shown = text(prompt)
    assert "{{" not in shown
    assert "{%" not in shown
    assert shown.count("```") % 2 == 0
    for item in VISIBLE:
        assert item.name in shown


def test_the_next_round_starts_from_the_version_that_goes_on(history):
    found = history(OLD, NEW, (2, 0, (0.9, 0.9)))
    assert "/* 2 0 */" in text(ask(CODING, found))
    reverted = text(ask(CODING, found, astra={"start_from": "best"}))
    assert "/* 1 0 */" in reverted
    assert "/* 2 0 */" not in reverted


def test_the_coder_is_asked_for_all_candidates_and_the_others_once(history):
    found = history(OLD, NEW)
    assert ask(CODING, found, samples=3).samples == (0, 1, 2)
    assert ask("planning", found, samples=3).samples == (0,)


def test_the_coder_gets_source_plan_rules_and_failures(history):
    shown = text(ask(CODING, history(OLD, (1, 0, (0.5, Status.WRONG_VALUE)))))
    for words in (
        "/* 1 0 */",
        "Be fast.",
        "float64",
        "atol 0.0001",
        "detail of wrong_value",
        'extern "C" void launch(',
    ):
        assert words in shown
    assert "What is wrong with it" not in text(ask(CODING, history(OLD, NEW)))


def test_the_planner_gets_analysis_earlier_plans_and_notes(history):
    plans = [RoleAnswer(definition="tiny/level1/1_Bias", turn=1, text="Vectorise it.")]
    notes = [RoleAnswer(definition="tiny/level1/9_Other", turn=6, text="Vectors pay.")]
    found, asking = history(OLD, NEW), renderer()
    branch = first_branch(found, asking.experiment)
    told = {"analysis": "Slow.", "plans": plans, "notes": notes}
    shown = text(asking.role("planning", found, branch, VISIBLE, 2, **told))
    for words in ("Slow.", "Vectorise it.", "### Round 1", "Vectors pay.", "9_Other", "2.828"):
        assert words in shown
    assert "What other kernels taught" not in text(ask("planning", history(OLD, NEW)))


@pytest.mark.parametrize("method", ["astra", "astra_single"])
def test_the_first_question_is_for_the_suite(kernel, method):
    prompt = renderer(method).testing(kernel, VISIBLE)
    assert prompt.role == ("testing" if method == "astra" else "single")
    assert (prompt.turn, prompt.samples) == (0, (0,))
    shown = text(prompt)
    assert UPSTREAM.strip() in shown
    assert '[{"axes": {"rows": 64, "columns": 8}, "dtype": "float32"}]' in shown


def test_the_conversation_stays_whole_and_ends_with_the_same_evidence(history):
    found = history(OLD, NEW)
    before = (Message(role="user", content="first"), Message(role="assistant", content="tests"))
    asking = renderer("astra_single", samples=2)
    prompt = asking.converse(found, first_branch(found, asking.experiment), VISIBLE, 2, before)
    assert prompt.messages[:2] == before
    assert (prompt.role, prompt.samples) == ("single", (0, 1))
    team = text(ask("planning", found))
    measured = team[team.index("## What was measured") : team.index("## The profiler's findings")]
    assert measured.strip() in text(prompt)


def test_one_launcher_for_each_type_is_asked_for_by_name(history, kernel):
    typed = Definition.model_validate({**kernel.model_dump(), "dtypes": ["float16", "float32"]})
    shown = text(ask(CODING, history(OLD, NEW, definition=typed)))
    assert "void launch_float16(const _Float16* x" in shown
    assert "void launch_float32(const float* x" in shown
    assert "every one of the exported functions written out by name" in shown


def test_the_coder_is_told_which_results_may_be_a_step_off(history, kernel):
    said = "may in any case be one step of their eight-bit type off"
    assert said not in text(ask(CODING, history(OLD, NEW)))
    rounded = kernel.outputs[0].model_copy(update={"name": "rounded", "dtype": "float8_e4m3fn"})
    changed = kernel.model_copy(update={"outputs": (rounded,)})
    assert f"- Elements of rounded {said}." in text(ask(CODING, history(OLD, NEW, definition=changed), language="cuda"))


def test_the_tester_is_told_the_formulas_of_sizes(kernel):
    changed = kernel.model_copy(update={"formulas": {"columns": "rows / 8"}})
    shown = text(renderer().testing(changed, [workload(64, 8), workload(80, 10)]))
    assert "`axes` gives the sizes of rows, whole numbers" in shown
    assert "The others follow: columns is rows / 8, a whole number." in shown


def test_hardware_facts_only_when_asked_for(history):
    found = history(OLD, NEW)
    assert "NVIDIA H200" in text(ask("planning", found, hardware="H200"))
    assert "NVIDIA" not in text(ask("planning", found))


def test_what_models_said_is_not_read_as_a_template(history):
    plan = "{{ definition.reference }} {% raw %}"
    found, asking = history(OLD, NEW), renderer()
    prompt = asking.role(CODING, found, first_branch(found, asking.experiment), VISIBLE, 2, plan=plan)
    assert "{{ definition.reference }} {% raw %}" in text(prompt)


@pytest.mark.parametrize(
    ("changes", "words"),
    [({"kernels": {}}, "no existing kernel"), ({"kernel_language": "cuda"}, "is written in cuda, not cpp")],
)
def test_a_definition_without_a_fitting_kernel_is_refused(kernel, changes, words):
    other = Definition.model_validate({**kernel.model_dump(), **changes})
    with pytest.raises(ConfigError, match=words):
        renderer().testing(other, VISIBLE)


def test_each_role_depends_on_its_own_template_and_what_it_includes():
    files = {role: set(Templates(PROMPTS).files(f"astra/{role}.md")) for role in (TESTING, *ROLES)}
    for role, found in files.items():
        others = {f"config/prompts/astra/{other}.md" for other in files if other != role}
        assert f"config/prompts/astra/{role}.md" in found
        assert not found & others
        assert "config/prompts/astra/parts/kernel.md" in found
    assert "config/prompts/astra/parts/answer_code.md" in files[CODING]
    assert "config/prompts/astra/parts/answer_code.md" not in files["planning"]
    assert "config/prompts/astra/parts/rules.md" not in files["experience"]


def test_a_broken_template_stops_no_dag(tmp_path):
    (tmp_path / "a.md").write_text('{% include "b.md" %}{% include "none.md" %}')
    (tmp_path / "b.md").write_text("{% if %}")
    assert Templates(tmp_path).files("a.md") == [str(tmp_path / "a.md"), str(tmp_path / "b.md")]


def test_what_was_said_is_cut_and_in_order():
    def answer(turn, words):
        request = LLMRequest(provider="p", base_url="", model="m", messages=(), sampling=Sampling(), sample=0)
        completion = Completion(
            key="k", request=request, response=words, finish_reason="stop", model_returned="m", usage=Usage(),
            cost_usd=0, price_source="", latency_s=0, created_at="",
        )  # fmt: skip
        return Answer(
            experiment="e", model="m", definition="d", role="planning", turn=turn, sample=0, prompt_digest="",
            completion=completion,
        )  # fmt: skip

    said = RoleAnswer.of([answer(2, "b" * 5000), answer(1, "  a ")])
    assert [item.turn for item in said] == [1, 2]
    assert said[0].text == "a"
    assert "1000 more characters" in said[1].text
