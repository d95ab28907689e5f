"""What holds a solution while it runs.

The process that runs a solution has: a session of its own; no environment variables but a short list; no open files but
its channel and its arenas; user, network, IPC and process namespaces, so that it sees no other process and no
network; no capabilities; Landlock, so that only Python, its packages, the system's libraries and its own shared object
can be read and nothing can be written (the project's `.env`, ledger and store cannot even be opened), but for a
folder in memory that a Python candidate has for itself alone; a system call
filter that refuses new processes, new programs, sockets, ptrace, changes of CPU affinity and signals to others; limits
on address space, file size, open files and core dumps; and it dies with the judge.

What this does not stop:
- a hole in the kernel, or a side channel (timing, caches) to other processes of the machine;
- using up memory up to the limit and the CPUs until the time limit, which disturbs other jobs on the machine;
- reading what is world-readable in the folders above, such as the source of installed packages;
- a Python candidate taking over its own interpreter and with it everything that the runner there says: therefore
  nothing it says is believed, results are taken from memory that the parent inspects while the candidate is stopped;
- work done in the few ten microseconds between the answer's arrival and the moment the process is stopped.
Where the kernel or its settings do not offer a part, the rest is still applied, the parts that were achieved stand in
each trace's environment, and the judge warns once.

Not possible under it: solutions that start a compiler at run time (`load_inline`, `torch.compile`).
"""

from __future__ import annotations

import os
import resource
import sys
import sysconfig
import tempfile
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from hone.machine import syscalls

FULL = (
    "clean_environment", "own_session", "dies_with_judge", "no_network", "process_namespace", "no_capabilities",
    "no_new_privileges", "read_only_files", "syscall_filter", "memory_limit", "resource_limits",
)  # fmt: skip
"""The names of all parts; a trace lists those that were achieved."""

PASSED_VARIABLES = ("PATH", "LANG", "LC_ALL", "LD_LIBRARY_PATH")
SYSTEM_FOLDERS = ("/usr", "/lib", "/lib64", "/bin", "/nix/store")
NO_PACKAGES = (".env", ".git", ".hone", ".ssh", ".bashrc", "pyproject.toml")
"""What is beside one of these is not for packages alone."""
SYSTEM_FILES = (
    "/etc/ld.so.cache", "/etc/localtime", "/dev/null", "/dev/zero", "/dev/urandom", "/dev/random",
    "/proc/cpuinfo", "/proc/meminfo", "/sys/devices/system",
)  # fmt: skip
GPU_READABLE = (
    "/proc/driver/nvidia", "/proc/devices", "/proc/modules", "/proc/sys/vm", "/sys/module", "/sys/bus", "/sys/class",
    "/etc/nvidia", "/etc/alternatives",
)  # fmt: skip
PROCESSES, THREADS = 512, 1024
SCRATCH_FILE_BYTES = 256 << 20
PRIVATE_BYTES = 64 << 20
PRIVATE_FOLDER = Path("/tmp")
"""Where modules expect to write, under this very name."""
NOBODY, ORDINARY_USER = 65534, 65533
"""User ids; no account has the second one."""
FURTHER = ("process_limit", "private_folder")
"""Parts that only some processes need, or that give instead of taking."""


@dataclass(frozen=True)
class Confinement:
    """What one process is allowed; `readable` comes on top of Python and the system's libraries.

    The reference is confined like a solution, so that both pay the same for it, unless it has to start a compiler.
    """

    memory_bytes: int
    """Address space on top of what the process has when it is confined."""
    readable: tuple[str, ...] = ()
    memory_only: bool = False
    """Only limit the memory: for trusted code that must start other programs."""
    gpu: bool = False
    """Let it use NVIDIA's device files; memory is limited as data then, since CUDA reserves address space."""
    scratch: str = ""
    """For a throw-away process that compiles: a folder that it may write to; it may start programs."""
    private: str = ""
    """The folder in memory that `enter_private_folder` has made, which it may write to."""

    def message(self) -> dict[str, Any]:
        """As a JSON object."""
        return asdict(self) | {"readable": list(self.readable)}

    @classmethod
    def read(cls, message: Mapping[str, Any]) -> Confinement:
        """The inverse of `message`."""
        return cls(**{**message, "readable": tuple(message["readable"])})


def clean_environment(threads: int, scratch: Path) -> dict[str, str]:
    """All variables that runners get. Idle OpenMP threads sleep, so that waiting runners do not disturb the clock."""
    kept = {name: os.environ[name] for name in PASSED_VARIABLES if name in os.environ}
    return {
        "PATH": os.defpath,
        **kept,
        "PYTHONPATH": os.pathsep.join(path for path in sys.path if path and Path(path).exists()),
        "PYTHONDONTWRITEBYTECODE": "1",
        "HOME": str(scratch),
        "TMPDIR": str(scratch),
        "TORCHINDUCTOR_CACHE_DIR": str(scratch / "inductor"),
        "TORCHINDUCTOR_COMPILE_THREADS": "1",
        "OMP_NUM_THREADS": str(threads),
        "MKL_NUM_THREADS": str(threads),
        "OMP_WAIT_POLICY": "passive",
        # Freed memory stays with the process. Otherwise the C library gives it back or not depending on chance, and
        # of two equal programs one takes a page fault for every 4 KiB of a temporary in every run.
        "MALLOC_TRIM_THRESHOLD_": str(2**31 - 1),
        "MALLOC_MMAP_THRESHOLD_": str(32 * 1024 * 1024),  # the highest that the C library accepts
        "OPENBLAS_NUM_THREADS": "1",  # numpy's own pool would be started before the runners are forked
    }


def enter_shared_namespaces() -> list[str]:
    """User, network, IPC and host-name namespaces, once for all runners; the caller must have a single thread.

    The user that the judge was started under is `nobody` in there; root may become ORDINARY_USER, too.
    """
    flags = syscalls.CLONE_NEWNET | syscalls.CLONE_NEWIPC | syscalls.CLONE_NEWUTS
    ids = [(NOBODY, os.getuid()), (ORDINARY_USER, ORDINARY_USER)]
    return ["no_network"] if syscalls.enter_user_namespace(flags, ids) else []


def enter_process_namespace() -> list[str]:
    """The caller's next child becomes the first process of a namespace in which no other process can be named."""
    return ["process_namespace"] if syscalls.unshare(syscalls.CLONE_NEWPID) else []


def enter_private_folder(readable: Sequence[str] = ()) -> str:
    """An empty folder in memory, of 64 MiB and for the calling process alone; empty where that is not possible.

    It is the home, the folder for temporary files and the current one. It stands in the place of /tmp, which modules
    name outright; where something that must be `readable` lies there, in the place of the former home. The caller must
    have a single thread.
    """
    needed = [Path(path).absolute() for path in (*readable, *sys.path, sys.prefix, sys.base_prefix) if path]
    hides = any(path.is_relative_to(PRIVATE_FOLDER) for path in needed)
    folder = Path(os.environ["HOME"]) if hides else PRIVATE_FOLDER
    if any(path.is_relative_to(folder) for path in needed) or not syscalls.mount_memory(folder, PRIVATE_BYTES):
        return ""
    try:
        (folder / "try").touch()
        (folder / "try").unlink()
    except OSError:  # no user ids of the namespace's own
        return ""
    os.environ["HOME"] = os.environ["TMPDIR"] = str(folder)
    tempfile.tempdir = None  # what Python has found out about the former folders
    os.chdir(folder)
    return str(folder)


def own_proc_works() -> bool:
    """Whether a process in a process namespace can have a /proc of its own, without which CUDA does not start there."""
    child = os.fork()
    if child:
        return os.waitpid(child, 0)[1] == 0
    if not enter_process_namespace():
        os._exit(1)
    first = os.fork()
    if first == 0:
        os._exit(0 if syscalls.mount_own_proc() else 1)
    os._exit(0 if os.waitpid(first, 0)[1] == 0 else 1)


def limit_processes(user: int) -> list[str]:
    """Let the calling process's namespace hold few processes; `user` is the id that the judge was started under.

    The usual limit does not hold for root, the namespace's own one needs Linux 6.14; see `become_ordinary`.
    """
    try:
        Path("/proc/sys/kernel/pid_max").write_text(str(PROCESSES), encoding="ascii")
    except OSError:
        return ["process_limit"] if user != 0 and _set_limit(resource.RLIMIT_NPROC, PROCESSES, PROCESSES) else []
    return ["process_limit"]


def become_ordinary(confinement: Confinement) -> list[str]:
    """Let root's process go on as an ordinary user with few processes, if that user can use all that it needs.

    Those are the GPU's device files, the folder to write to, Python and its packages. Without the right to it, or where
    one of them is closed to that user, nothing changes.
    """
    # Looked for now: that user may not even see where packages lie.
    packages = [path for path in readable_paths(confinement) if path.is_dir() and _holds_packages(path)]
    child = os.fork()
    if child == 0:
        os._exit(0 if _switch_user() and _can_use(confinement, packages) else 1)
    if os.waitpid(child, 0)[1] != 0 or not _switch_user():
        return []
    os.umask(0o022)  # root's own processes read what is compiled here
    os.environ["USER"] = "nobody"  # the id has no entry in the list of accounts
    syscalls.prctl(syscalls.PR_SET_DUMPABLE, 1)  # else /proc/self belongs to root
    return ["process_limit"] if _set_limit(resource.RLIMIT_NPROC, PROCESSES, PROCESSES) else []


def _switch_user() -> bool:
    try:
        os.setgroups([])
        os.setgid(ORDINARY_USER)
        os.setuid(ORDINARY_USER)
    except OSError:
        return False
    return True


def _can_use(confinement: Confinement, packages: Sequence[Path]) -> bool:
    devices = [path for name in ("nvidiactl", "nvidia-uvm", "nvidia[0-9]*") for path in Path("/dev").glob(name)]
    writable = [*devices, Path(confinement.scratch)]
    return all(os.access(path, os.R_OK | os.W_OK) for path in writable) and all(
        os.access(path, os.R_OK | os.X_OK) for path in (*packages, Path(sysconfig.get_path("stdlib")))
    )


def die_with_parent() -> bool:
    """Be killed when the parent process ends, however it ends."""
    return syscalls.prctl(syscalls.PR_SET_PDEATHSIG, 9)


def confine(confinement: Confinement, achieved: Sequence[str]) -> list[str]:
    """Confine the calling process for good; returns the names of all parts, those achieved before included."""
    limit = limit_data if confinement.gpu else limit_memory
    if confinement.memory_only:
        return ["memory_limit"] if limit(confinement.memory_bytes) else []
    parts = [*achieved, "clean_environment"]
    if os.getsid(0) == os.getpid():
        parts.append("own_session")
    if die_with_parent():
        parts.append("dies_with_judge")
    parts += ["memory_limit"] if limit(confinement.memory_bytes) else []
    limited = _limit_resources(open_files=4096 if confinement.gpu else 256)
    if syscalls.drop_capabilities():
        parts.append("no_capabilities")
    if syscalls.prctl(syscalls.PR_SET_NO_NEW_PRIVS, 1):
        parts.append("no_new_privileges")
    if syscalls.landlock(readable_paths(confinement), writable_paths(confinement)):
        parts += ["read_only_files", *(["private_folder"] if confinement.private else [])]
    # Where nothing keeps it from the user's files, it may write to none.
    private_bytes = PRIVATE_BYTES if "private_folder" in parts else 0
    file_bytes = SCRATCH_FILE_BYTES if confinement.scratch else private_bytes
    if _set_limit(resource.RLIMIT_FSIZE, file_bytes, file_bytes) and limited:
        parts.append("resource_limits")
    # CUDA talks to its own driver through a local socket; abstract ones of other processes are closed by Landlock.
    if not confinement.scratch and syscalls.forbid_processes_and_sockets(os.getpid(), local=confinement.gpu):
        parts += ["syscall_filter"] + ([] if "no_network" in parts else ["no_network"])
    return [name for name in (*FULL, *FURTHER) if name in parts]


def readable_paths(confinement: Confinement) -> list[Path]:
    """Python, its packages, the system's libraries and the solution's own files."""
    python = {sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    python |= {str(Path(sys.base_prefix) / "lib"), str(Path(sys.prefix) / "lib")}
    python |= {path for path in sys.path if path and _holds_packages(Path(path))}
    gpu = GPU_READABLE if confinement.gpu else ()
    return [Path(path) for path in (*sorted(python), *SYSTEM_FOLDERS, *SYSTEM_FILES, *gpu, *confinement.readable)]


def _holds_packages(folder: Path) -> bool:
    """By its name, or as pip's `--target` leaves it; never a home or a project, which has other things to hide."""
    if folder.name in ("site-packages", "dist-packages", "lib-dynload"):
        return True
    try:
        if any((folder / name).exists() for name in NO_PACKAGES):
            return False
        return any(entry.suffix == ".dist-info" for entry in folder.iterdir())
    except OSError:  # an archive, nothing, or closed to this user
        return False


def writable_paths(confinement: Confinement) -> list[Path]:
    """NVIDIA's devices and the process's own folder in /proc (CUDA names its threads there); folders of its own."""
    devices = [*Path("/dev").glob("nvidia*"), Path("/proc/self")] if confinement.gpu else []
    scratch = [Path(confinement.scratch), Path(os.devnull)] if confinement.scratch else []
    private = [Path(confinement.private)] if confinement.private else []
    return [*devices, *scratch, *private]


def limit_memory(memory_bytes: int) -> bool:
    """Let the calling process map at most this much more than it has now."""
    status = Path("/proc/self/statm").read_text(encoding="ascii")
    mapped = int(status.split()[0]) * resource.getpagesize()
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    return _set_limit(resource.RLIMIT_AS, mapped + memory_bytes, hard)


def limit_data(memory_bytes: int) -> bool:
    """Let the calling process have at most this much more private writable memory than it has now."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    data = next(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmData:"))
    return _set_limit(resource.RLIMIT_DATA, data + memory_bytes, data + memory_bytes)


def _limit_resources(open_files: int) -> bool:
    _, processes = resource.getrlimit(resource.RLIMIT_NPROC)
    limits = {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_NOFILE: open_files,
        # Threads; the kernel does not apply it to root. A lower limit stays.
        resource.RLIMIT_NPROC: THREADS if processes == resource.RLIM_INFINITY else min(processes, THREADS),
        resource.RLIMIT_MEMLOCK: 0,
        resource.RLIMIT_MSGQUEUE: 0,
    }
    done = [_set_limit(kind, value, value) for kind, value in limits.items()]
    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    done.append(_set_limit(resource.RLIMIT_AS, soft, soft))
    return all(done)


def _set_limit(kind: int, soft: int, hard: int) -> bool:
    try:
        resource.setrlimit(kind, (soft, hard))
    except (ValueError, OSError):
        return False
    return True


class Shortfall:
    """What a machine's confinement lacks is said once."""

    def __init__(self) -> None:
        self._warned = False

    def warn_once(self, achieved: Sequence[str]) -> None:
        """Warn if a part is not among those that were achieved."""
        missing = [part for part in FULL if part not in achieved]
        if missing and not self._warned:
            self._warned = True
            detail = "this machine confines solutions less than fully, run only code that you trust; missing: "
            warnings.warn(detail + ", ".join(missing), RuntimeWarning, stacklevel=2)
