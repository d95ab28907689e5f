"""Pages about single kernels: how far their speedups spread, and which problems they are about."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hone.analysis.plotting import distinct
from hone.analysis.render import number
from hone.tables.paper.grid import Labels, Section, frame_or_nothing
from hone.tables.paper.numbers import NO_RUN, NOT_ASKED, WORDS, Data
from hone.tables.words import is_known

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Drawn

NO_KERNEL, NOT_STATED = "no correct kernel", "not stated"
WORDS_OF_SPEEDS = {NO_KERNEL: "no correct kernel with a time to the problem", **WORDS}
EAGER = "torch_eager"
QUARTILES = {"lowest": 0.0, "lower quartile": 0.25, "median": 0.5, "upper quartile": 0.75, "highest": 1.0}
NUMBER = re.compile(r"/level\d+/(\d+)")


def speedups(data: Data, experiment: str, levels: Sequence[str], *, every_run: bool = False) -> pd.DataFrame:
    """Correct kernels of an experiment over PyTorch eager, without those of a doubtful time."""
    credited = {"baseline": EAGER, "findings": "", "turn": 0}
    found = data.rows("kernelbench_speedups", experiment, every_run=every_run, **credited)
    return found[found["level"].isin(levels)]


def _none(data: Data, experiment: str) -> str:
    asked = len(data.rows("kernelbench_errors", experiment))
    why = "no such problem has a correct kernel with a time beyond doubt" if asked else "no experiment asks in this way"
    return f"No line of ours: {why}."


def _cell(speedup: float, asked: bool) -> str:
    return number(speedup) if is_known(speedup) else NO_KERNEL if asked else NOT_ASKED


@dataclass(frozen=True, kw_only=True)
class Spread:
    """Quartiles of the speedups of correct kernels, by model and level."""

    experiment: str
    levels: Labels

    def sections(self, data: Data) -> Iterator[Section]:
        """One."""
        found, lines = speedups(data, self.experiment, self.levels), []
        for (model, level), rows in found.groupby(["model", "level"], sort=False):
            values = rows["speedup"].quantile(list(QUARTILES.values()))
            lines.append(((str(model), f"Level {level}"), (str(len(rows)), *map(number, values))))
        notes = () if lines else (_none(data, self.experiment),)
        yield Section("", ("model", "level"), (("kernels",), *((name,) for name in QUARTILES)), tuple(lines), notes)


@dataclass(frozen=True, kw_only=True)
class Problems:
    """The speedup of each problem's kernel by each of some experiments; the best of several samples."""

    experiments: dict[str, str]
    """Heading -> the paper's experiment."""
    levels: Labels
    only: str = ""
    """Pattern of the problems' names; empty: all."""
    faster: bool = False
    """Only problems with a kernel that is faster than PyTorch eager."""

    def sections(self, data: Data) -> Iterator[Section]:
        """One."""
        wide, asked = self._wide(data), self._asked(data)
        lines = tuple(
            ((str(model), str(problem)), tuple(map(_cell, row, (model in asked[name] for name in wide.columns))))
            for (model, problem), row in zip(wide.index, wide.to_numpy(), strict=True)
        )
        notes = list(self._compared(wide, asked)) if lines else [_none(data, next(iter(self.experiments.values())))]
        yield Section("", ("model", "problem"), tuple((name,) for name in wide.columns), lines, tuple(notes))

    def _asked(self, data: Data) -> dict[str, set[str]]:
        """Heading -> the models that were asked in that way."""
        return {
            heading: set(data.rows("kernelbench_errors", experiment)["model"])
            for heading, experiment in self.experiments.items()
        }

    def _compared(self, wide: pd.DataFrame, asked: dict[str, set[str]]) -> Iterator[str]:
        """Of models that were asked in both of two ways, on how many problems the second is the better one."""
        if len(self.experiments) == 2:
            one, other = wide.columns
            both = wide[[model in asked[one] & asked[other] for model, _ in wide.index]]
            if len(both):
                more = int((both[other] > both[one].fillna(0)).sum())
                yield f"`{other}` is faster than `{one}`, or alone correct, on {more} of {len(both)} lines."

    def _wide(self, data: Data) -> pd.DataFrame:
        """Speedups, indexed by (model, problem), a column an experiment; NaN where no kernel is correct and timed."""
        import pandas as pd

        parts = [
            speedups(data, experiment, self.levels).assign(heading=heading)
            for heading, experiment in self.experiments.items()
        ]
        found = pd.concat(parts, ignore_index=True)
        found = found[found["definition"].str.contains(self.only, case=False, regex=True)]
        wide = found.pivot_table(index=["model", "definition"], columns="heading", values="speedup", aggfunc="max")
        wide = wide.reindex(columns=list(self.experiments))
        return _in_order(wide[wide.max(axis=1) > 1] if self.faster else wide)


@dataclass(frozen=True, kw_only=True)
class AcrossGpus:
    """The speedup of the same kernels on each GPU; needs runs on at least two."""

    experiment: str
    levels: Labels

    def sections(self, data: Data) -> Iterator[Section]:
        """One."""
        found = self.rows(data)
        gpus = distinct(found["gpu"])
        if len(gpus) < 2:
            known = f"the only device here is {gpus[0]}" if gpus else "there is no kernel with a time"
            yield Section("", (), (), (), (f"{NO_RUN} ({WORDS[NO_RUN]}): {known}.",))
            return
        wide = found.pivot_table(index=["model", "definition"], columns="gpu", values="speedup", aggfunc="max")[gpus]
        lines = tuple(
            ((str(model), str(problem)), tuple(_cell(value, True) for value in row))
            for (model, problem), row in zip(_in_order(wide).index, _in_order(wide).to_numpy(), strict=True)
        )
        yield Section("", ("model", "problem"), tuple((gpu,) for gpu in gpus), lines)

    def rows(self, data: Data) -> pd.DataFrame:
        """Speedups of all runs, with the column `gpu`."""
        found = speedups(data, self.experiment, self.levels, every_run=True)
        return found.assign(gpu=[data.gpu_of(device) for device in found["device"]])

    def draw(self, data: Data) -> Drawn:
        """A mark for each kernel, a line of marks for each GPU."""
        from hone.analysis.kernelbench_figures import speedups_figure

        found = self.rows(data)
        what = "runs on one device alone"
        several = frame_or_nothing(found if found["gpu"].nunique() > 1 else found.head(0), what)
        return speedups_figure(several.assign(experiment=several["model"], model=several["gpu"]))


def _in_order(wide: pd.DataFrame) -> pd.DataFrame:
    """By model, then by the problem's number."""
    numbers = [int(found[1]) if (found := NUMBER.search(name)) else 0 for _, name in wide.index]
    order = sorted(range(len(wide)), key=lambda at: (wide.index[at][0], numbers[at]))
    return wide.iloc[order]


@dataclass(frozen=True)
class Hardware:
    """What resources/hardware/gpus.yaml says of GPUs."""

    gpus: Labels

    def sections(self, data: Data) -> Iterator[Section]:
        """One."""
        used = {data.gpu_of(device) for run in data.runs for device in run.frames["kernelbench_fast_p"]["device"]}
        columns = ("product", "architecture", "memory, GB", "memory, GB/s", "FP16 tensor, TFLOPS", "power, W", "here")
        lines = []
        for name in self.gpus:
            gpu = data.gpus[name]
            optional = [number(value) if value else NOT_STATED for value in (gpu.fp16_tensor_tflops, gpu.tdp_w)]
            facts = (gpu.product, gpu.architecture, str(gpu.memory_gb), str(gpu.memory_bandwidth_gb_per_s), *optional)
            lines.append(((name,), (*facts, "judged on it" if name in used else NO_RUN)))
        others = sorted(used - set(self.gpus) - {""})
        notes = (f"This run was judged on {', '.join(others)}, which is none of these.",) if others else ()
        yield Section("", ("GPU",), tuple((name,) for name in columns), tuple(lines), notes)
