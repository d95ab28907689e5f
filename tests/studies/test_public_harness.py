"""The parts of the comparison with the public harness that need no GPU."""

import hashlib
import importlib
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from hone.core.errors import ConfigError
from studies.judge.kernel_files import open_bench
from studies.judge.public_harness import problem_names, problems
from studies.judge.public_harness_child import install_stubs, summary, timed
from studies.processes import run_watched
from tests.judge.conftest import SCALE, scale_definition


@pytest.fixture
def checkout(place):
    """A checkout with one problem, a definition made from it, and a kernel for it."""
    folder = place.folder / "checkout"
    (folder / "src/kernelbench").mkdir(parents=True)
    (folder / "src/kernelbench/eval.py").touch()
    (folder / "KernelBench/level1").mkdir(parents=True)
    (folder / "KernelBench/level1/1_scale.py").write_text(SCALE)
    definition = scale_definition()
    digest = hashlib.sha256(SCALE.encode()).hexdigest()
    place.define(definition.model_copy(update={"upstream": definition.upstream.model_copy(update={"sha256": digest})}))
    (place.folder / "1_1.py").write_text("class ModelNew: ...\n")
    return folder


def test_problems_are_named_by_level_and_number():
    assert problem_names("level1/19, level2/3,") == [(1, 19), (2, 3)]
    for wrong in ("19", "level1-19", ""):
        with pytest.raises(ConfigError, match="--problems"):
            problem_names(wrong)


def test_both_evaluations_get_the_same_problem(place, checkout):
    bench = open_bench(place.config, place.definitions)
    (problem,) = problems(bench, checkout, place.folder, [(1, 1)])
    assert problem.definition.reference == problem.original.read_text()
    assert problem.candidate == place.folder / "1_1.py"


def test_a_definition_of_another_version_is_refused(place, checkout):
    (checkout / "KernelBench/level1/1_scale.py").write_text(SCALE + "# newer\n")
    with pytest.raises(ConfigError, match="no definition was made from"):
        problems(open_bench(place.config, place.definitions), checkout, place.folder, [(1, 1)])


@pytest.mark.parametrize(
    ("folder", "numbers", "message"),
    [("nowhere", (1, 1), "eval.py"), ("checkout", (1, 2), "no problem"), ("checkout", (1, 1), "no kernel")],
)
def test_what_is_missing_is_named(place, checkout, folder, numbers, message):
    (place.folder / "1_1.py").unlink()
    with pytest.raises(ConfigError, match=message):
        problems(open_bench(place.config, place.definitions), place.folder / folder, place.folder, [numbers])


def test_only_missing_modules_are_stubbed_and_a_call_is_an_error(monkeypatch):
    monkeypatch.delitem(sys.modules, "surely_missing", raising=False)
    assert install_stubs(["json", "surely_missing"]) == ["surely_missing"]
    stub = importlib.import_module("surely_missing")
    monkeypatch.setitem(sys.modules, "surely_missing", stub)  # taken away again after the test
    assert stub.load_dotenv() is None
    with pytest.raises(RuntimeError, match="not installed"):
        stub.completion("hello")
    with pytest.raises(AttributeError):
        _ = stub.__path__


def result(**others):
    return SimpleNamespace(
        **{"compiled": True, "correctness": True, "metadata": {}, "runtime": -1.0, "ref_runtime": -1.0, **others}
    )


def test_the_public_result_in_our_words():
    passed = summary(result(runtime=2.0, ref_runtime=3.0))
    assert (passed["verdict"], passed["speedup"]) == ("passed", 1.5)
    assert "speedup" not in summary(result())
    assert summary(result(compiled=False))["verdict"] == "compile_error"
    assert summary(result(correctness=False))["verdict"] == "wrong_value"
    crashed = result(correctness=False, metadata={"runtime_error": ValueError("bad")})
    assert summary(crashed)["verdict"] == "runtime_error"
    assert summary(None)["verdict"] == "machine_error"


def test_a_timed_function_is_counted_also_when_it_raises():
    spent = []
    assert timed(int, spent)("7") == 7
    with pytest.raises(ValueError, match="invalid literal"):
        timed(int, spent)("x")
    assert len(spent) == 2


def test_a_process_over_its_limit_is_stopped_with_its_children(tmp_path):
    code = "import subprocess; print(subprocess.Popen(['sleep', '60']).pid, flush=True); import time; time.sleep(60)"
    spent = run_watched([sys.executable, "-c", code], tmp_path, "child", 1.0)
    assert "stopped after 1 s" in spent["said"]
    child = Path("/proc") / (tmp_path / "child.log").read_text().strip() / "stat"
    deadline = time.monotonic() + 100
    while child.exists() and child.read_text().rpartition(")")[2].split()[0] not in "ZX":
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_the_command_tells_a_wrong_checkout(place, command):
    answer = command("public-harness", "--checkout", place.folder, "--problems", "level1/1", *place.options)
    assert "eval.py" in str(answer.exception)
