"""All files of a config, and what tables and pages are made of."""

from __future__ import annotations

from hone.config.settings import Settings
from hone.file_map.experiments import ExperimentFiles
from hone.file_map.kinds import Kinds
from hone.file_map.paths import Paths
from hone.file_map.trainings import TrainingFiles


class FileMap:
    """A config's files, all in the folder of its run."""

    def __init__(self, settings: Settings, results: str) -> None:
        """`results` is the folder of the run, such as `results/paper`."""
        self.settings = settings
        self.paths = Paths(results)
        self.kinds = Kinds.of(settings)
        self.experiments = ExperimentFiles(settings, self.paths, self.kinds)
        self.trainings = TrainingFiles(settings, self.paths)

    def table_records(self) -> dict[str, list[str]]:
        """What tables and explorer are made of, by the fields of `hone.analysis.run.RunRecords`."""
        paths, kinds, every = self.paths, self.kinds, self.experiments.every
        everyone = list(self.settings.experiments)
        used = {(item.source, level) for item in self.settings.experiments.values() for level in item.levels}
        levels = sorted(used)
        return {
            "definitions": [paths.level("definitions", *level) for level in levels],
            "unsupported": [paths.unsupported(*level) for level in levels],
            "workloads": [paths.level("workloads", *level) for level in levels],
            "candidates": every("candidates", everyone),
            "solutions": every("solutions", everyone),
            "searches": every("searches", kinds.tuned),
            "claims": every("claims", kinds.archived),
            "builds": every("builds", everyone),
            "traces": every("traces", kinds.not_rounds),
            "suites": every("suites", kinds.rounds),
            "suite_traces": every("traces", kinds.rounds),
            "evaluations": every("evaluations", kinds.rounds),
            "answers": every("answers", kinds.prompted),
            **self._training_records(),
        }

    def _training_records(self) -> dict[str, list[str]]:
        paths, trainings = self.paths, self.trainings
        return {
            "selections": trainings.selection_reasons,
            "shares": trainings.shares,
            "graphs": [paths.graph(graph) for graph in trainings.graphs],
            "trainings": trainings.every("training"),
            "inferences": trainings.every("inference"),
            "preparations": [paths.preparation(graph) for graph in trainings.compared_graphs],
            "rooflines": [paths.roofline(graph) for graph in trainings.measured],
        }

    def page_records(self, experiment: str) -> dict[str, list[str]]:
        """What the pages of one experiment with rounds are made of, by the same fields."""
        item, every = self.settings.experiments[experiment], self.experiments.every
        levels = [(item.source, level) for level in sorted(set(item.levels))]
        stages = ("candidates", "solutions", "builds", "evaluations", "answers", "suites")
        return {
            "definitions": [self.paths.level("definitions", *level) for level in levels],
            "unsupported": [self.paths.unsupported(*level) for level in levels],
            "workloads": [self.paths.level("workloads", *level) for level in levels],
            **{stage: every(stage, [experiment]) for stage in stages},
            "suite_traces": every("traces", [experiment]),
        }
