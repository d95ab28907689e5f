"""Headers and libraries of the installed PyTorch and of CUDA, found without importing PyTorch."""

from __future__ import annotations

import functools
import os
import re
import subprocess
import sysconfig
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from hone.compile.toolchain import Toolchain
from hone.core.errors import MachineError

OLDEST_STD = 17


@dataclass(frozen=True)
class InstalledTorch:
    """What extensions are compiled and linked with."""

    folder: Path
    version: str
    """Such as `2.13.0+cu130`."""
    std: int
    """C++ standard that its headers need, such as 20."""
    cuda: Path | None
    """CUDA's folder, with `include`; absent where there is none."""

    @property
    def include_folders(self) -> tuple[Path, ...]:
        """Of PyTorch, Python and CUDA."""
        own = self.folder / "include"
        folders = (own, own / "torch" / "csrc" / "api" / "include", Path(sysconfig.get_path("include")))
        return (*folders, self.cuda / "include") if self.cuda else folders

    @property
    def library_folders(self) -> tuple[Path, ...]:
        """PyTorch's own, then NVIDIA's packages beside it, then CUDA's and the system's."""
        found = [self.folder / "lib", *sorted(self.folder.parent.glob("nvidia/*/lib"))]
        if self.cuda:
            found += [self.cuda / "lib64", self.cuda / "lib", self.cuda / "lib64" / "stubs"]
        multiarch = sysconfig.get_config_var("MULTIARCH") or "x86_64-linux-gnu"
        return tuple(folder for folder in (*found, Path("/usr/lib") / multiarch, Path("/usr/lib64")) if folder.is_dir())

    def library(self, name: str) -> Path | None:
        """The shared library of a name, as in `-l<name>`; also where only its versioned file is installed."""
        for folder in self.library_folders:
            plain = folder / f"lib{name}.so"
            found = (
                [plain] if plain.is_file() else sorted(folder.glob(f"lib{name}.so.*"), key=lambda path: len(path.name))
            )
            if found:
                return found[0]
        return None


def installed_torch(nvcc: Toolchain) -> InstalledTorch:
    """The PyTorch that this Python would import; raises MachineError when there is none."""
    spec = find_spec("torch")
    if spec is None or spec.origin is None:
        raise MachineError("there is no PyTorch to build extensions with", remedy="install torch")
    folder = Path(spec.origin).parent
    version = re.search(r"__version__ = '([^']+)'", _text(folder / "version.py"))
    standards = re.findall(r"['\"]-std=c\+\+(\d+)['\"]", _text(folder / "utils" / "cpp_extension.py"))
    std = max((int(number) for number in standards), default=OLDEST_STD)
    return InstalledTorch(folder, version[1] if version else "", std, cuda_folder(nvcc))


def cuda_folder(nvcc: Toolchain) -> Path | None:
    """Where CUDA is: named in CUDA_HOME or CUDA_PATH, else what nvcc says, else /usr/local/cuda."""
    named = [Path(os.environ[name]) for name in ("CUDA_HOME", "CUDA_PATH") if os.environ.get(name)]
    candidates = [*named, *([] if nvcc.missing else _nvcc_top(nvcc.program)), Path("/usr/local/cuda")]
    return next((path.resolve() for path in candidates if (path / "include" / "cuda_runtime.h").is_file()), None)


@functools.cache
def _nvcc_top(program: tuple[str, ...]) -> list[Path]:
    """`nvcc --dryrun` prints its variables; TOP is the toolkit's folder. nvcc itself may be a script or a link."""
    try:
        said = subprocess.run(
            [*program, "--dryrun", "-c", "none.cu"], capture_output=True, text=True, timeout=60, check=False,
            stdin=subprocess.DEVNULL,
        ).stderr  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return []
    return [Path(text.strip()) for text in re.findall(r"^#\$ TOP=(.+)$", said, re.MULTILINE)]


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError:
        return ""
