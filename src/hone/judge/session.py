"""What outlives one solution within a call: the device, and which workloads nothing can be judged on."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import Protocol as Interface
from typing import Self

from hone.judge.baselines import BesideError
from hone.judge.case import Case, check_build
from hone.judge.findings import Findings
from hone.judge.protocols import measure_of
from hone.judge.verdict import UnsuitedVerdict, Verdict
from hone.records import Protocol, Status


class Bench(Interface):
    """A device with what is kept there from one solution to the next: processes, references, existing kernels."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def judge(self, case: Case, findings: Findings) -> None:
        """Fill in the findings; returns when the solution passed, else raises Verdict (or MachineError)."""

    def drop(self) -> None:
        """End what is kept: the next solution gets new processes."""


class Session:
    """A context manager: everything that was started ends with it."""

    def __init__(self, protocol: Protocol, baselines: Sequence[str]) -> None:
        self.protocol = protocol
        measure_of(protocol.timing_protocol)  # a wrong name is told before anything starts
        self._bench = open_bench(protocol, baselines)
        self._refused: dict[str, Verdict] = {}
        """Id of a workload -> why no solution can be judged on it here."""

    def __enter__(self) -> Self:
        self._bench.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bench.__exit__(kind, error, trace)

    def examine(self, case: Case, findings: Findings) -> None:
        """Fill in the findings; returns when the solution passed, else raises Verdict (or MachineError)."""
        check_build(case, self.protocol)
        workload = case.workload.id
        if workload in self._refused:
            raise self._refused[workload]
        try:
            self._bench.judge(case, findings)
        except Verdict as verdict:
            if verdict.status is Status.NOT_JUDGED and not isinstance(verdict, UnsuitedVerdict):
                self._refused[workload] = verdict
            if not verdict.status.resolved or isinstance(verdict, BesideError):
                self._bench.drop()
            raise
        except BaseException:
            self._bench.drop()
            raise


def open_bench(protocol: Protocol, baselines: Sequence[str]) -> Bench:
    """The bench of the protocol's device, not entered yet."""
    if protocol.device == "cpu":
        from hone.judge.device.cpu.bench import CpuBench

        return CpuBench(protocol, baselines)
    from hone.judge.device.cuda.bench import CudaBench

    return CudaBench(protocol, baselines)
