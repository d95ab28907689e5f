"""The jobs of graphs and trainings and their files."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path

from hone.config.graphs import PublishedGraph
from hone.config.settings import Settings
from hone.config.trainings import OPERATORS, TrainingKey, training_keys
from hone.file_map.paths import Paths
from hone.records.gnn import System
from hone.sources.extraction.names import numbers_in


class TrainingFiles:
    """Jobs and files of a config's graphs and trainings."""

    def __init__(self, settings: Settings, paths: Paths) -> None:
        self._settings = settings
        self._paths = paths
        self.keys = list(training_keys(settings.trainings))

    def every(self, stage: str) -> list[str]:
        """The records of `training`, or of `inference` where a training asks for any."""
        keys = self.keys if stage == "training" else self.inferred
        return [self._paths.training(stage, key) for key in keys]

    @property
    def inferred(self) -> list[TrainingKey]:
        """Jobs whose training asks for inference."""
        return [key for key in self.keys if self._settings.trainings[key.training].inference.splits]

    @property
    def graphs(self) -> list[str]:
        """Graphs that something is trained on."""
        return sorted({key.graph for key in self.keys})

    @property
    def compared_graphs(self) -> list[str]:
        """Graphs on which systems are compared: there batch preparation is measured alone, too."""
        trainings = self._settings.trainings.values()
        return sorted({graph for item in trainings if len(item.systems) > 1 for graph in item.graphs})

    @cached_property
    def measured(self) -> dict[str, TrainingKey]:
        """Graph -> the last training of a SAGE that the device system does there: its kernels are measured."""
        keys = [key for key in self.keys if key.system == "device" and key.model == "sage" and key.gpus == 1]
        return {key.graph: key for key in keys}

    @cached_property
    def operators(self) -> Mapping[str, Mapping[str, int]]:
        """Source that trainings take kernels from -> operator -> number, by the names of its entries."""
        sources = {item.kernels_from for item in self._settings.trainings.values() if item.kernels_from is not None}
        # The config is checked: these are sources of existing kernels, which have a folder.
        folders = {name: Path(self._settings.sources[name].path) for name in sorted(sources)}  # type: ignore[union-attr]
        return {name: numbers_in(folder) for name, folder in folders.items()}

    @property
    def selection_reasons(self) -> list[str]:
        """Why each operator has the kernel that it has."""
        found = self.operators.items()
        return [self._paths.selection_reasons(source, name) for source, names in found for name in names]

    @property
    def shares(self) -> list[str]:
        """Shares of operators, for trainings that take kernels from campaigns and prepare batches on a CPU."""
        trainings = self._settings.trainings
        keys = [key for key in self.keys if trainings[key.training].kernels == "selected" and key.system != "device"]
        return sorted({self._paths.shares(key.training, key.graph, key.model) for key in keys})

    def selected(self, training: str, system: System) -> list[tuple[str, str]]:
        """(source, operator) of each kernel that a training takes from a campaign."""
        item = self._settings.trainings[training]
        if item.kernels != "selected" or item.kernels_from is None:
            return []
        return [(item.kernels_from, name) for name in OPERATORS.get(system, ())]

    def graph_inputs(self, graph: str) -> list[str]:
        """What a graph is made of: files of a folder, a download, or nothing."""
        entry = self._settings.graphs[graph]
        if not isinstance(entry, PublishedGraph):
            return []
        if entry.local is None:
            return [self._paths.downloaded_graph(graph)]
        if entry.local.is_file():
            return [str(entry.local)]
        return sorted(str(path) for path in entry.local.rglob("*") if path.is_file())
