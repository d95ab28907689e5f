"""What stands in a cell of a paper's table: the printed number, ours, or why there is none."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from hone.analysis.paper_numbers import Key, PublishedNumber
from hone.config.experiments import Experiment
from hone.config.settings import Settings
from hone.machine.hardware import GPU
from hone.tables.words import is_known

if TYPE_CHECKING:
    import pandas as pd

ON = "one_shot_on_"
"""How Table 14's experiments begin: the answers of `one_shot`, judged on the GPU that follows."""
NOT_ASKED, NOT_ON_LEVEL, NOT_TIMED, TOO_FEW = "not asked", "no problems", "not timed", "too few"
NOT_COUNTED, NO_RUN, NO_VERDICT, NOT_PRINTED = "not counted", "no run", "no verdict", "–"
WORDS = {
    NOT_ASKED: "no experiment asks that model in that way",
    NOT_ON_LEVEL: "the experiment takes no problem of that level",
    NOT_TIMED: "the config's `baselines` lack it",
    TOO_FEW: "the experiment has fewer answers or turns than that",
    NOT_COUNTED: "the config's `analysis.thresholds` lack that p",
    NO_RUN: "no verdicts on that GPU; `hone papers` joins the runs of several",
    NO_VERDICT: "none of the answers has a verdict yet",
    NOT_PRINTED: "the paper gives no number",
}
"""What stands in a cell without a number -> what it means."""


@dataclass(frozen=True)
class RunTables:
    """Tables of a run as they stand in its CSV files, by name, and the config that the run was made with."""

    name: str
    settings: Settings
    frames: Mapping[str, pd.DataFrame]


@dataclass(frozen=True)
class Found:
    """One of our shares, 0 to 1, with its interval; NaN where answers without a verdict leave bounds alone."""

    value: float
    low: float
    high: float
    n: int
    """Problems behind it; of an outcome, answers."""
    run: str
    source: str
    """Entry of the config's `sources` that the problems are of."""
    device: str
    statistic: str = ""
    """What a problem contributes, where that is not a single answer."""
    k: int | None = None
    """Samples or turns, where they are fewer than the paper's."""

    @property
    def text(self) -> str:
        """In percent, such as `36 (27–46)`."""
        if math.isnan(self.low):
            return _percent(self.value)
        if math.isnan(self.value) and (self.low, self.high) == (0, 1):
            return NO_VERDICT
        fewer = f" @{self.k}" if self.k else ""
        return f"{_percent(self.value)} ({_percent(self.low)}–{_percent(self.high)}){fewer}"


def _percent(share: float) -> str:
    return f"{100 * share:.0f}" if is_known(share) else "?"


class Printed:
    """What a paper printed, by table: the same number may differ by a point from one of its tables to the next."""

    def __init__(self, numbers: Iterable[PublishedNumber]) -> None:
        self._found = {(number.table, number.key): number for number in numbers}

    def find(self, key: Key, tables: Sequence[str]) -> PublishedNumber | None:
        """The number out of the first of the `tables` that has it."""
        found = (self._found.get((table, key)) for table in tables)
        return next((number for number in found if number is not None), None)


@dataclass(frozen=True)
class Labelled:
    """What a paper would call an experiment of ours with one of its models."""

    experiment: str
    model: str


class Data:
    """What pages are made of: printed numbers, facts of GPUs, and the tables of one or several runs.

    Where several runs have the same number, the first of them counts.
    """

    def __init__(self, runs: Sequence[RunTables], printed: Printed, gpus: Mapping[str, GPU]) -> None:
        self.runs, self.printed, self.gpus = runs, printed, gpus
        self._short = {gpu.device: name for name, gpu in gpus.items()}

    def gpu_of(self, device: str) -> str:
        """Short name of a GPU by its driver's name, such as `H100`; the device itself where the table lacks it."""
        return self._short.get(device, device)

    def find(self, key: Key, *, at_most: bool = False) -> Found | None:
        """Our number of a cell; with `at_most` that of fewer samples or turns, where there are no more."""
        if at_most and key not in self.found and key.k_or_turn:
            fewer = (_at(key, k) for k in range(key.k_or_turn - 1, 0, -1))
            return next((replace(self.found[each], k=each.k_or_turn) for each in fewer if each in self.found), None)
        return self.found.get(key)

    def rows(self, table: str, *experiments: str, every_run: bool = False, **wanted: Any) -> pd.DataFrame:
        """Rows of a table whose experiments the paper would call so; `wanted`: values of columns.

        `model` is the paper's name where it has one. Of several runs that asked a model in the same way only the first
        one's rows are there, unless `every_run`.
        """
        import pandas as pd

        parts: list[pd.DataFrame] = []
        known: set[Labelled] = set()
        for run in self.runs:
            frame = run.frames[table]
            names = [self.labelled(run, *pair) for pair in zip(frame["experiment"], frame["model"], strict=True)]
            frame = frame.assign(model=[name.model for name in names])
            of_these = [name.experiment in experiments and (every_run or name not in known) for name in names]
            known.update(names)
            keep = pd.Series(of_these, index=frame.index, dtype=bool)
            for column, value in wanted.items():
                keep &= frame[column] == value
            parts.append(frame[keep])
        return pd.concat(parts, ignore_index=True)

    def labelled(self, run: RunTables, experiment: str, model: str) -> Labelled:
        """The paper's names where the config says `published_as`, and of other experiments what they amount to."""
        entry = run.settings.experiments[experiment]
        if entry.published_as:
            return Labelled(entry.published_as, run.settings.analysis.model_names.get(model, model))
        return Labelled(_amounts_to(entry), self._own_labels[run.name, experiment, model])

    @cached_property
    def _own_labels(self) -> Mapping[tuple[str, str, str], str]:
        """(Run, experiment, model) -> the model's name, with what tells it from another experiment's in the place."""
        taken: dict[tuple[str, str, bool], str] = {}
        found = {}
        for run in self.runs:
            for name, entry in run.settings.experiments.items():
                for model in entry.models:
                    place = (_amounts_to(entry), model, entry.samples > 1)
                    same = taken.setdefault(place, name) == name
                    found[run.name, name, model] = model if same or entry.published_as else f"{model} ({name})"
        return found

    @cached_property
    def found(self) -> dict[Key, Found]:
        """All our numbers, by what the paper would call them."""
        found: dict[Key, Found] = {}
        for run in self.runs:
            # A single answer goes before the mean of several samples.
            for key, number in sorted(self._numbers(run), key=lambda pair: bool(pair[1].statistic)):
                found.setdefault(key, number)
        return found

    def _numbers(self, run: RunTables) -> Iterator[tuple[Key, Found]]:
        for table, row in _counted(run.frames):
            name = self.labelled(run, row["experiment"], row["model"])
            number = _found(row, run)
            for key in _keys(table, row, name):
                yield key, number
                if key.experiment == "one_shot":
                    yield key._replace(experiment=f"{ON}{self.gpu_of(row['device']).lower()}"), number

    def why_not(self, key: Key) -> str:
        """Why there is no number of ours for a cell: one of WORDS."""
        asked = self._by_experiment.get((key.experiment, key.model), ())
        if not asked:
            if key.k_or_turn and self.find(key, at_most=True):
                return TOO_FEW
            elsewhere = key.experiment.startswith(ON) and self._by_experiment.get(("one_shot", key.model))
            return NO_RUN if elsewhere else NOT_ASKED
        here = [other for other in asked if other.level == key.level]
        if not here:
            return NOT_ON_LEVEL
        if key.k_or_turn not in {other.k_or_turn for other in here if other.metric == key.metric}:
            return TOO_FEW
        return NOT_TIMED if key.p in {other.p for other in here} else NOT_COUNTED

    @cached_property
    def _by_experiment(self) -> dict[tuple[str, str], list[Key]]:
        found: dict[tuple[str, str], list[Key]] = defaultdict(list)
        for key in self.found:
            found[key.experiment, key.model].append(key)
        return found


def _at(key: Key, k: int) -> Key:
    """The same of other so many samples or turns."""
    experiment = f"repeated_{k}" if key.experiment.startswith("repeated_") else key.experiment
    return key._replace(experiment=experiment, k_or_turn=k)


def _amounts_to(entry: Experiment) -> str:
    """The paper's experiment that asks in the same way, by the names of resources/published."""
    if entry.method == "refine":
        return "refine_g" + "".join(name[0] for name in entry.feedback)
    return f"hardware_{entry.hardware.lower()}" if entry.hardware else entry.method


def _counted(frames: Mapping[str, pd.DataFrame]) -> Iterator[tuple[str, Mapping[Any, Any]]]:
    """Rows with a share over all problems, each with the name of its table."""
    for table in ("kernelbench_fast_p", "kernelbench_sampling", "kernelbench_refinement", "kernelbench_errors"):
        for row in frames[table].to_dict("records"):
            if row.get("subset", "all") == "all":
                yield table, row


def _keys(table: str, row: Mapping[Any, Any], name: Labelled) -> Iterator[Key]:
    place = (name.model, row["level"])
    if table == "kernelbench_errors":
        if row["turn"] == 0:
            yield Key(name.experiment, *place, f"category:{row['category']}")
        return
    p, baseline = row["p"], row["baseline"] if row["p"] else ""
    if table == "kernelbench_sampling":
        yield Key(f"repeated_{row['k']}", *place, "fast_p@k", p, row["k"], baseline)
    elif table == "kernelbench_refinement":
        yield Key(name.experiment, *place, "fast_p@turn", p, row["turn"] + 1, baseline)
    elif "turns" not in row["statistic"]:
        yield Key(name.experiment, *place, "fast_p", p, None, baseline)


def _found(row: Mapping[Any, Any], run: RunTables) -> Found:
    place = (run.name, run.settings.experiments[row["experiment"]].source, row["device"])
    if "share" in row:
        return Found(row["share"], math.nan, math.nan, row["answers"], *place)
    statistic = row.get("statistic", "")
    said = "" if statistic == "single answer" else statistic
    return Found(row["fast_p"], row["ci_low"], row["ci_high"], row["n"], *place, said)
