"""The table gnn_kernels, and the columns that it alone has."""

from __future__ import annotations

from hone.analysis.schema_parts import Column, Table

KERNEL_COLUMNS: dict[str, Column] = {
    "operator": Column("text", "operator of a training loop: title of its definition"),
    "selected_us": Column(
        "float",
        "median time of the selected kernel in us; as baseline_us the geometric mean over what prompts may show",
    ),
    "predicted_gain": Column(
        "float",
        "by Amdahl's law: 1 / (1 - share + share / speedup), and at most most_gain; of a kernel that fell_back what it "
        "would have gained; empty where the builtin was chosen: nothing is claimed",
    ),
    "measured_gain": Column(
        "float",
        "epoch with the builtins over epoch with the kernels, of all operators of the training together: geometric "
        "means of the processes' mean epochs; empty unless every process ran this operator's selected kernel, as else "
        "builtin is compared with builtin",
    ),
    "measured_low": Column(
        "float",
        "lower end of the measured gain's interval: whole processes are resampled, as pairs where those of both sides "
        "ended in turns (below ten, Student's t on their logarithms); empty with one process on a side, as nobody "
        "knows how far two are apart",
    ),
    "measured_high": Column("float", "upper end of that interval"),
    "most_gain": Column(
        "float",
        "what an epoch would gain if its batches cost nothing: epoch over epoch less blocked; empty where the builtin "
        "was chosen",
    ),
    "used": Column(
        "text", "what the training ran: the `selected` kernel, the `builtin`, or the builtin because it `fell_back`"
    ),
    "why": Column("text", "why it is not a selected kernel"),
    "preparation_share": Column("float", "the operator's part of the processor time that preparing a batch takes"),
    "preparation_gain": Column(
        "float",
        "prepare_s of the reference over prepare_s: what the share of preparation leads one to expect shows here "
        "first; empty where measured_gain is",
    ),
    "builtin_epoch_s": Column("float", "epoch_s of the same training with the builtins: the reference"),
    "builtin_epoch_std_s": Column("float", "its standard deviation"),
    "same_losses": Column(
        "text",
        "yes or no: whether every epoch of both trainings has the same loss, to the last bit; sample_neighbours is "
        "exact and must have yes; of operators that round, those of device, no is no error",
    ),
}

KERNEL_TABLES: dict[str, Table] = {
    "gnn_kernels": Table(
        "Kernels of a campaign in the training loop, and what Amdahl's law promised",
        ("operator", "baseline_us", "selected_us", "speedup", "share", "predicted_gain", "measured_gain"),
        (
            *(
                "measured_low",
                "measured_high",
                "used",
                "why",
                "dataset",
                "training",
                "reference",
                "model",
                "system",
                "gpus",
                "threads",
                "fanouts",
            ),
            *(
                "batch_size",
                "preparation_share",
                "preparation_gain",
                "most_gain",
                "epoch_s",
                "epoch_std_s",
                "builtin_epoch_s",
            ),
            *("builtin_epoch_std_s", "same_losses", "solution"),
        ),
    ),
}
