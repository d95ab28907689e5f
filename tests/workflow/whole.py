"""A config, run whole in a folder of its own, and what its tables and traces say."""

import csv
from pathlib import Path

from hone.core.files import read_records
from hone.records import Candidate, Trace
from tests.workflow.conftest import ROOT, Pipeline


def run_whole(folder, config, *targets):
    """The finished run of a config in the folder; of `targets` alone, where there are some."""
    for name in ("Snakefile", "workflow", "resources", "profiles", "config", "src"):
        (folder / name).symlink_to(ROOT / name)
    made = Pipeline(folder, (config,))
    made.run(*(["--", *targets] if targets else []))
    return made


def results_of(pipeline):
    """The folder of its run, which has the config's name."""
    return pipeline.folder / "results" / Path(pipeline.configs[0]).stem


def rows(pipeline, table):
    """Rows of a table as dictionaries of strings."""
    with (results_of(pipeline) / f"tables/{table}.csv").open() as file:
        return list(csv.DictReader(file))


def unresolved(pipeline):
    """Details of all verdicts that say nothing about their solution."""
    files = results_of(pipeline).glob("traces/**/*.jsonl")
    traces = [trace for file in files for trace in read_records(file, Trace)]
    assert traces
    return [trace.detail for trace in traces if not trace.status.resolved]


def verdicts(pipeline, experiment):
    """(definition, turn, sample) -> status, `no_code` for answers without code."""
    found, results = {}, results_of(pipeline)
    for file in results.glob(f"candidates/{experiment}/*/turn*/*.jsonl"):
        traces = results / "traces" / file.relative_to(results / "candidates")
        by_solution = {trace.solution: trace.status.value for trace in read_records(traces, Trace)}
        for row in read_records(file, Candidate):
            key = (row.definition, row.turn, row.sample)
            found[key] = by_solution[row.solution] if row.solution else "no_code"
    return found


def refinement_curves(pipeline):
    """Fast_p by turn, a list for each experiment, level, threshold and baseline."""
    curves = {}
    for row in rows(pipeline, "kernelbench_refinement"):
        key = (row["experiment"], row["model"], row["level"], row["p"], row["subset"], row["baseline"])
        curves.setdefault(key, []).append((int(row["turn"]), float(row["fast_p"])))
    return [[value for _, value in sorted(curve)] for curve in curves.values()]
