"""gnn_kernels: operators of training loops, their kernels out of a campaign, and what an epoch gains."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from hone.analysis.context import Cells
from hone.analysis.metrics import geometric_mean, geometric_ratio_interval
from hone.analysis.provenance import joined
from hone.analysis.render import number
from hone.analysis.salient import Salient, Trained, mean_and_std
from hone.records import KernelUse, SelectionReason, TrainingRun
from hone.tables import columns
from hone.tables.row import EMPTY, TableRow
from hone.tables.run import Run
from hone.tables.table import Figure, RunTable
from hone.tables.words import is_known, span

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Drawn

DEVICE = "device"
"""The system whose operators are kernels of a GPU: their shares are those of device_roofline."""
SAME = ("fanouts", "batch_size", "hidden", "precision", "threads", "num_train", "device", "placement")
"""What a training must share with the one that it is compared with, beside graph, model, system and processes."""
NOTHING_PROMISED: Cells = {"predicted_gain": math.nan, "most_gain": math.nan}
"""Of an operator that ran the builtin on both sides: such a row claims nothing."""


class Row(TableRow):
    """One operator in one training, or one choice that no training uses."""

    operator: str
    """Operator of a training loop: title of its definition."""
    baseline_us: float = EMPTY
    """Median time of the builtin in us: geometric mean over the workloads that a prompt may show."""
    selected_us: float = EMPTY
    """Median time of the selected kernel in us: the same mean."""
    speedup: float = EMPTY
    """`baseline_us` over `selected_us`."""
    share: float = EMPTY
    """The operator's part of an epoch with the builtin, on one preparing thread; of the system `device` its part of
    all kernels' time."""
    predicted_gain: float = EMPTY
    """By Amdahl's law: 1 / (1 - share + share / speedup), and at most `most_gain`. A kernel that `fell_back` has what
    it would have gained. Empty where the builtin was chosen: nothing is claimed."""
    measured_gain: float = EMPTY
    """Epoch with the builtins over epoch with the kernels, of all operators of the training together, as geometric
    means of the processes' mean epochs. Empty unless every process ran this operator's selected kernel: else builtin
    is compared with builtin."""
    measured_low: float = EMPTY
    """Lower end of the measured gain's interval. Whole processes are resampled, as pairs where those of both sides
    ended in turns; below ten it is Student's t on their logarithms. Empty with one process on a side, as nobody knows
    how far two are apart."""
    measured_high: float = EMPTY
    """Upper end of that interval."""
    used: str = ""
    """What the training ran: the `selected` kernel, the `builtin`, or the builtin because it `fell_back`."""
    why: str = ""
    """Why it is not a selected kernel."""
    dataset: columns.Dataset = ""
    training: columns.Training = ""
    reference: str = ""
    """The training with the builtins that the row is compared with."""
    model: columns.Architecture = ""
    system: columns.System = ""
    gpus: columns.Processes
    threads: columns.Threads = EMPTY
    fanouts: columns.Fanouts = ""
    batch_size: columns.BatchSize = EMPTY
    preparation_share: float = EMPTY
    """The operator's part of the processor time that preparing a batch takes."""
    preparation_gain: float = EMPTY
    """`prepare_s` of the reference over `prepare_s`: what the share of preparation leads one to expect shows here
    first; empty where `measured_gain` is."""
    most_gain: float = EMPTY
    """What an epoch would gain if its batches cost nothing: epoch over epoch less blocked; empty where the builtin was
    chosen."""
    epoch_s: columns.EpochSeconds = EMPTY
    epoch_std_s: columns.EpochDeviation = EMPTY
    builtin_epoch_s: float = EMPTY
    """`epoch_s` of the same training with the builtins: the reference."""
    builtin_epoch_std_s: float = EMPTY
    """Its standard deviation."""
    same_losses: str = ""
    """Yes or no: whether every epoch of both trainings has the same loss, to the last bit; sample_neighbours is exact
    and must have yes; of operators that round, those of device, no is no error."""
    solution: columns.SolutionDigest = ""


def rows(run: Run) -> list[Row]:
    """A row for each operator and training that could have run a selected kernel; then those that no training runs.

    Choices without a training, and operators on a machine that nothing was chosen for, have rows, too.
    """
    salient = run.salient
    chosen = {(item.operator, item.where): item for item in salient.records.selections}
    found, told = [], set()
    for group in salient.trained:
        for place in _places(group):
            told.add(place)
            found.append(Row.pick(_trained(salient, group, place[0], chosen.get(place))))
    rest = [item for place, item in chosen.items() if place not in told]
    return found + [Row.pick(_choice(item) | _unused(salient, item)) for item in rest]


def amdahl(share: float, speedup: float) -> float:
    """How many times as fast a whole is of which a part, 0 to 1, is so many times as fast."""
    return 1 / (1 - share + share / speedup)


def _measured(twin: Trained, group: Trained, confidence: float) -> Cells:
    """What an epoch gained over the builtins. A process is one value: its epochs share whatever else the machine did.

    One process on a side has no interval: nobody knows how far two processes of the same training are apart.
    """
    in_turns = _in_turns(twin, group)
    sides = [_by_time(side) if in_turns else side for side in (twin, group)]
    above, below = (side.over_runs("epoch_s") for side in sides)
    low, high = geometric_ratio_interval(above, below, in_turns=in_turns, confidence=confidence)
    prepare_s = group.mean("prepare_s")
    return {
        "measured_gain": geometric_mean(above) / geometric_mean(below),
        "measured_low": low,
        "measured_high": high,
        "preparation_gain": twin.mean("prepare_s") / prepare_s if prepare_s else math.nan,
    }


def _in_turns(twin: Trained, group: Trained) -> bool:
    """Whether the first two processes to end are one of each side, and the next two, and so on.

    Processes that ended in the same second leave the order open: no turns.
    """
    ends = sorted((_ended(run), side) for side, of in enumerate((twin, group)) for run in of.runs)
    known = len({moment for moment, _ in ends}) == len(ends) and len(ends) % 2 == 0
    return known and all(one != other for (_, one), (_, other) in zip(ends[::2], ends[1::2], strict=True))


def _by_time(group: Trained) -> Trained:
    return Trained(group.place, sorted(group.runs, key=_ended))


def _ended(run: TrainingRun) -> datetime:
    return datetime.fromisoformat(run.trained_at)


def _places(group: Trained) -> list[tuple[str, str]]:
    """(operator, model name of the CPU or GPU that ran it)."""
    return list(dict.fromkeys((use.operator, use.where) for run in group.runs for use in run.kernel_uses))


def _choice(item: SelectionReason | None) -> Cells:
    """What the campaign found on this kind of machine."""
    if item is None:
        return {"speedup": EMPTY}
    picked = item.used == "selected"
    return {
        "operator": item.operator,
        "baseline_us": item.baseline_us,
        "selected_us": item.selected_us if picked else None,
        "speedup": item.speedup if picked else None,
        "used": item.used,
        "why": item.reason,
        "solution": item.solution if picked else "",
    }


def _unused(salient: Salient, item: SelectionReason) -> Cells:
    verdicts = {"device": item.where, "driver": "", "protocol": "", "torch": ""}
    why = item.reason or "no training of this config runs it on this machine"
    return {"gpus": 0, "why": why} | salient.context.provenance.columns(verdicts)


def _trained(salient: Salient, group: Trained, operator: str, item: SelectionReason | None) -> Cells:
    row = _choice(item) | group.columns | salient.provenance(group.runs)
    row |= {"operator": operator, **_used(_uses(group, operator))}
    row["epoch_s"], row["epoch_std_s"] = mean_and_std(group.over_epochs("epoch_s"))
    twin = next((other for other in salient.trained if _comparable(other, group)), None)
    if twin is None:
        return row
    row["reference"] = twin.place.training
    row["builtin_epoch_s"], row["builtin_epoch_std_s"] = mean_and_std(twin.over_epochs("epoch_s"))
    row["same_losses"] = "yes" if _losses(twin) == _losses(group) else "no"
    if row["used"] == "selected":  # else a process of the training ran the builtin, as the reference did
        row |= _measured(twin, group, salient.context.settings.analysis.confidence)
    row |= _predicted(salient, group, twin, operator, item)
    return row | NOTHING_PROMISED if row["used"] == "builtin" else row


def _predicted(salient: Salient, group: Trained, twin: Trained, operator: str, item: SelectionReason | None) -> Cells:
    """Shares by the reference's figures and the benchmark of the operator, and the gain that follows from them."""
    speedup = item.speedup if item is not None and item.used == "selected" else None
    if group.place.system == DEVICE:
        shares = {"share": _share_of_kernels(salient, group, twin, operator)}
    else:
        shares = _shares_of_preparation(salient, group, twin, operator)
    of_epoch, most = shares["share"], shares.get("most_gain", math.inf)
    gain = min(amdahl(of_epoch, speedup), most) if speedup and not math.isnan(of_epoch) else math.nan
    return {**shares, "predicted_gain": gain}


def _share_of_kernels(salient: Salient, group: Trained, twin: Trained, operator: str) -> float:
    """Of the time of all kernels of one of the two trainings, one after the other; NaN where nobody measured them."""
    place = group.place.graph, group.runs[0].environment.device
    trainings = group.place.training, twin.place.training
    found = [
        time.share
        for time in salient.records.rooflines
        if (time.dataset, time.device) == place and time.training in trainings
        if time.kernel.partition(",")[0] == operator
    ]
    return sum(found) if found else math.nan


def _shares_of_preparation(salient: Salient, group: Trained, twin: Trained, operator: str) -> dict[str, float]:
    """Preparation that is hidden behind the steps costs nothing: a gain is bounded by the time that the loop waits."""
    epoch_s, blocked_s = twin.mean("epoch_s"), twin.mean("blocked_s")
    most = epoch_s / (epoch_s - blocked_s) if blocked_s < epoch_s else math.inf
    place = group.place
    share = next(
        (
            found.share for found in salient.records.shares
            if (found.operator, found.training, found.graph, found.model)
            == (operator, place.training, place.graph, place.model)
        ),
        math.nan,
    )  # fmt: skip
    of_epoch = share * min(1.0, twin.mean("prepare_s") / max(1, twin.runs[0].threads) / epoch_s)
    return {"share": of_epoch, "preparation_share": share, "most_gain": most}


def _uses(group: Trained, operator: str) -> Iterator[KernelUse]:
    return (use for run in group.runs for use in run.kernel_uses if use.operator == operator)


def _used(uses: Iterator[KernelUse]) -> Cells:
    """Over all seeds: what ran, and why it was nothing else."""
    found = list(uses)
    return {
        "used": joined(use.used for use in found),
        "why": joined(use.reason for use in found),
        "solution": joined(use.solution for use in found),
    }


def _comparable(other: Trained, group: Trained) -> bool:
    """Whether a training with the builtins is the same in all else."""
    if any(run.kernels != "builtin" for run in other.runs):
        return False
    same_place = other.place._replace(training="") == group.place._replace(training="")
    return same_place and _setting(other.runs) == _setting(group.runs)


def _setting(runs: Sequence[TrainingRun]) -> list[object]:
    machine = [run.environment.device for run in runs]
    return [machine, *([getattr(run, name) for run in runs] for name in (*SAME, "seed"))]


def _losses(group: Trained) -> list[list[float]]:
    return [[epoch.loss for epoch in run.epochs] for run in group.runs]


def finding(rows: Sequence[Row]) -> str:
    """What selected kernels gained in an epoch beside the prediction; without an interval nothing is claimed."""
    measured = [row for row in rows if row.used == "selected" and is_known(row.measured_gain)]
    if not measured:
        return "No training ran a selected kernel beside the same training with the builtins."
    return " ".join(map(_sentence, measured))


def _sentence(row: Row) -> str:
    place = f"`{row.operator}` in `{row.training}` on {row.dataset}"
    if not is_known(row.measured_low):
        return f"{place}: one process on a side, so that a gain of an epoch cannot be told from noise."
    gain = f"{number(row.measured_gain)} times as fast as with the builtins"
    ends = span((row.measured_low, row.measured_high))
    predicted = f"; Amdahl's law predicts {number(row.predicted_gain)}" if is_known(row.predicted_gain) else ""
    return f"{place}: an epoch is {gain} (interval {ends}){predicted}."


def figure(table: pd.DataFrame) -> Drawn:
    """Operators alone, and epochs with them."""
    from hone.analysis.kernel_figures import kernels_figure

    return kernels_figure(table)


TABLE = RunTable(
    name="gnn_kernels",
    title="Kernels of a campaign in the training loop, and what Amdahl's law promised",
    caption=(
        "Operators of training loops whose kernels a campaign made faster, put back into training. Left: the operator "
        "alone, over the builtin. Right: an epoch of the same training with the builtins over one with the selected "
        "kernels, beside what Amdahl's law promises from the operator's share of an epoch. Preparation that is hidden "
        "behind the steps can gain nothing. Whiskers: confidence interval over whole processes, a training with one "
        "seed. Epochs of one process share what else the machine did, so they count as one value. Where processes "
        "of both sides ended in turns, turns are resampled as pairs. One process on a side has no whiskers: it does "
        "not tell how far two processes of the same training are apart. A row in which the builtin ran claims nothing: "
        "there builtin is compared with builtin, and a ratio would be noise. Light: the selected kernel did not run, "
        "because it could not be used on that machine; what it would have gained is shown."
    ),
    category="Kernels in training",
    row=Row,
    rows=rows,
    finding=finding,
    shown={
        "operator": "Operator",
        "dataset": "Dataset",
        "used": "Used",
        "baseline_us": "Builtin (us)",
        "selected_us": "Selected (us)",
        "speedup": "Speedup alone",
        "predicted_gain": "Predicted epoch gain",
        "measured_gain": "Measured epoch gain",
    },
    figures=(Figure("gnn_kernels", "Kernels of a campaign in the training loop", figure),),
)
