"""A small made-up set of trainings: epochs, inference and spans with known answers."""

from dataclasses import dataclass, field
from pathlib import Path

from hone.analysis.csv_records import KernelTime, Preparation
from hone.analysis.provenance import Provenance
from hone.analysis.run import RunRecords
from hone.analysis.salient_numbers import DATASETS
from hone.config.models import FAMILIES
from hone.config.settings import Settings
from hone.records import (
    DegreeFigures,
    Environment,
    EpochFigures,
    GraphInfo,
    GraphSource,
    InferenceFigures,
    InferenceRun,
    KernelUse,
    OperatorShare,
    SelectionReason,
    Span,
    TrainingRun,
)
from hone.records.gnn import ARRAYS
from hone.tables.run import Run
from hone.tables.stages import make_tables, run_of

from .world import GPUS, PUBLISHED, settings_for

FANOUTS = {name: family.published.fanouts for name, family in FAMILIES.items()}
WARMUP_FACTOR = 10.0
"""The first epoch of every made-up run takes this many times as long as the others."""


def graph(name: str, dataset: str = "", kind: str = "synthetic") -> GraphInfo:
    """A graph of the size of a public one, or a small one."""
    size = DATASETS.get(dataset)
    nodes, edges, dim = (size.nodes, 2 * size.edges, size.feature_dim) if size else (1000, 8000, 16)
    return GraphInfo(
        name=name, num_nodes=nodes, num_edges=edges, feature_dim=dim, feature_dtype="float16", num_classes=8,
        num_train=nodes // 2, num_valid=nodes // 4, num_test=nodes // 4,
        source=GraphSource(kind=kind, location="here"), sha256={f"{array}.npy": "0" for array in ARRAYS},
    )  # fmt: skip


def environment(device: str = "Test GPU") -> Environment:
    driver = "580.1" if "GPU" in device else ""
    return Environment(host="h", device=device, cores=16, python="3.12", torch="2.13.0", driver=driver)


def epoch(number: int, epoch_s: float, blocked_s: float, prepare_s: float, transfer_s: float) -> EpochFigures:
    return EpochFigures(
        epoch=number, batches=100, epoch_s=epoch_s, prepare_s=prepare_s, blocked_s=blocked_s, transfer_s=transfer_s,
        train_s=max(epoch_s - blocked_s, 0), unique_nodes=5e5, sampled_edges=6e5, loss=1 / (1 + number),
        learning_rate=0.003, valid_accuracy=0.5,
    )  # fmt: skip


@dataclass
class Trainings:
    """Records of a set of trainings."""

    graphs: list[GraphInfo] = field(default_factory=lambda: [graph("small")])
    settings: Settings = field(default_factory=lambda: settings_for({1: 1}, one={}))
    trainings: list[TrainingRun] = field(default_factory=list)
    inferences: list[InferenceRun] = field(default_factory=list)
    preparations: list[Preparation] = field(default_factory=list)
    selections: list[SelectionReason] = field(default_factory=list)
    shares: list[OperatorShare] = field(default_factory=list)
    rooflines: list[KernelTime] = field(default_factory=list)
    device: str = "Test GPU"

    def prepare(self, system: str, threads: int, batch_ms: float, graph: str = "small", **changes) -> None:
        """One time of a sampler."""
        values = {"unique_nodes": 5e5, "sampled_edges": 6e5, "batches": 100, "fanouts": "15,10,5", "batch_size": 1024}
        place = {"graph": graph, "system": system, "threads": threads, "batch_ms": batch_ms, "device": self.device}
        self.preparations.append(Preparation(**(values | place | changes)))

    def train(
        self, system: str, *epochs_s: float, training: str = "ladder", graph: str = "small", model: str = "sage",
        gpus: int = 1, seed: int = 0, blocked: float = 0.25, workers: int = 4,
        timeline: tuple[Span, ...] = (), **changes,
    ) -> TrainingRun:  # fmt: skip
        """One training; of each epoch's seconds the share `blocked` is spent waiting. A warm-up epoch goes before."""
        seconds = [WARMUP_FACTOR * epochs_s[0], *epochs_s]
        values = {
            "training": training, "graph": graph, "model": model, "system": system, "gpus": gpus, "seed": seed,
            "device": "cuda" if "GPU" in self.device else "cpu", "fanouts": FANOUTS[model], "batch_size": 1024,
            "hidden": 256, "precision": "float32", "threads": workers, "num_train": 500, "parameters": 1000,
            "epochs": tuple(epoch(at, s, blocked * s, 2 * s, 0.1 * s) for at, s in enumerate(seconds)),
            "peak_memory_bytes": 2**30 + seed, "timeline": timeline, "config_digest": "abcdef0123456789",
            "environment": environment(self.device), "trained_at": "2026-01-01T00:00:00Z",
        } | changes  # fmt: skip
        made = TrainingRun(**values)
        self.trainings.append(made)
        return made

    def infer(
        self,
        run: TrainingRun,
        nodes: int = 1000,
        split: str = "test",
        by_degree: tuple[DegreeFigures, ...] | None = None,
        **correct: int,
    ) -> None:
        """Inference with a training's checkpoint: `full=900` or `f20_20_20=890` right of `nodes`.

        Unless it is told, a tenth of both has one neighbour.
        """

        def degrees(right: int) -> tuple[DegreeFigures, ...]:
            few, hits = nodes // 10, right // 10
            return (
                DegreeFigures(low=1, high=1, nodes=few, correct=hits),
                DegreeFigures(low=8, high=15, nodes=nodes - few, correct=right - hits),
            )

        results = tuple(
            InferenceFigures(
                mode="layerwise" if name == "full" else "sampled",
                fanouts=() if name == "full" else tuple(int(part) for part in name[1:].split("_")),
                split=split, nodes=nodes, correct=right, inference_s=1.5,
                by_degree=degrees(right) if by_degree is None else by_degree,
            )
            for name, right in correct.items()
        )  # fmt: skip
        self.inferences.append(
            InferenceRun(
                training=run.training,
                graph=run.graph,
                model=run.model,
                system=run.system,
                gpus=run.gpus,
                seed=run.seed,
                device=run.device,
                results=results,
                environment=run.environment,
                inferred_at="2026-01-01T00:00:00Z",
            )
        )

    def records(self) -> RunRecords:
        return RunRecords(
            graphs=self.graphs, trainings=self.trainings, inferences=self.inferences, preparations=self.preparations,
            selections=self.selections, shares=self.shares, rooflines=self.rooflines,
        )  # fmt: skip

    def run(self) -> Run:
        """What the tables are made of."""
        provenance = Provenance.of(self.settings, "abc123")
        return run_of(self.settings, self.records(), provenance, published_dir=PUBLISHED, gpus=GPUS)

    def make(self, folder: Path) -> Path:
        """Write the tables and return their folder."""
        make_tables(self.run(), folder, folder / "pages")
        return folder


def spans(serial: bool, batches: int = 10, workers: int = 3) -> tuple[Span, ...]:
    """A timeline: one thing after the other, or prepared by workers ahead of the training loop."""
    found, clock = [], 2.0
    for batch in range(batches):
        if serial:
            stages = (("prepare", "worker0", 0.012), ("transfer", "main", 0.003), ("train", "gpu", 0.005))
            for stage, lane, duration in stages:
                found.append(Span(batch=batch, stage=stage, lane=lane, start_s=clock, duration_s=duration))
                if stage == "prepare":
                    found.append(Span(batch=batch, stage="blocked", lane="main", start_s=clock, duration_s=duration))
                clock += duration
        else:
            at = 2.0 + 0.005 * batch
            lane = f"worker{batch % workers}"
            found.append(Span(batch=batch, stage="prepare", lane=lane, start_s=at, duration_s=0.012))
            found.append(Span(batch=batch, stage="transfer", lane="copy", start_s=at + 0.012, duration_s=0.003))
            found.append(Span(batch=batch, stage="train", lane="gpu", start_s=at + 0.016, duration_s=0.0045))
            found.append(Span(batch=batch, stage="blocked", lane="main", start_s=at + 0.0155, duration_s=0.0002))
    return tuple(found)


def big_trainings() -> Trainings:
    """Two graphs, one of papers100M's size; the ladder, three seeds, several GPUs, four models, full-batch training."""
    made = Trainings(graphs=[graph("papers100m_like", "papers100M", kind="papers100m_like"), graph("facebook")])
    rungs = {"pyg": (9.0, 0.7), "plain": (8.0, 0.7), "fast_sampler": (5.0, 0.5), "shared_memory": (4.0, 0.3)}
    rungs |= {"pipelined": (2.6, 0.03)}
    for system, (seconds, blocked) in rungs.items():
        timeline = spans(serial=system in ("pyg", "plain")) if system != "pyg" else ()
        epochs = [seconds * factor for factor in (1.0, 1.05, 0.97, 1.02)]
        made.train(system, *epochs, graph="papers100m_like", blocked=blocked, workers=16, timeline=timeline)
    for gpus in (2, 4):
        made.train("pipelined", 2.8 / gpus, 2.9 / gpus, graph="papers100m_like", blocked=0.05, workers=16, gpus=gpus)
        made.train("plain", 9.0 / gpus, 9.5 / gpus, graph="papers100m_like", blocked=0.7, workers=16, gpus=gpus)
    for at, model in enumerate(("sage", "gat", "gin", "sage_ri")):
        for seed in range(5):
            common = {"graph": "facebook", "model": model, "seed": seed, "training": "accuracy"}
            run = made.train("pipelined", 0.5 + 0.1 * at, 0.5, **common)
            right = 900 + 10 * at + 2 * seed
            made.infer(run, f5_5_5=right - 20 + seed, f10_10_10=right - 6, f20_20_20=right - 1, full=right)
            whole = made.train("full_batch", 0.1, fanouts=(), batch_size=0, **common)
            made.infer(whole, full=right + 2)
    for threads in (1, 2, 4, 8, 16):
        made.prepare("salient", threads, 120.0 / threads**0.85, "papers100m_like")
        made.prepare("hone", threads, 36.0 / threads**0.95, "papers100m_like")
        made.prepare("pyg", threads, 300.0 / threads**0.7, "papers100m_like", sampled_edges=None)
    made.rooflines.append(kernel_time("draw, hop 1"))
    made.rooflines.append(kernel_time("note_loss", bytes=0, floor_us=0.0, floor_share=0.0))
    return made


def kernel_trainings() -> Trainings:
    """One operator in trainings with the builtin, with a selected kernel, and with one that could not be used."""
    common = {"definition": "graph_ops/level1/1_sample_neighbours", "where": "Test GPU", "workloads": 3}
    times = {"baseline_us": 80.0, "selected_us": 50.0, "solution": "abc"}
    made = Trainings(
        selections=[
            SelectionReason(operator="sample_neighbours", used="selected", reason="", **common, **times),
            SelectionReason(operator="gather_rows", used="builtin", reason="none of 3 solutions passed", **common),
        ],
        shares=[
            OperatorShare(
                operator="sample_neighbours", training=training, graph="small", model="sage", where="a CPU",
                operator_ms=4.0, prepare_ms=10.0, batches=8,
            )
            for training in ("selected", "broken")
        ],
    )  # fmt: skip
    made.train("pipelined", 1.0, 1.1, training="builtin", blocked=0.4, workers=2)
    reasons = {"selected": "", "broken": "it crashed: SIGSEGV"}
    for training, reason in reasons.items():
        used = KernelUse(
            operator="sample_neighbours", where="Test GPU", used="fell_back" if reason else "selected",
            solution="abc", reason=reason,
        )  # fmt: skip
        told = {"training": training, "kernels": "selected", "kernel_uses": (used,), "workers": 2}
        made.train("pipelined", *((1.0, 1.05) if reason else (0.9, 0.92)), blocked=0.3, **told)
    return made


def kernel_time(kernel: str, **changes) -> KernelTime:
    """One launch of the device system."""
    values = {
        "part": "step", "bytes": 4000, "flops": 0, "floor_us": 1.0, "measured_us": 4.0, "share": 0.5,
        "floor_share": 0.25, "floor_source": "copy at 4000 GB/s", "dataset": "papers100m_like", "training": "epoch",
        "device": "Test GPU", "driver": "580.1", "torch": "2.13.0",
    }  # fmt: skip
    return KernelTime(kernel=kernel, **{**values, **changes})
