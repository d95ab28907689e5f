"""What builds of its extensions make of a module's verdict, and the folder that a module may write to."""

import pytest

from hone.compile.extension_call import NOT_BUILT, building_error, call_of
from hone.compile.outcome import UNSEEN
from hone.judge import judging
from hone.judge.case import Case
from hone.judge.extensions import check_extensions, fallback_note, settled, with_fallback
from hone.judge.judging import judge_one, keepable, trace_key
from hone.judge.verdict import UnsuitedVerdict, Verdict
from hone.records import Build, BuildStatus, Language, Performance, Status, Timing

from .conftest import QUICK, SCALE, scale_definition, solution_of, workload_of

pytestmark = pytest.mark.filterwarnings("default:this machine confines")
ITEM = scale_definition()
USES = "from torch.utils.cpp_extension import load_inline\nkernel = load_inline('a', 'b')\n"
LOG = "a warning\nmain.cpp: error: no\nhere\nthere"
FIRST = "main.cpp: error: no\nhere\nthere"
TRACEBACK = (
    f"File, line 3\n{type(building_error(call_of('a', 'b'), LOG)).__name__}: {building_error(call_of('a', 'b'), LOG)}"
)
PERFORMANCE = Performance(solution=Timing(samples_ms=(1.0,)), baselines={"torch_eager": Timing(samples_ms=(2.0,))})


def build(**update):
    return Build(solution="s", status=BuildStatus.INTERPRETED, **update)


REFUSED, NOTHING, BUILT = build(refused={"k": LOG}), build(), build(extensions={"k": "k.so"})
RAISED = build(log="the module raised ValueError: x")


@pytest.mark.parametrize(
    ("made", "status", "detail", "expected"),
    [
        (REFUSED, Status.LOAD_ERROR, TRACEBACK, (Status.COMPILE_ERROR, FIRST)),
        (REFUSED, Status.RUNTIME_ERROR, TRACEBACK, (Status.COMPILE_ERROR, FIRST)),
        (REFUSED, Status.LOAD_ERROR, "NameError: kernel", (Status.LOAD_ERROR, "NameError: kernel")),
        (REFUSED, Status.WRONG_VALUE, "far off", (Status.WRONG_VALUE, "far off")),
        (REFUSED, Status.PASSED, "", (Status.PASSED, fallback_note(REFUSED))),
        (BUILT, Status.PASSED, "", (Status.PASSED, "")),
        (BUILT, Status.LOAD_ERROR, TRACEBACK, (Status.LOAD_ERROR, TRACEBACK)),
        (BUILT, Status.RUNTIME_ERROR, NOT_BUILT, (Status.RUNTIME_ERROR, NOT_BUILT)),
        (RAISED, Status.PASSED, "", (Status.NOT_JUDGED, UNSEEN)),
        (RAISED, Status.WRONG_VALUE, "far off", (Status.NOT_JUDGED, UNSEEN)),
        (RAISED, Status.LOAD_ERROR, f"'a' {NOT_BUILT}", (Status.NOT_JUDGED, UNSEEN)),
        (RAISED, Status.LOAD_ERROR, "ValueError: x", (Status.LOAD_ERROR, "ValueError: x")),
        (RAISED, Status.MACHINE_ERROR, "no disk", (Status.MACHINE_ERROR, "no disk")),
    ],
)
def test_verdicts_in_the_light_of_builds(made, status, detail, expected):
    assert settled(made, solution_of(ITEM, USES, Language.PYTHON), status, detail) == expected
    plain = solution_of(ITEM, SCALE, Language.PYTHON)
    if not made.refused:
        assert settled(made, plain, status, detail) == (status, detail)


@pytest.mark.parametrize(("made", "stopped"), [(NOTHING, True), (RAISED, False), (REFUSED, False), (BUILT, False)])
def test_what_nobody_built_is_not_run(made, stopped):
    check_extensions(made, solution_of(ITEM, SCALE, Language.PYTHON))
    if not stopped:
        check_extensions(made, solution_of(ITEM, USES, Language.PYTHON))
        return
    with pytest.raises(UnsuitedVerdict, match="where the build cannot see it"):
        check_extensions(made, solution_of(ITEM, USES, Language.PYTHON))


def test_a_module_that_ended_with_a_refused_call_needs_no_process():
    ended = build(refused={"k": LOG}, log=f"the module raised {building_error(call_of('a', 'b'), LOG)!r}")
    with pytest.raises(Verdict) as found:
        check_extensions(ended, solution_of(ITEM, USES, Language.PYTHON))
    assert (found.value.status, found.value.detail) == (Status.COMPILE_ERROR, FIRST)


def test_a_fallback_is_a_finding_under_our_own_rule_only():
    assert with_fallback(PERFORMANCE, REFUSED, QUICK).findings == ("fallback",)
    lenient = QUICK.model_copy(update={"rule": "kernelbench"})
    for given, made, protocol in ((PERFORMANCE, REFUSED, lenient), (PERFORMANCE, BUILT, QUICK), (None, REFUSED, QUICK)):
        assert with_fallback(given, made, protocol) == given


class Passes:
    """A session in which everything passes, or nothing does."""

    def __init__(self, verdict=None):
        self.protocol, self.verdict = QUICK, verdict

    def examine(self, _, findings):
        if self.verdict:
            raise self.verdict
        findings.performance = PERFORMANCE


def case(made):
    solution = solution_of(ITEM, USES, Language.PYTHON)
    return Case(solution, made, ITEM, workload_of(ITEM), None)


def test_traces_say_it():
    passed = judge_one(case(REFUSED), Passes())
    assert (passed.status, passed.performance.findings) == (Status.PASSED, ("fallback",))
    assert FIRST in passed.detail
    assert keepable(passed, REFUSED)
    assert not keepable(passed.model_copy(update={"detail": f"no baseline\n{passed.detail}"}), REFUSED)
    failed = judge_one(case(REFUSED), Passes(Verdict(Status.LOAD_ERROR, TRACEBACK)))
    assert (failed.status, failed.detail, failed.performance) == (Status.COMPILE_ERROR, FIRST, None)
    assert judge_one(case(RAISED), Passes()).performance is None


def test_a_trace_depends_on_what_was_refused(monkeypatch):
    monkeypatch.setattr(judging, "code_digest", lambda *_: "")
    keys = {trace_key(case(made), QUICK, []) for made in (NOTHING, REFUSED, build(refused={"k": "other"}))}
    assert len(keys) == 3


# ------------------------------------------------------------------------------------------------- private folder

WRITES = """
import contextlib, os, tempfile
import torch
from torch import nn

def refused(path):
    try:
        with open(path, "w") as file:
            file.write("x")
    except OSError:
        return True
    return False

with tempfile.NamedTemporaryFile() as file:
    file.write(b"x" * (40 << 20))
os.makedirs(os.path.expanduser("~/.cache/x"))
open("here", "w").write("x" * 1000)
assert sorted(os.listdir()) == [".cache", "here"], os.listdir()
assert all(map(refused, ("/dev/shm/x", "/var/tmp/x", "@SECRET@", os.path.dirname(torch.__file__) + "/x")))
try:
    open("large", "wb").write(b"x" * (65 << 20))
except OSError:
    pass
else:
    raise AssertionError("more than the limit")

class ModelNew(nn.Module):
    def __init__(self, columns):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(columns))

    def forward(self, x):
        return torch.sigmoid(x) * self.weight
"""


def test_a_module_writes_to_a_folder_of_its_own_and_nowhere_else(bench, tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("unchanged")
    solution = solution_of(ITEM, WRITES.replace("@SECRET@", str(secret)), Language.PYTHON)
    traces = bench.judge(ITEM, solution, protocol=QUICK.model_copy(update={"timing": False}))
    if "private_folder" not in traces[0].environment.confinement:
        pytest.skip("this machine has no mount namespaces")
    assert traces[0].status is Status.PASSED, traces[0].detail
    assert secret.read_text() == "unchanged"
