"""A run as a trace set of flashinfer-bench: definitions, workloads, solutions, traces.

    definitions/<source>/<name>.json   solutions/<source>/<name>/<id>.json
    workloads/<source>/<name>.jsonl    traces/<source>/<name>.jsonl

Read by `TraceSet.from_path`. Three things do not carry over. Inputs are described as random, not drawn as the problem
draws them. Native kernels keep Hone's launcher, which flashinfer-bench cannot bind. A machine's failure has no trace.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from hone.core.files import write_text
from hone.records import Argument, Definition, Language, Performance, Solution, Status, Trace, Workload
from hone.site.run import SiteRun

DTYPES = frozenset(
    ("float32", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2", "int64", "int32", "int16", "int8", "bool")
)
"""Those of our types that its schema has."""
STATUSES: dict[Status, str] = {
    Status.PASSED: "PASSED",
    Status.COMPILE_ERROR: "COMPILE_ERROR",
    Status.LOAD_ERROR: "RUNTIME_ERROR",
    Status.RUNTIME_ERROR: "RUNTIME_ERROR",
    Status.OUT_OF_MEMORY: "RUNTIME_ERROR",
    Status.TIMEOUT: "TIMEOUT",
    Status.WRONG_SHAPE: "INCORRECT_SHAPE",
    Status.WRONG_VALUE: "INCORRECT_NUMERICAL",
    Status.INPUT_CHANGED: "INCORRECT_NUMERICAL",
    Status.IMPRECISE: "INCORRECT_NUMERICAL",
}
WITH_ERRORS = ("PASSED", "INCORRECT_NUMERICAL")
FILES = {Language.PYTHON: "main.py", Language.TRITON: "main.py", Language.CPP: "kernel.cpp", Language.CUDA: "kernel.cu"}
RUN = '''

def run({names}):
    """The problem in the form of flashinfer-bench, by Hone: inputs first, then the parameters of the model."""
    model = {model}(*get_init_inputs())
    state = model.state_dict()
    floating = [name for name, value in state.items() if value.is_floating_point()]
    model.load_state_dict({{**state, **dict(zip(floating, [{parameters}]))}})
    return model({inputs})
'''


def export_trace_set(site: SiteRun, folder: Path) -> dict[str, int]:
    """Write the trace set; returns how many of each kind, and how many were `left_out`, which `left_out.json` names."""
    left_out: list[dict[str, str]] = []
    count = {"definitions": 0, "workloads": 0, "solutions": 0, "traces": 0}
    names = _names(site, left_out)
    for name, (item, dtype) in names.items():
        place = f"{item.source}/{name}"
        _write_json(folder / f"definitions/{place}.json", definition_of(item, name, dtype))
        workloads = [found for found in site.workloads.values() if _belongs(found, item, dtype)]
        lines = [{"definition": name, "workload": workload_of(found, item)} for found in workloads]
        _write_lines(folder / f"workloads/{place}.jsonl", lines)
        solutions = [found for found in site.solutions.values() if found.definition == item.name]
        for solution in solutions:
            data = solution_of(solution, item, name, dtype, site)
            _write_json(folder / f"solutions/{place}/{data['name']}.json", data)
        traces = list(_traces(site, item, name, dtype, left_out))
        _write_lines(folder / f"traces/{place}.jsonl", traces)
        for kind, number in zip(count, (1, len(lines), len(solutions), len(traces)), strict=True):
            count[kind] += number
    _write_json(folder / "left_out.json", left_out)
    return {**count, "left_out": len(left_out)}


def _names(site: SiteRun, left_out: list[dict[str, str]]) -> dict[str, tuple[Definition, str]]:
    """Name there -> definition here and the data type of its workloads: there a definition has one type."""
    found = {}
    for item in site.definitions.values():
        for dtype in item.dtypes or ("",):
            name = "--".join([*item.name.split("/"), *([dtype] if dtype else [])])
            arguments = (*item.inputs, *item.parameters, *item.outputs)
            unknown = {_dtype(argument, dtype) for argument in arguments} - DTYPES
            if unknown:
                reason = f"its schema has no type {', '.join(sorted(unknown))}"
                left_out.append({"definition": item.name, "reason": reason})
            else:
                found[name] = (item, dtype)
    return found


def _belongs(workload: Workload, item: Definition, dtype: str) -> bool:
    return workload.definition == item.name and dtype in ("", workload.dtype)


def _dtype(argument: Argument, dtype: str) -> str:
    """A scalar is a number of Python's: its width says nothing."""
    own = argument.dtype_at(dtype) if dtype else argument.dtype
    return "float32" if argument.kind == "scalar" and own == "float64" else own


def _spec(argument: Argument, dtype: str) -> dict[str, Any]:
    return {
        "shape": None if argument.kind == "scalar" else list(argument.shape),
        "dtype": _dtype(argument, dtype),
        "description": "written in place" if argument.in_place else None,
    }


def _results(item: Definition) -> Iterator[tuple[str, Argument]]:
    """Outputs, and inputs that are written in place under another name, as no name may be on both sides."""
    yield from ((argument.name, argument) for argument in item.outputs)
    yield from ((f"{argument.name}_after", argument) for argument in item.inputs if argument.in_place)


def _variable(item: Definition) -> set[str]:
    """Axes that a workload chooses: those that can be read off an input."""
    return {axis for argument in (*item.inputs, *item.parameters) for axis in argument.shape}


def definition_of(item: Definition, name: str, dtype: str) -> dict[str, Any]:
    """A definition; its reference has a function `run` beside the problem's own code."""
    variable = _variable(item)
    return {
        "name": name,
        "op_type": item.source,
        "axes": {
            axis: {"type": "var"} if axis in variable else {"type": "const", "value": value}
            for axis, value in item.axes.items()
        },
        "inputs": {argument.name: _spec(argument, dtype) for argument in (*item.inputs, *item.parameters)},
        "outputs": {key: _spec(argument, dtype) for key, argument in _results(item)},
        "reference": item.reference + _run(item, "Model"),
        "tags": [f"level:{item.level}", f"source:{item.source}", *(f"flaw:{flag.flag}" for flag in item.soundness)],
        "description": f"{item.title}, out of {item.upstream.repository}, {item.upstream.path}",
    }


def _run(item: Definition, model: str) -> str:
    inputs, parameters = ([argument.name for argument in part] for part in (item.inputs, item.parameters))
    return RUN.format(
        names=", ".join([*inputs, *parameters]),
        model=model,
        parameters=", ".join(parameters),
        inputs=", ".join(inputs),
    )


def workload_of(workload: Workload, item: Definition) -> dict[str, Any]:
    """Sizes, and inputs as random: the problem's own values are drawn by its reference."""
    variable = _variable(item)
    return {
        "axes": {axis: size for axis, size in workload.axes.items() if axis in variable},
        "inputs": {argument.name: {"type": "random"} for argument in (*item.inputs, *item.parameters)},
        "uuid": workload.id,
    }


def _solution_name(solution: str, dtype: str) -> str:
    return f"{solution[:16]}-{dtype}" if dtype else solution[:16]


def solution_of(solution: Solution, item: Definition, name: str, dtype: str, site: SiteRun) -> dict[str, Any]:
    """A solution; a Python module gets a function `run` that calls its `ModelNew`."""
    python = solution.language in (Language.PYTHON, Language.TRITON)
    file = FILES[solution.language]
    authors = sorted({place.model for place, found in site.candidates.items() if found.record.solution == solution.id})
    source = solution.source + (_run(item, "ModelNew") if python else "")
    return {
        "name": _solution_name(solution.id, dtype),
        "definition": name,
        "author": ", ".join(authors) or "unknown",
        "spec": {
            "language": solution.language.value,
            "target_hardware": ["cpu" if solution.language is Language.CPP else "cuda"],
            "entry_point": f"{file}::{'run' if python else solution.entry_point}",
            "destination_passing_style": not python,
        },
        # A source of nothing is a source there, too, but never an empty one.
        "sources": [{"path": file, "content": source or "\n"}],
        "description": None if python else "Exports Hone's C launcher: flashinfer-bench has no binding for it.",
    }


def _traces(
    site: SiteRun, item: Definition, name: str, dtype: str, left_out: list[dict[str, str]]
) -> Iterator[dict[str, Any]]:
    for (solution, _), group in site.traces.items():
        for _, found in group:
            trace: Trace = found.record
            workload = site.workloads.get(trace.workload)
            if trace.definition != item.name or workload is None or not _belongs(workload, item, dtype):
                continue
            if reason := _unfit(trace, site):
                left_out.append({"trace": found.where, "reason": reason})
                continue
            yield {
                "definition": name,
                "workload": workload_of(workload, item),
                "solution": _solution_name(solution, dtype),
                "evaluation": evaluation_of(trace),
            }


def _unfit(trace: Trace, site: SiteRun) -> str:
    """Why its schema cannot say this; empty where it can."""
    if trace.solution not in site.solutions:
        return "its solution is not among the records"
    if trace.status not in STATUSES:
        return f"{trace.status} says nothing about the solution"
    if trace.status is Status.PASSED and (trace.performance is None or not trace.performance.baselines):
        return "it passed and was not timed"
    return ""


def evaluation_of(trace: Trace) -> dict[str, Any]:
    """Status, errors and times; findings and the precise status stand in `extra` and `log`."""
    status = STATUSES[trace.status]
    machine = trace.environment
    libraries = {"torch": machine.torch, "python": machine.python, "driver": machine.driver}
    return {
        "status": status,
        "environment": {"hardware": machine.device, "libs": {key: value for key, value in libraries.items() if value}},
        "timestamp": trace.judged_at,
        "log": "\n".join(filter(None, [f"hone: {trace.status}", trace.detail])),
        "correctness": _correctness(trace) if status in WITH_ERRORS else None,
        "performance": _performance(trace.performance) if trace.performance else None,
    }


def _correctness(trace: Trace) -> dict[str, Any]:
    """Unknown errors are NaN, which its schema spells as a string."""
    errors, findings = trace.errors, trace.performance.findings if trace.performance else ()
    return {
        "max_relative_error": _spelled(errors.max_rel_error) if errors else "NaN",
        "max_absolute_error": _spelled(errors.max_abs_error) if errors else "NaN",
        "extra": {"hone_status": str(trace.status), "findings": list(findings)},
    }


def _spelled(value: float) -> float | str:
    return {"nan": "NaN", "inf": "Infinity"}.get(str(value), value)


def _performance(timed: Performance) -> dict[str, float]:
    """Beside PyTorch in eager mode where it was timed, else beside the first baseline."""
    baseline = "torch_eager" if "torch_eager" in timed.baselines else next(iter(timed.baselines))
    return {
        "latency_ms": timed.solution.latency_ms,
        "reference_latency_ms": timed.baselines[baseline].latency_ms,
        "speedup_factor": timed.speedup(baseline),
    }


def _write_json(path: Path, value: Any) -> None:
    write_text(path, json.dumps(value, indent=2, allow_nan=False) + "\n")


def _write_lines(path: Path, values: Iterable[Any]) -> None:
    write_text(path, "".join(json.dumps(value, allow_nan=False) + "\n" for value in values))
