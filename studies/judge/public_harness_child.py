"""KernelBench's public evaluation of one kernel: `python -m studies.judge.public_harness_child REQUEST REPORT`.

The repository imports clients of language models that an evaluation never calls. Those that are not installed are
replaced by stubs, which raise an error when they are called, and listed in the report. Request: `checkout`, `original`
and `candidate` (paths), `build_dir`, `correct_trials`, `perf_trials`, `do`: `evaluate`, or `build` to leave it in the
build folder. Nothing confines the candidate here.
"""

from __future__ import annotations

import importlib.util
import json
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

STUBBABLE = ("dotenv", "tqdm", "requests", "openai", "litellm", "datasets", "modal")
"""What `kernelbench.eval` and the modules behind it import, beside torch, numpy and pydantic, which must be there."""
HARMLESS = ("load_dotenv",)
"""Called while the modules are imported: a stub of these does nothing."""


class Stub(ModuleType):
    """A module in which every name is a function that says that the module is not there."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        module = self.__name__

        def absent(*_: Any, **__: Any) -> None:
            if name not in HARMLESS:
                raise RuntimeError(f"{module}.{name} was called, but {module} is not installed")

        return absent


def install_stubs(names: Iterable[str] = STUBBABLE) -> list[str]:
    """Put stubs where modules are missing; gives the names of those."""
    missing = [name for name in names if name not in sys.modules and importlib.util.find_spec(name) is None]
    sys.modules.update({name: Stub(name) for name in missing})
    return missing


def main(request: Path, report: Path) -> None:
    """Evaluate and write the report; whatever goes wrong ends the process with a traceback."""
    asked = json.loads(request.read_text(encoding="utf-8"))
    sys.path.insert(0, str(Path(asked["checkout"]) / "src"))
    found: dict[str, Any] = {"stubbed": install_stubs()}
    found.update(evaluate(asked))
    report.write_text(json.dumps(found), encoding="utf-8")


def evaluate(asked: Mapping[str, Any]) -> dict[str, Any]:
    """Verdict, times and messages of `eval_kernel_against_ref`; needs a GPU."""
    import torch

    evaluation: Any = importlib.import_module("kernelbench.eval")
    if not torch.cuda.is_available():
        return {"verdict": "not_judged", "detail": "PyTorch finds no GPU"}
    spent: list[float] = []
    candidate = Path(asked["candidate"]).read_text(encoding="utf-8")
    if asked["do"] == "build":
        evaluation.load_custom_model(candidate, {}, asked["build_dir"])
        return {}
    evaluation.load_custom_model = timed(evaluation.load_custom_model, spent)
    result = evaluation.eval_kernel_against_ref(
        Path(asked["original"]).read_text(encoding="utf-8"),
        candidate,
        measure_performance=True,
        num_correct_trials=asked["correct_trials"],
        num_perf_trials=asked["perf_trials"],
        build_dir=asked["build_dir"],
        device=torch.device("cuda:0"),
        backend="cuda",
        precision=torch.float32,
    )
    return {"build_s": sum(spent), **summary(result)}


def timed(function: Callable[..., Any], spent: list[float]) -> Callable[..., Any]:
    """The same function, whose wall seconds are added to the list."""

    def wrapper(*arguments: Any, **options: Any) -> Any:
        started = time.perf_counter()
        try:
            return function(*arguments, **options)
        finally:
            spent.append(time.perf_counter() - started)

    return wrapper


def summary(result: Any) -> dict[str, Any]:
    """The repository's result in Hone's words; times are kept as it gives them, in milliseconds."""
    if result is None:
        return {"verdict": "machine_error", "detail": "no result: a lock of the build folder"}
    notes = {str(key): str(value)[:300] for key, value in result.metadata.items()}
    answer: dict[str, Any] = {"verdict": _verdict(result, notes), "detail": json.dumps(notes)}
    if result.runtime > 0:
        answer["runtime_ms"] = result.runtime
    if result.ref_runtime > 0:
        answer["reference_ms"] = result.ref_runtime
    if result.runtime > 0 and result.ref_runtime > 0:
        answer["speedup"] = result.ref_runtime / result.runtime
    return answer


def _verdict(result: Any, notes: Mapping[str, str]) -> str:
    if not result.compiled:
        return "compile_error"
    if result.correctness:
        return "passed"
    return "runtime_error" if "runtime_error" in notes else "wrong_value"


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
