"""What each table holds: its title and columns, and for every column its type and meaning.

The meanings are written once and are shown in the summary; a column has the same type in every table.
"""

from __future__ import annotations

from hone.analysis.schema_archives import ARCHIVE_COLUMNS, ARCHIVE_TABLES
from hone.analysis.schema_judge import JUDGE_COLUMNS, JUDGE_TABLES
from hone.analysis.schema_kernels import KERNEL_COLUMNS, KERNEL_TABLES
from hone.analysis.schema_parts import PROVENANCE, Column, Kind, Table

__all__ = ["COLUMNS", "PROVENANCE", "TABLES", "Column", "Kind", "Table"]

COLUMNS: dict[str, Column] = {
    "experiment": Column("text", "name in the config"),
    "model": Column(
        "text",
        "name in the config; recorded/… is a replayed transcript, never a live model's result; salient: architecture",
    ),
    "method": Column("text", "how the model was asked"),
    "level": Column("text", "KernelBench level, or `all` for the levels together"),
    "subset": Column("text", "`all` problems, or the `sound` ones without a known defect"),
    "baseline": Column("text", "what the speedup is measured against"),
    "p": Column("float", "threshold: a kernel counts when it is correct and more than p times as fast"),
    "n": Column("int", "number of problems: the denominator"),
    "fast_p": Column("float", "share of problems, 0 to 1; empty where an answer is unresolved"),
    "ci_low": Column("float", "lower end of the confidence interval; with unresolved answers: if all of them failed"),
    "ci_high": Column("float", "upper end of the interval; with unresolved answers: if all of them succeeded"),
    "unresolved": Column("int", "answers without a verdict: not judged, machine broke, lost; or correct but not timed"),
    "statistic": Column("text", "what one problem contributes"),
    "geomean_speedup": Column("float", "geometric mean of the speedup of correct timed kernels (of the best turn)"),
    "doubtful": Column("int", "correct answers whose time is doubtful (see findings): not faster at any p > 0"),
    "prompt_differs": Column("int", "recorded answers whose prompt has changed: later turns quote times of this run"),
    "published": Column("float", "the paper's number: a share 0 to 1, a kernel's speedup, or seconds of an epoch"),
    "published_source": Column("text", "where the paper prints it, and how exactly"),
    "category": Column("text", "outcome, as in the paper's Figure 2, with no_code, timeout and unresolved kept apart"),
    "count": Column("int", "number of answers"),
    "share": Column(
        "float",
        "count over all answers of the row's experiment, model, level and turn; gnn_kernels: the operator's part of an "
        "epoch with the builtin, on one preparing thread; device_roofline, and system device: of all kernels' time",
    ),
    "answers": Column("int", "all answers of the row's experiment, model, level and turn"),
    "turn": Column("int", "0 is the first answer, the paper's N is turn + 1; astra: 0 is the existing kernel"),
    "sample": Column("int", "index among answers to the same prompt"),
    "samples": Column("int", "answers per problem"),
    "k": Column("int", "number of samples drawn"),
    "metric": Column("text", "pass@k is fast_p@k at p = 0"),
    "definition": Column("text", "name of the problem"),
    "solution": Column("text", "digest of the kernel"),
    "sound": Column("bool", "no defect of the problem is known"),
    "status": Column("text", "verdict"),
    "detail": Column("text", "the verdict's reason"),
    "findings": Column("text", "what makes the time doubtful; such a time is shown, but no speedup is credited"),
    "workload": Column(
        "text", "name of the workload; in judge_repeatability the digest of sizes, data type, seed and tolerance"
    ),
    "run": Column("int", "1: the first of the two folders compared; 2: the second"),
    "speedup": Column(
        "float",
        "median time of the baseline over median time of the solution; of several workloads the geometric mean, of "
        "several kernels the geometric mean of these, in which a kernel whose winner is not correct counts as 1; "
        "salient: epoch_s of the reference over epoch_s, batch_ms with the least threads over batch_ms",
    ),
    "speedup_low": Column("float", "lower end of the speedup's interval, runs resampled in pairs"),
    "speedup_high": Column("float", "upper end of that interval"),
    "latency_ms": Column("float", "median time of the solution in milliseconds"),
    "baseline_ms": Column("float", "median time of the baseline in milliseconds"),
    "gpu_held_s": Column("float", "seconds during which a GPU was held; 0 when judged on a CPU"),
    "wall_s": Column("float", "seconds from start to verdict, all phases"),
    "kernel": Column("text", "its definition's title; `all`: an experiment's, `paper`: the paper's; or one launch"),
    "kernels": Column("int", "kernels behind the row"),
    "rounds": Column("int", "rounds that the config asks for, the existing kernel not counted"),
    "correct": Column(
        "text",
        "whether the winner is right on all workloads: yes, no (or none passed its suite), unknown (no verdict)",
    ),
    "workloads": Column("int", "workloads of the kernels, held-out ones included; the winner must be right on all"),
    "uncounted": Column("int", "workloads on which the existing kernel itself has no valid time: not in any speedup"),
    "workloads_current": Column("int", "workloads on which today's kernel has a valid time too"),
    "speedup_current": Column("float", "geometric mean of the speedup over today's kernel, where there is one"),
    "least_speedup": Column("float", "speedup on the worst workload"),
    "least_speedup_current": Column("float", "the same over today's kernel"),
    "least_large_share": Column("float", "worst bandwidth_share among the workloads that move 64 MiB or more"),
    "loc_before": Column(
        "float", "lines, neither blank nor comment, of the stand-alone source of the existing kernel, headers resolved"
    ),
    "loc_after": Column("float", "the same of the winner's source"),
    "winner": Column("text", "which version won: the fastest by the roles' own suite, chosen among what was written"),
    "suite_speedup": Column("float", "geometric mean of the speedup over the roles' own suite: what the loop goes by"),
    "suite_status": Column("text", "verdict on the roles' own suite"),
    "kept": Column("bool", "a later round started from this version, or would have"),
    "won": Column("bool", "this version is the winner"),
    "paper_shapes": Column("float", "how many of the workloads are the paper's shapes in the paper's data type"),
    "speedup_mean": Column("float", "arithmetic mean of the speedup over the paper's shapes, as in its scripts"),
    "baseline_us": Column(
        "float",
        "median time of the baseline in us; astra_main: its mean over the paper's shapes; gnn_kernels: geometric mean "
        "over the workloads that a prompt may show",
    ),
    "optimised_us": Column("float", "the same of the winner"),
    "published_loc_before": Column("float", "the paper's loc_before"),
    "published_loc_after": Column("float", "the paper's loc_after"),
    "published_baseline_us": Column("float", "the paper's baseline_us"),
    "published_optimised_us": Column("float", "the paper's optimised_us"),
    "sizes": Column("text", "axes of the workload"),
    "dtype": Column("text", "data type of the workload"),
    "held_out": Column("bool", "the workload was shown in no prompt"),
    "paper_shape": Column("bool", "the paper measured the kernel at these sizes in this data type"),
    "bytes": Column("int", "inputs and outputs once each, what is written in place twice: the least that can be moved"),
    "bandwidth_share": Column("float", "floor_us over optimised_us: 1 is the speed of a plain copy"),
    "floor_us": Column("float", "the least time that the GPU can need for these bytes, in microseconds"),
    "floor_share": Column("float", "floor_us over measured_us: 1 is all that the GPU can do"),
    "measured_us": Column("float", "microseconds of a batch, each kernel by itself; of an epoch: beside each other"),
    "flops": Column("int", "floating-point operations of a batch's real rows"),
    "part": Column("text", "`sampling`, or the training `step`; the device does both at the same time"),
    "floor_source": Column("text", "what floor_us was computed with"),
    "reference": Column(
        "text",
        "what a row is compared with: astra: the first experiment with the paper's loop; salient_ladder: a rung; "
        "salient_scaling: the fewest processes; salient_models: the training on the whole graph; gnn_kernels: the "
        "training with the builtins",
    ),
    "changed": Column("text", "options of the loop that differ from the reference's"),
    "gain": Column("float", "speedup over the reference's winner: geometric mean over workloads, then over kernels"),
    "gain_low": Column("float", "lower end of the gain's interval, workloads resampled"),
    "gain_high": Column("float", "upper end of that interval"),
    "start_from": Column("text", "what a round starts from: the `last` version, or the `best` so far"),
    "stop_at_floor_share": Column("float", "a kernel is done when the floor is this share of its best time"),
    "notes": Column("bool", "whether plans carry notes of the kernels before"),
    "written": Column("int", "kernels that were written"),
    "phase": Column("text", "part of the judge's work"),
    "seconds": Column("float", "wall seconds"),
    "where": Column("text", "cpu or gpu"),
    "calls": Column("int", "LLM calls, asked or replayed, each in one row alone; astra_ablation: all answers"),
    "shared_calls": Column("int", "answers served by a call that an earlier row of the table counts"),
    "input_tokens": Column("float", "tokens sent, cached ones included"),
    "cached_input_tokens": Column("float", "tokens of the input that the server had cached"),
    "output_tokens": Column("float", "tokens received, reasoning included"),
    "reasoning_tokens": Column("float", "tokens of the output that were reasoning"),
    "cost_usd": Column("float", "US dollars; llm_cost: empty, like the tokens, where a transcript has no counts"),
    "failed_attempts": Column("int", "tries that gave no usable answer"),
    "price_source": Column("text", "what the cost was computed with"),
    "dataset": Column("text", "graph, as the config names it"),
    "graph": Column("text", "graph, as the config names it"),
    "training": Column("text", "name in the config"),
    "system": Column("text", "how batches came into being; of published rows the system's own name"),
    "rung": Column("text", "system: each adds one thing to the one before"),
    "gpus": Column("int", "processes that trained together, each with a GPU where there is one; 0: no training"),
    "threads": Column("float", "preparing threads or worker processes of one process"),
    "fanouts": Column("text", "neighbours sampled in training, from the seeds outwards; -1 takes all"),
    "batch_size": Column("float", "seeds of one process's batch"),
    "hidden": Column("float", "width of the hidden layers"),
    "precision": Column("text", "number format of the model's arithmetic"),
    "placement": Column("text", "where the device system had graph and features: gpu, sharded, host_features or host"),
    "epoch_s": Column("float", "mean wall seconds of an epoch after warm-up, over the epochs of all seeds"),
    "epoch_std_s": Column("float", "standard deviation of epoch_s over these epochs"),
    "epoch_median_s": Column("float", "median over these epochs"),
    "prepare_s": Column("float", "seconds of sampling and slicing, summed over the workers that did it side by side"),
    "prepare_std_s": Column("float", "its standard deviation"),
    "transfer_s": Column("float", "seconds of copies to the device, hidden ones included"),
    "transfer_std_s": Column("float", "its standard deviation"),
    "train_s": Column("float", "seconds of forward, backward and optimiser, by the device's clock where there is one"),
    "train_std_s": Column("float", "its standard deviation"),
    "blocked_s": Column(
        "float",
        "seconds between training steps in which the device had no step to do: the preparation and transfers that "
        "nothing hid. The paper's 'sampling + slicing' and 'transfer' are such waits: their sum stands against this",
    ),
    "blocked_std_s": Column("float", "its standard deviation"),
    "blocked_share": Column("float", "blocked_s over epoch_s"),
    "seeds": Column("float", "trainings behind the row, which differ in their seed alone"),
    "epochs": Column("float", "epochs behind the row, of all seeds"),
    "warmup_epochs": Column("float", "epochs left out at the start of each; 0: a run was too short to leave any out"),
    "batches": Column("float", "batches of an epoch; salient_threads: batches measured"),
    "unique_nodes": Column("float", "mean distinct nodes of a batch: rows of features that it needs"),
    "sampled_edges": Column("float", "mean sampled edges of a batch, all hops"),
    "peak_memory_bytes": Column("float", "most memory in use: of the GPU, or of the process where there is none"),
    "published_train_s": Column("float", "the paper's 'train': seconds that the main loop spent in training"),
    "published_blocked_batch_s": Column("float", "the paper's 'sampling + slicing': its main loop waited for a batch"),
    "published_blocked_transfer_s": Column("float", "the paper's 'transfer': its main loop waited for the copy"),
    "speedup_over_pyg": Column("float", "epoch_s of PyG's own loader over epoch_s"),
    "efficiency": Column("float", "speedup over the factor by which there are more GPUs: 1 is linear scaling"),
    "hardware": Column("text", "what it ran on"),
    "origin": Column("text", "measured here, or published by others"),
    "batch_ms": Column("float", "wall milliseconds to a prepared batch: elapsed time over batches, median over rounds"),
    "batch_ms_low": Column("float", "the fastest round"),
    "batch_ms_high": Column("float", "the slowest round"),
    "pages": Column("text", "the graph's memory: `maps` of its files, or copied into `large` pages"),
    "speedup_over_salient": Column("float", "batch_ms of SALIENT's own sampler, at as many threads, over ours"),
    "seed": Column("text", "seed of the training; `mean` is the row over all seeds"),
    "mode": Column(
        "text",
        "salient_models: trained on `sampled` batches, or `full_batch`: on the whole graph at every step; "
        "judge_idioms: how the solution was timed: `graph`, `queued`, `replay` or `stream`",
    ),
    "split": Column("text", "nodes that were asked about"),
    "fanout": Column("text", "of inference, from the seeds outwards; `full`: all neighbours, layer by layer"),
    "accuracy": Column("float", "share of the nodes whose class is right, 0 to 1"),
    "accuracy_std": Column("float", "standard deviation over seeds"),
    "difference_points": Column(
        "float",
        "percentage points: salient_models: over full-batch training; salient_inference: over the full neighbourhood",
    ),
    "nodes": Column("int", "nodes that were asked about"),
    "inference_s": Column("float", "mean seconds of inference"),
    "inference_seeds": Column("float", "sampler seeds that the accuracy is the mean of"),
    "batch": Column("int", "number of the batch in its epoch"),
    "stage": Column("text", "what was done: prepare, transfer, train; blocked: no step to do"),
    "lane": Column("text", "who did it"),
    "start_ms": Column("float", "milliseconds since the epoch began"),
    "duration_ms": Column("float", "milliseconds"),
    **JUDGE_COLUMNS,
    **KERNEL_COLUMNS,
    **ARCHIVE_COLUMNS,
    "config_digest": Column("text", "first digits of the digest of the whole config"),
    "commit": Column("text", "commit of Hone that made the table"),
    "device": Column("text", "model name of the CPU or GPU that gave the verdicts or trained"),
    "driver": Column("text", "its driver"),
    "protocol": Column("text", "name and first digits of the digest of the judging protocol, or of the training"),
    "torch": Column("text", "version of PyTorch that gave the verdicts or trained"),
}

_INTERVAL = ("p", "n", "fast_p", "ci_low", "ci_high")
_SPEEDUP = ("speedup", "ci_low", "ci_high")
_SHAPE = ("baseline", "baseline_us", "optimised_us", "speedup", "bandwidth_share")
_PUBLISHED = ("published", "published_source")
_ANSWER = ("sound", "turn", "sample", "solution")
_TOKENS = ("cached_input_tokens", "reasoning_tokens")
_SAID = ("detail", "findings", "solution")
_TIMES = ("speedup_low", "speedup_high", "latency_ms", "baseline_ms", "findings")

_SETTINGS = ("training", "model", "gpus", "threads", "fanouts", "batch_size", "hidden", "precision", "placement")
_COUNTED = ("seeds", "epochs", "warmup_epochs")
_SECONDS = ("epoch_s", "prepare_s", "transfer_s", "train_s", "blocked_s")
_SECONDS_STD = tuple(name.replace("_s", "_std_s") for name in _SECONDS)
_PRINTED_PARTS = ("published_train_s", "published_blocked_batch_s", "published_blocked_transfer_s")
_ACCURACY = ("accuracy_std", "difference_points", "seeds", "split", "nodes", "inference_s", "inference_seeds")

TABLES: dict[str, Table] = {
    "kernelbench_fast_p": Table(
        "fast_p: share of problems whose kernel is correct and more than p times as fast",
        ("experiment", "model", "method", "level", "subset", "baseline", *_INTERVAL),
        ("unresolved", "doubtful", "statistic", "geomean_speedup", "prompt_differs", *_PUBLISHED),
    ),
    "kernelbench_errors": Table(
        "What became of the answers",
        ("experiment", "model", "level", "category", "count"),
        ("turn", "answers", "share", *_PUBLISHED),
    ),
    "kernelbench_speedups": Table(
        "Speedup of every correct kernel",
        ("experiment", "model", "method", "level", "definition", "baseline", "speedup"),
        (*_TIMES, *_ANSWER),
    ),
    "kernelbench_sampling": Table(
        "Repeated sampling: fast_p@k and pass@k",
        ("experiment", "model", "level", "k", *_INTERVAL),
        ("unresolved", "metric", "samples", "subset", "baseline", *_PUBLISHED),
    ),
    "kernelbench_refinement": Table(
        "Iterative refinement: fast_p of the best kernel up to each turn",
        ("experiment", "model", "level", "turn", *_INTERVAL),
        ("unresolved", "subset", "baseline", *_PUBLISHED),
    ),
    "astra_main": Table(
        "Existing kernels, improved in rounds: speedup over the upstream kernel on all workloads",
        ("kernel", "method", "rounds", "correct", *_SPEEDUP, "loc_before", "loc_after"),
        (
            *("experiment", "model", "kernels", "workloads", "uncounted", "unresolved", "least_speedup"),
            *("workloads_current", "speedup_current", "least_speedup_current", "least_large_share"),
            *("paper_shapes", "speedup_mean", "baseline_us", "optimised_us", *_PUBLISHED),
            *("published_loc_before", "published_loc_after", "published_baseline_us", "published_optimised_us"),
            *("suite_speedup", "winner", "status", "detail", "findings", "prompt_differs", "solution"),
        ),
    ),
    "astra_single_vs_multi": Table(
        "One agent or several: speedup over the upstream kernel",
        ("kernel", "method", "speedup"),
        ("correct", "ci_low", "ci_high", *_PUBLISHED, "suite_speedup", "rounds", "experiment", "model", "unresolved"),
    ),
    "astra_shapes": Table(
        "The winning kernels on every workload",
        ("kernel", "method", "workload", "dtype", "held_out", "bytes", *_SHAPE),
        (
            *("floor_us", "floor_source", "sizes", "paper_shape", *_PUBLISHED, "status", "correct", "findings"),
            *("experiment", "model", "solution"),
        ),
    ),
    "astra_ablation": Table(
        "Which options of the loop pay",
        ("kernel", "experiment", "model", "changed", "speedup", "gain", "gain_low", "gain_high", "correct"),
        (
            *("ci_low", "ci_high", "reference", "kernels", "start_from", "samples", "stop_at_floor_share", "notes"),
            *("rounds", "written", "calls", "cost_usd"),
        ),
    ),
    "astra_rounds": Table(
        "Every version of every kernel",
        ("kernel", "method", "model", "turn", "sample", "status", "speedup", "kept"),
        (*_SPEEDUP[1:], "suite_status", "suite_speedup", "won", *_PUBLISHED, "experiment", *_SAID),
    ),
    "salient_breakdown": Table(
        "Where an epoch of training goes",
        ("dataset", "system", *_SECONDS),
        (
            *_SECONDS_STD,
            *("epoch_median_s", "blocked_share", *_SETTINGS, *_COUNTED, "batches", "unique_nodes", "sampled_edges"),
            *("peak_memory_bytes", *_PUBLISHED, *_PRINTED_PARTS),
        ),
    ),
    "salient_ladder": Table(
        "Each improvement on top of the one before",
        ("dataset", "rung", "epoch_s", "speedup"),
        ("epoch_std_s", "batches", "reference", "speedup_over_pyg", *_SETTINGS, *_COUNTED, *_PUBLISHED),
    ),
    "salient_threads": Table(
        "Batch preparation by threads",
        ("graph", "system", "threads", "batch_ms", "unique_nodes"),
        (
            *("speedup", "speedup_over_salient", "batch_ms_low", "batch_ms_high", "sampled_edges", "batches"),
            *("fanouts", "batch_size", "pages"),
        ),
    ),
    "salient_inference": Table(
        "Accuracy by the fan-out of inference",
        ("dataset", "model", "fanout", "seed", "accuracy"),
        (*_ACCURACY, "training", "system", "gpus", *_PUBLISHED),
    ),
    "salient_models": Table(
        "Test accuracy of models trained on samples, beside full-batch training",
        ("dataset", "model", "mode", "seed", "accuracy"),
        (*_ACCURACY, "fanout", "reference", "training", "system", "gpus", *_PUBLISHED),
    ),
    "salient_scaling": Table(
        "Epoch time by number of processes, beside what others published",
        ("dataset", "system", "model", "gpus", "epoch_s", "speedup", "efficiency"),
        (
            *("epoch_std_s", "origin", "hardware", "reference", "training", "threads", "fanouts", "batch_size"),
            *("hidden", "precision", "placement", *_COUNTED, *_PUBLISHED),
        ),
    ),
    "salient_timeline": Table(
        "What each stage did when, for a few batches",
        ("dataset", "system", "batch", "stage", "lane", "start_ms", "duration_ms"),
        ("training", "model", "gpus", "seed"),
    ),
    **KERNEL_TABLES,
    "device_roofline": Table(
        "The device system's kernels beside what the GPU can do",
        ("kernel", "bytes", "flops", "floor_us", "measured_us", "share"),
        ("part", "floor_share", "floor_source", "dataset", "training"),
    ),
    **JUDGE_TABLES,
    **ARCHIVE_TABLES,
    "judge_repeatability": Table(
        "The same solutions judged twice",
        ("definition", "workload", "solution", "run", "speedup"),
        ("experiment", "baseline", "latency_ms", "baseline_ms", "findings"),
    ),
    "judge_cost": Table(
        "Seconds spent on builds and verdicts", ("definition", "solution", "phase", "seconds", "where"), ("status",)
    ),
    "llm_cost": Table(
        "LLM calls, tokens and cost",
        ("experiment", "model", "calls", "input_tokens", "output_tokens", "cost_usd"),
        (*_TOKENS, "failed_attempts", "prompt_differs", "shared_calls", "price_source"),
    ),
}
