"""The operators of the training loops (config/kernels/graph_ops), extracted as the pipeline does it, on a CPU."""

import ctypes
from functools import cache
from pathlib import Path

import torch

from hone.config.files import read_values
from hone.config.settings import load
from hone.core.modules import load_module
from hone.judge.child.cpu.native import SCALARS
from hone.judge.child.models import cast_inputs, seed_all, set_sizes
from hone.judge.plan import reference_message
from hone.records import Tolerance, Workload
from hone.sources.extraction.define import _definition, _kernels
from hone.sources.extraction.fetch import entry_paths, read_entries

ROOT = Path(__file__).parents[1]


@cache
def definitions():
    """Title -> the definition with its kernels; references are not run, so that FLOPs are not known."""
    settings = load(read_values(ROOT / "config/miniature.yaml"))
    source = settings.sources["graph_ops"]
    packages = {name: item.model_copy(update={"path": str(ROOT / item.path)}) for name, item in source.packages.items()}
    found = {}
    for file in read_entries("graph_ops", entry_paths(ROOT / source.path), packages):
        plain = _definition(file, file.entry, settings.baselines)
        found[file.title] = plain.model_copy(update={"kernels": _kernels(file, file.entry, plain)})
    return found


class Calls:
    """One definition at some sizes: values of `get_inputs`, what the reference makes of them, what a launcher does."""

    def __init__(self, title, sizes, dtype="float32"):
        self.definition = definitions()[title]
        assert set(sizes) == set(self.definition.axes)
        self.sizes, self.dtype = sizes, dtype
        workload = Workload(
            definition=self.definition.name, name="test", axes=sizes, dtype=dtype, tolerance=Tolerance(atol=0, rtol=0)
        )
        self.module = load_module(f"hone_graph_ops_{title}", self.definition.reference)
        set_sizes(self.module, sizes)
        self._message = reference_message(self.definition, workload, sizes)
        self._model = self.module.Model()

    def values(self, seed):
        """Arguments of `forward`, in the workload's type."""
        seed_all(seed)
        return cast_inputs(self.module.get_inputs(), self._message)

    def expected(self, values, *, wide=False):
        """The reference's results; `wide`: computed in float64 from the same values."""
        if wide:
            values = [_widened(value) for value in values]
        found = self._model(*values)
        return [found] if torch.is_tensor(found) else list(found)

    def launched(self, library, values):
        """The outputs of the launcher of a shared object, in memory that held rubbish."""
        item = self.definition
        outputs = [
            torch.full([self.sizes[axis] for axis in out.shape], 77, dtype=getattr(torch, out.dtype_at(self.dtype)))
            for out in item.outputs
        ]
        passed = [
            ctypes.c_void_p(value.data_ptr()) if argument.kind == "tensor" else SCALARS[argument.dtype](value)
            for argument, value in zip((*item.inputs, *item.outputs), (*values, *outputs), strict=True)
        ]
        name = f"launch_{self.dtype}" if item.dtypes else "launch"
        sizes = [ctypes.c_int64(self.sizes[axis]) for axis in item.axes]
        getattr(ctypes.CDLL(str(library)), name)(*passed, *sizes, None)
        return outputs


def _widened(value):
    return value.double() if torch.is_tensor(value) and value.is_floating_point() else value
