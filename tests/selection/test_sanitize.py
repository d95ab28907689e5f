"""A kernel that compute-sanitizer objects to is not selected; its verdicts are kept. All logs here are made up."""

import json
from pathlib import Path

import pytest

from hone.core.errors import MachineError
from hone.core.files import read_record, read_records, write_records
from hone.records import Build, BuildStatus, SanitizerVerdict, Selection, SelectionReason
from hone.sanitizer import run as watching
from hone.sanitizer.tool import TOOLS
from hone.selection import sanitize as stage
from hone.selection.stages import OBJECTED, objections_of, select
from tests.selection.operator import DEFINITION, FAST, FASTEST, WORKLOADS

GPU = "a GPU"
NOTHING = "========= COMPUTE-SANITIZER\n========= ERROR SUMMARY: 0 errors\n"
NO_RACES = "========= COMPUTE-SANITIZER\n========= RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)\n"
LOGS = {
    "memcheck": NOTHING,
    "racecheck": NO_RACES,
    "synccheck": NOTHING,
    "initcheck": NOTHING,
}
BARRIER = """========= COMPUTE-SANITIZER
========= Barrier error detected. Divergent thread(s) in block
=========     at draw(const int *)+0x1a0
=========     by thread (32,0,0) in block (0,0,0)
=========
========= ERROR SUMMARY: 4096 errors
"""


def verdict(solution, tool="memcheck", status="clean", **changes):
    return SanitizerVerdict(
        definition=DEFINITION.name, solution=solution.id, where=GPU, tool=tool, status=status, **changes
    )


@pytest.fixture
def choose(tmp_path, files):
    def run(traces, *verdicts):
        write_records(tmp_path / "sanitized.jsonl", verdicts)
        select(
            DEFINITION.title, *files(traces), output=tmp_path / "selected.json", reasons=tmp_path / "reasons.jsonl",
            sanitized=[tmp_path / "sanitized.jsonl"],
        )  # fmt: skip
        selection = read_record(tmp_path / "selected.json", Selection)
        return [item.solution for item in selection.kernels], read_records(tmp_path / "reasons.jsonl", SelectionReason)

    return run


def test_the_next_kernel_is_selected_where_the_fastest_has_an_objection(choose, judged):
    traces = [*judged(FAST, 2, GPU), *judged(FASTEST, 4, GPU)]
    assert choose(traces)[0] == [FASTEST]
    assert choose(traces, verdict(FASTEST), verdict(FASTEST, "initcheck"))[0] == [FASTEST]
    assert choose(traces, verdict(FASTEST, status="unknown"))[0] == [FASTEST], "what could not be run says nothing"
    chosen, (why,) = choose(
        traces, verdict(FASTEST), verdict(FASTEST, "synccheck", "objects", findings=4096, detail="Barrier error"),
        verdict(FAST),
    )  # fmt: skip
    assert chosen == [FAST]
    assert why.objections == (f"{FASTEST.id[:12]}: synccheck: Barrier error",)


def test_where_all_have_objections_the_builtin_stays(choose, judged):
    verdicts = [verdict(item, status="objects", findings=1, detail="Invalid write") for item in (FAST, FASTEST)]
    chosen, (why,) = choose([*judged(FAST, 2, GPU), *judged(FASTEST, 4, GPU)], *verdicts)
    assert (chosen, why.used, why.reason, len(why.objections)) == ([], "builtin", OBJECTED, 2)


def test_a_reason_without_objections_is_written_as_before(choose, judged):
    _, (why,) = choose(judged(FAST, 2, GPU))
    assert "objections" not in why.model_dump()


@pytest.fixture
def watch(tmp_path, files, monkeypatch):
    """Runs the stage; `objects` are the solutions that synccheck objects to. Gives verdicts, and who was watched."""

    def run(traces, *objects):
        watched = []

        def verdicts(program, version, definition, solution, build, workloads, **_):
            watched.append(solution)
            assert build.solution == solution.id and len(workloads) == len(WORKLOADS)
            for tool in TOOLS:
                bad = solution in objects and tool == "synccheck"
                yield verdict(solution, tool, "objects" if bad else "clean", findings=int(bad))

        monkeypatch.setattr(stage, "find_program", lambda: "compute-sanitizer")
        monkeypatch.setattr(stage, "version_of", lambda _: "Version 1")
        monkeypatch.setattr(stage, "sanitizer_verdicts", verdicts)
        output = tmp_path / "verdicts.jsonl"
        stage.sanitize(DEFINITION.title, *files(traces), store=tmp_path, where=GPU, output=output)
        return read_records(output, SanitizerVerdict), watched

    return run


def test_kernels_are_watched_down_to_the_first_without_an_objection(watch, judged):
    traces = [*judged(FAST, 2, GPU), *judged(FASTEST, 4, GPU)]
    found, watched = watch(traces)
    assert watched == [FASTEST] and [item.tool for item in found] == list(TOOLS)
    found, watched = watch(traces, FASTEST)
    assert watched == [FASTEST, FAST] and objections_of(found).keys() == {FASTEST.id}
    assert watch(traces, FASTEST, FAST)[1] == [FASTEST, FAST]


def test_what_would_not_be_selected_is_not_watched(watch, judged):
    assert watch(judged(FAST, 1.01, GPU)) == ([], [])
    assert watch(judged(FAST, 4, "another GPU")) == ([], [])


def test_without_the_program_the_verdicts_are_unknown(tmp_path, files, judged, monkeypatch, capsys):
    def missing():
        raise MachineError("'compute-sanitizer' cannot be run")

    monkeypatch.setattr(stage, "find_program", missing)
    output = tmp_path / "verdicts.jsonl"
    stage.sanitize(DEFINITION.title, *files(judged(FAST, 4, GPU)), store=tmp_path, where=GPU, output=output)
    found = read_records(output, SanitizerVerdict)
    assert {(item.tool, item.status) for item in found} == {(tool, "unknown") for tool in TOOLS}
    assert "selected without compute-sanitizer" in capsys.readouterr().err


@pytest.fixture
def verdicts(tmp_path, monkeypatch):
    """Verdicts on FAST from logs by tool; `finished`: how many workloads ran to their end. Counts the runs."""
    runs = []

    def make(logs=LOGS, finished=None, ended=""):
        def ended_of(arguments, folder):
            tool = arguments[arguments.index("--tool") + 1]
            runs.append(tool)
            asked = json.loads(Path(arguments[-2]).read_text())
            names = [item["name"] for item in asked["workloads"]][:finished]
            Path(arguments[-1]).write_text(json.dumps({"finished": names}))
            return logs[tool], ended

        monkeypatch.setattr(watching, "_ended", ended_of)
        build = Build(solution=FAST.id, status=BuildStatus.BUILT, artifact="k.so", target="sm_90")
        return list(
            watching.sanitizer_verdicts(
                "compute-sanitizer", "Version 1", DEFINITION, FAST, build, WORKLOADS, store=tmp_path, where=GPU
            )
        )

    return make, runs


def test_each_tool_has_a_verdict_and_a_second_look_runs_none(verdicts):
    make, runs = verdicts
    found = make()
    assert [(item.tool, item.status, item.workloads) for item in found] == [
        (tool, "clean", len(WORKLOADS)) for tool in TOOLS
    ]
    assert runs == list(TOOLS)
    assert make() == found
    assert runs == list(TOOLS)


def test_an_objection_stands_even_where_no_workload_ended(verdicts):
    make, _ = verdicts
    found = {item.tool: item for item in make({**LOGS, "synccheck": BARRIER}, finished=0, ended="ended with status 86")}
    assert (found["synccheck"].status, found["synccheck"].findings) == ("objects", 4096)
    assert found["synccheck"].detail.startswith("Barrier error detected. Divergent thread(s) in block")
    assert found["memcheck"].status == "unknown"


@pytest.mark.parametrize(
    ("log", "ended"),
    [("", "stopped after 300 s"), ("Segmentation fault\n", "ended with status 139"),
     ("========= Device not supported. Please refer to the documentation\n" + NOTHING, "")],
)  # fmt: skip
def test_what_the_tool_could_not_watch_is_unknown_and_tried_again(verdicts, log, ended):
    make, runs = verdicts
    assert {item.status for item in make(dict.fromkeys(TOOLS, log), ended=ended)} == {"unknown"}
    make()
    assert len(runs) == 2 * len(TOOLS)
