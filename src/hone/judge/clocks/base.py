"""What every clock of a GPU can do."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, ClassVar

from hone.judge.clocks.observation import Observation
from hone.records import Mode

if TYPE_CHECKING:
    from hone.judge.device.cuda.reference import DeviceReference
    from hone.judge.device.cuda.side import DeviceSubject

Attempt = Callable[[], str]
"""Tries something on inputs that are shown; why it is not possible, empty when it is."""


class DeviceClock(ABC):
    """Times one batch of a side that is a process of its own. The side has been told its arguments and is stopped."""

    mode: ClassVar[Mode]

    @abstractmethod
    def attempts(self, side: DeviceSubject, reference: DeviceReference, runs: int) -> Sequence[Attempt]:
        """What has to succeed, each on new inputs, before batches of so many runs can be timed."""

    @abstractmethod
    def launch(self, side: DeviceSubject, reference: DeviceReference, runs: int) -> str:
        """What is done before the batch's inputs are made; why that cannot be, empty when it can."""

    @abstractmethod
    def run(
        self, side: DeviceSubject, reference: DeviceReference, runs: int, show: Callable[[], float]
    ) -> Observation:  # fmt: skip
        """Show the inputs (`show`: milliseconds until the GPU is idle) and run the batch.

        The side is stopped afterwards; its claim may be missing until `claim`.
        """

    def claim(self, side: DeviceSubject, seen: Observation) -> Observation:
        """The observation with the side's own account of the time."""
        return seen
