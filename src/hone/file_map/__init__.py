"""Every file and every job of a config: the rules and `hone status` read them here and nowhere else.

    Paths            the pipeline's files, as patterns with Snakemake's wildcards or as those of one job
    Kinds            experiments by what they need
    ExperimentFiles  the jobs of experiments, and their files
    TrainingFiles    the jobs of graphs and trainings, and their files
    FileMap          all of them, and what tables are made of

Snakemake parses the rules again for every job, so nothing here imports a heavy library.
"""

from hone.file_map.experiments import ExperimentFiles, Questions
from hone.file_map.kinds import Kinds
from hone.file_map.paths import Paths, Shard
from hone.file_map.run import FileMap
from hone.file_map.trainings import TrainingFiles

__all__ = ["ExperimentFiles", "FileMap", "Kinds", "Paths", "Questions", "Shard", "TrainingFiles"]
