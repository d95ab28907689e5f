"""What the standard library does not offer of Linux: namespaces, Landlock, seccomp, capabilities, through ctypes.

Every function returns whether the kernel did it. Nothing here decides anything: see `confinement`.
"""

from __future__ import annotations

import ctypes
import os
import platform
import struct
from collections.abc import Iterable, Sequence
from pathlib import Path

CLONE_NEWUTS, CLONE_NEWIPC, CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET = (
    0x04000000, 0x08000000, 0x10000000, 0x20000000, 0x40000000,
)  # fmt: skip
CLONE_THREAD = 0x00010000
CLONE_NEWNS = 0x00020000
_MS_NOSUID, _MS_NODEV, _MS_REC, _MS_PRIVATE, _MS_RESTRICTED = 2, 4, 1 << 14, 1 << 18, 2 | 4 | 8
PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_NO_NEW_PRIVS = 1, 4, 38

_libc = ctypes.CDLL(None, use_errno=True)

# ---------------------------------------------------------------------------------------- prctl, namespaces


def prctl(option: int, value: int) -> bool:
    """prctl(option, value, 0, 0, 0)."""
    zero = ctypes.c_ulong(0)
    return bool(_libc.prctl(ctypes.c_int(option), ctypes.c_ulong(value), zero, zero, zero) == 0)


def unshare(flags: int) -> bool:
    """Enter new namespaces; a new process namespace holds children only."""
    return bool(_libc.unshare(ctypes.c_int(flags)) == 0)


def enter_user_namespace(flags: int, ids: Sequence[tuple[int, int]]) -> bool:
    """A user namespace, and other new ones that `flags` name, with user and group `ids` in it: (inside, outside).

    Whoever may not map all of them gets the first. Where none can be mapped, files cannot be made in file systems that
    are mounted there. The caller must have a single thread.
    """
    read, write = os.pipe()
    mapper = os.fork()
    if mapper == 0:  # the rights to map ids are those of a process outside
        os.close(write)  # or nothing would ever end the read below
        if os.read(read, 1):
            _map_ids(os.getppid(), ids)
        os._exit(0)
    entered = unshare(CLONE_NEWUSER | flags)
    os.write(write, b"+" if entered else b"")
    os.close(read)
    os.close(write)
    os.waitpid(mapper, 0)
    return entered


def _map_ids(pid: int, ids: Sequence[tuple[int, int]]) -> None:
    process = Path(f"/proc/{pid}")
    for chosen, words in ((ids, ""), (ids[:1], "deny")):
        lines = "\n".join(f"{inside} {outside} 1" for inside, outside in chosen)
        try:
            if words:
                (process / "setgroups").write_text(words, encoding="ascii")
            (process / "gid_map").write_text(lines, encoding="ascii")
            (process / "uid_map").write_text(lines, encoding="ascii")
        except OSError:
            continue
        return


def mount_own_proc() -> bool:
    """Let the calling process see a /proc of its own process namespace, in a mount namespace of its own."""
    return _own_mounts() and _mount("proc", Path("/proc"), _MS_RESTRICTED)


def mount_memory(folder: Path, most_bytes: int) -> bool:
    """Put an empty folder in memory in a folder's place, in a mount namespace of the calling thread's own.

    It is gone with the last process that sees it.
    """
    options = f"size={most_bytes},nr_inodes=16384,mode=1777"
    return _own_mounts() and _mount("tmpfs", folder, _MS_NOSUID | _MS_NODEV, options)


def _own_mounts() -> bool:
    private = ctypes.c_ulong(_MS_PRIVATE | _MS_REC)
    return unshare(CLONE_NEWNS) and _libc.mount(b"none", b"/", None, private, None) == 0


def _mount(kind: str, place: Path, flags: int, options: str = "") -> bool:
    name, data = kind.encode(), options.encode() or None
    return bool(_libc.mount(name, os.fsencode(place), name, ctypes.c_ulong(flags), data) == 0)


def drop_capabilities() -> bool:
    """Give up all capabilities (those of a user namespace, or root's)."""
    header = struct.pack("=Ii", 0x20080522, 0)
    return bool(_libc.capset(ctypes.c_char_p(header), ctypes.c_char_p(bytes(24))) == 0)


# ------------------------------------------------------------------------------------------------- Landlock

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR, _TRUNCATE, _CONTROL_DEVICE = 1, 1 << 1, 1 << 2, 1 << 3, 1 << 14, 1 << 15
_OF_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _CONTROL_DEVICE
"""The rights that make sense for a file: asking for others is an error."""
_FILE_ACCESS = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 5: (1 << 16) - 1}
_CREATE, _ADD_RULE, _RESTRICT = 444, 445, 446


def landlock(readable: Iterable[Path], writable: Iterable[Path] = ()) -> bool:
    """From now on no file can be opened but these and what lies beneath them, `readable` ones only for reading.

    On kernels that can, TCP and signals to the outside are forbidden too. Needs `no new privileges`.
    """
    version = _libc.syscall(ctypes.c_long(_CREATE), None, ctypes.c_size_t(0), ctypes.c_uint32(1))
    if version < 1:
        return False
    handled = _FILE_ACCESS[max(known for known in _FILE_ACCESS if known <= version)]
    attribute = struct.pack("=QQQ", handled, 3 if version >= 4 else 0, 3 if version >= 6 else 0)
    size = 24 if version >= 6 else 16 if version >= 4 else 8
    ruleset = _libc.syscall(ctypes.c_long(_CREATE), attribute, ctypes.c_size_t(size), ctypes.c_uint32(0))
    if ruleset < 0:
        return False
    try:
        for path in readable:
            _allow(ruleset, path, _EXECUTE | _READ_FILE | _READ_DIR)
        for path in writable:
            _allow(ruleset, path, handled)
        return bool(_libc.syscall(ctypes.c_long(_RESTRICT), ctypes.c_int(ruleset), ctypes.c_uint32(0)) == 0)
    finally:
        os.close(ruleset)


def _allow(ruleset: int, path: Path, access: int) -> None:
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return  # what is not there need not be readable
    rule = struct.pack("=Qi", access if path.is_dir() else access & _OF_FILES, descriptor)
    _libc.syscall(ctypes.c_long(_ADD_RULE), ctypes.c_int(ruleset), ctypes.c_int(1), rule, ctypes.c_uint32(0))
    os.close(descriptor)


# -------------------------------------------------------------------------------------------------- seccomp

# Refused with EPERM: new programs, other processes' memory, sockets, kernel interfaces with a history of holes, and
# leaving the CPUs that the judge chose.
_REFUSED = {
    "x86_64": {
        "fork": 57, "vfork": 58, "execve": 59, "execveat": 322, "ptrace": 101, "process_vm_readv": 310,
        "process_vm_writev": 311, "socket": 41, "unshare": 272, "setns": 308, "mount": 165, "bpf": 321,
        "perf_event_open": 298, "io_uring_setup": 425, "userfaultfd": 323, "add_key": 248, "request_key": 249,
        "keyctl": 250, "tkill": 200, "rt_sigqueueinfo": 129, "rt_tgsigqueueinfo": 297, "pidfd_open": 434,
        "pidfd_send_signal": 424, "pidfd_getfd": 438, "sched_setaffinity": 203, "memfd_create": 319,
    },
    "aarch64": {
        "execve": 221, "execveat": 281, "ptrace": 117, "process_vm_readv": 270, "process_vm_writev": 271,
        "socket": 198, "unshare": 97, "setns": 268, "mount": 40, "bpf": 280, "perf_event_open": 241,
        "io_uring_setup": 425, "userfaultfd": 282, "add_key": 217, "request_key": 218, "keyctl": 219, "tkill": 130,
        "rt_sigqueueinfo": 138, "rt_tgsigqueueinfo": 240, "pidfd_open": 434, "pidfd_send_signal": 424,
        "pidfd_getfd": 438, "sched_setaffinity": 122, "memfd_create": 279,
    },
}  # fmt: skip
_CLONE = {"x86_64": 56, "aarch64": 220}
_CLONE3 = 435
_AF_UNIX = 1
_SECCOMP = {"x86_64": 317, "aarch64": 277}
_SPECULATION_ALLOWED = 4
_SIGNALS = {"x86_64": (62, 234), "aarch64": (129, 131)}  # kill, tgkill
_AUDIT_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}

_ALLOW, _REFUSE, _NO_SUCH_CALL = 0x7FFF0000, 0x00050000 | 1, 0x00050000 | 38
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT = 0, 4, 16

Instruction = tuple[int, int, int, int]


def forbid_processes_and_sockets(pid: int, *, local: bool = False) -> bool:
    """Install the system call filter for the process `pid` (the caller): threads may be made, processes may not.

    Signals may go to the process itself only; with `local`, sockets of this machine's own
    kind may be made. Needs `no new privileges`; false on machines other than x86-64, arm64.
    """
    machine = platform.machine()
    if machine not in _REFUSED:
        return False
    program = _filter_program(machine, pid, local=local)
    code = b"".join(struct.pack("=HBBI", *instruction) for instruction in program)
    body = ctypes.create_string_buffer(code, len(code))
    header = struct.pack("@HP", len(program), ctypes.addressof(body))
    address = ctypes.create_string_buffer(header, len(header))
    arguments = (ctypes.c_long(_SECCOMP[machine]), ctypes.c_uint(1))
    # Older kernels slow a filtered process down against side channels unless told not to.
    return any(_libc.syscall(*arguments, ctypes.c_uint(flags), address) == 0 for flags in (_SPECULATION_ALLOWED, 0))


def _filter_program(machine: str, pid: int, *, local: bool) -> Sequence[Instruction]:
    kill, tgkill = _SIGNALS[machine]
    refused = dict(_REFUSED[machine])
    socket = refused.pop("socket") if local else refused["socket"]
    program: list[Instruction] = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_EQUAL, 1, 0, _AUDIT_ARCH[machine]),
        (_RETURN, 0, 0, _REFUSE),
        (_LOAD, 0, 0, _NUMBER),
        (_AT_LEAST, 0, 1, 0x40000000),  # x86's third way to call the kernel
        (_RETURN, 0, 0, _REFUSE),
    ]
    for number in refused.values():
        program += [(_EQUAL, 0, 1, number), (_RETURN, 0, 0, _REFUSE)]
    if local:
        program += _first_argument(socket, _EQUAL, _AF_UNIX)
    # clone3 hides its flags in memory; told that there is none, the C library falls back to clone.
    program += [(_EQUAL, 0, 1, _CLONE3), (_RETURN, 0, 0, _NO_SUCH_CALL)]
    program += _first_argument(_CLONE[machine], _ANY_BIT, CLONE_THREAD)
    program += _first_argument(kill, _EQUAL, pid) + _first_argument(tgkill, _EQUAL, pid)
    return [*program, (_RETURN, 0, 0, _ALLOW)]


def _first_argument(number: int, test: int, value: int) -> list[Instruction]:
    """Allow a call only when its first argument passes a test."""
    return [
        (_EQUAL, 0, 4, number),
        (_LOAD, 0, 0, _FIRST_ARGUMENT),
        (test, 0, 1, value),
        (_RETURN, 0, 0, _ALLOW),
        (_RETURN, 0, 0, _REFUSE),
    ]
