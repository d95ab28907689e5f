"""Run a module without a GPU to learn its `load_inline` calls: `python extension_probe.py <memory limit in bytes>`.

The request is a JSON object on standard input: `source` of the module, `entry_point`, the problem's `reference`, the
`gpu` that it finds, as an entry of the table of GPUs, and which calls are `refused` with what words: they raise what
PyTorch raises, so that the calls behind them are seen.
The answer are lines of JSON on standard output: one for each call as soon as it is made, `{"failed": …}` for one with
arguments that PyTorch does not take, `{"phase": …}` before each step and at the end, `{"error": …}` when the module
itself fails, `{"unmade": true}` when its constructor does. The module runs confined like a solution under the judge (no
files but Python's own and those that it writes in memory, no network, no programs), in this process: its answers are
claims, good for nothing but to be compiled.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from hone.compile.extension_call import building_error, call_key, call_of, replace_load_inline
from hone.compile.extension_screen import hopeless
from hone.machine import confinement

ERROR_CHARACTERS = 2_000
Say = Callable[[dict[str, Any]], None]


class StandIn:
    """In place of an extension: every attribute is a stand-in, and so is the result of every call."""

    def __getattr__(self, name: str) -> StandIn:
        if name.startswith("__"):
            raise AttributeError(name)
        return StandIn()

    def __call__(self, *_: object, **__: object) -> StandIn:
        """Whatever an extension's function may be given."""
        return StandIn()


def main(memory_bytes: int) -> None:
    """Confine this process, run the module, then its constructor."""
    shared = confinement.enter_shared_namespaces()
    confinement.die_with_parent()
    request = json.load(sys.stdin)
    confined = confinement.Confinement(memory_bytes, private=confinement.enter_private_folder())
    import torch

    from hone.core.modules import load_module

    torch.set_num_threads(1)
    say = _speaker()
    _pretend_to_have_a_gpu(request["gpu"])
    failed = _reporter(say)
    replace_load_inline(_recorder(say, request["refused"], failed), failed)
    parts = confinement.confine(confined, shared)
    say({"phase": "module", "confinement": parts})
    problem = _problem(request["reference"])
    try:
        module = load_module("hone_candidate", request["source"], problem)
    except BaseException as error:  # noqa: BLE001  the boundary to code that may raise anything
        say({"error": f"{type(error).__name__}: {error}"[:ERROR_CHARACTERS]})
        os._exit(0)
    say({"phase": "model"})
    if problem is None or not _constructs(module, request["entry_point"], problem):
        say({"unmade": True})
    say({"phase": "end"})
    os._exit(0)


def _speaker() -> Say:
    """Write lines to what was standard output; the module's own output goes nowhere from now on."""
    pipe = os.dup(1)
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)

    def say(message: dict[str, Any]) -> None:
        line = memoryview(json.dumps(message).encode() + b"\n")
        while line:
            line = line[os.write(pipe, line) :]

    return say


def _reporter(say: Say) -> Callable[[Exception], None]:
    def failed(error: Exception) -> None:
        say({"failed": f"{type(error).__name__}: {error}"[:ERROR_CHARACTERS]})

    return failed


def _recorder(say: Say, refused: Mapping[str, str], failed: Callable[[Exception], None]) -> Callable[..., StandIn]:
    def load_inline(*arguments: Any, **named: Any) -> StandIn:
        try:
            call = call_of(*arguments, **named)
        except TypeError as error:
            failed(error)
            raise
        say({"call": call.message()})
        if log := refused.get(call_key(call)) or hopeless(call):
            raise building_error(call, log)
        return StandIn()

    return load_inline


def _pretend_to_have_a_gpu(gpu: Mapping[str, Any]) -> None:
    """Modules often build their kernels only `if torch.cuda.is_available()`, for the GPU's capability, or for its size.

    What they put on the GPU stays where it is.
    """
    import torch
    from torch.overrides import TorchFunctionMode

    major, minor = map(int, gpu["compute_capability"].split("."))
    properties = SimpleNamespace(
        major=major, minor=minor, multi_processor_count=gpu["sm_count"], warp_size=gpu["warp_size"], name=gpu["device"]
    )
    answers = {
        "is_available": True, "device_count": 1, "current_device": 0, "get_device_capability": (major, minor),
        "get_device_properties": properties, "get_device_name": properties.name,
    }  # fmt: skip
    for name, answer in answers.items():
        setattr(torch.cuda, name, lambda *_, answer=answer, **__: answer)

    def elsewhere(value: Any) -> Any:
        named = value if isinstance(value, str) else value.type if isinstance(value, torch.device) else ""
        return torch.device("cpu") if named.startswith("cuda") else value

    class StayHere(TorchFunctionMode):  # type: ignore[misc, unused-ignore]
        def __torch_function__(self, function: Any, types: Any, given: Any = (), named: Any = None) -> Any:
            if function is torch.Tensor.cuda:
                return given[0]
            chosen = {key: elsewhere(value) for key, value in (named or {}).items()}
            return function(*map(elsewhere, given), **chosen)

    StayHere().__enter__()  # type: ignore[no-untyped-call]


def _problem(source: str) -> Any:
    """The problem's module; none where it cannot be executed here."""
    from hone.core.modules import load_module

    try:
        return load_module("hone_reference", source)
    except BaseException:  # noqa: BLE001  the boundary to code that may raise anything
        return None


def _constructs(module: Any, entry_point: str, problem: Any) -> bool:
    """Call the constructor, for calls made there; whether it came to its end. Why not is the judge's business."""
    import torch

    for device in ("meta", "cpu"):
        try:
            arguments = problem.get_init_inputs()
            with torch.device(device):
                model_class = getattr(module, entry_point)
                model_class(**arguments) if isinstance(arguments, dict) else model_class(*arguments)
        except BaseException:  # noqa: BLE001  the boundary to code that may raise anything
            continue
        return True
    return False


if __name__ == "__main__":
    sys.path[:] = [path for path in sys.path if Path(path) != Path(__file__).parent]
    main(int(sys.argv[1]))
