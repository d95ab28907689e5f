"""The loop of a runner: messages in, actions, messages out."""

from __future__ import annotations

import mmap
from collections.abc import Mapping
from typing import Any, Protocol

from hone.judge.layout import Layout
from hone.judge.wire import LARGE_BYTES, Channel


class Host(Protocol):
    """One kind of runner; each method answers the message of the same name in `hone.judge.wire`."""

    def act(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Do what a message asks and return the answer."""


def serve(role: str, channel: Channel, descriptors: list[int], layouts: Mapping[str, Any]) -> None:
    """Answer until the judge closes the channel or kills the process."""
    arenas = {
        name: (mmap.mmap(descriptor, layout["nbytes"]), Layout.read(layout))
        for descriptor, (name, layout) in zip(descriptors, layouts.items(), strict=True)
    }
    host = make_host(role, arenas)
    while True:
        message = channel.receive(limit=LARGE_BYTES)
        channel.send(host.act(message))


def import_hosts(kind: str) -> None:
    """Import what the zygote's runners will need: once they are confined they cannot read these files."""
    if kind == "plain":
        import hone.judge.child.native
    else:
        import hone.judge.child.candidate
        import hone.judge.child.reference  # noqa: F401


def make_host(role: str, arenas: Mapping[str, tuple[mmap.mmap, Layout]]) -> Host:
    """The host for a role: `native`, `candidate` or `reference`."""
    if role == "native":
        from hone.judge.child.native import NativeHost

        return NativeHost(arenas)
    if role == "candidate":
        from hone.judge.child.candidate import CandidateHost

        return CandidateHost(arenas)
    from hone.judge.child.reference import ReferenceHost

    return ReferenceHost(arenas)
