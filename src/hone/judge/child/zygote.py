"""A process that has imported what runners need, and forks one for each solution: `python -m hone.judge.child.zygote`.

It is trusted: no candidate code ever runs in it. Arguments: the descriptor of its channel, and `torch` or `plain`.
Each request comes with the descriptors of the runner's channel, of a pipe for its end, of its standard error and of its
arenas. For a confined runner there are three generations:

    supervisor (enters a process namespace) -> first process of the namespace -> runner (the candidate's code)

The first process waits for the runner, reports how it ended, and takes everything that is left along when it ends.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

from hone.judge.child import runners
from hone.judge.wire import LARGE_BYTES, Channel, ClosedError
from hone.machine import confinement, syscalls

FIRST_FREE = 3


def main(descriptor: int, kind: str) -> None:
    """Answer spawn requests until the judge closes the channel."""
    user = os.getuid()
    shared = confinement.enter_shared_namespaces()
    confinement.die_with_parent()
    isolates = not kind.startswith("cuda_") or confinement.own_proc_works()
    if kind.endswith("torch"):
        import torch

        torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    runners.import_hosts(kind)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # supervisors need not be waited for
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interrupt is the judge's business, which then closes the channel
    connection = socket.socket(fileno=descriptor)
    channel = Channel(connection)
    channel.send({"ready": True})
    while True:
        connection.settimeout(None)
        _, descriptors, _, _ = socket.recv_fds(connection, 1, 8)
        if not descriptors:
            return
        try:
            request = channel.receive(limit=LARGE_BYTES)
        except ClosedError:
            return
        pid = os.fork()
        if pid == 0:
            _supervise({**request, "user": user, "isolates": isolates}, descriptors, shared, runners.serve)
        for number in descriptors:
            os.close(number)
        channel.send({"supervisor": pid})


def _supervise(
    request: dict[str, Any], descriptors: list[int], shared: list[str], serve: Callable[..., None]
) -> NoReturn:
    """The first generation: enter a process namespace if the runner is to be confined, and wait."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    confinement.die_with_parent()
    if request["confinement"]["memory_only"]:
        _watch_runner(request, descriptors, [], serve)
    achieved = [*shared, *(confinement.enter_process_namespace() if request["isolates"] else [])]
    child = os.fork()
    if child == 0:
        confinement.die_with_parent()
        if request["confinement"]["scratch"]:
            achieved += confinement.limit_processes(request["user"])
        _watch_runner(request, descriptors, achieved, serve)
    for descriptor in descriptors:
        os.close(descriptor)
    os.waitpid(child, 0)
    os._exit(0)


def _watch_runner(
    request: dict[str, Any], descriptors: list[int], achieved: list[str], serve: Callable[..., None]
) -> NoReturn:
    """Fork the runner, wait for its end and report it."""
    channel, ending, errors, *arenas = descriptors
    runner = os.fork()
    if runner == 0:
        os.close(ending)
        _become_runner(request, [channel, errors, *arenas], achieved, serve)
    for descriptor in (channel, errors, *arenas):
        os.close(descriptor)
    _, status = os.waitpid(runner, 0)
    os.write(ending, json.dumps({"code": os.waitstatus_to_exitcode(status)}).encode())
    os._exit(0)


def _become_runner(
    request: dict[str, Any], descriptors: list[int], achieved: list[str], serve: Callable[..., None]
) -> NoReturn:
    """Keep only the channel and the arenas open, confine, say hello, serve."""
    os.setsid()
    confinement.die_with_parent()
    high = [os.dup2(descriptor, 200 + index) for index, descriptor in enumerate(descriptors)]
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(null, 1)
    os.dup2(high[1], 2)
    os.closerange(FIRST_FREE, 200)
    os.closerange(200 + len(high), 4096)
    os.close(high[1])
    if request["cpus"]:
        os.sched_setaffinity(0, request["cpus"])
    # The host's /proc names processes by the numbers that the judge knows them by.
    pid = int(Path("/proc/self").readlink().name)
    if request["confinement"]["gpu"] and "process_namespace" in achieved:
        syscalls.mount_own_proc()
    confined, further = _prepare(confinement.Confinement.read(request["confinement"]), request, achieved)
    parts = confinement.confine(confined, [*achieved, *further])
    channel = Channel(socket.socket(fileno=high[0]))
    channel.send({"pid": pid, "confinement": parts})
    try:
        serve(request["role"], channel, high[2:], request["layouts"])
    except ClosedError:
        os._exit(0)
    os._exit(0)


def _prepare(
    confined: confinement.Confinement, request: dict[str, Any], achieved: list[str]
) -> tuple[confinement.Confinement, list[str]]:
    """What needs rights that `confine` takes away: a folder of its own for Python, another user where root compiles."""
    if confined.memory_only:
        return confined, []
    if request["role"].endswith("candidate"):
        needed = [*confined.readable, confined.scratch]
        confined = replace(confined, private=confinement.enter_private_folder(needed))
    if confined.scratch and request["user"] == 0 and "process_limit" not in achieved:
        return confined, confinement.become_ordinary(confined)
    return confined, []


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
