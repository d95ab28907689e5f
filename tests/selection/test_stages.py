"""The selection: what is chosen, why not, and that an equal choice is equal to the byte."""

import pytest
from typer.testing import CliRunner

from hone.cli.operators import app
from hone.core.errors import RecordError
from hone.core.files import read_record, read_records
from hone.records import Selection, SelectionReason, Status
from hone.selection.stages import select, verification_workloads
from tests.selection.operator import BUILTIN, DEFINITION, FAST, FASTEST, WORKLOADS

CONFIG = """
graphs: {tiny: {kind: synthetic, nodes: 100, classes: 3, mean_degree: 4, feature_dim: 4}}
trainings: {short: {graphs: [tiny], epochs: 1}}
"""


@pytest.fixture
def choose(tmp_path, files):
    """The two files that come of solutions and traces: the selection's text, and the reasons."""

    def run(traces, kernels=(BUILTIN, FAST, FASTEST), operator="sample_neighbours"):
        given = files(traces, kernels)
        select(operator, *given, output=tmp_path / "selected.json", reasons=tmp_path / "reasons.jsonl")
        return (tmp_path / "selected.json").read_text(), read_records(tmp_path / "reasons.jsonl", SelectionReason)

    return run


def test_the_fastest_on_each_kind_of_machine_is_selected(choose, judged, tmp_path):
    traces = [*judged(FAST, 2), *judged(FASTEST, 4), *judged(FAST, 3, "a GPU"), *judged(FASTEST, 2, "a GPU")]
    _, reasons = choose(traces)
    found = read_record(tmp_path / "selected.json", Selection)
    assert [(item.where, item.solution) for item in found.kernels] == [("a CPU", FASTEST), ("a GPU", FAST)]
    assert found.kernels[0].artifact == f"builds/{FASTEST.id[:4]}/kernel.so"
    assert found.definition == DEFINITION
    assert [item.used for item in reasons] == ["selected", "selected"]
    assert (reasons[0].baseline_us, reasons[0].selected_us) == (pytest.approx(8), pytest.approx(2))
    assert reasons[0].speedup == pytest.approx(4)
    assert reasons[0].workloads == 3, "held-out workloads have no say in a speedup"


def test_an_equal_choice_is_equal_to_the_byte(choose, judged):
    first, _ = choose([*judged(FAST, 2), *judged(FASTEST, 4)])
    again, reasons = choose([*judged(FASTEST, 4.1), *judged(FAST, 1.9)], kernels=(FASTEST, FAST, BUILTIN))
    assert first == again
    assert reasons[0].speedup == pytest.approx(4.1)
    other, _ = choose([*judged(FAST, 4), *judged(FASTEST, 2)])
    assert first != other


def test_nothing_is_selected_that_does_not_beat_the_builtin(choose, judged, tmp_path):
    cases = [
        ([*judged(FAST, 1.02), *judged(FASTEST, 0.5)], "the fastest solution that passed is 1.020 times as fast"),
        (judged(FAST, 9, status=Status.WRONG_VALUE), "none of 2 solutions passed"),
        (judged(FAST, 9)[1:], "none of 2 solutions passed all workloads with a sound time"),
        (judged(BUILTIN, 9), "no solution was judged"),
        ([], "no solution was judged"),
    ]
    texts = set()
    for traces, reason in cases:
        text, (found,) = choose(traces)
        texts.add(text)
        assert found.used == "builtin" and found.reason.startswith(reason)
    (text,) = texts
    assert Selection.model_validate_json(text) == Selection(operator="sample_neighbours", runs_on="cpu")
    _, (found,) = choose([], kernels=(BUILTIN,))
    assert found.reason == "no experiment wrote a solution"


def test_one_disturbed_measurement_makes_no_winner(choose, judged):
    shown = [item.id for item in WORKLOADS if not item.held_out]
    disturbed = [item for item in judged(FAST, 9) if item.workload == shown[0]]
    _, (found,) = choose([*disturbed, *(item for item in judged(FAST, 1) if item.workload != shown[0])])
    assert found.used == "builtin" and "is 1.000 times as fast" in found.reason


def test_selecting_by_hand_says_what_and_why(choose, judged, tmp_path):
    choose([*judged(FAST, 2), *judged(FAST, 1.01, "a GPU")])
    names = ("definitions", "workloads", "solutions", "evaluations", "builds")
    files = {name: tmp_path / ("traces" if name == "evaluations" else name) for name in names}
    words = [word for name, path in files.items() for word in (f"--{name}", str(path))]
    result = CliRunner().invoke(app, ["select", "sample_neighbours", *words, "--output", str(tmp_path / "x.json")])
    assert result.exit_code == 0, (result.output, result.exception)
    assert f"a CPU  selected  {FAST.id[:12]}  2.000 times as fast as the builtin\n" in result.output
    assert f"a GPU  builtin  {FAST.id[:12]}  1.010 times as fast" in result.output
    assert len(read_record(tmp_path / "x.json", Selection).kernels) == 1


def test_by_hand_all_files_are_those_of_the_config_s_run(monkeypatch, tmp_path, files, judged):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "small.yaml").write_text("run: small\n" + CONFIG)
    files(judged(FAST, 2))
    for name in ("definitions", "workloads", "solutions", "builds"):
        (tmp_path / "results/small" / name).mkdir(parents=True)
        (tmp_path / name).rename(tmp_path / "results/small" / name / "records.jsonl")
    (tmp_path / "results/small/evaluations").mkdir()
    (tmp_path / "traces").rename(tmp_path / "results/small/evaluations/records.jsonl")
    result = CliRunner().invoke(app, ["select", "sample_neighbours", "--config", "small.yaml"])
    assert result.exit_code == 0, (result.output, result.exception)
    assert f"a CPU  selected  {FAST.id[:12]}" in result.output


def test_an_operator_without_a_definition_is_an_error(choose):
    with pytest.raises(RecordError, match="0 definitions are called 'other'"):
        choose([], operator="other")


def test_kernels_are_compared_on_few_small_workloads_of_every_type():
    assert [item.name for item in verification_workloads(DEFINITION, WORKLOADS)] == ["held", "small", "large"]
    typed = [item.model_copy(update={"dtype": dtype}) for item in WORKLOADS for dtype in ("a", "b", "c", "d")]
    chosen = verification_workloads(DEFINITION.model_copy(update={"outputs": ()}), typed)
    assert sorted((item.name, item.dtype) for item in chosen) == [("small", dtype) for dtype in ("a", "b", "c", "d")]
