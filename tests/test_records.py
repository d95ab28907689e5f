"""Records: frozen, versioned, digests of content, illegal combinations impossible."""

import pytest
from pydantic import ValidationError

from hone.records import (
    Argument,
    Build,
    BuildStatus,
    Candidate,
    Definition,
    LLMRequest,
    Message,
    Performance,
    Sampling,
    Solution,
    Status,
    Timing,
    Tolerance,
    Trace,
    Workload,
    canonical_json,
    digest,
)

SOLUTION = Solution(definition="s/level1/1_Add", language="cpp", entry_point="launch", source="int x;")


def request(**changes):
    values = {
        "provider": "openai", "base_url": "https://example.invalid/v1", "model": "m",
        "messages": (Message(role="user", content="hi"),), "sampling": Sampling(temperature=0.5), "sample": 0,
    }  # fmt: skip
    return LLMRequest(**{**values, **changes})


def candidate(**changes):
    values = {
        "experiment": "e", "method": "one_shot", "model": "m", "definition": "d", "turn": 0, "sample": 0,
        "prompt_digest": "", "completion_key": "", "solution": SOLUTION.id,
    }  # fmt: skip
    return Candidate(**{**values, **changes})


def test_canonical_json_has_one_spelling():
    assert canonical_json({"b": 1, "a": [1.5, "ü"]}) == '{"a":[1.5,"ü"],"b":1}'
    assert digest({"a": 1, "b": 2}) == digest({"b": 2, "a": 1})
    with pytest.raises(ValueError, match="JSON compliant"):
        canonical_json(float("nan"))


def test_a_lone_surrogate_has_a_digest():
    assert len(digest("\ud800")) == 64


def test_a_record_is_frozen_and_refuses_unknown_fields():
    with pytest.raises(ValidationError):
        SOLUTION.source = "other"
    with pytest.raises(ValidationError):
        Solution(definition="d", language="cpp", entry_point="launch", source="", colour="red")


def test_a_record_survives_json_with_its_id():
    again = Solution.model_validate_json(SOLUTION.model_dump_json())
    assert again == SOLUTION
    assert SOLUTION.id in SOLUTION.model_dump_json()


def test_an_unknown_schema_version_is_refused():
    with pytest.raises(ValidationError, match="schema_version 2 is unknown"):
        Solution(schema_version=2, definition="d", language="cpp", entry_point="launch", source="")


def test_a_solutions_id_is_what_is_executed():
    same = Solution(definition="s/level1/1_Add", language="cpp", entry_point="launch", source="int x;")
    assert same.id == SOLUTION.id
    changes = ({"source": "int y;"}, {"language": "cuda"}, {"definition": "other"}, {"entry_point": "run"})
    ids = {Solution(**{**SOLUTION.model_dump(exclude={"id"}), **change}).id for change in changes}
    assert len(ids | {SOLUTION.id}) == 5


def test_a_ledger_key_covers_the_whole_request():
    different = [
        request(sample=1),
        request(model="n"),
        request(base_url="https://other.invalid/v1"),
        request(sampling=Sampling(temperature=0.6)),
        request(messages=(Message(role="user", content="ho"),)),
    ]
    assert len({item.key for item in [request(), *different]}) == 6
    assert request().key == request().key


def test_a_services_address_may_change_and_its_answers_stay():
    here, there = (request(provider="lab", base_url=f"http://localhost:{port}/v1") for port in (8000, 8001))
    assert here.key == there.key != request(provider="other", base_url=here.base_url).key
    whole = here.model_dump(mode="json")
    assert here.keys == (here.key, digest(whole)), "answers under the key of before are found"
    assert "repeat" not in whole
    assert request().keys == (digest(request().model_dump(mode="json")),)


def test_a_repeated_prompt_is_a_request_of_its_own():
    assert len({request(repeat=number).key for number in range(3)}) == 3


def test_a_candidate_has_a_solution_or_a_problem():
    candidate()
    candidate(solution=None, problem="no code block")
    for wrong in ({"problem": "no code block"}, {"solution": None}):
        with pytest.raises(ValidationError, match="either a solution or a problem"):
            candidate(**wrong)


def test_an_artifact_exists_exactly_when_built():
    with pytest.raises(ValidationError, match="artifact"):
        Build(solution="s", status=BuildStatus.BUILT)
    with pytest.raises(ValidationError, match="artifact"):
        Build(solution="s", status=BuildStatus.REJECTED, artifact="x.so")


def test_performance_exists_only_when_passed(trace):
    performance = Performance(
        solution=Timing(samples_ms=(1.0, 3.0, 2.0)), baselines={"torch_eager": Timing(samples_ms=(4.0,))}
    )
    passed = Trace.model_validate({**trace.model_dump(), "performance": performance})
    assert passed.performance.solution.latency_ms == 2.0
    assert passed.performance.speedup("torch_eager") == 2.0
    with pytest.raises(ValidationError, match="only when the status is passed"):
        Trace.model_validate({**trace.model_dump(), "status": Status.WRONG_VALUE, "performance": performance})


def test_the_median_of_an_even_number_of_samples_is_between_the_middle_two():
    assert Timing(samples_ms=(1.0, 2.0, 3.0, 10.0)).latency_ms == 2.5


def test_only_two_statuses_say_nothing_about_the_solution():
    assert {status for status in Status if not status.resolved} == {Status.NOT_JUDGED, Status.MACHINE_ERROR}


# ------------------------------------------------------------------------------------------- problems and workloads


def changed(definition, **fields):
    return Definition.model_validate({**definition.model_dump(), **fields})


@pytest.mark.parametrize(
    ("argument", "dtype"),
    [
        ({"dtype": "float32"}, "bfloat16"),
        ({"dtype": "float64"}, "bfloat16"),
        ({"dtype": "float32", "fixed_dtype": True}, "float32"),
        ({"dtype": "int64"}, "int64"),
        ({"dtype": "float64", "kind": "scalar"}, "float64"),
    ],
)
def test_floating_point_tensors_follow_the_workload(argument, dtype):
    assert Argument(name="x", **argument).dtype_at("bfloat16") == dtype


def test_wrong_arguments_and_kernels_are_refused(definition):
    (bias,), (out,) = definition.parameters, definition.outputs
    scalar = Argument(name="s", kind="scalar", dtype="float32", in_place=True)
    wrong = (
        ("kernel_language", {"kernels": {"upstream": "int x;"}}),
        ("kernel_language", {"kernels": {"upstream": "int x;"}, "kernel_language": "python"}),
        ("only an input", {"outputs": (out.model_copy(update={"in_place": True}),)}),
        ("only an input", {"parameters": (bias.model_copy(update={"in_place": True}),)}),
        ("fixed_dtype", {"parameters": (bias.model_copy(update={"fixed_dtype": True}),)}),
        ("by value", {"inputs": (scalar,)}),
    )
    for words, fields in wrong:
        with pytest.raises(ValidationError, match=words):
            changed(definition, **fields)
    x = definition.inputs[0].model_copy(update={"in_place": True})
    assert changed(definition, inputs=(x,), outputs=()).outputs == ()
    assert changed(definition, kernels={"upstream": "int x;"}, kernel_language="cpp").kernel_language == "cpp"


def test_a_workloads_id_is_all_but_whether_it_is_shown():
    own = Workload(definition="d", name="w", axes={"n": 1}, tolerance=Tolerance(atol=0, rtol=0))
    assert own.model_copy(update={"held_out": True}).id == own.id
    others = ({"axes": {"n": 2}}, {"dtype": "float16"}, {"name": "v"}, {"tolerance": Tolerance(atol=1, rtol=0)})
    assert len({own.id, *(own.model_copy(update=fields).id for fields in others)}) == 5
