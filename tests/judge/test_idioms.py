"""The files of tests/judge/idioms say what they are, each way of writing has one, and on a CPU they are right."""

import json
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest

from hone.compile.parse import syntax_tree
from hone.config.settings import read
from hone.config.sources import LocalSource
from hone.methods.files import check_files
from hone.records import Finding, Status
from hone.sources.fetch import fetch
from hone.sources.inspect import define
from hone.sources.problem import parse_name
from hone.sources.solution_files import header, language_of, read_file, source_files, statuses
from hone.sources.soundness import Soundness

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "tests/judge/idioms"
PROBLEMS = ROOT / "resources/problems"
FILES = {path.name: path for path in source_files(FOLDER)}
HEADERS = {name: header(path.read_text(), language_of(path)) for name, path in FILES.items()}
KEYS = {"definition", "way", "expected", "findings"}
WAYS = {
    *("default_stream", "several_kernels", "mixed_with_torch", "shared_memory", "grid_stride", "cooperative_groups"),
    *("current_stream", "own_stream", "own_graph", "synchronises", "error_checks", "runtime_calls", "dispatch"),
    *("kept_output", "kept_scratch", "data_ptr_cache", "in_place", "non_contiguous", "returns_view"),
    *("returns_expanded", "several_outputs", "shapes", "pure_torch", "buffers", "subclass", "no_grad"),
    *("inference_mode", "legacy_constructor", "cpu_weights", "moved_weights", "packed_weights", "numpy"),
    *("cublas", "at_operators", "cub", "thrust", "library_flags", "compiler_flags", "own_bindings", "torch_library"),
    *("cpp_only", "built_text", "build_in_constructor", "build_in_forward", "several_builds", "load_from_files"),
    *("name_with_pid", "unbuildable", "refused_build", "fallback", "working_try", "temporary_folder"),
    *("cudnn_benchmark", "channels_last", "backend_flags", "tf32", "autocast", "half", "dropout", "batch_norm"),
    *("torch_compile", "torch_jit", "triton", "triton_autotune", "cupy", "tilelang", "cute", "numba", "nvrtc"),
    *("ctypes", "no_kernel_image", "missing_package", "environment", "threads", "prints", "warnings"),
    *("syntax_error", "no_model", "other_arguments", "honest_mistake"),
}
"""The ways in which the answers of five public archives are written, and honest ways to fail."""


@pytest.mark.parametrize("name", FILES)
def test_a_file_says_what_it_is(name):
    lines, source = HEADERS[name], FILES[name].read_text()
    first = source.splitlines()[0].removeprefix("# ")
    assert first.endswith(".") and " " in first, "first a sentence on what it shows"
    assert lines.keys() <= KEYS and lines.keys() >= KEYS - {"findings"}
    assert lines["way"] in WAYS
    expected = {Status(word) for word in statuses(lines["expected"])}
    assert expected
    findings = {word.strip() for word in lines.get("findings", "").split(",")} - {""}
    assert findings <= set(get_args(Finding))
    assert not findings or Status.PASSED in expected, "a finding stands beside a time"
    assert (PROBLEMS / f"{read_file(FILES[name]).solution.definition}.py").is_file()


def test_every_way_has_a_file():
    assert {lines["way"] for lines in HEADERS.values()} == WAYS


def test_most_are_honest_successes():
    passing = [name for name, lines in HEADERS.items() if Status.PASSED in statuses(lines["expected"])]
    assert len(FILES) >= 120
    assert len(passing) / len(FILES) > 0.8


def test_no_two_are_the_same_and_extensions_have_names_of_their_own():
    assert len({read_file(path).solution.id for path in FILES.values()}) == len(FILES)
    named = [line.strip() for path in FILES.values() for line in path.read_text().splitlines() if " name=" in line]
    assert len(set(named)) == len(named)


@pytest.mark.parametrize("name", FILES)
def test_all_but_the_broken_one_are_python(name):
    source = FILES[name].read_text()
    if HEADERS[name]["way"] == "syntax_error":
        with pytest.raises(SyntaxError):
            syntax_tree(source)
    else:
        assert syntax_tree(source).body


def test_the_config_judges_every_file():
    settings = read(ROOT / "config/h200_idioms.yaml")
    problems = {}
    for source, described in settings.sources.items():
        paths = [parse_name(str(path)) for path in (ROOT / described.path).rglob("*.py")]
        problems[source] = {(level, number) for level, number, _ in paths}
    for experiment in settings.experiments.values():
        check_files(experiment.model_copy(update={"files": str(FOLDER)}), problems[experiment.source])
    sources = {experiment.source for experiment in settings.experiments.values()}
    assert {lines["definition"].split("/")[0] for lines in HEADERS.values()} == sources


def test_the_problems_of_their_own_are_definitions_with_held_out_sizes():
    files = fetch("idiom_suite", LocalSource(kind="local", path=str(PROBLEMS / "idiom_suite"), levels={1: 12}))
    definitions, unsupported = define(files, Soundness())
    assert not unsupported
    assert len(definitions) == 12
    assert all(definition.held_out for definition in definitions)
    used = {lines["definition"] for lines in HEADERS.values()}
    assert {definition.name for definition in definitions} <= used


@pytest.fixture(scope="module")
def outcomes():
    """File name -> what it does beside its reference on a CPU."""
    command = [sys.executable, "-m", "tests.judge.idioms_on_cpu"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=True)
    return {row["name"]: row["outcome"] for row in map(json.loads, done.stdout.splitlines())}


@pytest.mark.slow
def test_what_runs_on_a_cpu_is_what_it_says(outcomes):
    wrong = {"differs": Status.WRONG_VALUE, "shape": Status.WRONG_SHAPE}
    compared = {name: found for name, found in outcomes.items() if found in ("equal", *wrong)}
    only_on_gpu = {"tf32", "autocast"}  # switches that a CPU does not know
    assert len(compared) >= 35
    for name, found in compared.items():
        if HEADERS[name]["way"] not in only_on_gpu and name != "helper_layers.py":  # its activation is a stand-in
            assert wrong.get(found, Status.PASSED) in statuses(HEADERS[name]["expected"]), name


@pytest.mark.slow
def test_the_others_import(outcomes):
    packages = {"cupy", "cutlass", "tilelang", "numba", "transformer_engine", "triton"}
    for name, found in outcomes.items():
        if found.startswith("ModuleNotFoundError"):
            assert found.split()[1].split(".")[0] in packages, name
        if found.startswith(("SyntaxError", "NameError", "TypeError")):
            assert Status.PASSED not in statuses(HEADERS[name]["expected"]) or "vector" in name, (name, found)
