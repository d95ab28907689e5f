"""Done, pending and its cost, on small made-up results with answers that can be worked out by hand."""

import json
import os
from pathlib import Path

import pytest
from rich.console import Console

from hone.config.settings import load
from hone.config.trainings import TrainingKey
from hone.core.errors import RecordError
from hone.core.files import write_records, write_text
from hone.file_map import FileMap, Paths
from hone.file_map.paths import training_job
from hone.llm.ledger import Ledger
from hone.records import (
    Answer,
    Build,
    Definition,
    EpochFigures,
    InferenceFigures,
    InferenceRun,
    LLMRequest,
    Message,
    Prompt,
    Protocol,
    Solution,
    Status,
    Trace,
    TrainingRun,
    Workload,
)
from hone.records.answer import Completion
from hone.records.trace import WAITING, Environment
from hone.status import reading, screen
from hone.status.estimate import estimate
from hone.status.progress import progress
from hone.status.rates import Rates
from hone.status.reading import Reader
from tests.analysis.trainings import Trainings
from tests.analysis.world import answer, definition, trace

MODEL = "openai-api/lab/m"
PATHS = Paths("results/test")
VALUES = {
    "sources": {"mini": {"kind": "local", "path": "problems", "levels": {1: 2}}},
    "batch_size": 1,
    "experiments": {
        "one": {
            "method": "one_shot", "source": "mini", "levels": [1], "models": [MODEL], "samples": 2,
            "sampling": {"max_tokens": 50},
        },
    },
    "llm": {
        "services": {"lab": "http://lab/v1"},
        "prices": {MODEL: {"input_usd_per_mtok": 1000, "output_usd_per_mtok": 2000}},
    },
    "judge": {"name": "test", "device": "cuda"},
}  # fmt: skip
REFINE = {"method": "refine", "source": "mini", "levels": [1], "models": [MODEL], "turns": 3}
TRAINING = {
    "graphs": ["small"], "seeds": [0, 1], "gpus": [2], "epochs": 4, "device": "cuda",
    "inference": {"splits": ["test"]},
}  # fmt: skip


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LAB_BASE_URL", "http://lab/v1")
    return tmp_path


def settings(**sections):
    return load({**VALUES, **sections})


def rows(config):
    """(section, kind) -> its work and estimate."""
    files, reader = FileMap(config, PATHS.results), Reader()
    rates = Rates(files, reader)
    return {
        (work.section, work.kind): (work, estimate(work, config, rates)) for work in progress(files, reader)
    }  # fmt: skip


def shown(config):
    console = Console(width=160, record=True, file=open(os.devnull, "w"))  # noqa: SIM115, PTH123
    screen.show(FileMap(config, PATHS.results), "test.yaml", console)
    console.file.close()
    return console.export_text()


def prompt(number):
    messages = (Message(role="user", content=f"write {number}"),)
    return Prompt(
        experiment="one", definition=f"mini/level1/{number}_problem", role="coder", turn=0, samples=(0, 1),
        messages=messages,
    )  # fmt: skip


def answers(number):
    return [answer((f"mini/level1/{number}_problem", 0, sample), "one", MODEL) for sample in (0, 1)]


def completion(sample):
    """The ledger's answer to a sample of problem 2's prompt."""
    request = LLMRequest(
        provider="lab", base_url="http://lab/v1", model="m", messages=prompt(2).messages,
        sampling={"max_tokens": 50}, sample=sample,
    )  # fmt: skip
    return answers(2)[sample].completion.model_copy(update={"request": request, "key": request.key})


def verdict(number, status=Status.PASSED, config=None):
    return trace(config or settings(), "s" * 64, f"mini/level1/{number}_problem", status)


def test_a_fresh_clone_has_everything_to_do_and_no_number_is_made_up(folder):
    found = rows(settings(trainings={"t": TRAINING}, graphs={"small": {"kind": "synthetic"}}))
    counts = {key: (work.done, work.pending.total(), work.at_most) for key, (work, _) in found.items()}
    assert counts == {
        ("KernelBench", "calls"): (0, 4, True), ("KernelBench", "builds"): (0, 4, True),
        ("KernelBench", "verdicts"): (0, 4, True), ("SALIENT", "graphs"): (0, 1, False),
        ("SALIENT", "trainings"): (0, 2, False), ("SALIENT", "inferences"): (0, 2, False),
    }  # fmt: skip
    for work, cost in found.values():
        assert cost.unknown == work.pending.total()
        assert not (cost.usd or cost.gpu_s or cost.cpu_s or cost.output_tokens)
    # What max_tokens allows is no measurement, but no invention either: 4 x 50 tokens at $2000 a million.
    assert found["KernelBench", "calls"][1].output_bound_usd == pytest.approx(0.4)
    assert list(folder.iterdir()) == []


def test_pending_calls_cost_what_measured_ones_took_at_the_price():
    config = settings()
    write_records(Path("results/test/answers/one/openai-api--lab--m/turn0/000.jsonl"), answers(1))
    for number in (1, 2):
        write_records(Path(f"results/test/prompts/one/{number - 1:03d}.jsonl"), [prompt(number)])
    ((work, cost),) = [item for key, item in rows(config).items() if key[1] == "calls"]
    assert (work.done, work.pending.total(), work.at_most) == (2, 2, False)
    assert (cost.input_tokens, cost.output_tokens) == (200, 40)
    assert cost.usd == pytest.approx(2 * (100 * 1000 + 20 * 2000) / 1e6)
    assert cost.basis == ["100 + 20 tokens a call, 2 measured", "$1000.00 + $2000.00 a Mtoken"]
    assert "200 + 40 tokens, $0.28" in shown(config)


def test_calls_whose_tokens_nobody_counted_are_no_rate_and_said():
    counted, other = answers(1)
    unknown = other.model_copy(update={"completion": other.completion.model_copy(update={"usage": None})})
    path = Path("results/test/answers/one/openai-api--lab--m/turn0/000.jsonl")
    write_records(path, [counted, unknown])
    _, cost = rows(settings())["KernelBench", "calls"]
    assert cost.input_tokens == 200  # two pending calls at the one rate that was counted
    assert "100 + 20 tokens a call, 1 measured" in cost.basis
    assert "1 without token counts" in cost.basis
    write_records(path, [unknown])
    _, cost = rows(settings())["KernelBench", "calls"]
    assert (cost.input_tokens, cost.usd) == (0, 0)
    assert "no call measured" in cost.basis
    assert cost.unknown == 2


def test_what_the_ledger_has_is_paid_for_and_measures_too():
    Ledger(Path(".hone/ledger")).put(completion(1))
    write_records(Path("results/test/prompts/one/001.jsonl"), [prompt(2)])
    ((work, cost),) = [item for key, item in rows(settings()).items() if key[1] == "calls"]
    assert (work.done, work.pending.total()) == (1, 3)
    assert (cost.input_tokens, cost.unknown) == (300, 0)


def test_what_another_run_has_measured_is_a_rate_and_not_done():
    write_records(Path("results/other/answers/one/openai-api--lab--m/turn0/000.jsonl"), answers(1))
    ((work, cost),) = [item for key, item in rows(settings()).items() if key[1] == "calls"]
    assert (work.done, work.pending.total()) == (0, 4)
    assert (cost.input_tokens, cost.unknown) == (400, 0)


def test_a_request_that_two_experiments_share_is_pending_once():
    config = settings(experiments=dict.fromkeys(("one", "two"), VALUES["experiments"]["one"]))
    for name in ("one", "two"):
        for number in (1, 2):
            write_records(Path(f"results/test/prompts/{name}/{number - 1:03d}.jsonl"), [prompt(number)])
    assert rows(config)["KernelBench", "calls"][0].pending.total() == 4


def test_a_model_without_a_price_has_tokens_and_no_dollars():
    config = settings(llm={"services": {"lab": "http://lab/v1"}})
    write_records(Path("results/test/answers/one/openai-api--lab--m/turn0/000.jsonl"), answers(1))
    work, cost = rows(config)["KernelBench", "calls"]
    assert (cost.input_tokens, cost.usd, cost.unknown) == (200, 0, work.pending.total())
    assert f"no price: set llm.prices.{MODEL}" in cost.basis


def test_later_turns_count_at_most_until_their_prompts_are_there():
    config = settings(experiments={"deep": REFINE})
    assert rows(config)["KernelBench", "calls"][0].pending == {"deep": 6}
    place = "deep/openai-api--lab--m/turn1"
    later = prompt(1).model_copy(update={"experiment": "deep", "turn": 1, "samples": (0,)})
    write_records(Path(f"results/test/feedback/{place}/000.jsonl"), [later])
    # The second kernel has no verdict: it is asked no more.
    write_records(Path(f"results/test/feedback/{place}/001.jsonl"), [])
    work, _ = rows(config)["KernelBench", "calls"]
    assert (work.pending["deep"], work.at_most) == (5, True)


def test_verdicts_take_gpu_time_at_the_measured_rate():
    config = settings()
    traces = [verdict(1), verdict(1, Status.MACHINE_ERROR)]
    write_records(Path("results/test/traces/one/openai-api--lab--m/turn0/000.jsonl"), traces)
    work, cost = rows(config)["KernelBench", "verdicts"]
    assert (work.done, work.unresolved, work.pending.total()) == (2, 1, 2)
    assert cost.gpu_s == pytest.approx(2 * 1.0)  # the phases add up to one second; the broken one measures nothing
    assert cost.basis == ["1 s a verdict, 1 measured on Test CPU"]
    assert "2 (1 without a verdict)" in shown(config)


def test_verdicts_of_another_kind_of_device_measure_nothing():
    write_records(
        Path("results/test/traces/one/openai-api--lab--m/turn0/000.jsonl"),
        [verdict(1, config=settings(judge={"name": "test", "device": "cpu"}))],
    )
    assert rows(settings())["KernelBench", "verdicts"][1].unknown == 2


def test_verdicts_of_the_store_measure_where_results_have_none():
    write_text(Path(".hone/store/traces/ab/abc.json"), verdict(1).model_dump_json())
    assert rows(settings())["KernelBench", "verdicts"][1].gpu_s == pytest.approx(4.0)


def test_solutions_that_are_there_are_counted_instead_of_samples():
    solution = Solution(definition="mini/level1/1_problem", language="cuda", entry_point="launch", source="x")
    write_records(Path("results/test/solutions/one/openai-api--lab--m/turn0/000.jsonl"), [solution])
    found = rows(settings())
    assert found["KernelBench", "builds"][0].pending.total() == 1 + 2
    assert found["KernelBench", "verdicts"][0].pending.total() == 1 + 2


def test_unsupported_problems_are_not_waited_for():
    write_records(Path("results/test/definitions/mini/level1.jsonl"), [definition(1, 2)])
    assert rows(settings())["KernelBench", "calls"][0].pending.total() == 2


def test_builds_and_verdicts_go_by_their_own_experiment_then_by_the_others():
    gold = {"method": "gold", "source": "mini", "levels": [1]}
    config = settings(experiments={**VALUES["experiments"], "gold": gold})

    def finish(experiment, model, seconds):
        shard = PATHS.shard(experiment, model, 0, "000")
        write_records(Path(shard.records("builds")), [Build(solution="s", status="interpreted", seconds=seconds)])
        write_records(
            Path(shard.records("traces")), [verdict(1).model_copy(update={"phase_s": {"load": seconds, WAITING: 90.0}})]
        )
        found = rows(config)
        (builds, compiling), (verdicts, judging) = (found["KernelBench", kind] for kind in ("builds", "verdicts"))
        assert builds.pending == verdicts.pending
        assert compiling.cpu_s == judging.gpu_s
        return builds.pending, judging.gpu_s

    assert finish("gold", "reference/model", 1.0) == ({"one": 4, "gold": 1}, 5 * 1.0)
    assert finish("one", MODEL, 3.0) == ({"one": 2, "gold": 1}, 2 * 3.0 + 1 * 1.0)


def rounds(**options):
    """A config with rounds on one existing kernel."""
    packages = {"own": {"kind": "folder", "path": "p"}}
    astra = {"method": "astra", "source": "existing", "levels": [1], "models": [MODEL], "language": "cuda", **options}
    return settings(
        sources={"existing": {"kind": "kernels", "path": "kernels", "levels": {1: 1}, "packages": packages}},
        experiments={"astra": astra},
        baselines=["upstream"],
    )


def test_rounds_wait_for_suites_before_their_verdicts_can_be_counted():
    config = rounds(turns=3)
    found = rows(config)
    # The suite; then analysis, plan and kernel of two rounds.
    assert found["Astra", "calls"][0].pending.total() == 1 + 2 * 3
    assert found["Astra", "builds"][0].pending.total() == 3
    assert (found["Astra", "verdicts"][0].pending.total(), found["Astra", "verdicts"][0].unsized) == (0, 6)
    tolerance = {"atol": 0, "rtol": 0}
    chosen = [
        Workload(definition="existing/level1/1_problem", name=f"w{number}", axes={}, tolerance=tolerance)
        for number in range(5)
    ]
    write_records(Path(PATHS.shard("astra", MODEL, 0, "000").suites), chosen)
    write_records(Path("results/test/definitions/existing/level1.jsonl"), [definition(1, 1, source="existing")])
    verdicts = rows(config)["Astra", "verdicts"][0]
    assert (verdicts.pending.total(), verdicts.unsized) == (3 * 5, 3)
    assert "at most 15 + those of 3 kernels" in shown(config)


def test_of_rounds_whose_winner_alone_is_evaluated_two_kernels_are():
    config = rounds(turns=6, astra={"evaluate": "winner"})
    name = "existing/level1/1_problem"
    sized = [
        Workload(definition=name, name=f"w{number}", axes={}, tolerance={"atol": 0, "rtol": 0}) for number in range(9)
    ]
    shard = PATHS.shard("astra", MODEL, 0, "000")
    write_records(Path(shard.suites), sized[:5])
    write_records(Path("results/test/workloads/existing/level1.jsonl"), sized)
    write_records(Path("results/test/definitions/existing/level1.jsonl"), [definition(1, 1, source="existing")])
    assert rows(config)["Astra", "verdicts"][0].pending.total() == 6 * 5 + 2 * 9
    write_records(Path(shard.winners), [Solution(definition=name, language="cuda", entry_point="launch", source="x")])
    assert rows(config)["Astra", "verdicts"][0].pending.total() == 6 * 5 + 1 * 9  # none won
    write_records(Path(shard.evaluated_winners), [verdict(1, config=config)] * 9)
    work = rows(config)["Astra", "verdicts"][0]
    assert (work.done, work.pending.total()) == (9, 6 * 5)


def trainings(config):
    made = Trainings()
    run = made.train("pipelined", 1.0, 1.0, 1.0, training="t", gpus=2)
    made.infer(run, full=900)
    key = TrainingKey("t", "small", "sage", "pipelined", 2, 0)
    write_text(Path(PATHS.training("training", key)), run.model_dump_json())
    write_text(Path(PATHS.training("inference", key)), made.inferences[0].model_dump_json())
    return key, rows(config)


def test_trainings_hold_their_gpus_for_as_long_as_those_before():
    config = settings(trainings={"t": TRAINING}, graphs={"small": {"kind": "synthetic"}})
    key, found = trainings(config)
    work, cost = found["SALIENT", "trainings"]
    assert (work.done, work.pending.total()) == (1, 1)
    assert cost.gpu_s == pytest.approx((10 + 1 + 1 + 1) * 2)  # the first epoch takes ten times as long
    assert found["SALIENT", "inferences"][1].gpu_s == pytest.approx(1.5)
    # By Snakemake's clock the whole job took longer: start and validation hold the GPUs too.
    write_text(Path(PATHS.benchmark(f"train/{training_job(key)}")), "s\th:m:s\n20.0\t0:00:20\n")
    assert rows(config)["SALIENT", "trainings"][1].gpu_s == pytest.approx(20 * 2)


def test_a_training_that_may_stop_early_takes_at_most_its_epochs():
    graphs = {"small": {"kind": "synthetic"}}
    patient = settings(trainings={"t": {**TRAINING, "patience_epochs": 2, "epochs": 8}}, graphs=graphs)
    work, cost = trainings(patient)[1]["SALIENT", "trainings"]
    assert work.at_most
    assert cost.gpu_s == pytest.approx(13 / 4 * 8 * 2)


def test_a_file_that_goes_while_it_is_read_is_not_there(folder, monkeypatch):
    path = folder / "gone.jsonl"
    path.write_text("{}\n")

    def taken_away(path, kind):
        path.unlink()
        raise RecordError("no such file", where=str(path))

    monkeypatch.setattr(reading, "read_records", taken_away)
    assert Reader().rows(path, reading.TraceView) is None


def test_a_damaged_file_is_named(folder):
    path = folder / "bad.jsonl"
    path.write_text("{}\n")
    with pytest.raises(RecordError, match=r"bad\.jsonl:1"):
        Reader().rows(path, reading.TraceView)


VIEWS = {
    reading.ProblemView: Definition, reading.WorkloadView: Workload, reading.SolutionView: Solution,
    reading.CompletionView: Completion, reading.AnswerView: Answer, reading.BuildView: Build,
    reading.MachineView: Environment, reading.ProtocolView: Protocol, reading.TraceView: Trace,
    reading.EpochView: EpochFigures, reading.TrainingView: TrainingRun,
    reading.InferenceFiguresView: InferenceFigures, reading.InferenceView: InferenceRun,
}  # fmt: skip


@pytest.mark.parametrize(("view", "record"), VIEWS.items(), ids=lambda kind: kind.__name__)
def test_a_view_has_fields_of_its_record(view, record):
    assert set(view.model_fields) <= set(record.model_fields)


def test_published_answers_are_counted_once_the_archive_is_read(folder):
    archive = {"kind": "leaderboard", "url": "u", "commit": "0" * 40}
    experiment = {"method": "archive", "archive": "a", "source": "mini", "levels": [1]}
    config = settings(archives={"a": archive}, experiments={"one": experiment})
    problems = len([level for level, _ in config.problems("mini") if level == 1])
    found = rows(config)
    assert {key for key in found if key[1] == "calls"} == set()
    assert found["KernelBench", "verdicts"][0].pending == {"one": problems}
    path = Path(PATHS.archive("a"))
    path.parent.mkdir(parents=True)
    numbers = [(1, 1), (1, 1), (1, 2), (2, 1)]
    path.write_text("".join(json.dumps({"level": level, "number": number}) + "\n" for level, number in numbers))
    assert rows(config)["KernelBench", "verdicts"][0].pending == {"one": 3}
    path.write_text("")
    assert rows(config)["KernelBench", "verdicts"][0].pending.total() == 0
