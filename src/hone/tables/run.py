"""A run as the tables see it: its records, and the views of them that several tables share."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from hone.analysis.astra import Astra
from hone.analysis.bandwidth import CopyBandwidths
from hone.analysis.context import Context
from hone.analysis.frames import build_frame
from hone.analysis.run import RunRecords
from hone.analysis.salient import Salient
from hone.analysis.salient_numbers import TrainingNumbers

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Run:
    """Everything that tables are made of; what is derived from the records is derived once."""

    context: Context
    records: RunRecords
    bandwidths: CopyBandwidths
    """Measured copy bandwidths of GPUs."""
    training_numbers: TrainingNumbers
    """What papers printed about training."""

    @cached_property
    def frame(self) -> pd.DataFrame:
        """One row for each single answer that the config asks for; see `analysis.frames`."""
        known = self.records
        return build_frame(
            self.context.settings,
            known.definitions,
            known.candidates,
            known.traces,
            known.answers,
            known.unsupported,
        )

    @cached_property
    def astra(self) -> Astra:
        """What became of each existing kernel that was improved in rounds."""
        return Astra.of(self.context, self.records, self.bandwidths)

    @cached_property
    def salient(self) -> Salient:
        """Trainings, grouped by all but their seed."""
        return Salient(self.context, self.records, self.training_numbers)
