"""What a build says about a module's verdict, without asking the module: whether its kernels are what runs."""

from __future__ import annotations

from hone.compile.extension_call import REFUSED
from hone.compile.extension_sites import builds_extensions
from hone.records import Build, BuildStatus, Language, Solution

UNSEEN = "its extension is built where the build cannot see it"


def fallback(build: Build) -> bool:
    """Whether a call of the module was refused: if the module runs, it goes on without that kernel."""
    return bool(build.refused)


def unbuilt(build: Build, solution: Solution) -> bool:
    """Whether the source builds extensions, but nobody has built, or refused, one."""
    interpreted = build.status is BuildStatus.INTERPRETED and solution.language is Language.PYTHON
    return interpreted and not build.extensions and not build.refused and builds_extensions(solution.source)


def module_raised(build: Build) -> bool:
    """Whether the module did not come to its end where its calls were recorded."""
    return build.status is BuildStatus.INTERPRETED and bool(build.log)


def is_refusal(build: Build, said: str) -> bool:
    """Whether what a module raised is the error of a refused call."""
    return bool(build.refused) and REFUSED in said


def first_refusal(build: Build) -> str:
    """The compiler's first error of the first call that it refused; empty where there is none."""
    return first_error(next(iter(build.refused.values()), ""))


def first_error(log: str) -> str:
    """The compiler's first error with the two lines after it, else the log's beginning."""
    return "\n".join(from_first_error(log).splitlines()[:3])


def from_first_error(log: str) -> str:
    """The log from its first error on, else all of it."""
    lines = log.splitlines()
    at = next((number for number, line in enumerate(lines) if "error" in line.lower()), 0)
    return "\n".join(lines[at:])
