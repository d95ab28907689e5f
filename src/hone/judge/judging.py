"""Many solutions to traces: known ones come from the store, the rest is judged workload by workload."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

from hone.compile.kernels import kernels_for
from hone.core.code import code_digest
from hone.core.errors import MachineError, RecordError
from hone.core.progress import progress_bar
from hone.core.scratch import sweep_once
from hone.core.store import Store
from hone.judge.case import Case
from hone.judge.extensions import fallback_note, settled, with_fallback
from hone.judge.findings import Findings
from hone.judge.session import Session
from hone.judge.verdict import Verdict
from hone.machine.environment import environment_of
from hone.records import Build, BuildStatus, Definition, Protocol, Solution, Status, Trace, Workload, digest

T = TypeVar("T")

EXECUTED = {"reference", "axes", "held_out", "inputs", "parameters", "outputs", "dtypes", "requires", "flops"}
"""The fields of a definition that a verdict depends on."""
EXECUTED_CODE = (
    "compile/extension_call", "compile/extension_files", "compile/extension_sites", "compile/kernels",
    "compile/outcome", "core/modules", "judge", "launcher", "machine", "screen",
)  # fmt: skip
"""The modules that a verdict depends on."""


def judge_all(
    solutions: Sequence[Solution],
    builds: Mapping[str, Build],
    definitions: Mapping[str, Definition],
    workloads: Mapping[str, Sequence[Workload]],
    protocol: Protocol,
    *,
    baselines: Sequence[str] = ("torch_eager",),
    store: Path,
    again: bool = False,
    progress: bool = True,
) -> list[Trace]:
    """One trace for each solution and workload: solutions in the order given, workloads of each inside.

    Those that the store has are taken from there unless `again`. `builds` go by solution id and hold those of existing
    kernels that are baselines; `definitions` and `workloads` go by definition name; a missing one is a RecordError.
    A baseline that a definition does not have is left out for it. Each trace is kept in the store as soon as it is
    there, so an interrupt loses the one at hand only. MACHINE_ERROR and NOT_JUDGED say nothing about a solution and
    are not kept. Where another process has kept a trace of the same meanwhile, that one stands, so that every run
    tells the same times; with `again` the last one does. MachineError when the store cannot be written.
    """
    sweep_once()  # of a run that was killed, even where the store has everything by now
    cases = Cases(builds, definitions, workloads, protocol, baselines, store)
    asked = [(place, case) for solution in solutions for place, case in enumerate(cases.of(solution))]
    order = [(case.solution.id, case.workload.id) for _, case in asked]
    wanted = {pair: case for pair, (_, case) in zip(order, asked, strict=True)}
    # Solutions of one workload follow each other, so that its reference is loaded once.
    places = {pair: (case.definition.name, place) for pair, (place, case) in zip(order, asked, strict=True)}
    shelf = Store(store)
    keys = {pair: trace_key(case, protocol, baselines) for pair, case in wanted.items()}
    known = {} if again else {pair: shelf.trace(key) for pair, key in keys.items()}
    traces = {pair: _told_as(protocol, trace) for pair, trace in known.items() if trace is not None}
    to_judge = sorted((pair for pair in wanted if pair not in traces), key=lambda pair: places[pair])
    if not to_judge:  # nor is a device waited for
        return [traces[pair] for pair in order]
    with progress_bar("judge", len(to_judge), wanted=progress) as advance, Session(protocol, baselines) as session:
        for pair in to_judge:
            trace = None if again else shelf.trace(keys[pair])
            if trace is None:
                trace = judge_one(wanted[pair], session)
                if keepable(trace, wanted[pair].build):
                    trace = shelf.keep_trace(keys[pair], trace, replace=again)
                elif not again:
                    trace = shelf.trace(keys[pair]) or trace
            traces[pair] = _told_as(protocol, trace)
            advance()
    return [traces[pair] for pair in order]


def _told_as(protocol: Protocol, trace: Trace) -> Trace:
    """A kept trace: its protocol may have had another name, or another limit for compilers."""
    return trace.model_copy(update={"protocol": protocol})


def keepable(trace: Trace, build: Build) -> bool:
    """Whether judging again could tell nothing new.

    A pass with a remark lacks a baseline that may work next time, and a compiler may be in time on a quieter machine.
    """
    lacks_baseline = trace.status is Status.PASSED and trace.detail != fallback_note(build)
    return trace.status.resolved and not lacks_baseline and build.status is not BuildStatus.TIMEOUT


def judge_one(case: Case, session: Session) -> Trace:
    """The trace of one case; whatever the solution does, this returns."""
    findings = Findings()
    try:
        session.examine(case, findings)
        status, detail = Status.PASSED, findings.remark
    except Verdict as verdict:
        status, detail = verdict.status, verdict.detail
    except (MachineError, OSError) as error:
        status, detail = Status.MACHINE_ERROR, str(error)
    status, detail = settled(case.build, case.solution, status, detail)
    published = _as_published(status, findings) if session.protocol.device == "cuda" else None
    environment = environment_of(session.protocol.device)
    return Trace(
        solution=case.solution.id,
        definition=case.definition.name,
        workload=case.workload.id,
        status=status,
        status_as_published=published,
        as_published=findings.as_published if Status.PASSED in (status, published) else None,
        detail=detail,
        errors=findings.errors,
        performance=with_fallback(findings.performance, case.build, session.protocol)
        if status is Status.PASSED
        else None,
        profile=findings.profile,
        environment=environment.model_copy(
            update={"toolchain": case.build.toolchain, "confinement": findings.confinement}
        ),
        protocol=session.protocol,
        phase_s={name: round(seconds, 4) for name, seconds in findings.phase_s.items()},
        judged_at=datetime.now(UTC).isoformat(timespec="seconds"),
    )


def _as_published(status: Status, findings: Findings) -> Status | None:
    """By KernelBench's rule, which looks at results on values as given, and adds nothing to the tolerance.

    Nothing is known where it failed at held-out sizes, which come first and which that rule does not have.
    """
    if not status.resolved or findings.only_held_out:
        return None
    return findings.status_as_published or status


def trace_key(case: Case, protocol: Protocol, baselines: Sequence[str]) -> str:
    """Digest of everything that the verdict depends on: what is executed, how, by which code, on what machine.

    Names, titles, origins, the commit and the host's name are not part of it.
    """
    machine = environment_of(protocol.device)
    build = case.build
    return digest(
        {
            "solution": case.solution.id,
            "build": [*_compiled(build), build.extensions, build.refused],
            "definition": case.definition.model_dump(mode="json", include=EXECUTED),
            "workload": case.workload.id,
            "protocol": protocol.model_dump(mode="json", exclude={"name", "build_timeout_s"}),
            "baselines": sorted(case.baselines_of(baselines)),
            "kernels": {name: [item.solution, *_compiled(item)] for name, item in case.kernels.items()},
            "machine": [machine.device, machine.cores, machine.python, machine.torch, machine.driver],
            "code": code_digest(*EXECUTED_CODE),
        }
    )


def _compiled(build: Build) -> list[object]:
    return [build.status, build.command, build.toolchain, build.target]


@dataclass(frozen=True)
class Cases:
    """Everything that solutions are judged with."""

    builds: Mapping[str, Build]
    definitions: Mapping[str, Definition]
    workloads: Mapping[str, Sequence[Workload]]
    protocol: Protocol
    baselines: Sequence[str]
    store: Path

    def of(self, solution: Solution) -> list[Case]:
        """One case for each workload; raises RecordError when something is missing."""
        where = f"solution {solution.id[:12]}"
        build = _find("build", self.builds, solution.id, where)
        definition = _find("definition", self.definitions, solution.definition, where)
        workloads = _find("workload", self.workloads, solution.definition, where)
        kernels = {
            name: _find("build", self.builds, kernel.id, f"kernel {name} of {definition.name}")
            for name, kernel in kernels_for(definition, self.protocol.device).items()
            if name in self.baselines
        }
        return [Case(solution, build, definition, workload, self.store, kernels) for workload in workloads]


def _find(kind: str, known: Mapping[str, T], name: str, where: str) -> T:
    if not known.get(name):
        raise RecordError(f"there is no {kind} '{name}'", where=where, remedy="run the same command again")
    return known[name]
