"""Every known exploit ends as the header of its file says; none ends with a speedup that it did not earn."""

import re
from pathlib import Path

import pytest

from hone.records import Language, Status

from .conftest import QUICK, Bench, scale_definition, solution_of

pytestmark = pytest.mark.filterwarnings("default:this machine confines")
EVIL = Path(__file__).parent.parent / "evil"
FILES = sorted(path for path in EVIL.iterdir() if path.suffix in (".cpp", ".py", ".txt"))


def expected_of(text):
    return {Status(word.strip()) for word in re.search(r"expected: (.*)", text)[1].split("|")}


@pytest.fixture(scope="module")
def traces(tmp_path_factory):
    """All fixtures judged in one go: whatever one of them does, the next ones must not suffer."""
    folder = tmp_path_factory.mktemp("evil")
    secret = folder / ".env"
    secret.write_text("OPENAI_API_KEY=secret\n")
    definition = scale_definition()
    solutions = {}
    for path in FILES:
        text = path.read_text().replace("@SECRET_FILE@", str(secret))
        language = Language.CPP if path.suffix == ".cpp" else Language.PYTHON
        solutions[path.name] = solution_of(definition, text, language)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HONE_TEST_API_KEY", "secret")
        found = Bench(folder / "store").judge(definition, *solutions.values(), protocol=QUICK)
    return dict(zip(solutions, found, strict=True))


@pytest.mark.parametrize("name", [path.name for path in FILES])
def test_exploit(name, traces):
    text = (EVIL / name).read_text()
    trace = traces[name]
    needed = re.search(r"stopped by: (.*)", text)
    if needed and needed[1] not in trace.environment.confinement:
        pytest.skip(f"{needed[1]} is missing on this machine: the judge has warned, and the trace says so")
    assert trace.status in expected_of(text), f"{trace.status}: {trace.detail}"
    if trace.status is Status.PASSED and "not faster than the baseline" in text:
        assert trace.performance.speedup("torch_eager") < 1


def test_exploits_leave_nothing_behind(traces):
    if "read_only_files" not in traces["honest.cpp"].environment.confinement:
        pytest.skip("read_only_files is missing on this machine: the judge has warned")
    assert not Path("/tmp/left_behind").exists()
    assert not Path("/dev/shm/left_behind").exists()
