"""The protocol between the judge and the processes that it runs: one JSON object after its length in four bytes.

Imported by both sides, so it needs nothing beside the standard library. Parent to runner:

    load      what to run; answered by `ok` or `error`
    make_inputs  (reference) make the inputs of a seed and write them to the arena
    prepare   seed the random generators and take the numbers that are passed by value
    run       run once; answered by `done` with the same nonce: the answer's arrival stops the clock
    store     (reference) copy the last outputs to the arena
    describe  (reference) `written_inputs`: names of the inputs that the last run wrote to
    compile   (reference) prepare the baseline `torch_compile`; on a GPU any of those that are compiled, by name
    profile   PyTorch's operator table of one run
    peak      (reference) GFLOP/s of a large matrix product

On a GPU (`hone.judge.device.cuda`) runners answer to some more:

    build     (reference) build the model on the CPU; open_gpu: make the GPU's context, and put nothing on it
    warm      (solution) open the GPU, with no code of a solution there; (reference) find out what GPU it is
    choose_gate (reference) which gate `hand_over` gives away: that of solutions, or a new one
    hand_over (reference) answered by the descriptors of its device memory, and by nothing else
    map       take device memory: answered by `ready`, then sent the descriptors, then answered by `ok`
    trial     (reference) inputs of one seed, poisoned outputs, expected results; ahead: compute those, and keep them
    compare   (reference) check what lies in the outputs
    refresh   (reference) new inputs, hidden at first, and poisoned outputs
    reveal    (reference) show hidden inputs to the solution and fill the L2 cache with other data
    flush     (reference) fill the L2 cache with other data
    settle    (reference) wait until nobody's work is left on the GPU
    close     (reference) close the gates of a graph's runs; open: open some
    capture   make a graph of one batch; spans: run a batch under CUPTI
    try_graph (reference) make one and give it back: its number of steps, and whether they are a chain
    leave_out (solution) run without the module's own kernels, and say what share of the results that changes
    give_back (solution) free the device memory that PyTorch keeps for later
    arm       (solution) launch the graph, which waits at its gates; collect: read its time

Nothing that comes from a runner is believed but the time at which it came: results are read from the arena.
"""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Mapping, Sequence
from typing import Any

HEADER_BYTES = 4
SMALL_BYTES = 64 * 1024
LARGE_BYTES = 64 * 1024 * 1024
UNBUILT = "unbuilt"
"""Kind of a solution's error: it called for an extension that nobody has built."""


class WireError(Exception):
    """The other side cannot be talked to."""


class ClosedError(WireError):
    """The other side is gone."""


class SilentError(WireError):
    """The other side did not answer in time."""


class GarbledError(WireError):
    """The other side sent something that is no message, or none that was asked for."""


class Channel:
    """One end of a connected stream socket."""

    def __init__(self, connection: socket.socket) -> None:
        self._socket = connection
        self._received = bytearray()

    def send(self, message: Mapping[str, Any], timeout_s: float | None = None) -> None:
        """Send one message; raises ClosedError or SilentError."""
        body = json.dumps(message).encode()
        self._socket.settimeout(timeout_s)
        try:
            self._socket.sendall(len(body).to_bytes(HEADER_BYTES, "big") + body)
        except TimeoutError:
            raise SilentError from None
        except OSError as error:
            raise ClosedError(str(error)) from None

    def receive(self, timeout_s: float | None = None, limit: int = SMALL_BYTES) -> dict[str, Any]:
        """The next message of at most `limit` bytes; raises ClosedError, SilentError or GarbledError."""
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        length = int.from_bytes(self._take(HEADER_BYTES, deadline), "big")
        if length > limit:
            raise GarbledError(f"a message of {length} bytes, at most {limit} are allowed")
        body = self._take(length, deadline)
        try:
            message = json.loads(body)
        except (ValueError, RecursionError):
            raise GarbledError("not JSON") from None
        if not isinstance(message, dict):
            raise GarbledError("not a JSON object")
        return message

    def send_descriptors(self, descriptors: Sequence[int]) -> None:
        """Hand over open files; the other side must be waiting in `receive_descriptors`."""
        try:
            socket.send_fds(self._socket, [b"+"], list(descriptors))
        except OSError as error:
            raise ClosedError(str(error)) from None

    def receive_descriptors(self, count: int, timeout_s: float | None = None) -> list[int]:
        """Open files of the other side; nothing else may be on its way. Raises WireError."""
        self._socket.settimeout(timeout_s)
        try:
            said, descriptors, _, _ = socket.recv_fds(self._socket, 1, count)
        except TimeoutError:
            raise SilentError from None
        except OSError as error:
            raise ClosedError(str(error)) from None
        if not said:
            raise ClosedError("closed")
        if len(descriptors) != count:
            raise GarbledError(f"{len(descriptors)} files instead of {count}")
        return descriptors

    def pending(self) -> bool:
        """Whether bytes lie there that nobody asked for."""
        if self._received:
            return True
        self._socket.settimeout(0.0)
        try:
            return bool(self._socket.recv(1, socket.MSG_PEEK))
        except OSError:
            return False

    def close(self) -> None:
        """Close this end."""
        self._socket.close()

    def _take(self, count: int, deadline: float | None) -> bytes:
        while len(self._received) < count:
            left = None if deadline is None else deadline - time.monotonic()
            if left is not None and left <= 0:
                raise SilentError
            self._socket.settimeout(left)
            try:
                chunk = self._socket.recv(65536)
            except TimeoutError:
                raise SilentError from None
            except OSError as error:
                raise ClosedError(str(error)) from None
            if not chunk:
                raise ClosedError("closed")
            self._received += chunk
        taken = bytes(self._received[:count])
        del self._received[:count]
        return taken
