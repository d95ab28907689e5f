"""Selected kernels in the device system: an operator's own source in the place of the builtin gives the same bits, and
what would go wrong in the loop is found before."""

import shutil
import subprocess

import numpy as np
import pytest
import torch

from hone.compile.builds import CUDA_EPILOGUE, build_one
from hone.compile.kernels import kernel_solution
from hone.compile.toolchain import toolchain_for
from hone.config.trainings import OPERATORS
from hone.core.errors import MachineError
from hone.core.files import write_text
from hone.core.store import Store
from hone.gnn.device.loop import DeviceLoop
from hone.gnn.device.memory import Room
from hone.gnn.device.native import Library
from hone.gnn.graph import Graph
from hone.operators import OperatorError
from hone.records import Language, SelectedKernel, Selection, Tolerance, Workload
from hone.selection.loop import resolve, with_selected_kernels
from hone.selection.loop.in_loop import differences
from tests.analysis.trainings import environment
from tests.gnn.device.conftest import HERE
from tests.gnn.device.test_training import run, told
from tests.graph_ops import definitions

NAMES = OPERATORS["device"]
TOLERANCE = Tolerance(rtol=8e-3, atol=1e-4)
ONLY_ONE_DROPOUT = ("plain_dropout(key, scale, threshold)", "plain_dropout(key, 2.0, 32768)")
NEVER_THE_LAST = ("const uint32_t bound = others + k + 1;", "const uint32_t bound = others + k;")
NO_DEGREES = (
    "const int32_t degree = hop.degrees[row];",
    "int32_t degree = 0; while (degree < hop.fanout && hop.neighbours[row * hop.fanout + degree] >= 0) ++degree;",
)


@pytest.fixture(scope="session")
def objects(device, tmp_path_factory):
    """(operator, what is to be replaced in its source and by what) -> shared object, compiled when it is asked for."""
    folder, known = tmp_path_factory.mktemp("selected"), {}

    def compiled(name, *change):
        source = definitions()[name].kernels["upstream"]
        assert not change or change[0] in source
        source = source.replace(*change) if change else source
        if device.type == "cuda":
            solution = kernel_solution(definitions()[name], "upstream").model_copy(update={"source": source})
            return str(folder / build_one(solution, toolchain_for(Language.CUDA), Store(folder), 600).artifact)
        path = folder / f"{len(known)}.cu"
        path.write_text(source + CUDA_EPILOGUE)
        flags = ["-std=c++17", "-O1", "-Wno-unknown-pragmas", "-shared", "-fPIC", "-x", "c++"]
        subprocess.run(["g++", *flags, "-I", HERE / "emulator", "-o", path.with_suffix(".so"), path], check=True)
        return str(path.with_suffix(".so"))

    def get(name, *change):
        if (name, *change) not in known:
            known[name, *change] = compiled(name, *change)
        return known[name, *change]

    return get


@pytest.fixture(scope="session")
def rounded_graph(small_graph, tmp_path_factory):
    """The small graph with features that bfloat16 has as well, which the kernels are for."""
    folder = tmp_path_factory.mktemp("rounded") / "small"
    shutil.copytree(small_graph.path, folder)
    features = torch.from_numpy(np.load(folder / "features.npy"))
    np.save(folder / "features.npy", features.bfloat16().to(features.dtype).numpy())
    return Graph.open(folder)


def with_objects(work, paths):
    chosen = {"objects": paths, "definitions": {name: definitions()[name] for name in paths}}
    return work.model_copy(update=chosen)


def figures(found):
    return [(epoch.loss, epoch.valid_accuracy) for epoch in found.epochs]


@pytest.fixture(scope="session")
def work(device):
    """A job that gives the same bits every time."""
    return told(device, deterministic=True, epochs=2)


@pytest.fixture(scope="session")
def builtin(work, rounded_graph, compiled, tmp_path_factory):
    """What the builtins make of it."""
    return figures(run(work, rounded_graph, compiled, tmp_path_factory.mktemp("builtin")))


@pytest.mark.parametrize("names", [NAMES, NAMES[-1:], NAMES[:1]], ids="+".join)
def test_the_builtins_own_source_as_a_selected_kernel_gives_the_same_bits(
    names, work, builtin, rounded_graph, compiled, objects, tmp_path, monkeypatch
):
    called, call, notes = set(), Library.call, set()

    def noted(library, name, *arguments):
        called.add("draw_neighbours" if name == "draw" and arguments[-1] else name)
        if name == "gradient_of_states":
            notes.add(arguments[5] is not None)
        return call(library, name, *arguments)

    monkeypatch.setattr(Library, "call", noted)
    selected = with_objects(work, {name: objects(name) for name in names})
    assert figures(run(selected, rounded_graph, compiled, tmp_path)) == builtin
    assert set(NAMES) - called == set(names)
    assert notes == (set() if "gradient_of_states" in names else {True}), "a selected draw leaves them to the builtins"


def test_a_batch_that_does_not_fit_is_trained_with_selected_kernels_too(
    work, builtin, rounded_graph, compiled, objects, tmp_path, monkeypatch
):
    tight = Room((64, 150, 200), work.hyper.fanouts)
    monkeypatch.setattr("hone.gnn.device.training.measured_room", lambda *_: tight)
    again, step_again = [], DeviceLoop._again

    def noted(loop, index, *given):
        again.append(index)
        return step_again(loop, index, *given)

    monkeypatch.setattr(DeviceLoop, "_again", noted)
    selected = with_objects(work, {name: objects(name) for name in NAMES})
    found = run(selected, rounded_graph, compiled, tmp_path)
    assert again
    assert found.epochs[0].loss == pytest.approx(builtin[0][0], rel=1e-3), "products of other sizes"


def test_kernels_that_agree_in_the_loop(small_graph, compiled, device, objects):
    work = with_objects(told(device, dropout=0.3), {name: objects(name) for name in NAMES})
    assert differences(work, small_graph.path, compiled, TOLERANCE) == []


@pytest.mark.parametrize(
    ("name", "change", "where"),
    [
        ("mean_of_states", ONLY_ONE_DROPOUT, {"layer 2, dropout 0,", "layer 3, dropout 0,"}),
        ("mean_of_features", NO_DEGREES, {"in the loop against the builtin:"}),
        ("draw_neighbours", NEVER_THE_LAST, {"draws other neighbours"}),
    ],
)
def test_what_only_the_judges_inputs_have_is_found_in_the_loop(
    name, change, where, small_graph, compiled, device, objects
):
    work = with_objects(told(device), {name: objects(name, *change)})
    found = differences(work, small_graph.path, compiled, TOLERANCE)
    assert all(line.startswith(name) for line in found)
    assert all(any(part in line for line in found) for part in where)
    assert not any("dropout 0.5" in line for line in found)


def test_a_definition_of_other_arguments_is_refused(small_graph, compiled, device, objects):
    work = with_objects(told(device), {"mean_of_states": objects("mean_of_states")})
    item = work.definitions["mean_of_states"]
    other = item.inputs[0].model_copy(update={"name": "secret"})
    work.definitions["mean_of_states"] = item.model_copy(update={"inputs": (other, *item.inputs[1:])})
    with pytest.raises(OperatorError, match="nobody knows what secret is"):
        differences(work, small_graph.path, compiled, TOLERANCE)


def selection(name):
    item = definitions()[name]
    axes = {axis: {"count": 77, "table": 130, "fanout": 5, "width": 24, "both": 48}.get(axis, 2) for axis in item.axes}
    workload = Workload(definition=item.name, name="small", axes=axes, dtype="bfloat16", tolerance=TOLERANCE)
    solution = kernel_solution(item, "upstream")
    kernel = SelectedKernel(where="Test GPU", solution=solution, artifact="builds/none/kernel.so", target="none")
    return Selection(operator=name, runs_on="cuda", definition=item, workloads=(workload,), kernels=(kernel,))


def test_the_check_takes_it_on_a_gpu_and_leaves_it_aside_elsewhere(
    small_graph, compiled, device, objects, tmp_path, monkeypatch, capsys
):
    """Up to the process of its own; without a GPU that can tell no more than that there is none."""
    name = "mean_of_features"
    write_text(tmp_path / "selected.json", selection(name).model_dump_json())
    monkeypatch.setattr(resolve, "environment_of", lambda _: environment())
    monkeypatch.setattr(resolve, "_built", lambda *_: (tmp_path / "kernel.so", ""))
    shutil.copy(objects(name), tmp_path / "kernel.so")
    work = told(device, kernels="selected", kernels_from="graph_ops", epochs=1)
    place = {"graph": small_graph.path, "sampler": compiled, "store": tmp_path}
    ready = with_selected_kernels(work, [tmp_path / "selected.json"], **place)
    (found,) = ready.kernel_uses
    if device.type == "cuda":
        assert (found.used, set(ready.objects), set(ready.definitions)) == ("selected", {name}, {name})
        return
    # On a machine with a GPU what was emulated is called with the GPU's addresses.
    said = "it crashed: SIGSEGV" if torch.cuda.is_available() else "it cannot be called: the kernels need a GPU"
    assert found.used == "fell_back" and found.reason.startswith(said)
    assert f"warning: {name}: the selected kernel" in capsys.readouterr().err
    assert (ready.objects, ready.definitions) == ({}, {})
    fallen, plain = (run(item, small_graph, compiled, tmp_path) for item in (ready, told(device, epochs=1)))
    assert fallen.kernel_uses == ready.kernel_uses and figures(fallen) == figures(plain)


def test_without_a_compiler_the_builtin_runs(tmp_path, monkeypatch):
    monkeypatch.setenv("NVCC", "no-such-compiler")
    found = resolve.find(selection("mean_of_states"), "Test GPU", tmp_path)
    assert found.use.used == "fell_back" and found.use.reason.startswith("no compiler: 'no-such-compiler'")


def test_an_object_that_is_gone_is_said(device, compiled, small_graph, tmp_path):
    work = with_objects(told(device), {"mean_of_states": str(tmp_path / "gone.so")})
    with pytest.raises((OperatorError, MachineError), match="cannot be loaded"):
        run(work, small_graph, compiled, tmp_path)
