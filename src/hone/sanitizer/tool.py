"""The program compute-sanitizer: where it is, how it is called, and what its log comes to."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass

from hone.core.errors import MachineError

TOOLS = ("memcheck", "racecheck", "synccheck", "initcheck")
FINDINGS_STATUS = 86
"""Exit status of a run with findings."""
ONE_ALLOCATION_EACH = "PYTORCH_NO_CUDA_MEMORY_CACHING=1"
"""PyTorch then asks CUDA for each tensor by itself, so that memcheck sees where one ends."""
SUMMARIES = {
    "racecheck": re.compile(r"^=+ RACECHECK SUMMARY: (\d+) hazards? displayed \(\d+ errors?, \d+ warnings?\)", re.M),
    "": re.compile(r"^=+ ERROR SUMMARY: (\d+) errors?\b", re.M),
}
FAILURE = re.compile(r"^=+ (Error: |Internal|Device not supported|No attachable process)", re.M)
"""What it says where it could not watch; a racecheck hazard begins so, too."""
DETAIL_CHARACTERS = 400


@dataclass(frozen=True)
class Said:
    """What one run of a tool comes to."""

    findings: int | None
    """Errors or hazards by the tool's own count; None where it gave none."""
    clean: bool
    """The tool says that it found nothing, and all workloads ran to their end."""
    detail: str


def find_program() -> str:
    """Path of compute-sanitizer; raises MachineError."""
    name = os.environ.get("COMPUTE_SANITIZER") or "compute-sanitizer"
    if path := shutil.which(name):
        return path
    remedy = "it comes with the CUDA toolkit: put that on the PATH, or name it in the variable COMPUTE_SANITIZER"
    raise MachineError(f"'{name}' cannot be run", remedy=remedy)


def watched(program: str, tool: str, command: Sequence[str]) -> list[str]:
    """The command line that has a tool watch a command and all that it starts."""
    options = ["--tool", tool, "--error-exitcode", str(FINDINGS_STATUS), "--target-processes", "all"]
    return ["env", ONE_ALLOCATION_EACH, program, *options, *command]


def read_log(tool: str, log: str, ended: str, finished: int, asked: int) -> Said:
    """`ended`: how the process ended, empty when all was well; `finished` of `asked` workloads ran to their end."""
    own = SUMMARIES.get(tool, SUMMARIES[""])
    counts = [int(count) for summary in SUMMARIES.values() for count in summary.findall(log)]
    findings = max(counts) if own.search(log) else None
    reasons = [_first_finding(log)] if findings or FAILURE.search(log) else []
    if findings is None:
        reasons.append(f"{tool} gave no summary")
    if ended:
        reasons.append(ended.partition(":")[0] if findings else ended)  # a finding has its own words
    if finished != asked:
        reasons.append(f"{finished} of {asked} workloads finished")
    return Said(findings, not reasons, "; ".join(reasons)[:DETAIL_CHARACTERS])


def _first_finding(log: str) -> str:
    """The first lines of what the tool reports, without its prefix."""
    lines = [line.strip("= ") for line in log.splitlines() if line.startswith("=====")]
    lines = [line for line in lines if line and "COMPUTE-SANITIZER" not in line and "SUMMARY" not in line]
    return ", ".join(lines[:3]) or "findings without a description"
