"""The loop of a runner: messages in, actions, messages out."""

from __future__ import annotations

import mmap
from collections.abc import Mapping
from typing import Any, Protocol

from hone.judge.wire import LARGE_BYTES, Channel
from hone.records.layout import Layout


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
        if message["do"] == "hand_over":
            channel.send_descriptors(host.descriptors())  # type: ignore[attr-defined]
            continue
        if message["do"] == "map":
            channel.send({"ready": True})
            message["descriptors"] = channel.receive_descriptors(message["count"])
        channel.send(host.act(message))


def import_hosts(kind: str) -> None:
    """Import what the zygote's runners will need: once they are confined they cannot read these files."""
    if kind == "cuda_plain":
        import hone.judge.child.cuda.native
    elif kind == "cuda_torch":
        import hone.compile.extension_call
        import hone.judge.child.cuda.candidate
        import hone.judge.child.cuda.reference
        import hone.judge.device.cuda.models

        hone.judge.device.cuda.models.import_extension_tools()
        hone.judge.device.cuda.models.warm_triton()
    elif kind == "plain":
        import hone.judge.child.cpu.native
    else:
        import hone.judge.child.cpu.candidate
        import hone.judge.child.cpu.reference


def make_host(role: str, arenas: Mapping[str, tuple[mmap.mmap, Layout]]) -> Host:
    """The host for a role: `native`, `candidate` or `reference`, with `cuda_` before it for a GPU."""
    if role.startswith("cuda_"):
        return _make_cuda_host(role)
    if role == "native":
        from hone.judge.child.cpu.native import NativeHost

        return NativeHost(arenas)
    if role == "candidate":
        from hone.judge.child.cpu.candidate import CandidateHost

        return CandidateHost(arenas)
    from hone.judge.child.cpu.reference import ReferenceHost

    return ReferenceHost(arenas)


def _make_cuda_host(role: str) -> Host:
    if role == "cuda_native":
        from hone.judge.child.cuda.native import NativeHost

        return NativeHost()
    if role == "cuda_candidate":
        from hone.judge.child.cuda.candidate import CandidateHost

        return CandidateHost()
    from hone.judge.child.cuda.reference import ReferenceHost

    return ReferenceHost()
