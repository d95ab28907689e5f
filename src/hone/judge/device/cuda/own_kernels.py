"""Does a module's result need the kernels that it brought? Where it does not, PyTorch has done the work."""

from __future__ import annotations

import random
import re
from contextlib import suppress

from hone.judge.device.cuda.reference import DeviceReference
from hone.judge.device.cuda.side import DeviceSubject
from hone.judge.stand import Scalars
from hone.judge.verdict import Verdict
from hone.screen.kernels import kind_of_kernel

LEFT_OUT_KINDS = frozenset({"load_inline", "load", "triton", "run_time_code"})
"""Kinds of kernel whose launches can be left out; a module that has others is not asked."""
LEAST_SHARE = 0.01
"""Of the elements of a result must be other ones without its kernels."""
COMPARED_SETS = 2
_GRAPHS = re.compile(r"CUDAGraph|cuda\.graph\b|make_graphed_callables|[cC]u(da)?Graph")
"""What a graph of the module's own launches is not left out."""


def needs_own_kernels(source: str, reference: DeviceReference, subject: DeviceSubject, scalars: Scalars) -> bool:
    """Whether results are others where the module's own kernels are not launched; also where that is not known.

    False without a question where the source has no kernel. The last thing that a solution's process is asked, since it
    may not survive. Not asked: modules with other kinds of kernel than LEFT_OUT_KINDS or graphs of their own, results
    that depend on chance, problems with one set of inputs.
    """
    kinds = kind_of_kernel(source)
    if not kinds:
        return False
    askable = set(kinds) <= LEFT_OUT_KINDS and not _GRAPHS.search(source)
    if not askable or reference.random or reference.sets < COMPARED_SETS:
        return True
    chance = random.SystemRandom()
    with suppress(Verdict):  # it cannot go on without them
        forward_seed = chance.getrandbits(30)
        subject.prepare(forward_seed, scalars[:1] * COMPARED_SETS)
        if reference.refresh(chance.getrandbits(30), forward_seed, COMPARED_SETS) != scalars[:1] * COMPARED_SETS:
            return True
        reference.reveal(0, COMPARED_SETS)
        reference.settle()
        launches, changes, varies = subject.leave_out()
        return launches > 0 and not changes < LEAST_SHARE <= varies
    return True
