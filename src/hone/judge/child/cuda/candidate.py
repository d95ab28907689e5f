"""The runner of `ModelNew` on a GPU. The candidate's code shares this interpreter: nothing here is to be relied on."""

from __future__ import annotations

import ctypes
import functools
import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch.nn import Parameter

from hone.core.modules import load_module
from hone.judge.child.cuda.left_out import kernels_left_out, sampled, share_of_others, spoil_free_memory
from hone.judge.child.models import (
    build_model,
    check_and_copy,
    describe_error,
    flatten,
    seed_all,
    set_sizes,
    silence,
)
from hone.judge.device.cuda import driver
from hone.judge.device.cuda.events import Clock, Gate
from hone.judge.device.cuda.memory import DeviceArena, give_back_if_short
from hone.judge.device.cuda.models import allow_tf32, captured_graph, profile_table
from hone.judge.device.cuda.sets import Region
from hone.judge.wire import UNBUILT


class CandidateHost:
    """`load` builds the model, `run` calls forward on some sets, `store` copies what it returned to the outputs."""

    def __init__(self) -> None:
        silence()
        self._model: Any = None
        self._graph: Any = None
        self._returned: list[Any] = []
        self._captured: list[Any] = []
        self._arguments: list[list[Any]] = []
        self._apart = False
        """Results are copied after each run, since the next one writes over them."""
        self._puts_off = False
        """It has returned tensors in another memory layout than the reference, or of a class of its own, which may do
        its work when somebody reads them."""
        self._strides: list[list[int]] = []
        """Owed of each result."""
        self._views: list[list[int]] = []
        """As the reference returns them, perhaps as views of something larger: as good."""
        self._seed = 0
        self._objects: list[Path] = []
        self._unbuilt: list[str] = []
        """What was said of calls that nobody has built."""

    def act(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Answer one message; whatever the candidate raises becomes an answer too."""
        try:
            with torch.no_grad():
                answer: dict[str, Any] = getattr(self, f"_{message['do']}")(message)
        except BaseException as error:  # noqa: BLE001  the boundary to code that may raise anything
            answer = describe_error(error, "load" if message["do"] == "load" else "run")
        if self._unbuilt:  # even where the module has caught what was raised, and goes on without what it wrote
            return {"error": {"kind": UNBUILT, "text": self._unbuilt[0]}}
        return answer

    def _warm(self, message: Mapping[str, Any]) -> dict[str, Any]:
        if cache := message.get("triton_cache"):
            cache = cache if message["compiles"] else _own_copy(cache)
            for name in ("TRITON_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR", "TMPDIR", "HOME"):
                os.environ[name] = cache
            os.environ["TORCHINDUCTOR_COMPILE_THREADS"] = "1"  # workers of its own would be processes
            os.environ["USER"] = "solution"  # Inductor asks for a name, which this user does not have
        os.environ["CUDA_VISIBLE_DEVICES"] = message["gpu"]
        allow_tf32(message["tf32"])
        torch.cuda.init()  # type: ignore[no-untyped-call]
        driver.open_context()
        self._clock = Clock(None)
        ones = torch.ones(64, 64, device="cuda")
        torch.sum(ones @ ones).item()
        return {"ok": True}

    def _map(self, message: Mapping[str, Any]) -> dict[str, Any]:
        arenas = {}
        self._strides, self._views = message["strides"], message["views"]
        for region_message, writable, descriptor in zip(
            message["regions"], message["writable"], message["descriptors"], strict=True
        ):
            region = Region.read(region_message)
            address = driver.import_memory(descriptor, region.nbytes, writable=writable)
            os.close(descriptor)
            arenas[region_message["name"]] = DeviceArena(region, address)
            if region_message["name"] == "gate":
                self._gate = Gate(address + region.layout.slots[0].offset)
        self._inputs, self._outputs = arenas["inputs"], arenas["outputs"]
        self._names = [slot.name for slot in self._outputs.region.layout.slots]
        return {"ok": True}

    def _load(self, message: Mapping[str, Any]) -> dict[str, Any]:
        from hone.compile.extension_call import prebuilt_load_inline, replace_load_inline

        extensions = {key: Path(path) for key, path in message["extensions"].items()}
        self._objects = list(extensions.values())
        replace_load_inline(prebuilt_load_inline(extensions, message["refused"], self._unbuilt.append))
        torch.set_num_threads(message["threads"])
        reference = load_module("hone_reference", message["reference"])
        set_sizes(reference, message["sizes"])
        candidate = load_module("hone_candidate", message["source"], reference)
        model_class = getattr(candidate, message["entry_point"])
        self._model = build_model(
            reference, model_class, message["seed"], message["dtype"], mode=message["model_mode"], on_gpu=True,
            own_types=True,
        )  # fmt: skip
        self._order = message["arguments"]
        driver.synchronize()
        return {"ok": True}

    def _prepare(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Arguments of all sets: `scalars` has one mapping for each."""
        self._returned = []
        if not message["keeps_memory"]:
            give_back_if_short(self._inputs, self._outputs)
        self._arguments = [
            [scalars[name] if name in scalars else tensors[name] for name in self._order]
            for tensors, scalars in zip(self._inputs.sets, message["scalars"], strict=False)
        ]
        self._seed = message["seed"]
        seed_all(self._seed)
        return {"ok": True}

    def _give_back(self, _: Mapping[str, Any]) -> dict[str, Any]:
        """Memory that PyTorch keeps for later."""
        torch.cuda.empty_cache()
        return {"ok": True}

    def _calls(self, count: int) -> list[Callable[[], object]]:
        return [functools.partial(self._forward, arguments) for arguments in self._arguments[:count]]

    def _forward(self, arguments: Sequence[Any]) -> Any:
        """What a run returns: where needed copies in the reference's layout, which are part of its time.

        They stay as they are while the next runs write to the same buffer, and are computed now, whatever their class.
        """
        returned = self._model(*arguments)
        if not (self._apart or self._puts_off):
            return returned
        results = flatten(returned)
        return [_fresh(item, owed).copy_(item) for item, owed in zip(results, self._owed(len(results)), strict=True)]

    def _owed(self, count: int) -> Sequence[list[int] | None]:
        """Strides of so many results; None where there should be another number of them."""
        return self._strides if len(self._strides) == count else [None] * count

    def _run(self, message: Mapping[str, Any]) -> dict[str, Any]:
        if message.get("as_published"):
            return self._as_published(message)
        if message["mode"] == "null":
            filled = self._outputs.rows()[: message["sets"]]
            elapsed = self._clock.time(lambda: filled.fill_(0))
        elif message["mode"] == "replay":
            elapsed = self._clock.time(self._graph.replay)
            self._returned = self._captured
        else:
            kept: list[Any] = []
            forward = self._forward if self._puts_off else lambda items: self._model(*items)
            arguments = self._arguments[: message["sets"]]
            elapsed = self._clock.time(lambda: kept.extend(forward(items) for items in arguments))
            self._returned = kept
        return {"done": message["nonce"], "device_ms": elapsed}

    def _arm(self, message: Mapping[str, Any]) -> dict[str, Any]:
        self._apart = message["apart"]
        if message["null"]:
            graph = self._clock.null_graph(self._gate, message["null"])
            self._clock.arm(lambda: driver.launch_graph(graph, self._clock.stream), self._gate, message["value"])
        elif message["how"] == "queued":
            self._returned = []
            self._clock.arm(self._queue, self._gate, message["value"])
        else:
            self._clock.arm(self._graph.replay, self._gate, message["value"])
            self._returned = self._captured
        return {"ok": True}

    def _queue(self) -> None:
        """Put the launches of all runs on the current stream, each behind its gate: no capture, all as ever."""
        returned = self._returned
        for run, items in enumerate(self._arguments):
            if run:  # the first gate has been passed when the clock starts
                self._gate.wait(self._clock.stream, run)
            returned.append(self._forward(items))

    def _as_published(self, message: Mapping[str, Any]) -> dict[str, Any]:
        self._returned = []
        taken = self._clock.published_ms(self._own_call(), message["trials"], flush=message["flush"])
        return {"done": message["nonce"], "device_ms": taken}

    def _own_call(self) -> Callable[[], object]:
        """Without copies of ours."""
        return functools.partial(self._model, *self._arguments[0])

    def _collect(self, _: Mapping[str, Any]) -> dict[str, Any]:
        return {"device_ms": self._clock.collect()}

    def _returns_nothing_new(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """As if forward had returned tensors like the reference's; before there is any code of the candidate's."""
        chosen = self._outputs.sets[: message["sets"]]
        owed = self._owed(len(self._names))
        self._returned = [
            [_fresh(place, stride) for place, stride in zip(places.values(), owed, strict=True)] for places in chosen
        ]
        return {"ok": True}

    def _store(self, _: Mapping[str, Any]) -> dict[str, Any]:
        for returned, places in zip(self._returned, self._outputs.sets, strict=False):
            results = flatten(returned)
            self._notice(results)
            check_and_copy(results, list(places.values()), self._names)
        driver.synchronize()
        return {"ok": True}

    def _notice(self, results: Sequence[torch.Tensor]) -> None:
        """From now on results are copied in the batch, if reading one of these is work."""
        layouts = [self._strides, self._views]
        self._puts_off = self._puts_off or any(
            _is_work(item, [of[at] for of in layouts if at < len(of)]) for at, item in enumerate(results)
        )

    def _capture(self, message: Mapping[str, Any]) -> dict[str, Any]:
        self._apart = message["apart"]
        copied = self._apart or self._puts_off
        answer = self._captured_steps()
        for returned in self._captured:
            self._notice(flatten(returned))
        return answer if copied or not self._puts_off else self._captured_steps()

    def _captured_steps(self) -> dict[str, Any]:
        self._returned, self._captured, self._graph = [], [], None
        seed_all(self._seed)
        captured = []
        with captured_graph() as graph:
            for run, items in enumerate(self._arguments):
                self._gate.wait(ctypes.c_void_p(torch.cuda.current_stream().cuda_stream), run)
                captured.append(self._forward(items))
            steps = driver.count_captured(ctypes.c_void_p(torch.cuda.current_stream().cuda_stream))
        self._graph, self._captured = graph, captured
        return {"steps": steps}

    def _spans(self, _: Mapping[str, Any]) -> dict[str, Any]:
        self._returned = []
        answer: dict[str, Any] = self._clock.busy_ms(self._calls(len(self._arguments)))
        return answer

    def _leave_out(self, _: Mapping[str, Any]) -> dict[str, Any]:
        """Results of the last set with the module's own kernels and without them, and of the first set."""
        first = self._sampled(0)
        spoil_free_memory()
        with kernels_left_out(self._objects) as left_out:
            without = self._sampled(-1)
        whole = self._sampled(-1)
        answer = {"launches": left_out.launches, "changes": share_of_others(without, whole)}
        return answer | {"varies": share_of_others(first, whole)}

    def _sampled(self, at: int) -> list[torch.Tensor]:
        seed_all(self._seed)
        results = sampled(flatten(self._model(*self._arguments[at])))
        driver.synchronize()
        return results

    def _profile(self, _: Mapping[str, Any]) -> dict[str, Any]:
        return {"table": profile_table(self._own_call())}


def _own_copy(folder: str) -> str:
    """A copy in this process's own folder, since tuners write beside what they find; where that fails the folder."""
    copy = Path(os.environ["HOME"]) / "compiled"
    try:
        shutil.copytree(folder, copy)
    except OSError:  # no folder of its own, no room in it, files of another user
        shutil.rmtree(copy, ignore_errors=True)  # what there is of it takes the solution's room
        return folder
    return str(copy)


def _fresh(like: torch.Tensor, stride: Sequence[int] | None) -> torch.Tensor:
    """Memory for a tensor of this shape and type; without `stride` its elements lie one after the other."""
    if stride is None or len(stride) != like.dim():
        return torch.empty(like.shape, dtype=like.dtype, device="cuda")
    return torch.empty_strided(like.shape, stride, dtype=like.dtype, device="cuda")


def _is_work(result: torch.Tensor, layouts: Sequence[Sequence[int]]) -> bool:
    """Whether reading this result is work: it has none of these layouts, or computes its elements when it is read."""
    if type(result) not in (torch.Tensor, Parameter) or result.is_neg() or result.is_conj():
        return True
    return bool(layouts) and not any(_laid_out(result, strides) for strides in layouts)


def _laid_out(result: torch.Tensor, strides: Sequence[int]) -> bool:
    """Dimensions of a single element have no layout."""
    places = zip(result.shape, result.stride(), strides, strict=False)
    return all(size < 2 or own == owed for size, own, owed in places)
