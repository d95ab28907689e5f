"""The sampler's shared object in the store, and its build record."""

from pathlib import Path

from hone.files import write_records
from hone.gnn.sampling.build import sampler_build
from hone.script import reported

with reported(snakemake.log, snakemake.output):
    write_records(Path(snakemake.output[0]), [sampler_build(Path(snakemake.params.store))])
