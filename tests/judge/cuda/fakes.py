"""A GPU that is simulated, and the two processes on it as the parent sees them: their answers, never their code.

One number stands for a tensor: the reference computes `result_of(input)`. Times are made up, so that tests know the
truth which the judge must find. Host time passes only where a process spends it.
"""

from collections.abc import Callable, Sequence
from typing import Any

from hone.machine.gpus import Gpu
from hone.records import Protocol

POISON = -1
AFTER = -2
"""What the reference leaves in an input that it writes to."""
GPU = Gpu("GPU-fake", "Fake GPU", "1.0, CUDA 13.0", 80 << 30, "9.0")
TRIP_MS, POLL_MS, IDLE_MS, EMPTY_MS = 0.04, 0.02, 0.03, 0.002
"""The way to a process and back; until the end of a graph is seen; a look at an idle GPU; two events and no work."""
GATE_MS, STEP_MS, STORE_MS, COPY_MS = 0.0008, 0.0012, 0.05, 0.01
"""A gate in a graph; an empty step in one; the way to a copy of results and back; the results of one run."""
QUEUED_MS, PUBLISHED_MS = 0.0007, 0.012
"""What a queued launch takes more than one in a graph; what the host adds to a call between two events."""
SHOW_MS, SHOW_SET_MS = 0.3, 0.01
"""To make the cache forget; to show the inputs of one set."""

PROTOCOL = Protocol(
    name="fake", device="cuda", correctness_trials=2, warmup_runs=1, timing_runs=7, timing_seconds=60.0, audit_every=3,
    run_timeout_s=3.0,
)  # fmt: skip


def result_of(value: int) -> int:
    """What the reference computes."""
    return 3 * value + 1


class Device:
    """Memory that both processes see, work that is going on, and what was seen of the order of events."""

    def __init__(self, sets: int) -> None:
        self.sets = sets
        """Sets that there are."""
        self.count = sets
        """Sets of the batch at hand."""
        self.inputs = [0] * sets
        self.pristine = [0] * sets
        """Inputs as they were made."""
        self.hidden = [0] * sets
        """Inputs that nobody has been shown yet."""
        self.outputs = [POISON] * sets
        self.guards = True
        self.now_ms = 0.0
        self.background_ms = 0.0
        """Work that nobody has waited for."""
        self.armed: Callable[[int, int], float] | None = None
        """Does the runs of a graph from one to another; gives the milliseconds."""
        self.subject_frozen = True
        self.open_ahead = False
        """Gates that were opened before anything was launched."""
        self.launching = False
        """A process launches a graph that is too long to be launched before it begins."""
        self.shown: Callable[[int, int], None] = lambda first, end: None
        """What a solution's work on the GPU does as soon as it sees the inputs of sets."""

    def make(self, first: int, seed: int) -> None:
        """New inputs, hidden."""
        assert self.subject_frozen, "inputs were made while the solution was awake"
        for index in range(first, self.count):
            self.hidden[index] = seed + index

    def show(self, first: int, end: int) -> None:
        """Inputs as they were made, for all to see."""
        assert self.subject_frozen, "inputs were shown while the solution was awake"
        for index in range(first, end):
            self.inputs[index] = self.pristine[index] = self.hidden[index]
        self.shown(first, end)


class ReferenceProcess:
    """Answers as `reference_host` does."""

    def __init__(
        self, device: Device, *, run_ms: float = 0.2, captures: bool = True, written: Sequence[str] = (),
        random: bool = False, refuses: Sequence[str] = (), baseline_error: float = 1e-7,
        scalars: Callable[[int], dict[str, Any]] = lambda seed: {}, cupti: bool = True, free_bytes: int = 1 << 30,
        chain: bool = True, launch_ms: float = 0.0,
        bandwidth_gbs: float = 4000.0,
    ) -> None:  # fmt: skip
        self.device = device
        self.run_ms = run_ms
        self.captures = captures
        self.chain = chain
        self.most_runs = device.sets
        """For so many there is memory in a graph."""
        self.launch_ms = launch_ms
        """What the host takes for each run in the stream."""
        self.written, self.random = list(written), random
        self.refuses = refuses
        self.baseline_error = baseline_error
        self.scalars = scalars
        self.cupti = cupti
        self.machine = {
            "free_bytes": free_bytes, "bandwidth_gbs": bandwidth_gbs, "l2_bytes": 50 << 20,
            "name": "NVIDIA H200", "capability": "9.0", "sm_count": 5**3, "clock_khz": 5**9,  # 10^15 a second
        }  # fmt: skip
        self.distributions: list[str] = []
        self.exact_error: float | None = None
        self.audited: list[list[int]] = []
        self.modes: list[str] = []
        self.published: list[int] = []
        """Trials of KernelBench's own loop."""
        self.secrets: list[int] = []
        """Seeds of inputs."""

    def act(self, message: dict[str, Any]) -> dict[str, Any]:
        answer: dict[str, Any] = getattr(self, f"_{message['do']}")(message)
        return answer

    def _warm(self, _: Any) -> dict[str, Any]:
        return self.machine

    def _open_gpu(self, _: Any) -> dict[str, Any]:
        return {"ok": True}

    def _build(self, _: Any) -> dict[str, Any]:
        return {"ok": True}

    def _load(self, _: Any) -> dict[str, Any]:
        return {"written": self.written, "random": self.random, "scalars": self.scalars(0), "strides": [], "views": []}

    def _ahead(self, _: Any) -> dict[str, Any]:
        return {"kept": False}

    def _trial(self, message: dict[str, Any]) -> dict[str, Any]:
        self.distributions.append(message["distribution"])
        self.device.count = 1
        self.secrets.append(message["seed"])
        self.device.make(0, message["seed"])
        self.device.show(0, 1)
        self.device.outputs = [POISON] * self.device.sets
        usable = message["distribution"] not in self.refuses
        exact = self.baseline_error if message["exact"] else None
        return {"scalars": self.scalars(message["seed"]), "usable": usable, "baseline_error": exact}

    def _compare(self, message: dict[str, Any]) -> dict[str, Any]:
        assert self.device.subject_frozen
        device, indices = self.device, message.get("audit", [0])
        if "audit" in message:
            self.audited.append(indices)
        wrong = [index for index in indices if device.outputs[index] != result_of(device.pristine[index])]
        changed = [] if self.written else [i for i in indices if device.inputs[i] != device.pristine[i]]
        wrong += [index for index in indices if self.written and device.inputs[index] != AFTER]
        return {
            "guards": device.guards, "changed": ["x"] * len(changed), "elements": 10 * len(indices),
            "wrong": len(wrong), "max_abs_error": float(len(wrong)), "max_rel_error": 0.0,
            "first_wrong": "out[0] is 2, expected 1" if wrong else "",
        } | ({} if "audit" in message or self.exact_error is None else {"exact_error": self.exact_error})  # fmt: skip

    def _refresh(self, message: dict[str, Any]) -> dict[str, Any]:
        self.secrets.append(message["seed"])
        self.device.count = message["sets"]
        self.device.make(0, message["seed"])
        self.device.outputs = [POISON] * self.device.sets
        return {"scalars": [self.scalars(message["seed"] + index) for index in range(self.device.count)]}

    def _refresh_rest(self, message: dict[str, Any]) -> dict[str, Any]:
        self.secrets.append(message["seed"])
        self.device.make(message["first"], message["seed"])
        return {"ok": True}

    def _reveal(self, message: dict[str, Any]) -> dict[str, Any]:
        self.device.show(message["first"], message["end"])
        return {"reveal_ms": SHOW_MS + SHOW_SET_MS * (message["end"] - message["first"])}

    def _untouched(self, message: dict[str, Any]) -> dict[str, Any]:
        return {"untouched": all(value == POISON for value in self.device.outputs[message["first"] :])}

    def _flush(self, _: Any) -> dict[str, Any]:
        return {"ok": True}

    def _settle(self, message: dict[str, Any]) -> dict[str, Any]:
        left, self.device.background_ms = self.device.background_ms, 0.0
        if left > message["limit_s"] * 1e3:
            return {"settle_ms": message["limit_s"] * 1e3, "busy": True}
        return {"settle_ms": IDLE_MS + left}

    def _choose_gate(self, message: dict[str, Any]) -> dict[str, Any]:
        return {"gate": int(message["own"])}

    def _close(self, message: dict[str, Any]) -> dict[str, Any]:
        self.device.count = message["sets"]
        return {"value": 1}

    def _open(self, message: dict[str, Any]) -> dict[str, Any]:
        self.device.open_ahead = not message["wait"]
        if self.device.open_ahead:
            if self.device.armed is not None:  # what waits at the gates goes on
                self.device.armed(message["first"], message["end"])
            return {"wall_ms": 0.0}
        assert self.device.armed is not None and (self.device.subject_frozen or self.device.launching)
        wall_ms = POLL_MS + self.device.armed(message["first"], message["end"])
        return {"wall_ms": wall_ms} | ({"late": True} if wall_ms > message["limit_s"] * 1e3 else {})

    def _capture(self, _: Any) -> dict[str, Any]:
        self.captured_runs = self.device.count
        possible = self.captures and self.device.count <= self.most_runs
        return {"chain": self.chain} if possible else {"error": {"kind": "run", "text": "not permitted"}}

    def _try_graph(self, message: dict[str, Any]) -> dict[str, Any]:
        return self._capture(message) | {"batch_ms": self.device.count * (self.run_ms + GATE_MS)}

    def _gate_cost(self, _: Any) -> dict[str, Any]:
        return {"graph_ms": GATE_MS, "queued_ms": GATE_MS}

    def _as_published(self, message: dict[str, Any]) -> dict[str, Any]:
        self.published.append(message["trials"])
        return {"device_ms": self.run_ms + PUBLISHED_MS}

    def _batch(self, message: dict[str, Any]) -> dict[str, Any]:
        self.modes.append(message["mode"])
        graph = message["mode"] == "graph"
        assert message["mode"] == "stream" or self.device.count == self.captured_runs
        count = self.device.count if graph else message["runs"]
        if self.written:
            self.device.inputs[:count] = [AFTER] * count
        else:
            assert self.device.inputs[:count] == self.device.pristine[:count], "a baseline ran on changed inputs"
        beside_ms = {"graph": GATE_MS, "replay": 0.0, "stream": self.launch_ms}[message["mode"]]
        return {"device_ms": count * (self.run_ms + beside_ms)}

    def _spans(self, _: Any) -> dict[str, Any]:
        return {"busy_ms": self.run_ms, "kernels": 1} if self.cupti else {"missing": "no CUPTI"}


class Honest:
    """A solution's process that does what it is asked; answers as `native_host` and `candidate_host` do.

    Other solutions override a method. In Python (`copies`), results reach the outputs when they are stored.
    """

    def __init__(self, device: Device, run_ms: float = 0.1, *, copies: bool = False) -> None:
        self.device = device
        self.run_ms = run_ms
        self.copies = copies
        self.returned: dict[int, int] = {}
        self.result: dict[str, Any] = {}
        self.loaded = self.apart = False
        self.keeps_memory = True

    # What a solution may do otherwise.

    captures = True
    holds = 1
    """Launches of each run that its graph holds."""
    queues = True
    """Its launches come to an end though they wait at gates."""

    def compute(self, index: int) -> None:
        """One run; what it finds is `put` somewhere."""
        self.put(index, result_of(self.device.inputs[index]))

    def claim(self, true_ms: float) -> float:
        """What its device's clock says of a batch."""
        return true_ms

    def seen_ms(self, true_ms: float) -> float:
        """How much of a batch is over when it answers; the rest goes on."""
        return true_ms

    def copied_ms(self, runs: int) -> float:
        """What copying the results of so many runs takes."""
        return runs * COPY_MS

    def busy_ms(self) -> float:
        """What CUPTI says of a run."""
        return self.run_ms

    def shown(self, first: int, end: int) -> None:
        """What its work on the GPU does when the inputs of sets appear."""

    # What the process does.

    def put(self, index: int, value: int) -> None:
        if self.copies:
            self.returned[index] = value
        else:
            self.device.outputs[index] = value

    def act(self, message: dict[str, Any]) -> dict[str, Any]:
        answer: dict[str, Any] = getattr(self, f"_{message['do']}")(message)
        return answer

    def time(self, message: dict[str, Any]) -> tuple[float, dict[str, Any]]:
        """(milliseconds until the answer, the answer) of a batch in the stream."""
        if message.get("as_published"):
            taken_ms = self.run_ms + PUBLISHED_MS
            return TRIP_MS + message["trials"] * (taken_ms + 0.02), {"device_ms": self.claim(taken_ms)}
        if message["mode"] == "null":
            assert not self.loaded, "overheads are measured before there is foreign code"
            empty_ms = EMPTY_MS * (1 + message["sets"])
            return TRIP_MS + empty_ms, {"device_ms": empty_ms}
        assert message["mode"] == "stream" or (self.device.open_ahead and self.device.count == message["sets"] == 1)
        true_ms = self.runs(0, message["sets"], 0.0)
        return TRIP_MS + self.leave_behind(true_ms), {"device_ms": self.claim(true_ms)}

    def runs(self, first: int, end: int, gate_ms: float) -> float:
        for index in range(first, end):
            self.compute(index)
        return (end - first) * (self.run_ms + gate_ms + (COPY_MS if self.apart else 0.0))

    def leave_behind(self, true_ms: float) -> float:
        over_ms = self.seen_ms(true_ms)
        self.device.background_ms += true_ms - over_ms
        return over_ms

    def _warm(self, _: Any) -> dict[str, Any]:
        return {"ok": True}

    def _map(self, _: Any) -> dict[str, Any]:
        return {"ok": True}

    def _load(self, _: Any) -> dict[str, Any]:
        self.loaded = True
        return {"ok": True}

    def _prepare(self, message: dict[str, Any]) -> dict[str, Any]:
        self.returned = {}
        self.scalars = message["scalars"]
        return {"ok": True}

    def _give_back(self, _: Any) -> dict[str, Any]:
        self.keeps_memory = False
        return {"ok": True}

    def _capture(self, message: dict[str, Any]) -> dict[str, Any]:
        self.apart = message["apart"]
        if not self.captures:
            return {"error": {"kind": "run", "text": "operation not permitted"}}
        return {"steps": (1 + self.holds) * self.device.count}  # each run behind a gate

    def _arm(self, message: dict[str, Any]) -> dict[str, Any]:
        steps, sets, self.apart = message["null"], self.device.count, message["apart"]
        assert steps in (0, sets)
        self.armed_ms = 0.0
        gate_ms = GATE_MS + (QUEUED_MS if message["how"] == "queued" else 0.0)

        def run(first: int, end: int) -> float:
            if steps:
                self.armed_ms += (end - first) * (GATE_MS + STEP_MS)
                return (end - first) * (GATE_MS + STEP_MS)
            true_ms = self.runs(first, end, gate_ms)
            self.armed_ms += self.claim(true_ms)
            return self.leave_behind(true_ms) if end == sets else 0.0

        self.device.armed = run
        blocked = message["how"] == "queued" and not self.queues and not self.device.open_ahead
        return {"ok": True} | ({"blocked": True} if blocked else {})

    def _collect(self, _: Any) -> dict[str, Any]:
        self.device.armed = None
        return {"device_ms": self.armed_ms}

    def _returns_nothing_new(self, message: dict[str, Any]) -> dict[str, Any]:
        assert not self.loaded
        self.returned = dict.fromkeys(range(message["sets"]), 0)
        return {"ok": True}

    def _store(self, _: Any) -> dict[str, Any]:
        for index, value in self.returned.items():
            self.device.outputs[index] = value
        runs = len(self.returned)
        self.device.now_ms += STORE_MS + (self.copied_ms(runs) if self.loaded else runs * COPY_MS)
        return {"ok": True}

    def _spans(self, _: Any) -> dict[str, Any]:
        return {"busy_ms": self.busy_ms(), "kernels": 1}
