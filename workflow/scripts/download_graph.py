"""The public files that a graph is made of."""

from hone.config.settings import parse_graph
from hone.core.errors import located
from hone.core.script import reported
from hone.gnn.prepare import download

with reported(snakemake.log, snakemake.output), located(f"graphs.{snakemake.wildcards.graph}"):
    download(parse_graph(snakemake.params.graph))
