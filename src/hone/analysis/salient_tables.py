"""The SALIENT tables about time: breakdown, ladder, scaling, and the spans of the timeline."""

from __future__ import annotations

import math

import numpy as np

from hone.analysis.salient import SECONDS, WARMUP_EPOCHS, Salient, Trained, by_place, cut_short, mean_and_std
from hone.analysis.salient_numbers import TrainingNumber, dataset_of
from hone.analysis.tables import Row

FIRST_RUNG = "plain"
"""The ladder starts from the plain loader; where that was not run, from the slowest system that was."""
PEER = "pyg"
PRINTED = {"train_s": "train_s", "blocked_batch_s": "waited_for_batch_s", "blocked_transfer_s": "waited_for_transfer_s"}
"""Column `published_…` -> what the paper printed: parts of an epoch of the main loop, which add up to it."""
TIMELINE_BATCHES = 8
"""Batches that the timeline shows."""
MS_PER_S = 1e3


def breakdown_rows(salient: Salient) -> list[Row]:
    """salient_breakdown: where an epoch's time goes, mean and deviation over the epochs of all seeds after warm-up."""
    rows: list[Row] = []
    for group in salient.minibatch:
        row = group.columns | _counted(group) | salient.provenance(group.runs)
        for name in SECONDS:
            row[name], row[name.replace("_s", "_std_s")] = mean_and_std(group.over_epochs(name))
        row["epoch_median_s"] = float(np.median(group.over_epochs("epoch_s"))) if group.counted else math.nan
        row["blocked_share"] = row["blocked_s"] / row["epoch_s"] if row["epoch_s"] else math.nan
        row |= {name: group.mean(name) for name in ("batches", "unique_nodes", "sampled_edges")}
        row["peak_memory_bytes"] = max(run.peak_memory_bytes for run in group.runs)
        row |= salient.published(group.runs[0], "epoch_s")
        for name, metric in PRINTED.items():
            row[f"published_{name}"] = salient.published(group.runs[0], metric)["published"]
        rows.append(row)
    return rows


def _counted(group: Trained) -> Row:
    """How many epochs and seeds are behind a time."""
    return {
        "seeds": len(group.runs),
        "epochs": len(group.counted),
        "warmup_epochs": WARMUP_EPOCHS if group.warmed_up else 0,
    }


def ladder_rows(salient: Salient) -> list[Row]:
    """salient_ladder: the systems of one training on one graph, each over the first rung; one alone is no ladder."""
    rows: list[Row] = []
    for rungs in by_place(salient.minibatch, "training", "graph", "model", "gpus").values():
        if len(rungs) < 2:
            continue
        known = {group.place.system: group for group in rungs}
        first = known.get(FIRST_RUNG, rungs[0])
        for group in rungs:
            row = group.columns | _counted(group) | salient.provenance(group.runs)
            row |= {"rung": row.pop("system"), "reference": first.place.system}
            row["epoch_s"], row["epoch_std_s"] = mean_and_std(group.over_epochs("epoch_s"))
            row["batches"] = group.mean("batches")
            row["speedup"] = _ratio(first.mean("epoch_s"), row["epoch_s"])
            row["speedup_over_pyg"] = _ratio(known[PEER].mean("epoch_s"), row["epoch_s"]) if PEER in known else math.nan
            rows.append(row | salient.published(group.runs[0], "epoch_s"))
    return rows


def _ratio(above: float, below: float) -> float:
    return above / below if below else math.nan


def scaling_rows(salient: Salient) -> list[Row]:
    """salient_scaling: ours by GPUs, then every epoch time that others printed for a graph of that size."""
    rows: list[Row] = []
    whole = [group for group in salient.minibatch if not any(map(cut_short, group.runs))]
    for groups in by_place(whole, "training", "graph", "model", "system").values():
        least = min(groups, key=lambda group: group.place.gpus)
        for group in groups:
            row = group.columns | _counted(group) | salient.provenance(group.runs)
            row["epoch_s"], row["epoch_std_s"] = mean_and_std(group.over_epochs("epoch_s"))
            row["speedup"] = _ratio(least.mean("epoch_s"), row["epoch_s"])
            row["efficiency"] = row["speedup"] * least.place.gpus / group.place.gpus
            row |= {"reference": _processes(least.place.gpus), "hardware": row["device"], "origin": "measured"}
            rows.append(row | salient.published(group.runs[0], "epoch_s"))
    return rows + _printed_rows(salient)


def _processes(count: int) -> str:
    return f"{count} process{'' if count == 1 else 'es'}"


def _printed_rows(salient: Salient) -> list[Row]:
    """Rows of other people's times: `epoch_s` stays empty, because nothing of ours was measured."""
    graphs = dict.fromkeys(group.place.graph for group in salient.minibatch)
    datasets = {name: dataset_of(salient.graphs.get(name)) for name in graphs}
    return [_printed_row(name, number, salient) for name in graphs for number in salient.numbers.epochs(datasets[name])]


def _printed_row(graph: str, number: TrainingNumber, salient: Salient) -> Row:
    return salient.context.provenance.columns() | {
        "dataset": graph,
        "system": number.system,
        "model": number.setup.model,
        "gpus": number.gpus,
        "fanouts": number.setup.fanouts,
        "batch_size": number.setup.batch_size,
        "hidden": number.setup.hidden,
        "hardware": number.hardware,
        "origin": "published",
        "published": number.value,
        "published_source": f"{number.label}; {number.source}",
    }


def timeline_rows(salient: Salient) -> list[Row]:
    """salient_timeline: spans of a few batches, of the first seed of each system on as few GPUs as it was run on."""
    rows: list[Row] = []
    for groups in by_place(salient.minibatch, "training", "graph", "model", "system").values():
        least = min(groups, key=lambda group: group.place.gpus)
        for run in least.runs[:1]:
            batches = sorted({span.batch for span in run.timeline})[:TIMELINE_BATCHES]
            shared = least.place.columns | salient.provenance([run]) | {"seed": str(run.seed)}
            for span in sorted(run.timeline, key=lambda span: (span.start_s, span.lane)):
                if span.batch in batches:
                    rows.append(
                        shared
                        | {
                            "batch": span.batch,
                            "stage": span.stage,
                            "lane": span.lane,
                            "start_ms": span.start_s * MS_PER_S,
                            "duration_ms": span.duration_s * MS_PER_S,
                        }
                    )
    return rows
