"""The inspecting child: runs problems on tensors without data and tells what they compute.

Started by `hone.sources.inspect` as `python -m hone.sources.inspect_child`. Reads lines {"name", "text"} from its
standard input; writes `READY`, then one `Report` a line, at once, to the file descriptor that was its standard
output, which the problems themselves cannot reach through `print`. Upstream code runs here with the user's rights:
the environment has no keys, but files and network are not closed.

No numbers are computed: FakeTensorMode carries shapes and types only, so that inputs of many GB cost nothing.
"""

from __future__ import annotations

import ast
import inspect
import json
import os
import sys
import types
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.overrides import TorchFunctionMode
from torch.utils.flop_counter import FlopCounterMode

from hone.sources import held_out
from hone.sources.inspection import READY, Inspection, Report, Value

SEED = 42
SCALARS = {bool: ("bool", 1), int: ("int64", 8), float: ("float64", 8)}
RECURRENT = ("lstm", "gru", "rnn_tanh", "rnn_relu")


class FakeMode(FakeTensorMode):  # type: ignore[no-untyped-call]
    """FakeTensorMode that survives `copy.deepcopy` of a module, as `nn.TransformerEncoder` does it."""

    def __deepcopy__(self, memo: dict[int, Any]) -> FakeMode:
        return self


class RecurrentLayers(TorchFunctionMode):
    """Answers LSTM, GRU and RNN layers by shape, and counts their matrix products in `flops`.

    PyTorch counts nothing for an LSTM, and goes through a GRU time step by time step, which takes seconds.
    """

    def __init__(self) -> None:
        super().__init__()
        self.flops = 0

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Sequence[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        """Called for every function of torch. Packed sequences, whose 4th argument is no flag, go the usual way."""
        name = getattr(func, "__name__", "")
        if name not in RECURRENT or len(args) != 9 or not isinstance(args[3], bool):
            return func(*args, **(kwargs or {}))
        return self._layer(args[0], args[1], args[2], bidirectional=args[7])

    def _layer(self, x: torch.Tensor, state: Any, weights: Sequence[torch.Tensor], *, bidirectional: bool) -> Any:
        """(output, final state...) of `x`: (time, batch, features) or (batch, time, features); likewise the output."""
        states = (state,) if isinstance(state, torch.Tensor) else tuple(state)
        steps = x.shape[0] * x.shape[1]
        self.flops += sum(2 * steps * weight.numel() for weight in weights if weight.dim() == 2)
        output = x.new_empty(*x.shape[:2], states[0].shape[-1] * (2 if bidirectional else 1))
        return output, *(torch.empty_like(item) for item in states)


def inspection_of(text: str) -> Inspection:
    """What the problem computes, held-out sizes included; raises whatever the problem raises, and HeldOutError."""
    inspection, field = _run(text)
    entries = held_out.read_entries(field, inspection.constants)
    return held_out.complete(inspection, entries, [_variant(text, index, sizes) for index, sizes in enumerate(entries)])


def _variant(text: str, index: int, sizes: Mapping[str, int]) -> Inspection:
    """The inspection with other sizes, those of entry `index`."""
    try:
        return _run(text, sizes)[0]
    except Exception as error:  # the problem's own code
        problem = f"the problem fails with these sizes: {_last_line(error)}"
        raise held_out.HeldOutError(problem, f"{held_out.FIELD}[{index}]", "choose sizes that it can take") from error


def _run(text: str, sizes: Mapping[str, int] | None = None) -> tuple[Inspection, Any]:
    """The inspection with other sizes of some constants (lower-case name -> size), and the field of held-out sizes."""
    try:
        return _run_in(text, sizes or {}, FakeMode())
    except RuntimeError:
        # Constructors that ask for a value (.item(), .numpy()) need real tensors; the forward pass still does not.
        return _run_in(text, sizes or {}, FakeMode(allow_non_fake_inputs=True), real_model=True)


def _run_in(text: str, sizes: Mapping[str, int], fake: FakeMode, *, real_model: bool = False) -> tuple[Inspection, Any]:
    with ExitStack() as stack:
        if not real_model:
            stack.enter_context(fake)
        torch.manual_seed(SEED)
        module = _load(text, sizes)
        model = module.Model(*module.get_init_inputs())
        if real_model:
            stack.enter_context(fake)
        inputs = list(module.get_inputs())
        counter = stack.enter_context(FlopCounterMode(display=False))
        stack.enter_context(torch.no_grad())
        recurrent = stack.enter_context(RecurrentLayers())
        output = model(*inputs)
        inspection = Inspection(
            inputs=tuple(_input(name, value) for name, value in _bind(model, inputs)),
            parameters=tuple(_tensor(name, value) for name, value in model.state_dict().items() if _is_float(value)),
            outputs=tuple(_tensor("", value) for value in (() if output is None else _flatten(output))),
            constants=_constants(text, module),
            flops=counter.get_total_flops() + recurrent.flops,
        )
        return inspection, getattr(module, held_out.FIELD, ())


def _load(text: str, sizes: Mapping[str, int]) -> types.ModuleType:
    """The problem as a module; registered, because dataclasses and pickling look their module up.

    Constants whose lower-case name is in `sizes` are overwritten once the module has run.
    """
    module = types.ModuleType("problem")
    sys.modules["problem"] = module
    exec(compile(text, "problem.py", "exec"), module.__dict__)
    for name in _constants(text, module):
        setattr(module, name, sizes.get(name.lower(), getattr(module, name)))
    return module


def _bind(model: torch.nn.Module, inputs: list[Any]) -> Iterator[tuple[str, Any]]:
    """(name, value) in the order of the call, by `forward`'s signature; `*args` become `args_0`, `args_1`."""
    bound = inspect.signature(model.forward).bind(*inputs)
    for name, value in bound.arguments.items():
        if inspect.signature(model.forward).parameters[name].kind is inspect.Parameter.VAR_POSITIONAL:
            yield from ((f"{name}_{index}", item) for index, item in enumerate(value))
        else:
            yield name, value


def _input(name: str, value: Any) -> Value:
    if isinstance(value, torch.Tensor):
        return _tensor(name, value)
    if type(value) in SCALARS:
        dtype, size = SCALARS[type(value)]
        return Value(name=name, kind="scalar", dtype=dtype, item_bytes=size)
    raise TypeError(f"input {name} is a {type(value).__name__}: only tensors and numbers can be passed to a kernel")


def _tensor(name: str, value: torch.Tensor) -> Value:
    dtype = str(value.dtype).removeprefix("torch.")
    return Value(name=name, shape=tuple(value.shape), dtype=dtype, item_bytes=value.element_size())


def _is_float(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.is_floating_point()


def _flatten(output: Any) -> Iterator[torch.Tensor]:
    """Tensors of nested tuples and lists, left to right."""
    if isinstance(output, torch.Tensor):
        yield output
    elif isinstance(output, tuple | list):
        for item in output:
            yield from _flatten(item)
    else:
        raise TypeError(f"forward returns a {type(output).__name__}: only tensors, tuples and lists of them are read")


def _constants(text: str, module: types.ModuleType) -> dict[str, int]:
    """Integers assigned at the top level, in the order of the text."""
    targets = [target for node in ast.parse(text).body if isinstance(node, ast.Assign) for target in node.targets]
    names = [part.id for target in targets for part in ast.walk(target) if isinstance(part, ast.Name)]
    values = {name: getattr(module, name, None) for name in names}
    return {name: value for name, value in values.items() if type(value) is int}


def report(name: str, text: str) -> Report:
    """The inspection, or the last line of whatever went wrong."""
    try:
        return Report(name=name, inspection=inspection_of(text))
    except held_out.HeldOutError as error:
        return Report(name=name, error=str(error), field=error.where, remedy=error.remedy)
    except (Exception, SystemExit) as error:  # noqa: BLE001  the child-process boundary: any failure is a finding
        return Report(name=name, error=_last_line(error))
    finally:
        torch.set_default_dtype(torch.float32)


def _last_line(error: BaseException) -> str:
    lines = [line for line in str(error).strip().splitlines() if line.strip()] or [""]
    return f"{type(error).__name__}: {lines[-1].strip()}"[:500]


def main() -> None:
    """Answer every line of the standard input with a report."""
    private = os.dup(1)
    os.dup2(2, 1)
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    with os.fdopen(private, "w", encoding="utf-8") as channel:
        channel.write(f"{READY}\n")
        channel.flush()
        for line in sys.stdin:
            request = json.loads(line)
            channel.write(report(request["name"], request["text"]).model_dump_json() + "\n")
            channel.flush()


if __name__ == "__main__":
    main()
