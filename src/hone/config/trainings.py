"""What `trainings:` of the config may say; where it says nothing, a model's published hyper-parameters stand."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Mapping
from typing import Annotated, Literal, NamedTuple, Self

from pydantic import Field, model_validator

from hone.config.models import FAMILIES, Fanouts, GNNModel, HyperParameters
from hone.config.section import Section
from hone.core.errors import closest
from hone.records.gnn import Kernels, Place, Split, System

Precision = Literal["float32", "bfloat16"]
Placement = Literal["auto", Place]
Convolutions = Literal["pyg", "torch"]
SAMPLING = "sample_neighbours"
"""The operator that the compiled sampler can take from elsewhere: its inner loop."""
OPERATORS: dict[System, tuple[str, ...]] = {
    "fast_sampler": (SAMPLING,), "shared_memory": (SAMPLING,), "pipelined": (SAMPLING,),
    "device": ("draw_neighbours", "mean_of_features", "mean_of_states", "gradient_of_states"),
}  # fmt: skip
"""System -> titles of the operators whose kernels it can take from a campaign."""
PEERS: tuple[System, ...] = ("full_batch", "pyg", "pyg_gpu", "wholegraph")
"""Systems with other people's layers, PyTorch Geometric's if nothing else is said; they train in one process."""
OTHER_LAYERS: tuple[System, ...] = ("pyg_gpu", "wholegraph")
"""Peers that can train on PyTorch's operators instead, see `convolutions`."""
PREPARED: tuple[System, ...] = ("plain", "fast_sampler", "shared_memory", "pipelined")
"""Systems whose batches are prepared on a CPU, for layers of ours: SALIENT's ladder."""
MAX_DEVICE_FANOUT = 32
"""Of the system `device`: its kernels keep what they draw in registers."""


class Plateau(Section):
    """Adam's learning rate falls when the loss of a step has not been the lowest for many steps."""

    factor: float = Field(0.8, gt=0, lt=1)
    patience: int = Field(125, ge=0)
    """Steps."""


class Overrides(Section):
    """Hyper-parameters that replace the published ones; those left out stay."""

    hidden: int | None = Field(None, ge=1)
    fanouts: Fanouts | None = None
    """Of training, from the seeds outwards, -1 for every neighbour; their number is the number of layers."""
    batch_size: int | None = Field(None, ge=1)
    """Seeds of one process."""
    lr: float | None = Field(None, gt=0)
    dropout: float | None = Field(None, ge=0, lt=1)
    weight_decay: float | None = Field(None, ge=0)
    epochs: int | None = Field(None, ge=1)
    """Passes over the training nodes; steps, for `full_batch`."""
    patience_epochs: int | None = Field(None, ge=1)
    """Training stops when so many validations in a row brought no higher accuracy."""
    validation_fanouts: Fanouts | None = None
    inference_fanouts: Fanouts | None = None
    inference_batch_size: int | None = Field(None, ge=1)
    scaled_sums: bool | None = None
    """For `gin`: a sum over drawn neighbours is multiplied with degree / drawn, so that on average it is the sum over
    all; in training and in inference on samples. SALIENT leaves sums as they are, which is the default."""


class Validation(Section):
    """How accuracy is followed while a model is trained."""

    every_epochs: int = Field(1, ge=1)
    layerwise: bool = False
    """With full neighbourhoods, layer by layer, instead of sampled; `full_batch` always does."""


class Inference(Section):
    """What is measured with the trained model."""

    fanouts: tuple[Fanouts, ...] = ()
    """Each is one sampled inference; empty: the model's published one."""
    layerwise: bool = False
    """Also with full neighbourhoods, layer by layer over all nodes."""
    splits: tuple[Split, ...] = ("valid", "test")
    seed: int = 0
    """Of the sampler."""


class Training(Overrides):
    """Models trained on graphs by one or several systems."""

    graphs: tuple[str, ...] = Field(min_length=1)
    """Names of entries of `graphs`."""
    models: tuple[GNNModel, ...] = Field(("sage",), min_length=1)
    systems: tuple[System, ...] = Field(("pipelined",), min_length=1)
    """Rungs of the ladder. `plain`: worker processes, sampling in Python. `fast_sampler`: the same with the compiled
    sampler. `shared_memory`: threads prepare whole batches in pinned memory. `pipelined`: they also copy ahead.
    `device`: graph, features and sampling in the GPU's memory. For comparison: `pyg`, PyTorch Geometric's loader;
    `pyg_gpu`, PyTorch's operators sample on the device; `wholegraph`, NVIDIA's, of the extra `peers`; `full_batch`."""
    gpus: tuple[int, ...] = Field((1,), min_length=1)
    """Processes that train together."""
    nodes: tuple[Annotated[int, Field(ge=1)], ...] = Field((1,), min_length=1)
    """Hosts that share these processes evenly: one number for all of `gpus`, or one for each. Several run on Slurm."""
    seeds: tuple[int, ...] = Field((0,), min_length=1)
    tuned: dict[str, Overrides] = Field(default_factory=dict)
    """`<graph>`, `<model>` or `<graph>/<model>` -> what differs there; the last of these that fits wins."""
    device: Literal["cpu", "cuda"] = "cpu"
    precision: Precision = "float32"
    """`bfloat16`: matrix products and hidden states, by autocast; parameters and sums stay float32."""
    threads: int = Field(2, ge=0)
    """That prepare batches, or worker processes; of each training process."""
    compute_threads: int = Field(1, ge=1)
    """Of PyTorch, on a CPU, in each training process. Fixed here, since rounding depends on their number."""
    slots: int | None = Field(None, ge=4)
    """Batches that are prepared ahead at most. If left out: two for each thread and at least eight. They come in order:
    with few more than there are threads, a slow one holds up the others. Each takes the memory of a batch."""
    kernels: Kernels = "builtin"
    """`selected`: operators run the fastest kernels that the experiments on `kernels_from` found for this machine."""
    kernels_from: str | None = None
    """Entry of `sources` that holds the operators; for `kernels: selected` alone."""
    plateau: Plateau | None = Plateau()
    validation: Validation | None = Validation()
    """`null`: none, and the last epoch's parameters are kept instead of the best one's."""
    inference: Inference = Inference()
    max_batches: int | None = Field(None, ge=1)
    """An epoch ends after so many batches; for times alone, where a whole epoch would take too long."""
    deterministic: bool = False
    """For `device`: the same bits every time, also on a GPU. It sorts what gradients are summed over."""
    placement: Placement = "auto"
    """For `device`. `gpu`: graph and features in the GPU's memory. `sharded`: features spread over the GPUs of one
    machine. `host_features`: features in page-locked host memory, the likeliest rows on the GPU, too. `host`: the
    edges there as well. `auto`: the first of these that fits what is free. Batches are the same everywhere."""
    captured: bool = False
    """Of systems that prepare batches on a CPU, and of `pyg_gpu` and `wholegraph` with `convolutions: torch`, on one
    GPU: a step is one launch of a CUDA graph, on a batch that is filled up to a fixed size. The host then asks for a
    few copies instead of some hundred operators. For models without batch normalisation."""
    convolutions: Convolutions = "pyg"
    """Of `pyg_gpu` and `wholegraph`: PyTorch Geometric's layers, or with `torch`, for `sage`, PyTorch's own operators,
    of which a step asks the host for fewer. Hosts are what such steps wait for."""
    timeline_batches: int = Field(12, ge=0)
    """Batches of the last epoch whose spans are kept for the figure."""

    @model_validator(mode="after")
    def _possible_systems(self) -> Self:
        for system in PEERS:
            if system in self.systems and self.gpus != (1,):
                raise ValueError(f"{system} trains in one process: write gpus: [1]")
        if "wholegraph" in self.systems and self.device != "cuda":
            raise ValueError("systems: wholegraph samples on a GPU: write device: cuda")
        if self.deterministic and self.systems != ("device",):
            raise ValueError("deterministic: only device knows it: give it a training of its own")
        return self

    @model_validator(mode="after")
    def _possible_capture(self) -> Self:
        if not self.captured:
            return self
        if self.device != "cuda" or self.gpus != (1,):
            raise ValueError("captured: a step of one process on a GPU: write device: cuda, gpus: [1]")
        for system in self.systems:
            self._require_capturable(system)
        for model in self.models:
            if FAMILIES[model].normalises:
                raise ValueError(f"captured: {model} normalises over the rows of a batch: leave it out of models")
        return self

    def _require_capturable(self, system: System) -> None:
        if system in OTHER_LAYERS:
            if self.convolutions == "pyg":  # they make the host wait for sizes, which a capture forbids
                said = f"of PyTorch Geometric's layers, which {system} has, no step can be captured"
                raise ValueError(f"captured: {said}: write convolutions: torch, in a training of their own")
        elif system not in PREPARED:
            known = ", ".join((*PREPARED, *OTHER_LAYERS))
            raise ValueError(f"captured: not {system}'s steps: give {known} a training of their own")

    @model_validator(mode="after")
    def _possible_convolutions(self) -> Self:
        if self.convolutions == "pyg":
            return self
        if others := [system for system in self.systems if system not in OTHER_LAYERS]:
            known = " and ".join(OTHER_LAYERS)
            raise ValueError(f"convolutions: torch is for {known}: give {others[0]} a training of its own")
        if self.models != ("sage",):
            raise ValueError("convolutions: torch knows sage alone: give the other models a training of their own")
        return self

    @model_validator(mode="after")
    def _possible_nodes(self) -> Self:
        if len(self.nodes) not in (1, len(self.gpus)):
            raise ValueError(
                f"nodes: {len(self.nodes)} numbers for {len(self.gpus)} of gpus: write one, or one for each"
            )
        for gpus in self.gpus:
            if gpus % self.hosts(gpus):
                raise ValueError(f"nodes: {gpus} processes cannot be shared evenly by {self.hosts(gpus)} hosts")
        return self

    @model_validator(mode="after")
    def _possible_placement(self) -> Self:
        if self.placement == "auto":
            return self
        if "device" not in self.systems:
            raise ValueError(f"placement: {self.placement}: only systems: device knows it")
        if self.placement == "sharded" and 1 in self.gpus:
            raise ValueError("placement: sharded spreads features over several GPUs: leave 1 out of gpus")
        if self.placement == "sharded" and max(self.nodes) > 1:
            raise ValueError("placement: sharded spreads features over the GPUs of one host: write nodes: [1]")
        if self.placement != "gpu" and self.kernels == "selected":
            raise ValueError(
                "kernels: selected read features of one GPU's memory: write placement: gpu, or leave it out"
            )
        return self

    @model_validator(mode="after")
    def _device_system(self) -> Self:
        if "device" not in self.systems:
            return self
        if (self.device, self.precision) != ("cuda", "bfloat16"):
            raise ValueError("systems: device computes in bfloat16 on a GPU: write device: cuda, precision: bfloat16")
        for graph, model in itertools.product(self.graphs, self.models):
            hyper = self.hyper(graph, model)
            for name, fanout in self._drawn(hyper):
                if not 1 <= fanout <= MAX_DEVICE_FANOUT:
                    said = f"draws 1 to {MAX_DEVICE_FANOUT} neighbours of a node, not {fanout}"
                    raise ValueError(f"systems: device {said}: write other {name} for {model}")
            if hyper.hidden % 8:
                raise ValueError(f"systems: device needs a multiple of 8 as hidden, not {hyper.hidden}")
        return self

    def _drawn(self, hyper: HyperParameters) -> Iterator[tuple[str, int]]:
        """Every fan-out that is drawn, with the name of its list."""
        used = [("fanouts", hyper.fanouts)]
        if self.validation is not None and not self.validation.layerwise:
            used.append(("validation_fanouts", hyper.validation_fanouts))
        if self.inference.splits:
            used += [("inference.fanouts", hops) for hops in self.inference.fanouts]
            used += [] if self.inference.fanouts else [("inference_fanouts", hyper.inference_fanouts)]
        for name, hops in used:
            yield from ((name, fanout) for fanout in hops)

    @model_validator(mode="after")
    def _selected_kernels(self) -> Self:
        if (self.kernels == "selected") != (self.kernels_from is not None):
            raise ValueError("kernels: selected needs kernels_from: <source of the operators>, and nothing else does")
        if self.kernels == "selected" and "device" in self.systems and self.models != ("sage",):
            raise ValueError("kernels: selected: device runs operators for sage alone: give the others a training each")
        without = [system for system in self.systems if system not in OPERATORS]
        if self.kernels == "selected" and without:
            raise ValueError(
                f"kernels: selected: {without[0]} runs no operator; systems that do: {', '.join(OPERATORS)}"
            )
        return self

    @model_validator(mode="after")
    def _scaled_sums(self) -> Self:
        jobs = itertools.product(self.graphs, self.models)
        wanted = {model for graph, model in jobs if self.hyper(graph, model).scaled_sums}
        if without := sorted(model for model in wanted if not FAMILIES[model].sums):
            summing = " or ".join(name for name, known in FAMILIES.items() if known.sums)
            raise ValueError(f"scaled_sums: {without[0]} does not sum; write it under tuned: {summing}:")
        for peer in PEERS:
            if wanted and peer in self.systems and peer != "full_batch":  # whose sums are whole
                raise ValueError(
                    f"scaled_sums: {peer} sums by itself, without factors; give {peer} a training of its own"
                )
        return self

    @model_validator(mode="after")
    def _depths(self) -> Self:
        for graph, model in itertools.product(self.graphs, self.models):
            depth = len(self.hyper(graph, model).fanouts)
            wrong = next((fanouts for fanouts in self.inference.fanouts if len(fanouts) != depth), None)
            if wrong is not None:
                raise ValueError(f"{model} on {graph} has {depth} layers, but inference.fanouts has {list(wrong)}")
        return self

    def hosts(self, gpus: int) -> int:
        """How many share that many processes; one for a number that is not in `gpus`."""
        nodes = self.nodes * len(self.gpus) if len(self.nodes) == 1 else self.nodes
        return dict(zip(self.gpus, nodes, strict=True)).get(gpus, 1)

    def hyper(self, graph: str, model: GNNModel) -> HyperParameters:
        """What a model is trained with on a graph: published, then the training's own, then what is tuned."""
        values = FAMILIES[model].published.model_dump()
        tuned = (self.tuned.get(key, Overrides()) for key in (graph, model, f"{graph}/{model}"))
        for layer in (self, *tuned):
            said = {name: getattr(layer, name) for name in Overrides.model_fields}
            values |= {name: value for name, value in said.items() if value is not None}
        return HyperParameters.model_validate(values)


class TrainingKey(NamedTuple):
    """What a training job's files are named by."""

    training: str
    graph: str
    model: GNNModel
    system: System
    gpus: int
    seed: int


def training_keys(trainings: Mapping[str, Training]) -> Iterator[TrainingKey]:
    """Every job of the config, in its order."""
    for name, item in trainings.items():
        jobs = itertools.product(item.graphs, item.models, item.systems, item.gpus, item.seeds)
        for graph, model, system, gpus, seed in jobs:
            yield TrainingKey(name, graph, model, system, gpus, seed)


def check_trainings(
    trainings: Mapping[str, Training], graphs: Mapping[str, object], operators: Collection[str]
) -> None:
    """Raise ValueError where a training names a graph, or tunes for one, or a source that the config lacks.

    `operators`: sources of existing kernels.
    """
    for name, item in trainings.items():
        if item.kernels_from is not None and item.kernels_from not in operators:
            said = (
                f"'{item.kernels_from}' is not a source of kind: kernels{closest(item.kernels_from, iter(operators))}"
            )
            raise ValueError(f"trainings.{name}.kernels_from: {said}")
        for graph in item.graphs:
            if graph not in graphs:
                said = f"'{graph}' is not in graphs{closest(graph, iter(graphs))}"
                raise ValueError(f"trainings.{name}.graphs: {said}")
        fitting = {*item.graphs, *item.models, *(f"{g}/{m}" for g in item.graphs for m in item.models)}
        for key in item.tuned:
            if key not in fitting:
                raise ValueError(f"trainings.{name}.tuned: '{key}' is no graph, model or graph/model of this training")
