"""Kernels that declare parameters, in an emulator of a GPU."""

import re
import subprocess

import pytest

from hone.sources.solution_files import tunable_of
from tests.graph_ops import ROOT

FOLDER = ROOT / "resources/kernels/tuned_h200"
FILES = {path.name.partition("_")[2].removesuffix(".cu"): path for path in sorted(FOLDER.glob("*.cu"))}
EMULATOR = ROOT / "tests/gnn/device/emulator"
LAUNCH = re.compile(r"^( *)(\S.*)<<<(\w+), (\w+), 0, stream>>>\(", re.MULTILINE)


@pytest.fixture(scope="session")
def emulated(tmp_path_factory):
    """A kernel's title and the number of its choice of values -> its shared object, compiled for the emulator."""
    known = {}

    def get(title, number=0):
        if (title, number) not in known:
            space = tunable_of(FILES[title])
            source = tmp_path_factory.mktemp("emulated") / f"{title}.cu"
            text, launches = LAUNCH.subn(r"\1emulator::launch(\2, \3, \4)(", space.at(space.points[number]))
            assert launches == text.count("emulator::launch") > 0 and "<<<" not in text
            source.write_text(text)
            known[title, number] = source.with_suffix(".so")
            flags = ["-std=c++17", "-O1", "-Wno-unknown-pragmas", "-shared", "-fPIC", "-x", "c++"]
            subprocess.run(["g++", *flags, "-I", EMULATOR, "-o", known[title, number], source], check=True)
        return known[title, number]

    return get
