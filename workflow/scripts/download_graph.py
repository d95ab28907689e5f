"""The public files that a graph is made of."""

from hone.config.settings import parse_graph
from hone.errors import located
from hone.gnn.prepare import download
from hone.script import reported

with reported(snakemake.log, snakemake.output), located(f"graphs.{snakemake.wildcards.graph}"):
    download(parse_graph(snakemake.params.graph))
