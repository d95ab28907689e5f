"""What the judge needs of the CUDA driver, through ctypes: the same calls serve processes with and without PyTorch.

All functions act on the primary context of device 0 of the calling process; `open_context` comes first. Every call
that fails raises CudaError with the driver's own words.
"""

from __future__ import annotations

import ctypes
import functools
from ctypes import byref, c_char_p, c_float, c_int, c_size_t, c_ubyte, c_uint, c_ushort, c_void_p
from typing import Any

PINNED, DEVICE, FILE_DESCRIPTOR, READ, READ_WRITE = 1, 1, 1, 1, 3
EVENT_DEFAULT = 0
NON_BLOCKING_STREAM = 1
CAPTURE_RELAXED = 2
AT_LEAST = 0


class CudaError(Exception):
    """A driver call failed; `code` is the driver's number."""

    def __init__(self, code: int, call: str, text: str) -> None:
        self.code = code
        super().__init__(f"{call}: {text}")


class _Location(ctypes.Structure):
    _fields_ = (("type", c_int), ("id", c_int))


class _Flags(ctypes.Structure):
    _fields_ = (("compression", c_ubyte), ("rdma", c_ubyte), ("usage", c_ushort), ("reserved", c_ubyte * 4))


class _Properties(ctypes.Structure):
    _fields_ = (("type", c_int), ("handles", c_int), ("location", _Location), ("win32", c_void_p), ("flags", _Flags))


class _Access(ctypes.Structure):
    _fields_ = (("location", _Location), ("flags", c_int))


@functools.cache
def _driver() -> Any:
    return ctypes.CDLL("libcuda.so.1")


def call(name: str, *arguments: Any) -> None:
    """Call a function of the driver; raises CudaError when it does not return success."""
    code = getattr(_driver(), name)(*arguments)
    if code:
        text = c_char_p()
        _driver().cuGetErrorString(code, byref(text))
        raise CudaError(code, name, (text.value or b"unknown error").decode())


def open_context() -> None:
    """Load the driver and make device 0's primary context current; raises OSError or CudaError."""
    call("cuInit", c_uint(0))
    device, context = c_int(), c_void_p()
    call("cuDeviceGet", byref(device), c_int(0))
    call("cuDevicePrimaryCtxRetain", byref(context), device)
    call("cuCtxSetCurrent", context)


def synchronize() -> None:
    """Wait for everything that this process has put on the device."""
    call("cuCtxSynchronize")


# ---------------------------------------------------------------------------------------------- shared memory


def allocate(nbytes: int) -> tuple[int, int]:
    """(address, file descriptor) of new device memory that another process can map; the descriptor is the caller's."""
    handle, descriptor = c_void_p(), c_int()
    properties = _Properties(PINNED, FILE_DESCRIPTOR, _Location(DEVICE, 0), None, _Flags())
    call("cuMemCreate", byref(handle), c_size_t(nbytes), byref(properties), ctypes.c_ulonglong(0))
    call("cuMemExportToShareableHandle", byref(descriptor), handle, c_int(FILE_DESCRIPTOR), ctypes.c_ulonglong(0))
    return _map(handle, nbytes, READ_WRITE), descriptor.value


def allocate_private(nbytes: int) -> int:
    """Address of new device memory that cannot be shared."""
    address = c_void_p()
    call("cuMemAlloc_v2", byref(address), c_size_t(nbytes))
    return address.value or 0


def free_private(address: int) -> None:
    """Give back what `allocate_private` gave; waits for the device."""
    call("cuMemFree_v2", c_void_p(address))


def import_memory(descriptor: int, nbytes: int, *, writable: bool) -> int:
    """Address in this process of memory that another one has allocated."""
    handle = c_void_p()
    call("cuMemImportFromShareableHandle", byref(handle), c_void_p(descriptor), c_int(FILE_DESCRIPTOR))
    return _map(handle, nbytes, READ_WRITE if writable else READ)


def _map(handle: c_void_p, nbytes: int, access: int) -> int:
    """Map a handle and drop it: the mapping keeps the memory alive."""
    address = c_void_p()
    call("cuMemAddressReserve", byref(address), c_size_t(nbytes), c_size_t(0), c_void_p(0), ctypes.c_ulonglong(0))
    call("cuMemMap", address, c_size_t(nbytes), c_size_t(0), handle, ctypes.c_ulonglong(0))
    rights = _Access(_Location(DEVICE, 0), access)
    call("cuMemSetAccess", address, c_size_t(nbytes), byref(rights), c_size_t(1))
    call("cuMemRelease", handle)
    return address.value or 0


# -------------------------------------------------------------------------------- streams, events, graphs


def new_stream() -> c_void_p:
    """A stream that does not wait for the default one."""
    stream = c_void_p()
    call("cuStreamCreate", byref(stream), c_uint(NON_BLOCKING_STREAM))
    return stream


def new_event() -> c_void_p:
    """An event that keeps the time."""
    event = c_void_p()
    call("cuEventCreate", byref(event), c_uint(EVENT_DEFAULT))
    return event


def record(event: c_void_p, stream: c_void_p) -> None:
    """Let the event take the time at which the stream comes to this point."""
    call("cuEventRecord", event, stream)


def elapsed_ms(start: c_void_p, end: c_void_p) -> float:
    """Milliseconds of device time between two events that have happened."""
    elapsed = c_float()
    call("cuEventElapsedTime", byref(elapsed), start, end)
    return float(elapsed.value)


def wait_for_word(stream: c_void_p | None, address: int, value: int) -> None:
    """Let the stream go on when the 32-bit word at `address` has reached `value`."""
    call("cuStreamWaitValue32_v2", stream, c_void_p(address), c_uint(value), c_uint(AT_LEAST))


def set_word_after(stream: c_void_p | None, address: int, value: int) -> None:
    """Let the stream write a word when it comes to this point."""
    call("cuStreamWriteValue32_v2", stream, c_void_p(address), c_uint(value), c_uint(0))


def fill_words(stream: c_void_p | None, address: int, value: int, count: int) -> None:
    """Let the stream fill `count` words."""
    call("cuMemsetD32Async", c_void_p(address), c_uint(value), c_size_t(count), stream)


def read_word(stream: c_void_p, address: int) -> int:
    """The word now; waits for this stream only."""
    word = c_uint()
    call("cuMemcpyDtoHAsync_v2", byref(word), c_void_p(address), c_size_t(4), stream)
    call("cuStreamSynchronize", stream)
    return word.value


def begin_capture(stream: c_void_p) -> None:
    """What is put on the stream from now on becomes a graph instead of being run."""
    call("cuStreamBeginCapture_v2", stream, c_int(CAPTURE_RELAXED))


def count_captured(stream: c_void_p) -> int:
    """How many steps the graph has so far that the stream is capturing."""
    return _count_steps(_captured_graph(stream))


def _captured_graph(stream: c_void_p) -> c_void_p:
    status, identity, graph = c_int(), ctypes.c_ulonglong(), c_void_p()
    call("cuStreamGetCaptureInfo_v2", stream, byref(status), byref(identity), byref(graph), None, None)
    return graph


def _count_steps(graph: c_void_p) -> int:
    steps = c_size_t()
    call("cuGraphGetNodes", graph, None, byref(steps))
    return steps.value


def captured_steps(stream: c_void_p) -> tuple[int, bool]:
    """How many steps the graph has that the stream is capturing, and whether each waits for the one before."""
    graph = _captured_graph(stream)
    steps, edges = _count_steps(graph), c_size_t()
    call("cuGraphGetEdges_v2", graph, None, None, None, byref(edges))  # of CUDA 12.3 and later
    if edges.value != max(steps - 1, 0):
        return steps, False
    earlier, later = (c_void_p * edges.value)(), (c_void_p * edges.value)()
    data = (ctypes.c_ulonglong * edges.value)()  # what is asked for with edges that are not plain ones
    call("cuGraphGetEdges_v2", graph, earlier, later, data, byref(edges))
    # With one edge less than steps, no step twice at the same end of an edge, and no cycles: one path.
    return steps, len(set(earlier)) == len(set(later)) == edges.value


def end_capture(stream: c_void_p) -> c_void_p:
    """The executable graph of what was captured."""
    graph, executable = c_void_p(), c_void_p()
    call("cuStreamEndCapture", stream, byref(graph))
    if not graph.value:
        raise CudaError(901, "cuStreamEndCapture", "the capture was broken off")
    call("cuGraphInstantiateWithFlags", byref(executable), graph, ctypes.c_ulonglong(0))
    call("cuGraphDestroy", graph)
    return executable


def launch_graph(executable: c_void_p, stream: c_void_p) -> None:
    """Run a graph once."""
    call("cuGraphLaunch", executable, stream)


def destroy_graph(executable: c_void_p) -> None:
    """Give an executable graph back."""
    call("cuGraphExecDestroy", executable)
