# Graphs that networks are trained on: generated, read from a folder or downloaded -> memory-mapped arrays.


rule download_graph:
    """Download a graph and keep its files in .hone/datasets; needs a network."""
    output:
        touch(paths.downloaded_graph()),
    log:
        paths.log("download_graph/{graph}"),
    wildcard_constraints:
        graph=only(settings.graphs),
    localrule: True
    conda:
        "../../envs/hone.yaml"
    params:
        graph=lambda wildcards: graph_entry(wildcards).model_dump(mode="json"),
    message:
        "Download the graph {wildcards.graph}."
    script:
        "../scripts/download_graph.py"


rule prepare_graph:
    """Make a graph's memory-mapped arrays: seconds if it fits in memory; papers100M takes hours, 70 GB."""

    # Seconds for what fits in memory; papers100M takes hours and about 70 GB of disk, 26 of them until it is done;
    # drawn on a GPU, a graph of its size takes minutes and 43 GB.
    input:
        lambda wildcards: files.trainings.graph_inputs(wildcards.graph),
    output:
        paths.graph(),
        paths.graph_arrays(),
    log:
        paths.log("prepare_graph/{graph}"),
    wildcard_constraints:
        graph=only(settings.graphs),
    conda:
        "../../envs/hone.yaml"
    resources:
        mem_mb=lambda wildcards, attempt: (graph_entry(wildcards).memory_mib + 512)
        * attempt,
        memory_mib=lambda wildcards: graph_entry(wildcards).memory_mib,  # decides nothing but the memory
        gpu=graph_gpus,
        machine_gpu=graph_gpus,
    params:
        graph=lambda wildcards: graph_entry(wildcards).model_dump(
            mode="json", exclude={"memory_mib"}
        ),
        code=code_digest("gnn/datasets", "gnn/graph", "gnn/prepare", "records"),
    message:
        "Prepare the graph {wildcards.graph}."
    script:
        "../scripts/prepare_graph.py"


checkpoint graph_gate:
    """Wait for a graph, then plan its trainings: an equal graph trains nothing again."""

    # As `gate`. Arrays are too large for Snakemake's checksums.
    input:
        paths.graph(),
        paths.graph_arrays(),
    output:
        touch(paths.gate("graphs/{graph}")),
    wildcard_constraints:
        graph=only(settings.graphs),
    localrule: True
    message:
        "The graph {wildcards.graph} is ready."


rule graphs:
    """Prepare every graph in the config: hours and 70 GB of disk for papers100M."""
    input:
        [paths.graph(graph) for graph in settings.graphs],
    message:
        "All graphs are prepared."
