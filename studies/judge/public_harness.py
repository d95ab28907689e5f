"""The public KernelBench evaluation and Hone's judge beside each other, on the same kernels, in fresh processes."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hone.core.csv_table import Row
from hone.core.errors import ConfigError
from hone.core.files import read_records
from hone.machine.gpus import held_gpu
from hone.records import Definition, Trace
from hone.solutions.bench import Bench
from studies.judge import judge_run
from studies.processes import run_watched

COLUMNS = (
    "problem", "harness", "wall_s", "build_s", "judge_s", "gpu_held_s", "verdict", "verdict_as_published", "speedup",
    "call_ms", "reference_call_ms", "stubbed", "detail",
)  # fmt: skip
"""`wall_s`: the whole process, imports included. `gpu_held_s`: how long it or its children had the GPU's device file
open, absent where /proc does not tell. `build_s`: within the public harness its loading of the kernel. `call_ms` and
`reference_call_ms`: of an eager call by the public harness's loop, in both (`as_published` of Hone's trace)."""
PROBLEM = re.compile(r"level(\d+)/(\d+)")
KERNELBENCH, HONE, HONE_CACHED = "kernelbench", "hone", "hone_cached"


@dataclass(frozen=True)
class Problem:
    """One kernel that both evaluations get."""

    name: str
    """`level1/19`."""
    definition: Definition
    original: Path
    candidate: Path


@dataclass(frozen=True)
class Setting:
    """What holds for all problems of a study; `config` and `definitions` are what the bench was made from."""

    bench: Bench
    config: Path
    definitions: Path
    checkout: Path
    scratch: Path
    timeout_s: float
    correct_trials: int = 5
    perf_trials: int = 100
    build_first: bool = False
    """Compile all kernels before the first evaluation, side by side: no row times a fresh build."""

    @property
    def store(self) -> Path:
        """Of all builds, with `build_first`."""
        return self.scratch / "store"

    def folder(self, problem: Problem) -> Path:
        """What the processes of a problem share."""
        return self.scratch / problem.name.replace("/", "_")


def problem_names(text: str) -> list[tuple[int, int]]:
    """(level, number) of each problem of a list by commas; raises ConfigError."""
    found = []
    for name in (word.strip() for word in text.split(",") if word.strip()):
        match = PROBLEM.fullmatch(name)
        if match is None:
            raise ConfigError(f"'{name}' is not of the form level1/19", where="--problems")
        found.append((int(match.group(1)), int(match.group(2))))
    if not found:
        raise ConfigError("names no problem", where="--problems", remedy="write level1/19,level1/21")
    return found


def problems(bench: Bench, checkout: Path, candidates: Path, names: Sequence[tuple[int, int]]) -> list[Problem]:
    """The problems with the files that they need; raises ConfigError for what is missing or is another version."""
    if not (checkout / "src/kernelbench/eval.py").is_file():
        remedy = "name a checkout of github.com/ScalingIntelligence/KernelBench"
        raise ConfigError("there is no src/kernelbench/eval.py", where=str(checkout), remedy=remedy)
    return [_problem(bench, checkout, candidates, level, number) for level, number in names]


def _problem(bench: Bench, checkout: Path, candidates: Path, level: int, number: int) -> Problem:
    name, candidate = f"level{level}/{number}", candidates / f"{level}_{number}.py"
    originals = sorted((checkout / f"KernelBench/level{level}").glob(f"{number}_*.py"))
    if not originals:
        raise ConfigError(f"the checkout has no problem {name}", where=str(checkout))
    if not candidate.is_file():
        raise ConfigError(f"there is no kernel for {name}", where=str(candidate))
    digest = hashlib.sha256(originals[0].read_bytes()).hexdigest()
    same = [item for item in bench.definitions.values() if (item.level, item.number) == (level, number)]
    fitting = [item for item in same if item.upstream.sha256 == digest and item.source in bench.settings.sources]
    if not fitting:
        remedy = "make the definitions with a config whose source is the checkout's commit"
        raise ConfigError(f"no definition was made from {originals[0].name} as it is there", where=name, remedy=remedy)
    return Problem(name, fitting[0], originals[0], candidate)


def compare(setting: Setting, chosen: Sequence[Problem]) -> Iterator[Row]:
    """Three rows for each problem, each as soon as it is there; who begins changes from problem to problem.

    `kernelbench`: compiles and evaluates, with a fresh build folder; `hone`: with a fresh store; `hone_cached`: with a
    store that has the build and no trace. With `build_first` there is no `hone`.
    """
    for problem in chosen:
        (setting.folder(problem) / "extensions").mkdir(parents=True)
    if setting.build_first:
        _build(setting, chosen)
    for index, problem in enumerate(chosen):
        folder = setting.folder(problem)
        runs = [_run_kernelbench, _run_hone]
        for run in runs if index % 2 == 0 else reversed(runs):
            yield from run(setting, problem, folder)
        shutil.rmtree(folder, ignore_errors=True)


def _build(setting: Setting, chosen: Sequence[Problem]) -> None:
    """Leave every build where its evaluation looks for it; what cannot be built is told there."""
    kernels = [setting.bench.kernel(problem.candidate, problem.definition.name) for problem in chosen]
    setting.bench.build(kernels, setting.store)
    with ThreadPoolExecutor(max(1, len(os.sched_getaffinity(0)) // 2)) as pool:
        for _ in pool.map(lambda problem: _ask_kernelbench(setting, problem, "build"), chosen):
            pass


def _ask_kernelbench(setting: Setting, problem: Problem, do: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """What the process spent, and its report. `do`: `build` or `evaluate`."""
    folder = setting.folder(problem)
    request, report = folder / f"{do}.json", folder / f"{do}.report.json"
    asked = {
        "do": do,
        "checkout": str(setting.checkout.absolute()), "original": str(problem.original.absolute()),
        "candidate": str(problem.candidate.absolute()), "build_dir": str((folder / "extensions").absolute()),
        "correct_trials": setting.correct_trials, "perf_trials": setting.perf_trials,
    }  # fmt: skip
    request.write_text(json.dumps(asked), encoding="utf-8")
    arguments = [sys.executable, "-P", "-m", "studies.judge.public_harness_child", str(request), str(report)]
    spent = run_watched(arguments, folder, f"{KERNELBENCH}_{do}", setting.timeout_s)
    return spent, json.loads(report.read_text(encoding="utf-8")) if report.is_file() else _no_report(spent)


def _run_kernelbench(setting: Setting, problem: Problem, _: Path) -> Iterator[Row]:
    with _gpu_alone(setting):
        spent, found = _ask_kernelbench(setting, problem, "evaluate")
    yield {
        "problem": problem.name,
        "harness": KERNELBENCH,
        "wall_s": spent["wall_s"],
        "gpu_held_s": spent["gpu_held_s"],
        "stubbed": " ".join(found.get("stubbed", [])),
        "verdict_as_published": found.get("verdict"),
        **{name: found.get(name) for name in ("build_s", "verdict", "speedup", "detail")},
        "call_ms": found.get("runtime_ms"),
        "reference_call_ms": found.get("reference_ms"),
    }


def _gpu_alone(setting: Setting) -> AbstractContextManager[object]:
    """The public code locks no GPU: without this it would measure beside another judge, and both would be wrong."""
    return held_gpu() if setting.bench.settings.judge.device == "cuda" else nullcontext()


def _run_hone(setting: Setting, problem: Problem, folder: Path) -> Iterator[Row]:
    if setting.build_first:
        yield _judge(setting, problem, folder, HONE_CACHED, setting.store)
        return
    fresh, cached = folder / "store", folder / "cached"
    yield _judge(setting, problem, folder, HONE, fresh)
    cached.mkdir()
    if (fresh / "builds").is_dir():
        shutil.copytree(fresh / "builds", cached / "builds")
    yield _judge(setting, problem, folder, HONE_CACHED, cached)


def _judge(setting: Setting, problem: Problem, folder: Path, harness: str, store: Path) -> Row:
    output = folder / f"{harness}.jsonl"
    arguments = judge_run.command(
        setting.config, setting.definitions, store, output, [problem.candidate], problem.definition.name
    )
    spent = run_watched(arguments, folder, harness, setting.timeout_s)
    row = {"problem": problem.name, "harness": harness, "wall_s": spent["wall_s"], "gpu_held_s": spent["gpu_held_s"]}
    if not output.is_file():
        return {**row, **_no_report(spent)}
    (trace,) = read_records(output, Trace)
    times = json.loads(judge_run.times_file(output).read_text(encoding="utf-8"))
    row |= times | {"verdict": trace.status.value, "detail": trace.detail, "speedup": setting.bench.speedup(trace)}
    row["verdict_as_published"] = trace.status_as_published.value if trace.status_as_published else None
    published = trace.as_published
    if published is not None:
        row |= {"call_ms": published.solution_ms, "reference_call_ms": published.baselines_ms.get("torch_eager")}
    return row


def _no_report(spent: Mapping[str, Any]) -> dict[str, Any]:
    return {"verdict": "machine_error", "detail": str(spent["said"])[:500]}
