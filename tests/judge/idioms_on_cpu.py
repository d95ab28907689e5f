"""Run the files of tests/judge/idioms beside their references on a CPU, at held-out sizes.

`python -m tests.judge.idioms_on_cpu` prints a line {"name", "outcome"} for each: `equal`, `differs`, `shape`,
`stand_in` (its result comes from an extension, for which something else stands here), or the exception's type with
the missing module's name. A process of its own, because modules change switches, the environment and warnings.
"""

import contextlib
import io
import json
import sys
import types
import warnings
from pathlib import Path

import torch
import torch.utils.cpp_extension

from hone.compile.extension_probe import StandIn
from hone.sources.solution_files import header, language_of, source_files

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "tests/judge/idioms"
TOLERANCE = 1e-4


def module_of(name, source):
    module = types.ModuleType(name)
    sys.modules[name] = module
    exec(compile(source, f"<{name}>", "exec"), module.__dict__)
    return module


def reference_of(definition):
    module = module_of("reference", (ROOT / f"resources/problems/{definition}.py").read_text())
    vars(module).update(module.held_out_sizes[0])
    return module


def results(model_class, reference):
    torch.manual_seed(1)
    model = model_class(*reference.get_init_inputs())
    torch.manual_seed(2)
    inputs = reference.get_inputs()
    found = model(*inputs)
    return [*(found if isinstance(found, tuple | list) else [found]), *inputs]


def outcome(path):
    source = path.read_text()
    reference = reference_of(header(source, language_of(path))["definition"])
    got = results(module_of("candidate", source).ModelNew, reference)
    if any(isinstance(value, StandIn) for value in got):
        return "stand_in"
    pairs = list(zip(got, results(reference.Model, reference), strict=True))
    if any(getattr(one, "shape", 0) != getattr(other, "shape", 0) for one, other in pairs):
        return "shape"
    tensors = [pair for pair in pairs if isinstance(pair[0], torch.Tensor)]
    if any(one.dtype != other.dtype for one, other in tensors):
        return "shape"
    near = all(torch.allclose(*pair, atol=TOLERANCE, rtol=TOLERANCE) for pair in tensors)
    return "equal" if near else "differs"


def main():
    torch.set_grad_enabled(False)
    torch.utils.cpp_extension.load_inline = torch.utils.cpp_extension.load = lambda *_, **__: StandIn()
    warnings.simplefilter("ignore")
    for path in source_files(FOLDER):
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            try:
                found = outcome(path)
            except (Exception, SystemExit) as error:  # noqa: BLE001  what a file may raise
                found = f"{type(error).__name__} {getattr(error, 'name', '') or ''}".strip()
        print(json.dumps({"name": path.name, "outcome": found}))  # noqa: T201


if __name__ == "__main__":
    main()
