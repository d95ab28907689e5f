"""Become a compiler that reads only what compilers need: `python confined.py <scratch> <closed> <opened> <compiler> …`.

`scratch` is the one folder that it can write to. No folder is opened that holds one of `closed` (joined as in PATH: the
project and the user's home), such as the compiler's home where that is the home folder itself. Those of `opened`
(joined likewise) are opened in any case.

It starts once per compilation, so it imports the standard library and `hone.machine.syscalls` only. Where the kernel
has no Landlock the compiler runs all the same.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from hone.machine import syscalls

SYSTEM = (
    "/usr", "/lib", "/lib32", "/lib64", "/bin", "/nix/store", "/etc/alternatives", "/etc/ld.so.cache",
    "/dev/zero", "/dev/urandom", "/proc/cpuinfo", "/proc/meminfo", "/sys/devices/system/cpu",
)  # fmt: skip
FOLDER_LISTS = ("CUDA_HOME", "LD_LIBRARY_PATH", "CPATH", "LIBRARY_PATH")
CANNOT_EXECUTE = 126


def main(scratch: str, closed: str, opened: str, command: list[str]) -> None:
    """Confine this process for good, then replace it by the compiler."""
    os.environ.pop("PYTHONPATH", None)
    if syscalls.prctl(syscalls.PR_SET_NO_NEW_PRIVS, 1):
        closed_folders = [Path(folder).resolve() for folder in closed.split(os.pathsep) if folder]
        wanted = [Path(folder) for folder in opened.split(os.pathsep) if folder]
        syscalls.landlock([*readable(command[0], closed_folders), *wanted], [Path(scratch), Path(os.devnull)])
    try:
        os.execvp(command[0], command)
    except OSError as error:
        sys.stderr.write(f"cannot execute '{command[0]}': {error.strerror}\n")
        sys.exit(CANNOT_EXECUTE)


def readable(compiler: str, closed: list[Path]) -> list[Path]:
    """System folders, Python's, CUDA's, those in variables; the homes of the compiler and of nvcc's host compiler."""
    programs = [Path(path).resolve() for name in (compiler, "g++", "gcc", "as", "ld") if (path := shutil.which(name))]
    homes = [program.parent.parent for program in programs if program.parent.name == "bin"]
    listed = [os.environ.get(name, "").split(os.pathsep) for name in FOLDER_LISTS]
    named = [Path(folder) for folders in listed for folder in folders if Path(folder).is_absolute()]
    chosen = [Path(sys.prefix), Path(sys.base_prefix), *homes, *(program.parent for program in programs), *named]
    opened = [path for path in chosen if not any(folder.is_relative_to(path.resolve()) for folder in closed)]
    return [*map(Path, SYSTEM), *programs, *opened]


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:])
