"""The runner of compiled solutions: loads the shared object and calls the launcher with pointers into the arenas."""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Mapping
from typing import Any

from hone.records.layout import Layout

SCALARS: dict[str, Any] = {
    "float32": ctypes.c_float, "float64": ctypes.c_double, "int64": ctypes.c_int64, "int32": ctypes.c_int32,
    "int16": ctypes.c_int16, "int8": ctypes.c_int8, "uint8": ctypes.c_uint8, "bool": ctypes.c_bool,
}  # fmt: skip


class NativeHost:
    """`load` opens the object, `prepare` takes the numbers passed by value, `run` calls the launcher once."""

    def __init__(self, arenas: Mapping[str, tuple[mmap.mmap, Layout]]) -> None:
        self._addresses: dict[str, int] = {}
        for memory, layout in arenas.values():
            base = ctypes.addressof(ctypes.c_char.from_buffer(memory))
            self._addresses.update({slot.name: base + slot.offset for slot in layout.slots})
        self._launch: Any = None
        self._signature: list[dict[str, Any]] = []
        self._arguments: list[Any] = []

    def act(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Answer one message."""
        if message["do"] == "run":
            self._launch(*self._arguments)
            return {"done": message["nonce"]}
        if message["do"] == "prepare":
            self._arguments = [launcher_argument(item, self._addresses, message["scalars"]) for item in self._signature]
            return {"ok": True}
        return self._load(message)

    def _load(self, message: Mapping[str, Any]) -> dict[str, Any]:
        try:
            self._launch = getattr(ctypes.CDLL(message["artifact"]), message["entry_point"])
        except OSError as error:
            return {"error": {"kind": "load", "text": f"the shared object cannot be loaded: {error}"}}
        except AttributeError:
            text = f"no function {message['entry_point']} with C linkage; wanted is {message['wanted']}"
            return {"error": {"kind": "load", "text": text}}
        self._launch.restype = None
        self._signature = message["signature"]
        return {"ok": True}


def launcher_argument(item: Mapping[str, Any], addresses: Mapping[str, int], scalars: Mapping[str, Any]) -> Any:
    """`item` holds the name, and `value` of an axis or `dtype` of a scalar; tensors have neither."""
    if "value" in item:
        return ctypes.c_int64(item["value"])
    if "dtype" in item:
        return SCALARS[item["dtype"]](scalars[item["name"]])
    return ctypes.c_void_p(addresses[item["name"]])
