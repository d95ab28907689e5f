"""Reading files of one pinned commit from a git repository, without a work tree and without questions at a terminal."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from hone.core.errors import MachineError, SourceError, on_failure
from hone.core.scratch import ScratchFolder

REGULAR_FILES = (b"100644", b"100755")
LINK = b"120000"


class GitFailure(Exception):
    """git ended with an error; the message is the last line of what it said."""


@contextmanager
def snapshot(url: str, commit: str, timeout_s: float) -> Iterator[Path]:
    """A temporary bare repository that holds the commit; removed on exit.

    `url` is anything that git fetches from. Only this commit is fetched where the server allows it, else all
    branches. Raises SourceError (unreachable, not a repository, no such commit) or MachineError (no git).
    """
    if shutil.which("git") is None:
        raise MachineError("git is not installed", remedy="install git, or point the source at a local folder")
    with ScratchFolder("git") as folder:
        bare = Path(folder)
        _git(["init", "--quiet", "--bare", folder], timeout_s)
        address = _address(url)
        try:
            _git(["fetch", "--quiet", "--no-tags", "--depth=1", "--", address, commit], timeout_s, bare)
        except GitFailure:
            _fetch_branches(bare, url, address, timeout_s)
        if not _has_commit(bare, commit, timeout_s):
            raise _no_such_commit(url, address, commit, timeout_s)
        yield bare


def read_folder(bare: Path, commit: str, folder: str, timeout_s: float) -> dict[str, bytes]:
    """Path -> content of every regular file below `folder` at the commit; symbolic links are left out."""
    return _contents(
        bare, [entry for entry in _listing(bare, commit, f"{folder}/", timeout_s) if entry.is_file], timeout_s
    )


def read_file(bare: Path, commit: str, path: str, timeout_s: float) -> bytes | None:
    """Content of one regular file at the commit; None where there is none of that name."""
    entries = [entry for entry in _listing(bare, commit, path, timeout_s) if entry.is_file and entry.path == path]
    return _contents(bare, entries, timeout_s).get(path)


def links_in(bare: Path, commit: str, folder: str, timeout_s: float) -> list[str]:
    """Paths of the symbolic links below `folder` at the commit."""
    return [entry.path for entry in _listing(bare, commit, f"{folder}/", timeout_s) if entry.mode == LINK]


def folders_in(bare: Path, commit: str, folder: str, timeout_s: float) -> list[str]:
    """Names of the folders directly in `folder` at the commit."""
    listing = _git(["ls-tree", "-d", "--name-only", "-z", commit, "--", f"{folder}/"], timeout_s, bare)
    return [name.decode("utf-8", "replace").rpartition("/")[2] for name in listing.split(b"\0") if name]


class _Entry(NamedTuple):
    mode: bytes
    blob: bytes
    path: str

    @property
    def is_file(self) -> bool:
        return self.mode in REGULAR_FILES


def _listing(bare: Path, commit: str, place: str, timeout_s: float) -> list[_Entry]:
    """Everything at or below a place; a folder's name ends in a slash."""
    listing = _git(["ls-tree", "-r", "-z", commit, "--", place], timeout_s, bare)
    entries = (entry.split(b"\t", 1) for entry in listing.split(b"\0") if entry)
    return [_Entry(facts.split()[0], facts.split()[2], path.decode("utf-8", "replace")) for facts, path in entries]


def _contents(bare: Path, entries: Sequence[_Entry], timeout_s: float) -> dict[str, bytes]:
    stream = _git(["cat-file", "--batch"], timeout_s, bare, b"".join(entry.blob + b"\n" for entry in entries))
    return dict(zip((entry.path for entry in entries), _split_batch(stream), strict=True))


def _split_batch(stream: bytes) -> Iterator[bytes]:
    """Contents from the output of `git cat-file --batch`: header line ending in the size, content, newline."""
    position = 0
    while position < len(stream):
        end = stream.index(b"\n", position)
        size = int(stream[position:end].split()[-1])
        yield stream[end + 1 : end + 1 + size]
        position = end + size + 2


def _address(url: str) -> str:
    """The url with `~` expanded; a path is made absolute, because git runs in another folder."""
    path = Path(url).expanduser()
    return str(path.resolve()) if path.exists() else url


def _fetch_branches(bare: Path, url: str, address: str, timeout_s: float) -> None:
    """Fetch all branches: for a commit that is not there, or a server that gives out no single commits."""
    try:
        _git(["fetch", "--quiet", "--tags", "--", address, "+refs/heads/*:refs/heads/*"], timeout_s, bare)
    except GitFailure as error:
        raise SourceError(f"cannot be fetched: {error}", where=url, remedy=_remedy(str(error), url)) from None


def _remedy(message: str, url: str) -> str:
    if "dubious ownership" in message:
        return f"it belongs to another user: git config --global --add safe.directory {url}"
    if Path(url).expanduser().exists():
        return "this folder is not a git repository: give the path of a clone, bare or not"
    if "://" not in url and "@" not in url:
        return "there is no such folder: correct the source's url, or clone the repository there first"
    return (
        "check the address and the network; behind a firewall, copy a bare clone (git clone --bare) here and set "
        "the source's url to its path"
    )


def _has_commit(bare: Path, commit: str, timeout_s: float) -> bool:
    try:
        _git(["cat-file", "-e", f"{commit}^{{commit}}"], timeout_s, bare)
    except GitFailure:
        return False
    return True


def _no_such_commit(url: str, address: str, commit: str, timeout_s: float) -> SourceError:
    listing = _git(["ls-remote", "--heads", "--", address], timeout_s).decode("utf-8", "replace")
    tips = [line.split("\trefs/heads/") for line in listing.splitlines()]
    tips.sort(key=lambda tip: (tip[1] not in ("main", "master"), len(tip[1]), tip[1]))
    shown = ", ".join(f"{name} {tip}" for tip, name in tips[:5]) or "none"
    more = f" and {len(tips) - 5} more" if len(tips) > 5 else ""
    return SourceError(
        f"has no commit {commit}; its branches: {shown}{more}",
        where=url,
        remedy="correct the source's commit in the config, or fetch the missing history into that repository",
    )


def _environment() -> dict[str, str]:
    """The caller's environment, with every way of asking a question closed and no repository preset."""
    preset = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES")
    kept = {name: value for name, value in os.environ.items() if name not in preset}
    ssh = kept.get("GIT_SSH_COMMAND", "ssh -o BatchMode=yes")
    return {**kept, "GIT_TERMINAL_PROMPT": "0", "GIT_ASKPASS": "false", "GIT_SSH_COMMAND": ssh, "LC_ALL": "C"}


def _git(arguments: list[str], timeout_s: float, bare: Path | None = None, stdin: bytes = b"") -> bytes:
    """Standard output of one git command; raises GitFailure."""
    place = ["--git-dir", str(bare)] if bare else []
    process = subprocess.Popen(
        ["git", *place, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=_environment(),
        cwd=tempfile.gettempdir(),
        start_new_session=True,  # so that its helpers (git-remote-https, ssh) die with it
    )
    try:
        with on_failure(lambda: _kill(process)):
            output, errors = process.communicate(stdin, timeout=timeout_s)
    except subprocess.TimeoutExpired:
        raise GitFailure(f"git {arguments[0]} took longer than {timeout_s:g} s") from None
    if process.returncode:
        raise GitFailure(_first_complaint(errors.decode("utf-8", "replace")))
    return output


def _kill(process: subprocess.Popen[bytes]) -> None:
    """With its helpers; returns once it has ended."""
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


def _first_complaint(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    fatal = [line for line in lines if line.startswith(("fatal:", "error:"))]
    return (fatal or lines or ["git said nothing"])[0]
