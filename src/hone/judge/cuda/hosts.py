"""The runners of a GPU by their role."""

from __future__ import annotations

from hone.judge.child.runners import Host


def make_cuda_host(role: str) -> Host:
    """The host for `cuda_native`, `cuda_candidate` or `cuda_reference`."""
    if role == "cuda_native":
        from hone.judge.cuda.native_host import NativeHost

        return NativeHost()
    if role == "cuda_candidate":
        from hone.judge.cuda.candidate_host import CandidateHost

        return CandidateHost()
    from hone.judge.cuda.reference_host import ReferenceHost

    return ReferenceHost()
