"""Published answers of a batch: which are taken, under which sample, and which are refused."""

import pytest

from hone.config.experiments import Experiment
from hone.core.files import read_records, write_records
from hone.methods.archive import language_of, published
from hone.methods.stages import archived
from hone.records import Candidate, Claim, Claimed, Language, Origin, Solution
from hone.sources.archives.answer import ArchivedAnswer, SkippedAnswer

EXPERIMENT = {"method": "archive", "source": "tiny", "levels": (1,), "archive": "a"}
SOURCE = "class ModelNew: ...\n"
TRITON = "import triton\n\n@triton.jit\ndef kernel(): ...\n\nclass ModelNew: ...\n"


@pytest.fixture
def answer(definition):
    """Makes an answer to the text of `definition`, unless told otherwise."""

    def make(number=1, model="m", run="r", digest=definition.upstream.sha256, source=SOURCE, **claimed):
        path = f"runs/{run}/{number}.py"
        return ArchivedAnswer(
            origin=Origin(archive="a", commit="0" * 40, run=run, path=path, model=model, prompt="one_shot"),
            level=1, number=number, problem_sha256=digest, sample=0, source=source, claimed=Claimed(**claimed),
        )  # fmt: skip

    return make


def made_of(answers, definition, batch=((1, 1),), **changes):
    return published("e", Experiment.model_validate(EXPERIMENT | changes), batch, [definition], answers)


def test_an_answer_becomes_a_candidate_with_its_models_name_and_a_claim(answer, definition):
    made = made_of([answer(verdict="correct", speedup=2.5)], definition)
    ((row,), (claim,), (kernel,)) = made.candidates, made.claims, made.solutions
    assert (row.experiment, row.method, row.model, row.sample) == ("e", "archive", "m", 0)
    assert (row.label, row.solution) == ("runs/r/1.py", kernel.id)
    assert (kernel.definition, kernel.source, kernel.entry_point) == (definition.name, SOURCE, "ModelNew")
    assert (claim.definition, claim.sample, claim.solution) == (definition.name, 0, kernel.id)
    assert (claim.archive, claim.run, claim.model, claim.prompt) == ("a", "r", "m", "one_shot")
    assert (str(claim.verdict), claim.speedup) == ("correct", 2.5)


def test_an_answer_to_another_text_is_refused(answer, definition):
    made = made_of([answer(digest="f" * 64), answer()], definition)
    (skipped,) = made.skipped
    assert (str(skipped.reason), skipped.level, skipped.number) == ("other_problem_text", 1, 1)
    assert "answers the text ffffffffffff" in skipped.detail
    assert len(made.candidates) == len(made.claims) == 1


def test_a_problem_without_definition_is_refused(answer, definition):
    made = made_of([answer(number=2)], definition, batch=((1, 1), (1, 2)))
    assert [str(item.reason) for item in made.skipped] == ["no_definition"]
    assert not made.candidates


def test_samples_count_a_models_answers_to_a_problem(answer, definition):
    given = [answer(run="r"), answer(run="s", source=SOURCE + "#"), answer(model="n"), answer(run="t")]
    made = made_of(given, definition)
    places = [(row.model, row.sample) for row in made.candidates]
    assert places == [("m", 0), ("m", 1), ("n", 0), ("m", 2)]
    assert places == [(claim.model, claim.sample) for claim in made.claims]
    assert len(made.solutions) == 2  # equal sources are one kernel
    assert made.solutions == sorted(made.solutions, key=lambda kernel: kernel.id)


def test_what_is_not_selected_is_neither_taken_nor_refused(answer, definition):
    for changes in ({"problems": ("level1/2",)}, {"levels": (2,)}, {"batch": ((1, 2),)}):
        made = made_of([answer()], definition, **changes)
        assert not made.candidates
        assert not made.skipped


@pytest.mark.parametrize(
    ("source", "language"),
    [(SOURCE, Language.PYTHON), (TRITON, Language.TRITON), ("# @triton.jit\n" + SOURCE, Language.PYTHON)],
)
def test_a_module_with_a_triton_kernel_is_triton(source, language):
    assert language_of(source) is language


def test_the_stage_writes_all_four_files(answer, definition, tmp_path):
    write_records(tmp_path / "definitions", [definition])
    write_records(tmp_path / "answers", [answer(), answer(digest="f" * 64)])
    kinds = {"candidates": Candidate, "solutions": Solution, "claims": Claim, "skipped": SkippedAnswer}
    out = {name: tmp_path / f"{name}.jsonl" for name in kinds}
    chosen = Experiment.model_validate(EXPERIMENT)
    archived("e", chosen, [(1, 1)], [tmp_path / "definitions"], tmp_path / "answers", **out)
    assert [len(read_records(out[name], kind)) for name, kind in kinds.items()] == [1, 1, 1, 1]
