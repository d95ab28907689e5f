"""Baselines that are timed once for a workload and GPU: compiled, in a process of their own, beside no solution."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from hone.core.code import code_digest
from hone.core.store import Store
from hone.judge.case import Case
from hone.judge.device.cuda.reference import DeviceReference
from hone.judge.protocols.kernelbench import baseline_as_published
from hone.judge.verdict import Verdict
from hone.machine.environment import environment_of
from hone.records import TIMED_ALONE, AsPublished, BaselineTimes, Performance, Protocol, Timing, digest

WARM_UPS = 3
"""A graph of PyTorch's own needs one run to warm up and one to be recorded."""
CODE = ("core/modules", "judge/child", "judge/clocks", "judge/device/cuda", "judge/protocols", "machine")


class TimedAlone:
    """What is known of them for one workload; from the store where any judge has timed them before."""

    def __init__(self, protocol: Protocol, start: Callable[[Case], DeviceReference]) -> None:
        """`start`: a reference's process that may compile, loaded with the case's workload."""
        self._protocol, self._start = protocol, start
        self._failed: dict[tuple[str, str], BaselineTimes] = {}
        """(id of a workload, name) -> what failed in this session: a compiler is not started for minutes again."""

    def times(self, case: Case, names: tuple[str, ...]) -> dict[str, BaselineTimes]:
        """Of the named baselines; a minute or more for each that nobody has timed yet."""
        return {name: self._known(case, name) for name in names if name in TIMED_ALONE}

    def _known(self, case: Case, name: str) -> BaselineTimes:
        shelf, key, place = Store(case.store), self._key(case, name), (case.workload.id, name)
        found = self._failed.get(place) or shelf.baseline(key)
        if found is None:
            found = self._measured(case, name)
            if found.timing is not None:
                shelf.keep_baseline(key, found)
            else:  # it may work another time, on a quieter machine
                self._failed[place] = found
        return found

    def _measured(self, case: Case, name: str) -> BaselineTimes:
        try:
            reference = self._start(case)
        except Verdict as verdict:
            return BaselineTimes(name=name, problem=f"the baseline {name} has no process: {verdict.detail}")
        try:
            return self._timed(reference, name)
        finally:
            reference.close()

    def _timed(self, reference: DeviceReference, name: str) -> BaselineTimes:
        if problem := reference.prepare_compiled(name):
            return BaselineTimes(name=name, problem=problem)
        try:
            for _ in range(WARM_UPS):
                reference.fresh_run_ms(name)
            samples = tuple(reference.fresh_run_ms(name) for _ in range(self._protocol.timing_runs))
            version = self._protocol.as_published
            published = baseline_as_published(reference, name, version) if version else None
        except Verdict as verdict:
            return BaselineTimes(name=name, problem=f"the baseline {name} failed: {verdict.detail}")
        return BaselineTimes(name=name, timing=Timing(samples_ms=samples), published_ms=published)

    def _key(self, case: Case, name: str) -> str:
        protocol, machine = self._protocol, environment_of(self._protocol.device)
        return digest(
            {
                "baseline": name,
                "definition": case.definition.model_dump(
                    mode="json", include={"reference", "axes", "inputs", "outputs"}
                ),
                "workload": case.workload.id,
                "protocol": [protocol.tf32, protocol.model_mode, protocol.timing_runs, protocol.as_published],
                "machine": [machine.device, machine.torch, machine.driver],
                "code": code_digest(*CODE),
            }
        )


def beside(performance: Performance, alone: Mapping[str, BaselineTimes]) -> Performance:
    """The performance with these baselines too."""
    known = {name: item for name, item in alone.items() if item.timing is not None}
    if not known:
        return performance
    assert performance.clock is not None
    clock = performance.clock.model_copy(
        update={
            "timed_alone": tuple(known),
            "baseline_modes": performance.clock.baseline_modes | dict.fromkeys(known, "stream"),
        }
    )
    baselines = performance.baselines | {name: item.timing for name, item in known.items()}
    return performance.model_copy(update={"baselines": baselines, "clock": clock})


def published_beside(published: AsPublished, alone: Mapping[str, BaselineTimes]) -> AsPublished:
    """KernelBench's times with those of these baselines, too."""
    more = {name: item.published_ms for name, item in alone.items() if item.published_ms is not None}
    return published.model_copy(update={"baselines_ms": published.baselines_ms | more})
