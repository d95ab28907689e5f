"""Many solutions to traces: known ones come from the store, the rest is judged definition by definition."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from hone.build.progress import progress_bar
from hone.code import code_digest
from hone.errors import MachineError, RecordError
from hone.judge.environment import environment_for
from hone.judge.examine import Findings
from hone.judge.session import Case, Session
from hone.judge.verdict import Verdict
from hone.records import Build, BuildStatus, Definition, Protocol, Solution, Status, Trace, Workload, digest
from hone.store import Store

if TYPE_CHECKING:
    from hone.judge.cuda.session import DeviceSession

EXECUTED = {"reference", "axes", "held_out", "inputs", "parameters", "outputs", "requires", "flops"}
"""The fields of a definition that a verdict depends on."""


def judge_all(
    solutions: Sequence[Solution],
    builds: Mapping[str, Build],
    definitions: Mapping[str, Definition],
    workloads: Mapping[str, Workload],
    protocol: Protocol,
    *,
    baselines: Sequence[str] = ("torch_eager",),
    store: Path,
    again: bool = False,
    progress: bool = True,
) -> list[Trace]:
    """One trace for each solution, in the order given; those that the store has are taken from there unless `again`.

    `builds` go by solution id, `definitions` and `workloads` by definition name; a missing one is a RecordError. Each
    trace is kept in the store as soon as it is there, so an interrupt loses the solution at hand only. MACHINE_ERROR
    and NOT_JUDGED say nothing about a solution and are not kept. MachineError when the store cannot be written.
    """
    cases = [_case(solution, builds, definitions, workloads, store) for solution in solutions]
    shelf = Store(store)
    keys = {case.solution.id: trace_key(case, protocol, baselines) for case in cases}
    known = {} if again else {case.solution.id: shelf.trace(keys[case.solution.id]) for case in cases}
    # Kept under a protocol that may have had another name, or another limit for compilers.
    traces = {key: trace.model_copy(update={"protocol": protocol}) for key, trace in known.items() if trace is not None}
    to_judge = {case.solution.id: case for case in cases if case.solution.id not in traces}
    # References are loaded once per definition when its solutions follow each other.
    ordered = sorted(to_judge.values(), key=lambda case: case.definition.name)
    with progress_bar("judge", len(ordered), wanted=progress) as advance, open_session(protocol, baselines) as session:
        for case in ordered:
            trace = judge_one(case, session)
            if keepable(trace, case.build):
                shelf.keep_trace(keys[case.solution.id], trace)
            traces[case.solution.id] = trace
            advance()
    return [traces[solution.id] for solution in solutions]


def keepable(trace: Trace, build: Build) -> bool:
    """Whether judging again could tell nothing new.

    A pass with a remark lacks a baseline that may work next time, and a compiler may be in time on a quieter machine.
    """
    lacks_baseline = trace.status is Status.PASSED and trace.detail
    return trace.status.resolved and not lacks_baseline and build.status is not BuildStatus.TIMEOUT


def open_session(protocol: Protocol, baselines: Sequence[str]) -> Session | DeviceSession:
    """The session for the protocol's device."""
    if protocol.device == "cpu":
        return Session(protocol, baselines)
    from hone.judge.cuda.session import DeviceSession

    return DeviceSession(protocol, baselines)


def judge_one(case: Case, session: Session | DeviceSession) -> Trace:
    """The trace of one case; whatever the solution does, this returns."""
    findings = Findings()
    try:
        session.examine(case, findings)
        status, detail = Status.PASSED, findings.remark
    except Verdict as verdict:
        status, detail = verdict.status, verdict.detail
    except (MachineError, OSError) as error:
        status, detail = Status.MACHINE_ERROR, str(error)
    environment = environment_for(session.protocol)
    return Trace(
        solution=case.solution.id,
        definition=case.definition.name,
        workload=case.workload.id,
        status=status,
        detail=detail,
        errors=findings.errors,
        performance=findings.performance if status is Status.PASSED else None,
        profile=findings.profile,
        environment=environment.model_copy(
            update={"toolchain": case.build.toolchain, "confinement": findings.confinement}
        ),
        protocol=session.protocol,
        phase_s={name: round(seconds, 4) for name, seconds in findings.phase_s.items()},
        judged_at=datetime.now(UTC).isoformat(timespec="seconds"),
    )


def trace_key(case: Case, protocol: Protocol, baselines: Sequence[str]) -> str:
    """Digest of everything that the verdict depends on: what is executed, how, by which code, on what machine.

    Names, titles, origins, the commit and the host's name are not part of it.
    """
    machine = environment_for(protocol)
    build = case.build
    return digest(
        {
            "solution": case.solution.id,
            "build": [build.status, build.command, build.toolchain, build.target, build.extensions],
            "definition": case.definition.model_dump(mode="json", include=EXECUTED),
            "workload": case.workload.id,
            "protocol": protocol.model_dump(mode="json", exclude={"name", "build_timeout_s"}),
            "baselines": sorted(baselines),
            "machine": [machine.device, machine.cores, machine.python, machine.torch, machine.driver],
            "code": code_digest("build/extension_call", "judge", "launcher", "syscalls"),
        }
    )


def _case(
    solution: Solution,
    builds: Mapping[str, Build],
    definitions: Mapping[str, Definition],
    workloads: Mapping[str, Workload],
    store: Path,
) -> Case:
    where = f"solution {solution.id[:12]}"
    for kind, known, name in (
        ("build", builds, solution.id),
        ("definition", definitions, solution.definition),
        ("workload", workloads, solution.definition),
    ):
        if name not in known:
            raise RecordError(f"there is no {kind} '{name}'", where=where, remedy="run the same command again")
    workload = workloads[solution.definition]
    return Case(solution, builds[solution.id], definitions[solution.definition], workload, store)
