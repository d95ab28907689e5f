"""The sampler's shared object in the store, and its build record."""

from pathlib import Path

from hone.core.files import write_records
from hone.core.script import reported
from hone.gnn.sampling.build import sampler_build

with reported(snakemake.log, snakemake.output):
    write_records(Path(snakemake.output[0]), [sampler_build(Path(snakemake.params.store))])
